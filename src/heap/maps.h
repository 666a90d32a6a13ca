/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Maps: the mappings that live (rt/heap_state.h), where --mmap asks for them. There are some
 * thousands at most, and who makes one waits for the kernel anyway: a lock, and their places in the
 * order of their addresses. What a call takes away is told before anybody else can get it: the lock
 * is held over the call.
 */
#ifndef CAIRN_HEAP_MAPS_H
#define CAIRN_HEAP_MAPS_H

#include "heap/state.h"

enum {
    CAIRN_HEAP_MAPS_A_CHUNK = CAIRN_HEAP_CHUNK / (int)sizeof(struct cairn_heap_map),
    CAIRN_HEAP_MAP_CHUNKS = 512 /* a million, more than kernels allow */
};

struct cairn_heap_maps {
    struct cairn_lock lock;
    uint32_t n, n_made; /* that live, and places that there are */
    uint32_t n_chunks;
    uint32_t *order; /* numbers of places: the first n by address, then those that are free */
    struct cairn_heap_map *chunks[CAIRN_HEAP_MAP_CHUNKS];
};

/* A mapping. */
struct cairn_heap_range {
    uint64_t from, to; /* to > from */
    uint32_t stack, epoch;
    enum cairn_heap_map_kind kind;
};

/* Both with the lock held. Puts one in the place of whatever was there; counted as lost where there
 * is no room. */
void cairn_heap_maps_put(struct cairn_heap_maps *maps, struct cairn_tracked_state *state,
                         const struct cairn_heap_range *range);
/* [from, to) is mapped no more, or was not. */
void cairn_heap_maps_cut(struct cairn_heap_maps *maps, struct cairn_tracked_state *state,
                         uint64_t from, uint64_t to);
/* What kind of mapping `va` is in; `otherwise` where it is in none. */
enum cairn_heap_map_kind cairn_heap_maps_kind(const struct cairn_heap_maps *maps, uint64_t va,
                                              enum cairn_heap_map_kind otherwise);

#endif /* CAIRN_HEAP_MAPS_H */
