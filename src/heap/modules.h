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

enum { CAIRN_HEAP_LINE = 1024 /* of /proc/self/maps: the rest of a longer one is lost */ };

/* What is read of /proc/self/maps at a time, and one line of it. */
struct cairn_heap_maps_text {
    char buffer[4096];
    char line[CAIRN_HEAP_LINE];
};

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
    struct cairn_heap_maps_text text;
};

/* Makes sure that the mapping of an address is noted, if there is one. */
void cairn_heap_modules_meet(struct cairn_heap_modules *modules, struct cairn_tracked_state *state,
                             uint64_t va);

/* Looks anew, since modules may have been unloaded. True: one that stacks went through is gone, and
 * what lies at its addresses, now or later, is other code. */
bool cairn_heap_modules_refresh(struct cairn_heap_modules *modules,
                                struct cairn_tracked_state *state);

/* Calls `fn` with each line of /proc/self/maps, until it returns false. False: the file cannot be
 * read. */
typedef bool cairn_heap_line_fn(void *context, const char *line);
bool cairn_heap_maps_each(struct cairn_heap_maps_text *text, cairn_heap_line_fn *fn, void *context);

/* One line of /proc/PID/maps. False: it is none. The path is what `line` has from *ret_path on, up
 * to its end. */
bool cairn_heap_mapping_read(const char *line, struct cairn_tracked_mapping *ret, bool *ret_is_code,
                             const char **ret_path);

#endif /* CAIRN_HEAP_MODULES_H */
