/* SPDX-License-Identifier: MIT */
#include "target/resting.h"

#include "base/alloc.h"
#include "base/error.h"

enum { PAGE = 4096, TRIES = 8 };

/* What may be a state. Of two modules with the same interpreter the first one gets it. */
struct candidate {
    uint64_t va;
    uint32_t module;
    uint64_t key; /* of what was read first; 0: it is no coroutine that rests */
    uint8_t life; /* enum cairn_guest_life */
};

struct search {
    struct cairn_target_guests *guests;
    cairn_target_resting_fn fn;
    void *ctx;
    struct cairn_target_resting *sums;
    struct candidate *candidates; /* of one piece */
    size_t n_candidates, cap_candidates;
    struct cairn_guest_heap_walk *walks; /* by module */
    uint64_t n_frames;                   /* that were read */
    bool is_restless;                    /* coroutines changed during the search */
    uint64_t va;                         /* of bytes[0] */
    size_t n;
    uint8_t bytes[CAIRN_SPACE_DATA_MAX + CAIRN_GUEST_RESTING_BYTES];
};

/* Reads are of the process as it is from now on. */
static void read_anew(const struct search *s)
{
    const struct cairn_unwind_space *space = s->guests->space;
    if (space->kind->begin)
        space->kind->begin(space->accessors.ctx);
}

/* What makes coroutines equal, before anything has a name; 0: there is none. */
static uint64_t key_of(const struct cairn_guest_result *result)
{
    if (!result->n_states)
        return 0;
    const struct cairn_guest_state *state = &result->states[0];
    uint64_t hash = cairn_hash_u64((uint64_t)state->module << 8 | state->rest);
    for (size_t i = 0; i < result->n_frames; i++) {
        const struct cairn_guest_frame *frame = &result->frames[i];
        hash = cairn_hash_u64(hash ^ frame->id);
        hash = cairn_hash_u64(hash ^ ((uint64_t)frame->line << 8 | frame->kind));
        hash = cairn_hash_u64(hash ^ frame->called);
    }
    hash = state->doubt ? cairn_hash_u64(hash ^ (uintptr_t)state->doubt) : hash;
    return hash ? hash : 1;
}

/* CAIRN_E_NOMEM. */
static int read_once(struct search *s, const struct candidate *candidate, uint64_t *ret_key)
{
    struct cairn_target_guests *guests = s->guests;
    const struct cairn_guest_thread thread = {
        .memory = guests->space->memory,
        .constant.memory = guests->space->memory,
        .modules = guests->modules,
        .n_modules = guests->n_modules,
    };
    int code = cairn_guest_read_resting(&thread, candidate->module, candidate->va, &guests->result);
    *ret_key = code == CAIRN_OK ? key_of(&guests->result) : 0;
    s->n_frames += guests->result.n_frames;
    return code;
}

/* An allocator may leave what is freed as it was. */
static uint8_t life_of(const struct search *s, const struct candidate *candidate)
{
    const struct cairn_guest *guest = s->guests->modules[candidate->module].file->guest;
    if (!guest->life)
        return CAIRN_GUEST_LIVES;
    return guest->life(s->guests->space->memory, candidate->va, &s->walks[candidate->module]);
}

static int tell(const struct search *s, const struct candidate *candidate)
{
    s->guests->result.states[0].may_be_freed = candidate->life == CAIRN_GUEST_MAY_LIVE;
    return s->fn(s->ctx, s->guests, candidate->key);
}

/* The process goes on: what two reads agree on was so in between. What makes no sense may be of
 * two moments, and is read again by itself, which takes microseconds. So is all of a process that
 * was seen to change coroutines. */
static int confirm(struct search *s, struct candidate *candidate)
{
    const struct cairn_guest_result *result = &s->guests->result;
    bool agrees = false;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t before = candidate->key;
        int code = read_once(s, candidate, &candidate->key);
        agrees = candidate->key == before;
        s->is_restless |= !agrees;
        if (code < 0 || !candidate->key)
            return code; /* 0: it runs, or has ended */
        if (agrees && !result->states[0].doubt && (i || !s->is_restless))
            return tell(s, candidate);
        read_anew(s);
    }
    if (agrees)
        return tell(s, candidate);
    s->sums->n_moving++;
    return CAIRN_OK;
}

static int add_candidate(struct search *s, size_t at)
{
    const struct cairn_target_guests *guests = s->guests;
    for (uint32_t i = 0; i < guests->n_modules; i++) {
        const struct cairn_guest_file *file = guests->modules[i].file;
        if (!file->guest->may_rest || file->unread ||
            s->bytes[at + file->guest->type_at] != file->guest->type ||
            !file->guest->may_rest(file, s->bytes + at, s->va + at))
            continue;
        if (cairn_grow((void **)&s->candidates, &s->cap_candidates, s->n_candidates + 1,
                       sizeof *s->candidates) < 0)
            return CAIRN_E_NOMEM;
        s->candidates[s->n_candidates++] = (struct candidate){.va = s->va + at, .module = i};
    }
    return CAIRN_OK;
}

