/* SPDX-License-Identifier: MIT */
/* What an index is made of: the tables of all units that claim code, read by several threads, with
 * their functions named. */
#ifndef CAIRN_SYMBOL_INDEX_UNITS_H
#define CAIRN_SYMBOL_INDEX_UNITS_H

#include "symbol/module.h"

struct cairn_index_unit {
    struct cairn_dwarf_unit *unit;      /* of the module's own */
    struct cairn_dwarf_units *home;     /* where its functions are described, */
    struct cairn_dwarf_unit *described; /* and by what; NULL: nowhere */

    struct cairn_unit_table *table;   /* NULL: nothing could be read */
    struct cairn_function *functions; /* each once; `shown` is the qualified name where there is no
                                         linkage name */
    size_t n_functions, cap_functions;
    uint32_t *function_of;    /* by node - 1: index in functions */
    struct cairn_arena names; /* qualified ones */
    struct cairn_err *damage; /* the first; NULL: none */
    int code;                 /* CAIRN_E_NOMEM, or CAIRN_OK */
};

struct cairn_index_units {
    struct cairn_module *module;
    struct cairn_index_unit *units; /* in the order of .debug_info */
    size_t n;
};

/* Lists the units that aranges or root DIEs say something of, and opens all that threads will look
 * at. CAIRN_E_NOMEM. */
int cairn_index_units_list(struct cairn_module *m, struct cairn_index_units *ret_units,
                           struct cairn_err *err);

/* Reads all of them; damage is logged at the end. CAIRN_E_NOMEM. */
int cairn_index_units_read(struct cairn_index_units *units, unsigned n_threads,
                           struct cairn_err *err);

/* The one whose header is at this offset, or NULL. */
struct cairn_index_unit *cairn_index_units_at(const struct cairn_index_units *units, uint32_t off);

/* Frees all of a unit but starts and records of its table. */
void cairn_index_unit_trim(struct cairn_index_unit *unit);
void cairn_index_units_done(struct cairn_index_units *units);

/* Runs `work(ctx, i)` for each i below n, by up to n_threads threads, the calling one among them,
 * and returns when all are done. */
void cairn_index_share_out(unsigned n_threads, size_t n, void (*work)(void *ctx, size_t i),
                           void *ctx);

#endif /* CAIRN_SYMBOL_INDEX_UNITS_H */
