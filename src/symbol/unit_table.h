/* SPDX-License-Identifier: MIT */
/*
 * All answers for one unit, flat: line rows and inline intervals merged, so that a look-up is one
 * binary search and a walk up the parents, without DWARF.
 *
 *     rows:        |--- a.c:3 ---|---- b.h:9 ----|-- a.c:4 --|
 *     intervals:          |------- inlined mid -------|
 *     table:       |a.c:3,|a.c:3,|b.h:9, mid     |a.c:4|a.c:4,|
 *                   outer  mid                    mid   outer
 *
 * A record holds from its start to the next one; a record without file and node ends the one before
 * it. Starts are distances from cairn_dwarf_base(), so tables of several units can be joined into
 * an index of the whole module, or be written to a file, as they are.
 */
#ifndef CAIRN_SYMBOL_UNIT_TABLE_H
#define CAIRN_SYMBOL_UNIT_TABLE_H

#include "base/arena.h"
#include "dwarf/function.h"
#include "dwarf/line.h"

struct cairn_unit_record {
    uint32_t file; /* (uint32_t)CAIRN_DWARF_NO_FILE: no line is known here */
    uint32_t line;
    uint32_t node; /* number of a node of `functions`; 0: no function is known here */
};

struct cairn_unit_table {
    /* Where the DIEs of the nodes and scopes live: the module's own .debug_info, or that of a .dwo
     * file. Lines and files are always those of the module's own unit. */
    struct cairn_dwarf_units *home;
    const struct cairn_dwarf_unit *unit;
    uint32_t *starts;                  /* sorted, apart from the records: dense to search */
    struct cairn_unit_record *records; /* records[i] begins at starts[i] */
    size_t n;
    struct cairn_dwarf_functions functions; /* nodes and scopes; intervals are merged already */
    struct cairn_dwarf_lines lines;         /* folders, and the files that records and nodes name */
    const char **paths;                     /* of files, made when asked for */
    struct cairn_arena arena;               /* what `paths` points to */
    void *block;                            /* all the arrays above, one behind the other */
    size_t block_bytes;
};

/* What tables are made in, one after the other; zeros to begin with. */
struct cairn_unit_scratch {
    struct cairn_dwarf_functions functions;
    struct cairn_dwarf_lines lines;
    uint32_t *starts, *roots;
    struct cairn_unit_record *records;
    uint32_t *number; /* by file of the program: its number in the table, from 1; 0: not used yet */
    size_t cap_starts, cap_roots, cap_records, cap_number;
};

size_t cairn_unit_scratch_bytes(const struct cairn_unit_scratch *scratch);
void cairn_unit_scratch_done(struct cairn_unit_scratch *scratch);

/*
 * Reads and merges what DWARF says of an open unit: lines as `lines` says them, an open unit of
 * `d`, functions as `unit` says them, an open unit of `home` (the same one, but for split DWARF).
 * Both are borrowed for as long as the table lives. Damage loses the part behind it and is told in
 * `err` with CAIRN_E_FORMAT or CAIRN_E_LIMIT, while `*ret_table` holds what could be read;
 * CAIRN_E_NOMEM gives no table.
 */
int cairn_unit_table_new(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *lines,
                         struct cairn_dwarf_units *home, const struct cairn_dwarf_unit *unit,
                         struct cairn_unit_table **ret_table, struct cairn_err *err);

/* The same, made in `scratch`, which may be used again for the next. */
int cairn_unit_table_new_in(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *lines,
                            struct cairn_dwarf_units *home, const struct cairn_dwarf_unit *unit,
                            struct cairn_unit_scratch *scratch, struct cairn_unit_table **ret_table,
                            struct cairn_err *err);
void cairn_unit_table_free(struct cairn_unit_table *table); /* accepts NULL */

/* What holds at this distance from the base, or NULL. */
const struct cairn_unit_record *cairn_unit_table_find(const struct cairn_unit_table *table,
                                                      uint32_t at);

/* Number of the function that a node was inlined into, in the end. */
uint32_t cairn_unit_table_outermost(const struct cairn_unit_table *table, uint32_t node);

/* Path of file number `file`, folders joined as the compiler was given them; NULL: unknown, or
 * memory is gone. Borrowed until the table is freed. */
const char *cairn_unit_table_path(struct cairn_unit_table *table,
                                  const struct cairn_dwarf_unit *unit, uint32_t file);

size_t cairn_unit_table_bytes(const struct cairn_unit_table *table);

#endif /* CAIRN_SYMBOL_UNIT_TABLE_H */
