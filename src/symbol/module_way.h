/* SPDX-License-Identifier: MIT */
/*
 * Module way: how a module is read. All methods give the same answers. They differ in when the work
 * is done.
 *
 *     first look-up
 *         the cache has an index                           ──► use that index
 *         an earlier run had to decompress the module      ──► index the module, store the index
 *         else                                             ──► read unit by unit
 *                                                              (unit map from the cache if the
 *                                                              compiler wrote none)
 *     later look-ups
 *         a quarter of the units were read, or an index
 *         would have been cheaper than the look-ups so far ──► index the module, store the index
 */
#ifndef CAIRN_SYMBOL_MODULE_WAY_H
#define CAIRN_SYMBOL_MODULE_WAY_H

#include <cairn/symbolizer.h>

#include "base/buffer.h"
#include "base/file.h"
#include "cache/cache.h"
#include "symbol/index.h"

/* Debug information of less than this is read faster than an index of it is written and found
 * again, and would fill the folder with small files. */
enum { CAIRN_WAY_SMALL_BYTES = 256 << 10 };

/* The same for all modules of a symbolizer. */
struct cairn_way_settings {
    enum cairn_index_use use;
    unsigned n_threads;        /* 0: one for each CPU */
    size_t memory_bytes;       /* SIZE_MAX: no bound */
    uint64_t small_bytes;      /* CAIRN_WAY_SMALL_BYTES; 0 in tests, which have small files */
    struct cairn_cache *cache; /* NULL: none */
};

/* Of one module. */
struct cairn_module_way {
    bool begun;    /* the cache was asked */
    bool settled;  /* nothing is left to decide */
    bool gave_up;  /* an index could not be made, or had to go for the bound: never again */
    uint64_t size; /* of debug information, about */
    uint64_t n_lookups;
    uint64_t read_bytes; /* of .debug_info, unit by unit; also what was read twice */
    uint64_t held_bytes; /* of .debug_info: units whose tables are there */

    struct cairn_index index;  /* what module->index points to */
    struct cairn_file entry;   /* the bytes that it is in, out of the cache */
    struct cairn_buffer image; /* or of our own */
};

/* Before a look-up, while nobody holds an answer of the module: its contents may be dropped for an
 * index. To be called until `settled`. CAIRN_E_NOMEM. */
int cairn_module_choose_way(struct cairn_module *m, const struct cairn_way_settings *settings,
                            struct cairn_err *err);

/* The same before many. */
int cairn_module_choose_way_for(struct cairn_module *m, const struct cairn_way_settings *settings,
                                const uint64_t *vaddrs, size_t n_vaddrs, struct cairn_err *err);

/* Drops the index, if there is one; the cache is asked again. */
void cairn_module_leave_way(struct cairn_module *m);

/* Before the module is closed: keeps for the next run the map of its units, where that was missed,
 * and that its debug information had to be unpacked. */
void cairn_module_end_way(struct cairn_module *m, const struct cairn_way_settings *settings);

#endif /* CAIRN_SYMBOL_MODULE_WAY_H */
