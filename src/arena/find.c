/* SPDX-License-Identifier: MIT */
/*
 * Find: the main arena, by the links of its empty bins, and the ring of the others. Where a link of
 * the ring was overwritten, the others are found by the heads of their first heaps.
 */
#include <inttypes.h>
#include <string.h>

#include "arena/layout.h"
#include "base/error.h"

enum {
    EMPTY_LEAST = 20,           /* bins that are empty: of 127, most are */
    DATA_MAX = 1 << 26,         /* bytes of a module's data that are looked at */
    OVERLAP = ARENA_BYTES + 64, /* of two looks: an arena may lie across */
    ARENAS_MAX = 1 << 14,
    TRIES_MAX = 1 << 16, /* of one look: data that is made to look like bins */
    PROBES_MAX = 1 << 18 /* places where a heap may begin: 16 TiB of them */
};

static bool is_empty_bin(const uint8_t *at, uint64_t va)
{
    uint64_t links[2];
    memcpy(links, at, sizeof links);
    return links[0] == va - 16 && links[1] == va - 16;
}

/* 64 MiB times n, and a head of 0x20 (up to 2.34) or 0x30 bytes. */
static bool is_thread_arena(uint64_t va)
{
    uint64_t at = va & ((UINT64_C(1) << ARENA_HEAP_BITS) - 1);
    return at == 0x20 || at == 0x30;
}

static uint64_t word_at(const uint8_t *arena, size_t at)
{
    uint64_t word;
    memcpy(&word, arena + at, sizeof word);
    return word;
}

static bool is_arena(const uint8_t *arena, uint64_t va)
{
    unsigned n = 0;
    for (unsigned i = 0; i < ARENA_N_BINS; i++) {
        size_t at = ARENA_BINS + 16 * (size_t)i;
        n += is_empty_bin(arena + at, va + at);
    }
    uint64_t mem = word_at(arena, ARENA_SYSTEM_MEM);
    return n >= EMPTY_LEAST && mem >= ARENA_PAGE && mem >> ARENA_MEM_BITS == 0 &&
           mem <= word_at(arena, ARENA_MAX_SYSTEM_MEM);
}

/* Its link to the next arena must look like one, or, where there is no such arena, what stands
 * beside the link: the main arena is never among those that no thread has. */
static bool is_main(const uint8_t *arena, uint64_t va, bool has_link)
{
    uint64_t next = word_at(arena, ARENA_NEXT), top = word_at(arena, ARENA_TOP);
    if (!top || top % 16 || !is_arena(arena, va))
        return false;
    return has_link ? next == va || is_thread_arena(next)
                    : !word_at(arena, ARENA_NEXT_FREE) &&
                          word_at(arena, ARENA_SYSTEM_MEM) % ARENA_PAGE == 0;
}

/* An empty bin is found first; the arena begins so many bins before. */
static bool find_in(const uint8_t *bytes, size_t n, uint64_t va, bool has_link, uint64_t *ret_va)
{
    unsigned n_tries = 0;
    for (size_t at = ARENA_BINS; at + 16 <= n; at += 8) {
        if (!is_empty_bin(bytes + at, va + at))
            continue;
        for (unsigned i = 0; i < ARENA_N_BINS && n_tries < TRIES_MAX; i++, n_tries++) {
            size_t back = ARENA_BINS + 16 * (size_t)i;
            if (back > at || n - (at - back) < ARENA_BYTES)
                continue;
            if (is_main(bytes + at - back, va + at - back, has_link)) {
                *ret_va = va + at - back;
                return true;
            }
        }
        at += 8;
    }
    return false;
}

static bool find_main_in(struct cairn_arena_walking *w, const struct cairn_arena_region *region,
                         bool has_link)
{
    uint64_t low = region->low, high = region->high;
    high = high - low > DATA_MAX ? low + DATA_MAX : high;
    while (low < high) {
        size_t n = high - low < CAIRN_ARENA_BUFFER ? (size_t)(high - low) : CAIRN_ARENA_BUFFER;
        if (w->space->read(w->space->context, low, w->buffer, n) &&
            find_in(w->buffer, n, low, has_link, &w->main_va))
            return true;
        low += n <= OVERLAP || low + n == high ? n : n - OVERLAP;
    }
    return false;
}

