/* SPDX-License-Identifier: MIT */
/*
 * Prototype: the names and types of a function's parameters, as far as they tell what a register
 * holds where the function begins.
 */
#ifndef CAIRN_DWARF_PROTOTYPE_H
#define CAIRN_DWARF_PROTOTYPE_H

#include "dwarf/signature.h"

enum {
    CAIRN_DWARF_PARAMETERS_MAX = 16,
    CAIRN_DWARF_ENUMERATORS_MAX = 256 /* of a type; the rest has no names */
};

enum cairn_dwarf_what {
    CAIRN_DWARF_VOID,
    CAIRN_DWARF_SIGNED,
    CAIRN_DWARF_UNSIGNED, /* also bool, and characters that have no sign */
    CAIRN_DWARF_REAL,
    CAIRN_DWARF_POINTER, /* also a reference */
    CAIRN_DWARF_TEXT,    /* a pointer to char */
    CAIRN_DWARF_ENUM,
    CAIRN_DWARF_RECORD, /* structures, unions and arrays */
    CAIRN_DWARF_STRANGE /* anything else, and what is damaged */
};

struct cairn_dwarf_type {
    enum cairn_dwarf_what what;
    uint64_t bytes;               /* 0: not known */
    struct cairn_dwarf_spot spot; /* of an enum */
};

struct cairn_dwarf_parameter {
    const char *name; /* of a section; NULL: none */
    struct cairn_dwarf_type type;
};

struct cairn_dwarf_prototype {
    struct cairn_dwarf_parameter items[CAIRN_DWARF_PARAMETERS_MAX];
    unsigned n; /* those behind CAIRN_DWARF_PARAMETERS_MAX are left out */
    struct cairn_dwarf_type result;
    bool is_c;          /* else C++ */
    bool is_by_the_abi; /* false: another language, or a compiler changed what callers pass */
};

/* The subprogram of the open unit that begins at `vaddr`. False: there is none. */
bool cairn_dwarf_subprogram_at(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                               uint64_t vaddr, uint64_t *ret_die);

/* The prototype of the subprogram at `die` of an open unit. Damage ends the list. CAIRN_E_NOMEM. */
int cairn_dwarf_prototype_read(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                               uint64_t die, struct cairn_dwarf_prototype *ret_prototype);

/* Calls `fn` for each name of an enum; a nonzero answer ends it. CAIRN_E_NOMEM, or the answer. */
int cairn_dwarf_enumerators(const struct cairn_dwarf_spot *spot,
                            int (*fn)(void *ctx, const char *name, uint64_t value), void *ctx);

#endif /* CAIRN_DWARF_PROTOTYPE_H */
