/* SPDX-License-Identifier: MIT */
/* What an index is made of: the tables of all units that claim code, read by several threads, with
 * their functions named. */
#ifndef CAIRN_SYMBOL_INDEX_UNITS_H
#define CAIRN_SYMBOL_INDEX_UNITS_H

#include "symbol/index_memory.h"
#include "symbol/index_threads.h"
#include "symbol/module.h"

/* A function of a unit; texts are borrowed from sections and from `texts` of the unit. */
struct cairn_index_said {
    const char *linkage, *name; /* NULL: none */
    const char *qualified;      /* where there is a name and no linkage name */
    uint32_t decl_line;
};

struct cairn_index_unit {
    struct cairn_dwarf_unit *unit;      /* of the module's own */
    struct cairn_dwarf_units *home;     /* where its functions are described, */
    struct cairn_dwarf_unit *described; /* and by what; NULL: nowhere */
    struct cairn_err *damage;           /* the first; NULL: none */
    int code;                           /* CAIRN_E_NOMEM, or CAIRN_OK */
    struct cairn_unit_table *table;     /* while it is being read */
    struct cairn_function *functions;   /* likewise; `shown` is the qualified name */
    size_t n_functions, cap_functions;
    struct cairn_buffer text; /* likewise; the qualified name in the making */

    /* Once it is read; all but the texts of `said` in the memory of a thread. Files are numbers in
     * `paths`, counted from 1, or 0, or CAIRN_DWARF_NO_FILE; nodes have a number in `said` where
     * their DIE was. */
    const uint32_t *starts;
    struct cairn_unit_record *records;
    size_t n;
    struct cairn_dwarf_node *nodes;
    uint32_t n_nodes;
    const struct cairn_index_said *said;
    uint32_t n_said;
    const char **paths;
    uint32_t n_paths;
    struct cairn_arena texts; /* qualified names and paths */
};

struct cairn_index_units {
    struct cairn_module *module;
    struct cairn_index_unit *units; /* in the order of .debug_info */
    size_t n;
    struct cairn_index_memory memories[CAIRN_INDEX_THREADS_MAX];
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

void cairn_index_units_done(struct cairn_index_units *units);

#endif /* CAIRN_SYMBOL_INDEX_UNITS_H */