static void find_main(struct cairn_arena_walking *w, bool has_link)
{
    for (size_t i = 0; i < w->space->n && !w->main_va; i++)
        if (w->space->regions[i].kind == CAIRN_ARENA_DATA)
            find_main_in(w, &w->space->regions[i], has_link);
}

/* Huge pages for the heap (a tunable) put it elsewhere. */
static void tell_unknown(struct cairn_arena_walking *w, uint64_t va)
{
    uint64_t mem;
    if (!cairn_arena_word(w->space, va + ARENA_SYSTEM_MEM, &mem) || mem % ARENA_PAGE ||
        mem >> ARENA_MEM_BITS)
        return;
    w->walk->heap_bytes += mem;
    w->walk->unread_bytes += mem;
}

static bool is_known(const struct cairn_arena_walking *w, uint64_t arena)
{
    for (size_t i = 0; i < w->n_arenas; i++)
        if (w->arenas[i] == arena)
            return true;
    return false;
}

/* The arena at the beginning of an arena's first heap; 0: there is no such heap. */
static uint64_t arena_of(const struct cairn_arena_walking *w, uint64_t heap)
{
    enum { ARENA, PREVIOUS, SIZE, WORDS };
    uint64_t info[WORDS];
    uint8_t arena[ARENA_BYTES];
    if (!w->space->read(w->space->context, heap, info, sizeof info) || info[PREVIOUS] ||
        !is_thread_arena(info[ARENA]) ||
        info[ARENA] >> ARENA_HEAP_BITS != heap >> ARENA_HEAP_BITS || !info[SIZE] ||
        info[SIZE] % ARENA_PAGE || info[SIZE] >> ARENA_HEAP_BITS > 1)
        return 0;
    bool is = w->space->read(w->space->context, info[ARENA], arena, sizeof arena) &&
              is_arena(arena, info[ARENA]);
    return is ? info[ARENA] : 0;
}

/* In all memory where a heap may be. */
static int find_by_heaps(struct cairn_arena_walking *w)
{
    const uint64_t step = UINT64_C(1) << ARENA_HEAP_BITS;
    unsigned n_probes = 0;
    for (size_t i = 0; i < w->space->n; i++) {
        const struct cairn_arena_region *region = &w->space->regions[i];
        if (region->kind != CAIRN_ARENA_ANONYMOUS)
            continue;
        for (uint64_t heap = (region->low + step - 1) & ~(step - 1);
             heap >= region->low && heap < region->high && n_probes < PROBES_MAX;
             heap += step, n_probes++) {
            uint64_t arena = arena_of(w, heap);
            int result = arena && !is_known(w, arena)
                             ? cairn_arena_push(w, &w->arenas, &w->n_arenas, &w->cap_arenas, arena)
                             : CAIRN_OK;
            if (result < 0)
                return result;
        }
    }
    return CAIRN_OK;
}

/* `ret_is_whole`: it comes back to the main arena. */
static int follow_ring(struct cairn_arena_walking *w, bool *ret_is_whole)
{
    uint64_t va = w->main_va;
    *ret_is_whole = false;
    for (size_t n = 0; n < ARENAS_MAX; n++) {
        int result = CAIRN_OK;
        if (va == w->main_va || is_thread_arena(va))
            result = cairn_arena_push(w, &w->arenas, &w->n_arenas, &w->cap_arenas, va);
        else
            tell_unknown(w, va);
        if (result < 0 || !cairn_arena_word(w->space, va + ARENA_NEXT, &va))
            return result;
        *ret_is_whole = va == w->main_va;
        if (is_known(w, va))
            return CAIRN_OK; /* or a ring without the main arena */
    }
    return CAIRN_OK;
}

int cairn_arena_find(struct cairn_arena_walking *w)
{
    bool is_whole = false;
    find_main(w, true);
    if (!w->main_va)
        find_main(w, false);
    if (!w->main_va)
        return cairn_fail(w->err, CAIRN_E_MISSING,
                          "no arena of glibc's malloc (2.30 to 2.41, 64 bit) in its data");
    int result = follow_ring(w, &is_whole);
    w->walk->is_ring_cut = !is_whole;
    return result < 0 || is_whole ? result : find_by_heaps(w);
}
