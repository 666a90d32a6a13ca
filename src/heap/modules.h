/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Modules: which mappings the addresses of stacks are in, noted while they are there, so that
 * stacks can be named when they are gone. /proc/self/maps is read when a new stack has an address
 * in no mapping that is known, and when modules may have been unloaded.
 */
#ifndef CAIRN_HEAP_MODULES_H
#define CAIRN_HEAP_MODULES_H

#include "heap/state.h"
#include "rt/own_maps.h"

/* A mapping of code. */
struct cairn_tracked_mapping {
    uint64_t from, to, off, inode;
    uint32_t dev_major, dev_minor;
    bool is_used; /* a stack went through it */
    bool is_seen; /* it is still there, as of the present look */
};

/* All guarded by the lock of stacks. */
struct cairn_heap_modules {
    struct cairn_tracked_mapping *known; /* sorted by `from`, apart */
    uint32_t n, room;
    uint32_t last;      /* the one that was found last */
    uint32_t n_records; /* written */
    uint32_t n_chunks;
    uint8_t *chunk; /* the present one */
    uint32_t chunk_used;
    uint64_t generation; /* cairn_unload_generation at the last look */
    uint64_t unknown;    /* the page of an address that is in no mapping: not looked for again */
    struct cairn_own_maps_text text;
};

/* Makes sure that the mapping of an address is noted, if there is one. */
void cairn_heap_modules_meet(struct cairn_heap_modules *modules, struct cairn_tracked_state *state,
                             uint64_t va);

/* Looks anew, since modules may have been unloaded. True: one that stacks went through is gone, and
 * what lies at its addresses, now or later, is other code. */
bool cairn_heap_modules_refresh(struct cairn_heap_modules *modules,
                                struct cairn_tracked_state *state);

#endif /* CAIRN_HEAP_MODULES_H */
