/* SPDX-License-Identifier: MIT */
/*
 * Abbreviations (DWARF 5, 7.5.3), compiled: each says in a few steps how to cross a DIE and which
 * of its values to keep on the way.
 *
 *     DIE:    code | name strp | file data1 | type ref4 | low_pc addr | frame_base exprloc | ...
 *     steps:         keep NAME | skip 5                 , keep LOW    | (skip 0), cross     | tail
 *
 * Runs of attributes that nobody wants and whose size is known melt into one addition.
 */
#ifndef CAIRN_DWARF_ABBREV_H
#define CAIRN_DWARF_ABBREV_H

#include "base/table.h"
#include "dwarf/sections.h"

/* The values of a DIE that someone asks for; which tags keep which: abbrev_wants.c. */
enum cairn_dwarf_want {
    CAIRN_DWARF_SIBLING,
    CAIRN_DWARF_NAME,
    CAIRN_DWARF_LINKAGE,
    CAIRN_DWARF_LOW,
    CAIRN_DWARF_HIGH,
    CAIRN_DWARF_RANGES,
    CAIRN_DWARF_ORIGIN, /* DW_AT_abstract_origin, DW_AT_specification or DW_AT_signature */
    CAIRN_DWARF_DECL_LINE,
    CAIRN_DWARF_CALL_FILE,
    CAIRN_DWARF_CALL_LINE,
    CAIRN_DWARF_STMT_LIST, /* from here on: root DIEs only */
    CAIRN_DWARF_COMP_DIR,
    CAIRN_DWARF_LANGUAGE,
    CAIRN_DWARF_STR_BASE,
    CAIRN_DWARF_ADDR_BASE,
    CAIRN_DWARF_RNGLISTS_BASE,
    CAIRN_DWARF_DWO_NAME,
    CAIRN_DWARF_DWO_ID,
    CAIRN_DWARF_RANGES_BASE, /* GNU: for the .dwo's range lists */
    CAIRN_DWARF_N_WANTS,
    CAIRN_DWARF_NOTHING = CAIRN_DWARF_N_WANTS, /* cross the form, keep nothing */
};

/* How far a form reaches: its bytes where their number is fixed, up to 16, else one of these. */
enum cairn_dwarf_shape {
    CAIRN_DWARF_SHAPE_LEB = 32, /* up to a byte below 0x80 */
    CAIRN_DWARF_SHAPE_STRING,   /* up to a NUL */
    CAIRN_DWARF_SHAPE_BLOCK,    /* a LEB128 length, and as many bytes */
    CAIRN_DWARF_SHAPE_RARE
};

struct cairn_dwarf_step {
    uint16_t skip; /* bytes before the form */
    uint16_t form;
    uint8_t want;
    uint8_t shape;
    uint32_t implicit; /* index of the value itself, for DW_FORM_implicit_const */
};

enum cairn_dwarf_abbrev_kind {
    CAIRN_DWARF_OTHER,    /* its children are walked, it says nothing itself */
    CAIRN_DWARF_FUNCTION, /* subprogram, inlined subroutine, lexical block */
    CAIRN_DWARF_SCOPE,    /* part of a qualified name: namespace, class, ... */
    CAIRN_DWARF_NO_CODE   /* there can be no function below: array type, call site, ... */
};

struct cairn_dwarf_abbrev {
    uint32_t first_step;
    uint16_t n_steps;
    uint16_t tail; /* bytes behind the last step */
    uint16_t tag;
    uint8_t children; /* bool */
    uint8_t kind;     /* enum cairn_dwarf_abbrev_kind */
};

/* Of one table; the arrays lie behind it in one piece of memory, since there are thousands of them.
 */
struct cairn_dwarf_abbrevs {
    struct cairn_dwarf_abbrev *abbrevs;
    struct cairn_dwarf_step *steps;
    int64_t *implicit; /* the first is 0, for steps without one */
    size_t n, n_steps, n_implicit;
    bool sequential;         /* codes are 1, 2, 3, ... as every compiler writes them */
    struct cairn_table find; /* code -> index, where they are not */
};

/* What the sizes of forms depend on. */
struct cairn_dwarf_sizes {
    uint16_t version;
    uint8_t offset_size;  /* 4 or 8: 32-bit or 64-bit DWARF */
    uint8_t address_size; /* 2, 4 or 8 */
};

/* Where tables are made, one after the other; zeros to begin with. */
struct cairn_dwarf_abbrev_maker {
    struct cairn_dwarf_abbrevs made;
    uint64_t *codes;
    size_t cap, cap_steps, cap_implicit, cap_codes;
    struct cairn_dwarf_sizes sizes;
    uint8_t form_bytes[128]; /* with these sizes; UINT8_MAX: that stands in the data */
};

void cairn_dwarf_abbrev_maker_done(struct cairn_dwarf_abbrev_maker *maker);

/* Compiles the table at `off` of .debug_abbrev. CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_NOMEM. */
int cairn_dwarf_abbrevs_read(const struct cairn_dwarf *d, uint64_t off,
                             struct cairn_dwarf_sizes sizes, struct cairn_dwarf_abbrev_maker *maker,
                             struct cairn_dwarf_abbrevs **ret_abbrevs, struct cairn_err *err);

/* Crosses the table up to one code and compiles that abbreviation alone, the first of
 * `maker->made`; `*ret_crossed` counts the bytes. Errors as above, and CAIRN_E_FORMAT where there
 * is no such code. */
int cairn_dwarf_abbrevs_read_one(const struct cairn_dwarf *d, uint64_t off,
                                 struct cairn_dwarf_sizes sizes, uint64_t code,
                                 struct cairn_dwarf_abbrev_maker *maker, uint64_t *ret_crossed,
                                 struct cairn_err *err);
void cairn_dwarf_abbrevs_free(struct cairn_dwarf_abbrevs *abbrevs); /* accepts NULL */

const struct cairn_dwarf_abbrev *
cairn_dwarf_abbrevs_search(const struct cairn_dwarf_abbrevs *abbrevs, uint64_t code);

/* NULL where no abbreviation has that code. */
static inline const struct cairn_dwarf_abbrev *
cairn_dwarf_abbrevs_find(const struct cairn_dwarf_abbrevs *abbrevs, uint64_t code)
{
    if (__builtin_expect(abbrevs->sequential, 1))
        return code - 1 < abbrevs->n ? &abbrevs->abbrevs[code - 1] : NULL;
    return cairn_dwarf_abbrevs_search(abbrevs, code);
}

#endif /* CAIRN_DWARF_ABBREV_H */
