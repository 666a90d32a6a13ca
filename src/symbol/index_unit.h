/* SPDX-License-Identifier: MIT */
/* One unit on its way into an index: its table with all functions named. */
#ifndef CAIRN_SYMBOL_INDEX_UNIT_H
#define CAIRN_SYMBOL_INDEX_UNIT_H

#include "symbol/index_budget.h"
#include "symbol/index_memory.h"
#include "symbol/module.h"

/* A function of a unit; texts are borrowed from sections. */
struct cairn_index_said {
    const char *linkage, *name; /* NULL: none */
    uint32_t decl_line;
    uint32_t die;    /* where the search for the names began */
    uint32_t around; /* what is around it, of `around` of the unit; where there is a name and no */
    uint32_t n_around; /* linkage name */
    bool is_qualified; /* that is known */
    bool is_plain;     /* `linkage` is `name` */
};

struct cairn_index_unit {
    struct cairn_dwarf_unit *unit;      /* of the module's own */
    struct cairn_dwarf_units *home;     /* where its functions are described, */
    struct cairn_dwarf_unit *described; /* and by what; NULL: nowhere */
    struct cairn_err *damage;           /* the first; NULL: none */
    int code;                           /* CAIRN_E_NOMEM, CAIRN_E_LIMIT, or CAIRN_OK */
    struct cairn_index_budget *budget;  /* borrowed */
    uint64_t n_lent;                    /* bytes of it that come back when the unit is dropped */
    struct cairn_unit_table *table;     /* until it is settled */

    /* From then on until it is taken. Nodes have a number in `said` where their DIE was. */
    struct cairn_dwarf_node *nodes;
    uint32_t n_nodes;
    struct cairn_index_said *said;
    size_t n_said, cap_said;
    const char **around; /* names of scopes */
    size_t n_around, cap_around;
    const char **paths;       /* by file; NULL: nobody speaks of it, or it is unknown */
    struct cairn_arena texts; /* paths */

    /* For good, in the memory of a thread; nodes and files are numbers of the table. */
    const uint32_t *starts;
    const struct cairn_unit_record *records;
    size_t n;
    uint32_t *files; /* n_files + 1 numbers in the image, 0 before they are taken and for the last
                        one, which stands for all that there are not */
    uint32_t n_files;
    uint32_t first_node; /* what is added to a node for its number in the image */
};

/* The file's number in the image; 0: none. */
static inline uint32_t cairn_index_unit_file(const struct cairn_index_unit *u, uint32_t file)
{
    return u->files[file < u->n_files ? file : u->n_files];
}

/* Reads the names of all functions of the table; qualifies those that are declared in the unit
 * itself, and leaves the others. CAIRN_E_NOMEM; CAIRN_E_LIMIT: the budget is spent. */
int cairn_index_unit_name(struct cairn_index_unit *u, struct cairn_err *err);

/* Qualifies what was left, for which other units may have to be opened. CAIRN_E_NOMEM,
 * CAIRN_E_LIMIT. */
int cairn_index_unit_name_rest(struct cairn_index_unit *u, struct cairn_module *m,
                               struct cairn_err *err);

/* Was nothing left? */
bool cairn_index_unit_is_named(const struct cairn_index_unit *u);

/* Keeps of the table what the image will have, and frees it. CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_index_unit_settle(struct cairn_index_unit *u, struct cairn_index_memory *memory);

/* Frees all that is not for good. */
void cairn_index_unit_drop(struct cairn_index_unit *u);

#endif /* CAIRN_SYMBOL_INDEX_UNIT_H */
