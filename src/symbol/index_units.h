/* SPDX-License-Identifier: MIT */
/* What an index is made of: the tables of all units that claim code, read by several threads, with
 * their functions named. */
#ifndef CAIRN_SYMBOL_INDEX_UNITS_H
#define CAIRN_SYMBOL_INDEX_UNITS_H

#include "symbol/index_budget.h"
#include "symbol/index_threads.h"
#include "symbol/index_unit.h"

struct cairn_index_units {
    struct cairn_module *module;
    struct cairn_index_unit *units; /* in the order of .debug_info */
    size_t n;
    struct cairn_index_budget *budget; /* borrowed */
    struct cairn_index_memory memories[CAIRN_INDEX_THREADS_MAX];
    struct cairn_unit_scratch scratches[CAIRN_INDEX_THREADS_MAX];
    size_t n_scratch_bytes[CAIRN_INDEX_THREADS_MAX]; /* that the budget knows of */
};

/* Lists the units that aranges or root DIEs say something of, and opens all that threads will look
 * at. CAIRN_E_NOMEM. */
int cairn_index_units_list(struct cairn_module *m, struct cairn_index_units *ret_units,
                           struct cairn_err *err);

/* Does with a unit what must be done in the order of the units, in any thread. */
typedef int (*cairn_index_unit_take)(void *ctx, struct cairn_index_unit *unit,
                                     struct cairn_err *err);

/* Reads all of them and has each taken, after which only what is for good stays of it. Damage is
 * logged by the calling thread. CAIRN_E_LIMIT, CAIRN_E_NOMEM, or what `take` returned. */
int cairn_index_units_read(struct cairn_index_units *units, unsigned n_threads,
                           cairn_index_unit_take take, void *ctx, struct cairn_err *err);

/* The one whose header is at this offset, or NULL. */
struct cairn_index_unit *cairn_index_units_at(const struct cairn_index_units *units, uint32_t off);

void cairn_index_units_done(struct cairn_index_units *units);

#endif /* CAIRN_SYMBOL_INDEX_UNITS_H */