static bool is_over(struct search *s)
{
    s->sums->is_cut = s->n_frames >= CAIRN_RESTING_FRAMES_MAX;
    return s->sums->is_cut;
}

/* All are read once and then all again, so that the pages of one serve the next. */
static int read_candidates(struct search *s)
{
    int code = CAIRN_OK;
    read_anew(s);
    for (size_t i = 0; i < s->n_candidates && code == CAIRN_OK && !is_over(s); i++) {
        struct candidate *candidate = &s->candidates[i];
        candidate->life = life_of(s, candidate);
        if (candidate->life != CAIRN_GUEST_IS_FREE)
            code = read_once(s, candidate, &candidate->key);
    }
    read_anew(s);
    for (size_t i = 0; i < s->n_candidates && code == CAIRN_OK && !is_over(s); i++) {
        bool is_same = i && s->candidates[i].va == s->candidates[i - 1].va;
        if (is_same && s->candidates[i - 1].key)
            s->candidates[i].key = s->candidates[i - 1].key;
        else if (s->candidates[i].key)
            code = confirm(s, &s->candidates[i]);
    }
    return code;
}

/* What of [from, to) can be read, from its first byte on, and as much behind it as a state that
 * begins at its end needs. */
static size_t read_piece(struct search *s, uint64_t from, uint64_t to)
{
    const struct cairn_memory memory = s->guests->space->memory;
    size_t n = 0;
    s->va = from;
    if (memory.read(memory.ctx, from, s->bytes, (size_t)(to - from)))
        n = (size_t)(to - from);
    while (from + n < to) {
        size_t step = PAGE - (from + n) % PAGE;
        step = step < to - from - n ? step : (size_t)(to - from - n);
        if (!memory.read(memory.ctx, from + n, s->bytes + n, step))
            break;
        n += step;
    }
    if (from + n == to && memory.read(memory.ctx, to, s->bytes + n, CAIRN_GUEST_RESTING_BYTES))
        return n + CAIRN_GUEST_RESTING_BYTES;
    return n;
}

static int search_piece(struct search *s, uint64_t from, uint64_t to)
{
    int code = CAIRN_OK;
    s->n = read_piece(s, from, to);
    s->n_candidates = 0;
    for (size_t at = 0; code == CAIRN_OK && at + CAIRN_GUEST_RESTING_BYTES <= s->n; at += 8)
        code = add_candidate(s, at);
    return code == CAIRN_OK && s->n_candidates ? read_candidates(s) : code;
}

static int search_all(struct search *s)
{
    struct cairn_unwind_space *space = s->guests->space;
    uint64_t from, to = 0;
    int code = CAIRN_OK;
    while (code == CAIRN_OK && !s->sums->is_cut &&
           space->kind->next_data(space->accessors.ctx, to, &from, &to)) {
        code = search_piece(s, from, to);
        size_t n = s->n < to - from ? s->n : (size_t)(to - from);
        s->sums->n_bytes += n;
        if (n < to - from) { /* a page that cannot be read */
            to = (from + n + PAGE) & ~(uint64_t)(PAGE - 1);
            s->sums->n_unread += to - from - n;
        }
    }
    return code;
}

static bool has_coroutines(const struct cairn_target_guests *guests)
{
    bool has = false;
    for (size_t i = 0; i < guests->n_modules; i++)
        has |= guests->modules[i].file->guest->may_rest && !guests->modules[i].file->unread;
    return has;
}

int cairn_target_guests_find_resting(struct cairn_target_guests *guests, cairn_target_resting_fn fn,
                                     void *ctx, struct cairn_target_resting *ret_resting)
{
    *ret_resting = (struct cairn_target_resting){0};
    int code = cairn_target_guests_load(guests);
    if (code < 0 || !has_coroutines(guests) || !guests->space->kind->next_data)
        return code;
    struct search *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return CAIRN_E_NOMEM;
    s->guests = guests;
    s->fn = fn;
    s->ctx = ctx;
    s->sums = ret_resting;
    s->walks = cairn_alloc(guests->n_modules, sizeof *s->walks);
    guests->n_natives = guests->n_regs = 0;
    guests->is_met = true; /* for who names and weaves the result */
    code = s->walks ? search_all(s) : CAIRN_E_NOMEM;
    guests->result.n_frames = guests->result.n_states = 0;
    cairn_free(s->candidates);
    cairn_free(s->walks);
    cairn_free(s);
    return code;
}
