/* SPDX-License-Identifier: MIT */
/*
 * Mapped: chunks with a mapping of their own, of any size from a page on. The kernel joins such
 * mappings with each other and with the program's, so that one may lie anywhere in a region:
 *
 *     | 0, size + 2 | what the program has ...                 |    pages
 *     | ... | that much, size + 2 | what the program has ...   |    memalign(3): aligned within
 *
 * How many bytes they have together is in malloc_par, 16 bytes before the first break's address.
 */
#include <string.h>

#include "arena/layout.h"
#include "base/error.h"

enum {
    COUNTS_BEFORE = 36,      /* n_mmaps, n_mmaps_max, max_n_mmaps: 4 bytes each */
    COUNTS_BEFORE_2_34 = 32, /* the same up to 2.34 */
    BYTES_BEFORE = 16,       /* mmapped_mem, max_mmapped_mem */
    ALIGN_LEAST = 32
};
static const uint64_t scan_max = UINT64_C(1)
                                 << 32; /* bytes that are searched for what is missing */

struct known {
    bool is;
    uint64_t bytes;
};

struct search {
    struct cairn_arena_walking *w;
    struct known known;
    uint64_t found, scanned;
};

/* What stands before the word that holds the first break's address. Since 2.35 there is one number
 * more among those of 4 bytes, and a gap. */
static bool take_sums(const uint8_t *at, size_t counts_before, struct known *ret)
{
    int32_t counts[3];
    uint64_t bytes[2];
    memcpy(counts, at - counts_before, sizeof counts);
    memcpy(bytes, at - BYTES_BEFORE, sizeof bytes);
    if (counts[0] < 0 || counts[1] < 0 || counts[2] < counts[0] || bytes[0] > bytes[1] ||
        bytes[0] % ARENA_PAGE || !bytes[0] != !counts[0] || !bytes[1] != !counts[2])
        return false;
    *ret = (struct known){true, bytes[0]};
    return true;
}

static void find_sums(struct search *s)
{
    const struct cairn_arena_space *space = s->w->space;
    for (size_t i = 0; s->w->first_va && i < space->n && !s->known.is; i++) {
        const struct cairn_arena_region *region = &space->regions[i];
        uint64_t n = region->high - region->low;
        if (region->kind != CAIRN_ARENA_DATA || s->w->main_va < region->low ||
            s->w->main_va >= region->high)
            continue;
        uint64_t low = region->low;
        if (n > CAIRN_ARENA_BUFFER) { /* malloc_par lies beside the main arena */
            low = s->w->main_va - region->low > CAIRN_ARENA_BUFFER / 2
                      ? s->w->main_va - CAIRN_ARENA_BUFFER / 2
                      : region->low;
            n = region->high - low < CAIRN_ARENA_BUFFER ? region->high - low : CAIRN_ARENA_BUFFER;
        }
        if (!space->read(space->context, low, s->w->buffer, (size_t)n))
            continue;
        for (size_t at = 40; at + 8 <= n && !s->known.is; at += 8) {
            uint64_t word;
            memcpy(&word, s->w->buffer + at, sizeof word);
            if (word == s->w->first_va)
                (void)(take_sums(s->w->buffer + at, COUNTS_BEFORE, &s->known) ||
                       take_sums(s->w->buffer + at, COUNTS_BEFORE_2_34, &s->known));
        }
    }
}

/* Is the head of a mapped chunk at `va`? Its mapping begins at `page`. */
static bool is_mapped(const uint64_t head[2], uint64_t va, uint64_t page, uint64_t high)
{
    uint64_t size = head[1] & ~(uint64_t)CHUNK_FLAGS, before = va - page;
    return (head[1] & CHUNK_FLAGS) == CHUNK_MAPPED && head[0] == before && size &&
           (size + before) % ARENA_PAGE == 0 && size <= high - va && size > CHUNK_HEAD;
}

/* Adds the chunk at `va`; `ret_end` is where its mapping ends. */
static int take(struct search *s, uint64_t va, uint64_t page, uint64_t size, uint64_t *ret_end)
{
    *ret_end = va + size;
    s->found += *ret_end - page;
    s->w->walk->heap_bytes += *ret_end - page;
    return cairn_arena_add_block(s->w, va + CHUNK_HEAD, size - CHUNK_HEAD);
}

/* An aligned chunk, whose mapping begins at `page`; the head that malloc wrote there first stays.
 * Of the smallest alignment that fits: what lies behind is the program's. */
static bool find_aligned(const struct search *s, uint64_t page, uint64_t high, uint64_t *ret_va,
                         uint64_t *ret_size)
{
    const struct cairn_arena_space *space = s->w->space;
    for (uint64_t align = ALIGN_LEAST; align < high - page; align *= 2) {
        uint64_t head[2], va = page + align - CHUNK_HEAD;
        if (space->read(space->context, va, head, sizeof head) && is_mapped(head, va, page, high)) {
            *ret_va = va;
            *ret_size = head[1] & ~(uint64_t)CHUNK_FLAGS;
            return true;
        }
    }
    return false;
}

