/* SPDX-License-Identifier: MIT */
/*
 * Chunks: a part of a heap, from chunk to chunk. A chunk is in use if the next one says so. Where
 * the chain makes no sense the program may have changed it meanwhile: it is read again, from the
 * last sound chunk on. If that does not help, the program has overwritten it: the walk goes on at
 * the next place where a chain of chunks begins, and what lies between is unread.
 */
#include <string.h>

#include "arena/layout.h"

enum {
    SMALL_READ = 1 << 12, /* behind a chunk that is longer than the buffer */
    AGAIN_MAX = 4,        /* reads of one place, */
    BACK_MAX = 64,        /* each from a chunk farther back: 1, 4, 16, 63 */
    CHAIN_LEAST = 12,     /* chunks that make a chain */
    TRIED_MAX = 1 << 24   /* places that are tried for a chain, in all */
};

static const uint64_t part_max = UINT64_C(1) << ARENA_MEM_BITS;

/* A chunk that was passed, and how many blocks there were then. */
struct passed {
    uint64_t va;
    size_t n_blocks;
};

struct chain {
    struct cairn_arena_walking *w;
    uint64_t low, high, top_at, top;
    bool is_heap;
    uint64_t read_va; /* of what is in the buffer */
    size_t n_read;
    uint64_t at;                    /* the chunk */
    uint64_t before;                /* the one before it, whose use is not known yet; 0: none */
    struct passed passed[BACK_MAX]; /* the last ones, a ring */
    size_t n_passed;
    size_t n_back;     /* how many of the ring are of this chain: it was gone back behind others */
    uint64_t farthest; /* where it went wrong */
    unsigned n_again;  /* reads since then */
};

static bool fill(struct chain *c, uint64_t va, size_t want)
{
    const struct cairn_arena_space *space = c->w->space;
    uint64_t left = c->high - va;
    c->read_va = va;
    c->n_read = left < want ? (size_t)left : want;
    if (space->read(space->context, va, c->w->buffer, c->n_read))
        return true;
    c->n_read = left < CHUNK_HEAD ? 0 : CHUNK_HEAD;
    if (c->n_read && space->read(space->context, va, c->w->buffer, c->n_read))
        return true;
    c->n_read = 0;
    return false;
}

/* The second word of the chunk at `va`: its size and flags. */
static bool read_size(struct chain *c, uint64_t va, uint64_t *ret_size)
{
    if (va < c->low || va > c->high || c->high - va < CHUNK_HEAD)
        return false;
    if (va < c->read_va || va - c->read_va > c->n_read ||
        c->n_read - (va - c->read_va) < CHUNK_HEAD) {
        bool is_far = c->n_read && va - c->read_va > 2 * c->n_read;
        if (!fill(c, va, is_far ? SMALL_READ : CAIRN_ARENA_BUFFER))
            return false;
    }
    memcpy(ret_size, c->w->buffer + (va - c->read_va) + 8, sizeof *ret_size);
    return true;
}

enum step { STEP_NEXT, STEP_END, STEP_WRONG };

/* From the chunk at `at` to the next one; whether the one before it is in use, `at` says. */
static enum step next(struct chain *c, uint64_t at, uint64_t *ret_next, bool *ret_before_in_use)
{
    uint64_t word;
    if (!read_size(c, at, &word))
        return STEP_WRONG;
    uint64_t size = word & ~(uint64_t)CHUNK_FLAGS;
    *ret_before_in_use = word & CHUNK_IN_USE;
    *ret_next = at + size;
    if (at == c->top || (size == CHUNK_FENCE && !(word & CHUNK_MAPPED)))
        return STEP_END;
    if (size < CHUNK_LEAST || size % CHUNK_ALIGN || word & CHUNK_MAPPED || size > c->high - at ||
        c->high - at - size < CHUNK_HEAD || (c->top > at && at + size > c->top))
        return STEP_WRONG;
    return STEP_NEXT;
}

static bool is_chain(struct chain *c, uint64_t at)
{
    bool ignored;
    for (unsigned i = 0; i < CHAIN_LEAST; i++) {
        enum step step = next(c, at, &at, &ignored);
        if (step != STEP_NEXT)
            return step == STEP_END && i > 0;
    }
    return true;
}

static int add(struct chain *c, bool before_in_use)
{
    uint64_t before = c->before;
    if (!before || !before_in_use)
        return CAIRN_OK;
    return cairn_arena_add_block(c->w, before + CHUNK_HEAD, c->at - before - 8);
}

