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
    CAIRN_CFI_SAME, /* the callee left it alone (also where nothing is said) */
    CAIRN_CFI_UNDEFINED,
    CAIRN_CFI_AT_CFA,  /* saved at CFA + value */
    CAIRN_CFI_IS_CFA,  /* is CFA + value */
    CAIRN_CFI_IN_REG,  /* in register `reg`; as the rule of the CFA: reg + value */
    CAIRN_CFI_AT_EXPR, /* saved where the expression says */
    CAIRN_CFI_IS_EXPR  /* is what the expression says; also a CFA's */
};

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
    uint8_t version, address_size, pointer_encoding, lsda_encoding;
    bool has_z, is_signal_frame, b_key; /* augmentations z, S, B */
    struct cairn_span program;
};

struct cairn_fde {
    uint64_t off;      /* in the section */
    uint64_t from, to; /* vaddrs of its function */
    struct cairn_span program;
    struct cairn_cie cie;
};

#endif /* CAIRN_DWARF_CFI_H */
