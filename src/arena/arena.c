/* SPDX-License-Identifier: MIT */
#include "arena/arena.h"

#include <stdlib.h>
#include <string.h>

#include "arena/layout.h"
#include "base/alloc.h"
#include "base/error.h"

const struct cairn_arena_region *cairn_arena_region_of(const struct cairn_arena_space *space,
                                                       uint64_t va)
{
    size_t low = 0, high = space->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (va >= space->regions[middle].high)
            low = middle + 1;
        else
            high = middle;
    }
    return low < space->n && va >= space->regions[low].low ? &space->regions[low] : NULL;
}

/* A region may have grown since it was listed: a heap within its 64 MiB, or what brk(2) extends. */
static bool is_within_reach(const struct cairn_arena_space *space, uint64_t va)
{
    size_t low = 0, high = space->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->regions[middle].low <= va)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    const struct cairn_arena_region *region = &space->regions[low - 1];
    return va < region->high || region->kind == CAIRN_ARENA_BREAK ||
           (region->high - 1) >> ARENA_HEAP_BITS == va >> ARENA_HEAP_BITS;
}

bool cairn_arena_word(const struct cairn_arena_space *space, uint64_t va, uint64_t *ret_word)
{
    return is_within_reach(space, va) &&
           space->read(space->context, va, ret_word, sizeof *ret_word);
}

int cairn_arena_push(struct cairn_arena_walking *w, uint64_t **list, size_t *n, size_t *cap,
                     uint64_t va)
{
    if (cairn_grow((void **)list, cap, *n + 1, sizeof **list) < 0)
        return cairn_fail_memory(w->err);
    (*list)[(*n)++] = va;
    return CAIRN_OK;
}

int cairn_arena_add_block(struct cairn_arena_walking *w, uint64_t va, uint64_t bytes)
{
    struct cairn_arena_walk *walk = w->walk;
    if (cairn_grow((void **)&walk->blocks, &walk->cap, walk->n + 1, sizeof *walk->blocks) < 0)
        return cairn_fail_memory(w->err);
    walk->blocks[walk->n++] = (struct cairn_arena_block){va, bytes};
    return CAIRN_OK;
}

