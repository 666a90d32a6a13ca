/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * CFI: the call frame information of one section, .eh_frame (LSB Core 5.0, 10.6) or .debug_frame
 * (DWARF 5, 6.4): which function an entry (FDE) is for, and for each pc in it how the caller's
 * registers are found.
 *
 *     section   | CIE | FDE | FDE | CIE | FDE ... | 0 |
 *     an FDE    pc range -> rows { from pc on: CFA = reg + n | expression; each register's rule }
 *
 * Nothing here allocates, logs or takes a lock: it also runs in a signal handler and inside malloc.
 */
#ifndef CAIRN_DWARF_CFI_H
#define CAIRN_DWARF_CFI_H

#include "base/span.h"

/* DWARF's register numbers of the psABIs: x86-64 0..16 (16 is the return address), aarch64 0..31
 * and 34 (RA_SIGN_STATE), arm 0..15. Those beyond are read over. */
enum { CAIRN_CFI_REGS = 35 };

enum cairn_cfi_where {
    CAIRN_CFI_SAME,      /* the callee left it alone (also where nothing is said) */
    CAIRN_CFI_UNDEFINED, /* also a CFA that nothing was said of, or that hangs on a register beyond
                          */
    CAIRN_CFI_AT_CFA,    /* saved at CFA + value */
    CAIRN_CFI_IS_CFA,    /* is CFA + value */
    CAIRN_CFI_IN_REG,    /* in register `reg`; as the rule of the CFA: reg + value */
    CAIRN_CFI_AT_EXPR,   /* saved where the expression says */
    CAIRN_CFI_IS_EXPR    /* is what the expression says; also a CFA's */
};

/* Of RA_SIGN_STATE (aarch64, register 34) `where` stays CAIRN_CFI_SAME and `value` is the state:
 * 1: the return address is signed, 2 beside it: with the pc that signed it, too. */
struct cairn_cfi_rule {
    uint8_t where; /* enum cairn_cfi_where */
    uint8_t reg;
    uint32_t expr_size; /* bytes */
    int64_t value;      /* bytes; of an expression: where it begins in the section */
};

struct cairn_cfi_row {
    uint64_t from, to; /* vaddrs [from, to) */
    struct cairn_cfi_rule cfa;
    struct cairn_cfi_rule regs[CAIRN_CFI_REGS];
};

/* A row whose return address is undefined ends a stack. This library's own sections also mark rows
 * of functions that switch stacks, by an empty expression for the CFA: their caller is on another
 * stack. No compiler writes one. */
static inline bool cairn_cfi_row_is_switch(const struct cairn_cfi_row *row)
{
    return row->cfa.where == CAIRN_CFI_IS_EXPR && !row->cfa.expr_size;
}

/* Filled by the caller. */
struct cairn_cfi {
    struct cairn_span bytes; /* the section; of one in memory: up to its segment's end */
    uint64_t vaddr;          /* of its first byte */
    struct cairn_span hdr;   /* .eh_frame_hdr; empty: none */
    uint64_t hdr_vaddr;
    uint64_t text_vaddr, data_vaddr; /* for DW_EH_PE_textrel and datarel; 0: not known */
    uint16_t machine;                /* EM_X86_64, ... */
    uint8_t address_size;            /* 4 or 8 */
    bool debug_frame;
    bool swap;
};

struct cairn_cie {
    uint64_t off; /* in the section */
    uint64_t code_align;
    int64_t data_align;
    uint32_t ra_reg;
    uint8_t version, address_size, segment_size, pointer_encoding, lsda_encoding;
    bool has_z, is_signal_frame, b_key; /* augmentations z, S, B */
    struct cairn_span program;
};

struct cairn_fde {
    uint64_t off;      /* in the section */
    uint64_t from, to; /* vaddrs of its function */
    struct cairn_span program;
    struct cairn_cie cie;
};

/* Why an entry cannot be used. */
enum cairn_cfi_damage {
    CAIRN_CFI_SOUND,
    CAIRN_CFI_CUT,          /* it or one of its numbers does not end inside */
    CAIRN_CFI_NO_CIE,       /* no CIE where the FDE says */
    CAIRN_CFI_VERSION,      /* neither 1, 3 nor 4 */
    CAIRN_CFI_EH_DATA,      /* augmentation "eh" of GCC 2 */
    CAIRN_CFI_AUGMENTATION, /* a letter beyond z R P L S B G */
    CAIRN_CFI_ENCODING,     /* of a pointer: none of LSB's, or counted from what is not known */
    CAIRN_CFI_INDIRECT,     /* of a pointer: to be read from the memory of the program */
    CAIRN_CFI_ADDRESS_SIZE, /* neither 2, 4 nor 8 */
    CAIRN_CFI_RANGE,        /* the function ends beyond the address space */
    CAIRN_CFI_LIMIT,        /* a CIE so long that each of its FDEs would cost too much */
};

/* In words, for messages: "augmentation of GCC 2". */
const char *cairn_cfi_damage_text(enum cairn_cfi_damage damage);

/* `cie`s that were met lately: entries of one object file share a few. */
enum { CAIRN_CFI_ITER_CIES = 4 };

/* Begins as {.cfi = cfi}; `off` may be set to any entry of the section. */
struct cairn_cfi_iter {
    const struct cairn_cfi *cfi;
    uint64_t off; /* of the entry that comes next */
    uint64_t n_damaged;
    enum cairn_cfi_damage last_damage;
    unsigned n_cies, last_cie;
    struct cairn_cie cies[CAIRN_CFI_ITER_CIES];
};

/* An FDE, without a copy of its CIE. */
struct cairn_cfi_entry {
    uint64_t off;      /* in the section */
    uint64_t from, to; /* vaddrs of its function */
    struct cairn_span program;
    const struct cairn_cie *cie; /* in the iterator, until its next use */
};

/* The next FDE in the order of the section; false at the end. A damaged one is counted and read
 * over, as far as its length allows; one for no address at all (a function that the linker threw
 * away) is read over and not counted. */
bool cairn_cfi_next(struct cairn_cfi_iter *iter, struct cairn_fde *ret_fde);

/* The same for who goes through all: 10 ns for what compilers write. */
bool cairn_cfi_next_entry(struct cairn_cfi_iter *iter, struct cairn_cfi_entry *ret_entry);

/* The CIE at `off` of the section; false where there is none or a damaged one. */
bool cairn_cfi_cie_at(const struct cairn_cfi *cfi, uint64_t off, struct cairn_cie *ret_cie);

/* The FDE at `off` of the section, as cairn_cfi_next gave it; false where there is none or a
 * damaged one. */
bool cairn_cfi_fde_at(const struct cairn_cfi *cfi, uint64_t off, struct cairn_fde *ret_fde);

/* What .eh_frame_hdr's table says of an address. */
enum cairn_cfi_table {
    CAIRN_CFI_TABLE_COVERS,
    CAIRN_CFI_TABLE_GAP,  /* no entry covers it */
    CAIRN_CFI_TABLE_WRONG /* no table, or one that the section contradicts near the address */
};

/* Asks the table alone, in O(log n); `*ret_fde` is written where it covers `vaddr`. */
enum cairn_cfi_table cairn_cfi_ask_table(const struct cairn_cfi *cfi, uint64_t vaddr,
                                         struct cairn_fde *ret_fde);

/* The FDE that covers `vaddr`. By .eh_frame_hdr's table where there is one; what it says is held
 * against the section, and where they differ it is not believed and all entries are gone through.
 * Where the table's own neighbours leave a gap, there is none. */
bool cairn_cfi_find(const struct cairn_cfi *cfi, uint64_t vaddr, struct cairn_fde *ret_fde);

/* Runs the program of an FDE: each(ctx, row) for each row in order, up to the first that says
 * false. False where the program is damaged: the rows before the damage were given. */
bool cairn_cfi_run(const struct cairn_cfi *cfi, const struct cairn_fde *fde,
                   bool (*each)(void *ctx, const struct cairn_cfi_row *row), void *ctx);

/* The row for `vaddr`; false where the FDE does not cover it, or its program is damaged before. */
bool cairn_cfi_row_at(const struct cairn_cfi *cfi, const struct cairn_fde *fde, uint64_t vaddr,
                      struct cairn_cfi_row *ret_row);

#endif /* CAIRN_DWARF_CFI_H */