/* Where the next chain begins behind `from`; the end if none does. */
static uint64_t find_chain(struct chain *c, uint64_t from)
{
    uint64_t end = c->top ? c->top : c->high;
    for (uint64_t at = from + CHUNK_ALIGN; at < end; at += CHUNK_ALIGN) {
        uint64_t ignored;
        if (++c->w->n_tried > TRIED_MAX)
            break;
        if (!read_size(c, at, &ignored)) {
            at = (at | (ARENA_PAGE - 1)) + 1 - CHUNK_ALIGN; /* the page is not there */
            continue;
        }
        if (is_chain(c, at))
            return at;
    }
    return end;
}

/* Behind the last sound chunk: whoever wrote over one wrote over those before it. */
static void skip(struct chain *c)
{
    uint64_t from = c->before ? c->before : c->at, found = find_chain(c, c->at);
    c->w->walk->unread_bytes += found > from ? found - from : 0; /* the top may have moved down */
    c->at = found;
    c->before = 0;
    c->n_back = 0;
    c->n_read = 0;
}

/* The program extended the break itself: its part lies between two of the allocator's. */
static bool pass_gap(struct chain *c)
{
    if (!c->top || c->at >= c->top)
        return false;
    c->at = find_chain(c, c->at);
    c->before = 0;
    c->n_back = 0;
    return true;
}

/* It moves when the program allocates there, and what lies behind it grows and shrinks. */
static void look_at_top(struct chain *c)
{
    const struct cairn_arena_space *space = c->w->space;
    uint64_t top, size;
    if (!c->top_at || !cairn_arena_word(space, c->top_at, &top) || top < c->low ||
        top - c->low >= part_max || !cairn_arena_word(space, top + 8, &size))
        return;
    size &= ~(uint64_t)CHUNK_FLAGS;
    size = size > CHUNK_HEAD ? size : CHUNK_HEAD;
    if (size >= part_max ||
        (c->is_heap && (top + size - 1) >> ARENA_HEAP_BITS != c->low >> ARENA_HEAP_BITS))
        return;
    c->top = top;
    c->high = top + size;
}

/* From a chunk some way back: what was taken for chunks may be within one by now. False: that was
 * tried. */
static bool go_back(struct chain *c)
{
    if (c->at > c->farthest) {
        c->farthest = c->at;
        c->n_again = 0;
    }
    size_t back = (size_t)1 << 2 * c->n_again;
    look_at_top(c);
    if (c->n_again == AGAIN_MAX || c->n_back == 0)
        return false;
    c->n_again++;
    back = back < c->n_back ? back : c->n_back;
    c->n_passed -= back;
    c->n_back -= back;
    const struct passed *to = &c->passed[c->n_passed % BACK_MAX];
    c->at = to->va;
    c->before = 0;
    c->n_read = 0;
    c->w->walk->n = to->n_blocks;
    return true;
}

static int pass(struct chain *c, uint64_t following, bool before_in_use)
{
    int result = add(c, before_in_use);
    c->passed[c->n_passed++ % BACK_MAX] = (struct passed){c->at, c->w->walk->n};
    c->n_back += c->n_back < BACK_MAX - 1;
    c->before = c->at;
    c->at = following;
    return result;
}

static int walk(struct chain *c)
{
    uint64_t following;
    bool before_in_use;
    int result = CAIRN_OK;
    while (result == CAIRN_OK) {
        switch (next(c, c->at, &following, &before_in_use)) {
        case STEP_NEXT:
            result = pass(c, following, before_in_use);
            break;
        case STEP_END:
            result = add(c, before_in_use);
            if (!pass_gap(c))
                return result;
            break;
        default:
            if (!go_back(c))
                skip(c);
            if (c->at >= (c->top ? c->top : c->high))
                return CAIRN_OK;
        }
    }
    return result;
}

int cairn_arena_chunks(struct cairn_arena_walking *w, const struct cairn_arena_part *part,
                       uint64_t *ret_end)
{
    struct chain c = {.w = w,
                      .low = part->low,
                      .high = part->high,
                      .top_at = part->top_at,
                      .is_heap = part->is_heap,
                      .at = part->low};
    look_at_top(&c);
    int result = c.low < c.high ? walk(&c) : CAIRN_OK;
    *ret_end = c.at < c.high ? c.at : c.high;
    return result;
}

bool cairn_arena_is_chain(struct cairn_arena_walking *w, uint64_t va, uint64_t high)
{
    struct chain c = {.w = w, .low = va, .high = high};
    return va < high && is_chain(&c, va);
}