/* The chunk whose mapping begins at `page`, if there is one. `ret_end` 0: there is none. */
static int try_front(struct search *s, uint64_t page, uint64_t high, uint64_t *ret_end)
{
    const struct cairn_arena_space *space = s->w->space;
    uint64_t head[2], va = page, size;
    *ret_end = 0;
    if (high - page < ARENA_PAGE || !space->read(space->context, page, head, sizeof head) ||
        !is_mapped(head, page, page, high))
        return CAIRN_OK;
    size = head[1] & ~(uint64_t)CHUNK_FLAGS;
    find_aligned(s, page, high, &va, &size);
    return take(s, va, page, size, ret_end);
}

/* What lies back to back from the region's begin on: that is where new mappings come to be. */
static int scan_front(struct search *s, const struct cairn_arena_region *region)
{
    uint64_t va = region->low, end;
    int result;
    do {
        result = try_front(s, va, region->high, &end);
        va = end;
    } while (result == CAIRN_OK && end);
    return result;
}

/* The same anywhere; the head in front may be gone, where the mapping was moved. `bytes`: of the
 * page. */
static int try_page(struct search *s, const uint8_t *bytes, uint64_t page, uint64_t high,
                    uint64_t *ret_end)
{
    int result = try_front(s, page, high, ret_end);
    for (uint64_t align = ALIGN_LEAST; result == CAIRN_OK && !*ret_end && align <= ARENA_PAGE;
         align *= 2) {
        uint64_t head[2], at = align - CHUNK_HEAD, va = page + at;
        memcpy(head, bytes + at, sizeof head);
        /* Of an alignment above a page the chunk's first page is not the mapping's. */
        uint64_t before = align == ARENA_PAGE && head[0] % ARENA_PAGE == at ? head[0] : at;
        if (before <= va && is_mapped(head, va, va - before, high))
            result = take(s, va, va - before, head[1] & ~(uint64_t)CHUNK_FLAGS, ret_end);
    }
    return result;
}

static bool misses(const struct search *s)
{
    return (!s->known.is || s->found < s->known.bytes) && s->scanned < scan_max;
}

/* A thread arena's heap has a mapping of its own. */
static bool may_have(const struct search *s, const struct cairn_arena_region *region)
{
    for (size_t i = 0; i < s->w->n_heaps; i++)
        if (s->w->heaps[i] == region->low)
            return false;
    return region->kind == CAIRN_ARENA_ANONYMOUS;
}

static int scan_pages(struct search *s, const struct cairn_arena_region *region)
{
    const struct cairn_arena_space *space = s->w->space;
    uint64_t va = region->low;
    int result = CAIRN_OK;
    while (result == CAIRN_OK && misses(s) && region->high - va >= ARENA_PAGE) {
        uint64_t left = (region->high - va) & ~(uint64_t)(ARENA_PAGE - 1), end = 0;
        size_t n = left < CAIRN_ARENA_BUFFER ? (size_t)left : CAIRN_ARENA_BUFFER, at = 0;
        bool is_read = space->read(space->context, va, s->w->buffer, n);
        s->scanned += n;
        for (; is_read && result == CAIRN_OK && !end && at < n; at += ARENA_PAGE)
            result = try_page(s, s->w->buffer + at, va + at, region->high, &end);
        va = end > va ? end : va + n;
    }
    return result;
}

/* What is left over: chunks behind other mappings, and aligned ones. */
static int scan_rest(struct search *s)
{
    const struct cairn_arena_space *space = s->w->space;
    int result = CAIRN_OK;
    s->found = 0;
    for (size_t i = 0; result == CAIRN_OK && i < space->n && misses(s); i++)
        if (may_have(s, &space->regions[i]))
            result = scan_pages(s, &space->regions[i]);
    return result;
}

int cairn_arena_mapped(struct cairn_arena_walking *w)
{
    struct search s = {.w = w};
    const size_t n_before = w->walk->n;
    const uint64_t bytes_before = w->walk->heap_bytes;
    int result = CAIRN_OK;
    find_sums(&s);
    for (size_t i = 0; result == CAIRN_OK && i < w->space->n; i++)
        if (may_have(&s, &w->space->regions[i]))
            result = scan_front(&s, &w->space->regions[i]);
    if (result == CAIRN_OK && misses(&s)) {
        w->walk->n = n_before; /* all of them anew */
        w->walk->heap_bytes = bytes_before;
        result = scan_rest(&s);
    }
    if (s.known.is && s.found < s.known.bytes) {
        w->walk->unread_bytes += s.known.bytes - s.found;
        w->walk->heap_bytes += s.known.bytes - s.found;
    }
    return result;
}
