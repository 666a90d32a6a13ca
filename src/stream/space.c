/* SPDX-License-Identifier: MIT */
#include "stream/space.h"

#include "base/alloc.h"
#include "base/below.h"

void cairn_stream_space_clear(struct cairn_stream_space *space, struct cairn_stream_load *load)
{
    load->n_maps -= space->n;
    cairn_free(space->maps);
    space->maps = NULL;
    space->n = space->cap = 0;
    space->program = 0;
    space->is_leaving = false;
    cairn_stream_space_touch(space, load);
}

void cairn_stream_space_leave(struct cairn_stream_space *space)
{
    space->n_execs++;
    space->is_leaving = true;
    space->program = 0;
}

void cairn_stream_space_drop_old(struct cairn_stream_space *space, struct cairn_stream_load *load)
{
    size_t n = 0;
    for (size_t i = 0; i < space->n; i++)
        if (space->maps[i].n_execs == space->n_execs)
            space->maps[n++] = space->maps[i];
    load->n_maps -= space->n - n;
    space->n = n;
    space->is_leaving = false;
    cairn_stream_space_touch(space, load);
}

/* For all spaces together. */
static bool is_too_much(const struct cairn_stream_load *load, size_t n_maps)
{
    return load->is_bounded &&
           (n_maps > CAIRN_STREAM_ALL_MAX || load->n_moved > CAIRN_STREAM_ALL_MOVED_MAX);
}

/* Index of the first mapping that ends above `va`. */
static size_t lower_bound(const struct cairn_stream_space *space, uint64_t va)
{
    return CAIRN_COUNT_BELOW(space->maps, space->n, end, va);
}

struct cairn_stream_map *cairn_stream_space_find(const struct cairn_stream_space *space,
                                                 uint64_t va)
{
    size_t i = lower_bound(space, va);
    return i < space->n && space->maps[i].start <= va ? &space->maps[i] : NULL;
}

/*
 *     before   [---a---)   [--b--)  [---c---)
 *     new           [=============)
 *     after    [-a-)[=============)   [-c---)     a and c keep what the new one leaves of them
 */
int cairn_stream_space_lay(struct cairn_stream_space *space, const struct cairn_stream_map *map,
                           struct cairn_stream_load *load)
{
    size_t first = lower_bound(space, map->start), last = first;
    struct cairn_stream_map pieces[3];
    size_t n = 0;
    if (map->end <= map->start) /* impossible: it is left out */
        return 1;
    while (last < space->n && space->maps[last].start < map->end)
        last++;
    if (first < last && space->maps[first].start < map->start) {
        pieces[n] = space->maps[first];
        pieces[n++].end = map->start;
    }
    pieces[n] = *map;
    pieces[n++].n_execs = space->n_execs;
    if (first < last && space->maps[last - 1].end > map->end) {
        pieces[n] = space->maps[last - 1];
        pieces[n].off += map->end - pieces[n].start;
        pieces[n++].start = map->end;
    }
    size_t need = space->n - (last - first) + n, all = load->n_maps - space->n + need;
    if (need > CAIRN_STREAM_MAPPINGS_MAX || is_too_much(load, all) ||
        (load->is_bounded && space->n_moved > CAIRN_STREAM_MOVED_MAX))
        return 0;
    if (cairn_grow((void **)&space->maps, &space->cap, need, sizeof *space->maps) < 0)
        return CAIRN_E_NOMEM;
    memmove(space->maps + first + n, space->maps + last, (space->n - last) * sizeof *space->maps);
    memcpy(space->maps + first, pieces, n * sizeof *pieces);
    space->n = need;
    load->n_maps = all;
    space->n_moved += need - first;
    load->n_moved += need - first;
    cairn_stream_space_touch(space, load);
    return 1;
}

int cairn_stream_space_copy(struct cairn_stream_space *to, const struct cairn_stream_space *from,
                            struct cairn_stream_load *load)
{
    cairn_stream_space_clear(to, load);
    if (is_too_much(load, load->n_maps + from->n))
        return 0;
    if (cairn_grow((void **)&to->maps, &to->cap, from->n, sizeof *to->maps) < 0)
        return CAIRN_E_NOMEM;
    if (from->n)
        memcpy(to->maps, from->maps, from->n * sizeof *to->maps);
    to->n = from->n;
    to->program = from->program;
    to->is_leaving = from->is_leaving;
    to->n_execs = from->n_execs;
    load->n_maps += to->n;
    load->n_moved += to->n;
    return 1;
}
