/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/maps.h"

#include <string.h>

#include "rt/pages.h"

enum { MOST = CAIRN_HEAP_MAP_CHUNKS * CAIRN_HEAP_MAPS_A_CHUNK };

static struct cairn_heap_map *place(const struct cairn_heap_maps *maps, uint32_t number)
{
    return &maps->chunks[number / CAIRN_HEAP_MAPS_A_CHUNK][number % CAIRN_HEAP_MAPS_A_CHUNK];
}

static struct cairn_heap_map *at(const struct cairn_heap_maps *maps, uint32_t i)
{
    return place(maps, maps->order[i]);
}

/* The first one that ends above `va`. */
static uint32_t first_above(const struct cairn_heap_maps *maps, uint64_t va)
{
    uint32_t low = 0, high = maps->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (atomic_load_explicit(&at(maps, middle)->to, memory_order_relaxed) > va)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool have_place(struct cairn_heap_maps *maps, struct cairn_tracked_state *state)
{
    if (maps->n < maps->n_made)
        return true;
    if (maps->n_made == MOST)
        return false;
    if (!maps->order)
        maps->order = cairn_pages_map(MOST * sizeof(maps->order[0]));
    if (maps->order && maps->n_made / CAIRN_HEAP_MAPS_A_CHUNK == maps->n_chunks) {
        struct cairn_heap_map *chunk =
            cairn_heap_state_take(state, CAIRN_HEAP_MAPS, 1, 0, maps->n_chunks);
        if (!chunk)
            return false;
        maps->chunks[maps->n_chunks++] = chunk;
    }
    if (!maps->order)
        return false;
    maps->order[maps->n_made] = maps->n_made;
    maps->n_made++;
    return true;
}

static void count(struct cairn_tracked_state *state, const struct cairn_heap_map *map, int maps,
                  int64_t bytes)
{
    struct cairn_heap_header *header = state->header;
    if (map->kind == CAIRN_HEAP_MAP_ALLOCATOR)
        return;
    atomic_fetch_add_explicit(&header->live_maps, (uint64_t)maps, memory_order_relaxed);
    uint64_t live =
        atomic_fetch_add_explicit(&header->live_map_bytes, (uint64_t)bytes, memory_order_relaxed) +
        (uint64_t)bytes;
    if (live > atomic_load_explicit(&header->peak_map_bytes, memory_order_relaxed))
        atomic_store_explicit(&header->peak_map_bytes, live, memory_order_relaxed);
}

/* As the i-th; what it covers was cut out before. */
static bool insert(struct cairn_heap_maps *maps, struct cairn_tracked_state *state, uint32_t i,
                   const struct cairn_heap_range *range)
{
    if (!have_place(maps, state)) {
        cairn_heap_state_lose(state, CAIRN_HEAP_LOSS_MAPPING, range->to - range->from);
        return false;
    }
    uint32_t number = maps->order[maps->n];
    memmove(maps->order + i + 1, maps->order + i, (maps->n - i) * sizeof(maps->order[0]));
    maps->order[i] = number;
    maps->n++;
    struct cairn_heap_map *map = place(maps, number);
    map->stack = range->stack;
    map->epoch = range->epoch;
    map->kind = range->kind;
    atomic_store_explicit(&map->to, range->to, memory_order_relaxed);
    atomic_store_explicit(&map->from, range->from, memory_order_release);
    count(state, map, 1, (int64_t)(range->to - range->from));
    return true;
}

static void take_out(struct cairn_heap_maps *maps, struct cairn_tracked_state *state, uint32_t i)
{
    struct cairn_heap_map *map = at(maps, i);
    uint32_t number = maps->order[i];
    count(state, map, -1, (int64_t)(map->from - map->to));
    atomic_store_explicit(&map->from, 0, memory_order_release);
    maps->n--;
    memmove(maps->order + i, maps->order + i + 1, (maps->n - i) * sizeof(maps->order[0]));
    maps->order[maps->n] = number;
}

/* From within: two are left of it. */
static void split(struct cairn_heap_maps *maps, struct cairn_tracked_state *state, uint32_t i,
                  uint64_t from, uint64_t to)
{
    struct cairn_heap_map *map = at(maps, i);
    const struct cairn_heap_range rest = {
        .from = to,
        .to = map->to,
        .stack = map->stack,
        .epoch = map->epoch,
        .kind = map->kind,
    };
    count(state, map, 0, (int64_t)(from - map->to));
    atomic_store_explicit(&map->to, from, memory_order_relaxed);
    insert(maps, state, i + 1, &rest);
}

void cairn_heap_maps_cut(struct cairn_heap_maps *maps, struct cairn_tracked_state *state,
                         uint64_t from, uint64_t to)
{
    uint32_t i = first_above(maps, from);
    while (i < maps->n && at(maps, i)->from < to) {
        struct cairn_heap_map *map = at(maps, i);
        if (map->from >= from && map->to <= to) {
            take_out(maps, state, i);
        } else if (map->from < from && map->to > to) {
            split(maps, state, i, from, to);
            return;
        } else if (map->from < from) {
            count(state, map, 0, (int64_t)(from - map->to));
            atomic_store_explicit(&map->to, from, memory_order_relaxed);
            i++;
        } else {
            count(state, map, 0, (int64_t)(map->from - to));
            atomic_store_explicit(&map->from, to, memory_order_relaxed);
            return;
        }
    }
}

void cairn_heap_maps_put(struct cairn_heap_maps *maps, struct cairn_tracked_state *state,
                         const struct cairn_heap_range *range)
{
    cairn_heap_maps_cut(maps, state, range->from, range->to);
    if (!insert(maps, state, first_above(maps, range->from), range) ||
        range->kind == CAIRN_HEAP_MAP_ALLOCATOR)
        return;
    atomic_fetch_add_explicit(&state->header->n_mapped, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&state->header->mapped_bytes, range->to - range->from,
                              memory_order_relaxed);
}

enum cairn_heap_map_kind cairn_heap_maps_kind(const struct cairn_heap_maps *maps, uint64_t va,
                                              enum cairn_heap_map_kind otherwise)
{
    uint32_t i = first_above(maps, va);
    return i < maps->n && at(maps, i)->from <= va ? (enum cairn_heap_map_kind)at(maps, i)->kind
                                                  : otherwise;
}