static int compare_words(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

void cairn_arena_sort(uint64_t *list, size_t n)
{
    if (n)
        qsort(list, n, sizeof *list, compare_words);
}

bool cairn_arena_has(const uint64_t *sorted, size_t n, uint64_t va)
{
    return n && bsearch(&va, sorted, n, sizeof va, compare_words);
}

static int compare_blocks(const void *x, const void *y)
{
    const struct cairn_arena_block *a = x, *b = y;
    return a->va < b->va ? -1 : a->va > b->va;
}

/* In the order of addresses, each once: parts of heaps follow each other in no order. */
static void sort_blocks(struct cairn_arena_walk *walk)
{
    size_t n = 0;
    bool is_sorted = true;
    for (size_t i = 1; i < walk->n && is_sorted; i++)
        is_sorted = walk->blocks[i - 1].va < walk->blocks[i].va;
    if (!is_sorted)
        qsort(walk->blocks, walk->n, sizeof *walk->blocks, compare_blocks);
    for (size_t i = 0; i < walk->n; i++)
        if (n == 0 || walk->blocks[n - 1].va != walk->blocks[i].va)
            walk->blocks[n++] = walk->blocks[i];
    walk->n = n;
    walk->bytes = 0;
    for (size_t i = 0; i < n; i++)
        walk->bytes += walk->blocks[i].bytes;
}

/* The part of a thread arena's heap behind its head, and behind the arena if that is in it. */
static int walk_heap(struct cairn_arena_walking *w, uint64_t heap, uint64_t arena, uint64_t top)
{
    enum { SIZE_AT = 16 };
    const uint64_t mask = (UINT64_C(1) << ARENA_HEAP_BITS) - 1;
    uint64_t size, end, low = heap + (arena & mask);
    const struct cairn_arena_region *region = cairn_arena_region_of(w->space, heap);
    if (!region || !cairn_arena_word(w->space, heap + SIZE_AT, &size) || size > mask + 1) {
        w->walk->unread_bytes += region ? region->high - heap : 0;
        return CAIRN_OK;
    }
    if ((arena & ~mask) == heap)
        low = (arena + ARENA_BYTES + CHUNK_ALIGN - 1) & ~(uint64_t)(CHUNK_ALIGN - 1);
    w->walk->heap_bytes += size;
    const struct cairn_arena_part part = {
        low, heap + size, top > heap && top < heap + size ? arena + ARENA_TOP : 0, true};
    return cairn_arena_chunks(w, &part, &end);
}

static bool is_known_heap(const struct cairn_arena_walking *w, uint64_t heap)
{
    for (size_t i = 0; i < w->n_heaps; i++)
        if (w->heaps[i] == heap)
            return true;
    return false;
}

/* Heaps that do not lead to the one with the arena: what is missing of its sum. */
static void tell_missing(struct cairn_arena_walking *w, uint64_t arena, uint64_t walked)
{
    uint64_t mem;
    if (!cairn_arena_word(w->space, arena + ARENA_SYSTEM_MEM, &mem) || mem % ARENA_PAGE ||
        mem >> ARENA_MEM_BITS || mem <= walked)
        return;
    w->walk->heap_bytes += mem - walked;
    w->walk->unread_bytes += mem - walked;
}

/* A thread's arena: its heaps, from the one with the top back to the one with the arena. */
static int walk_arena(struct cairn_arena_walking *w, uint64_t arena)
{
    enum { HEAPS_MAX = 4096 };
    const uint64_t mask = (UINT64_C(1) << ARENA_HEAP_BITS) - 1, first = arena & ~mask;
    const uint64_t before = w->walk->heap_bytes;
    uint64_t top = 0, info[2];
    if (!cairn_arena_word(w->space, arena + ARENA_TOP, &top))
        return CAIRN_OK;
    uint64_t heap = top & ~mask;
    for (size_t i = 0; i < HEAPS_MAX; i++, heap = info[1]) {
        if (!cairn_arena_region_of(w->space, heap) ||
            !w->space->read(w->space->context, heap, info, sizeof info) || info[0] != arena ||
            (info[1] & mask) || is_known_heap(w, heap))
            break;
        int result = cairn_arena_push(w, &w->heaps, &w->n_heaps, &w->cap_heaps, heap);
        if (result == CAIRN_OK)
            result = walk_heap(w, heap, arena, top);
        if (result < 0 || heap == first)
            return result;
    }
    tell_missing(w, arena, w->walk->heap_bytes - before);
    return CAIRN_OK;
}

/* Parts of the main arena that are not where brk(2) is: the kernel refused to extend that. */
static int walk_piece(struct cairn_arena_walking *w, const struct cairn_arena_region *region,
                      uint64_t top, uint64_t *known)
{
    uint64_t end;
    bool has_top = top > region->low && top < region->high;
    const struct cairn_arena_part part = {region->low, region->high,
                                          has_top ? w->main_va + ARENA_TOP : 0};
    if (!has_top && !cairn_arena_is_chain(w, region->low, region->high))
        return CAIRN_OK;
    int result = cairn_arena_chunks(w, &part, &end);
    *known += end - region->low;
    return result;
}

/* Where the chunk at `top` ends; 0: what stands there is no size. */
static uint64_t end_of_top(const struct cairn_arena_walking *w, uint64_t top)
{
    uint64_t size;
    if (!cairn_arena_word(w->space, top + 8, &size) || size >> ARENA_MEM_BITS)
        return 0;
    return top + (size & ~(uint64_t)CHUNK_FLAGS);
}

static int walk_main(struct cairn_arena_walking *w)
{
    uint64_t top, system_mem, end, known = 0;
    if (!cairn_arena_word(w->space, w->main_va + ARENA_TOP, &top) ||
        !cairn_arena_word(w->space, w->main_va + ARENA_SYSTEM_MEM, &system_mem))
        return CAIRN_OK;
    const struct cairn_arena_region *region = cairn_arena_region_of(w->space, top);
    const uint64_t top_end = end_of_top(w, top);
    w->walk->heap_bytes += system_mem;
    int result = CAIRN_OK;
    if (region && top_end && system_mem <= top_end - region->low) {
        w->first_va = top_end - system_mem;
        const struct cairn_arena_part part = {(w->first_va + CHUNK_ALIGN - 1) &
                                                  ~(uint64_t)(CHUNK_ALIGN - 1),
                                              top_end, w->main_va + ARENA_TOP};
        w->walk->main_low = w->first_va;
        w->walk->main_high = top_end;
        result = cairn_arena_chunks(w, &part, &end);
        known = system_mem;
    }
    for (size_t i = 0; result == CAIRN_OK && known < system_mem && i < w->space->n; i++) {
        const struct cairn_arena_region *other = &w->space->regions[i];
        if (other->kind != CAIRN_ARENA_DATA)
            result = walk_piece(w, other, top, &known);
    }
    if (known < system_mem)
        w->walk->unread_bytes += system_mem - known;
    return result;
}

static int walk_all(struct cairn_arena_walking *w)
{
    int result = cairn_arena_find(w);
    if (result == CAIRN_OK)
        result = walk_main(w);
    for (size_t i = 1; result == CAIRN_OK && i < w->n_arenas; i++)
        result = walk_arena(w, w->arenas[i]);
    if (result == CAIRN_OK)
        result = cairn_arena_take_out_cached(w);
    if (result == CAIRN_OK)
        result = cairn_arena_mapped(w);
    return result;
}

int cairn_arena_walk(const struct cairn_arena_space *space, struct cairn_arena_walk *ret_walk,
                     struct cairn_err *err)
{
    struct cairn_arena_walk walk = {0};
    struct cairn_arena_walking w = {.space = space, .walk = &walk, .err = err};
    w.buffer = cairn_alloc(1, CAIRN_ARENA_BUFFER);
    int result = w.buffer ? walk_all(&w) : cairn_fail_memory(err);
    cairn_free(w.buffer);
    cairn_free(w.heaps);
    cairn_free(w.arenas);
    cairn_free(w.cached);
    if (result < 0) {
        cairn_arena_walk_done(&walk);
        return result;
    }
    sort_blocks(&walk);
    walk.n_arenas = (uint32_t)w.n_arenas;
    *ret_walk = walk;
    return CAIRN_OK;
}

void cairn_arena_walk_done(struct cairn_arena_walk *walk)
{
    cairn_free(walk->blocks);
    *walk = (struct cairn_arena_walk){0};
}
