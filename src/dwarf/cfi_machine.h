/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What the program of an FDE needs to run, for who has no room for it on the stack: all registers'
 * rules twice over are some kilobytes. Others call cairn_cfi_run() or cairn_cfi_row_at().
 *
 * DW_CFA_remember_state within another is bounded; gcc and clang write 1. What it takes to go back
 * is noted as rules are changed, instead of a copy of all at once.
 */
#ifndef CAIRN_DWARF_CFI_MACHINE_H
#define CAIRN_DWARF_CFI_MACHINE_H

#include "dwarf/cfi.h"

enum { CAIRN_CFI_MAX_DEPTH = 16, CAIRN_CFI_MAX_CHANGES = 64 };

struct cairn_cfi_machine {
    struct cairn_cfi_row row;
    struct cairn_cfi_rule initial[CAIRN_CFI_REGS];
    uint64_t end; /* of the function */
    bool (*each)(void *ctx, const struct cairn_cfi_row *row);
    void *ctx;
    uint64_t wanted; /* by cairn_cfi_machine_row_at() */
    bool found;
    unsigned depth, n_changes;
    bool overflow;
    uint8_t n_changes_before[CAIRN_CFI_MAX_DEPTH];
    uint64_t changed[CAIRN_CFI_MAX_DEPTH]; /* bit per slot: noted since this remember_state */
    uint8_t slots[CAIRN_CFI_MAX_CHANGES];
    struct cairn_cfi_rule old[CAIRN_CFI_MAX_CHANGES];
};

/* Leaves the row for `vaddr` in machine->row, and says whether it is there; see
 * cairn_cfi_row_at(). */
bool cairn_cfi_machine_row_at(struct cairn_cfi_machine *machine, const struct cairn_cfi *cfi,
                              const struct cairn_fde *fde, uint64_t vaddr);

#endif /* CAIRN_DWARF_CFI_MACHINE_H */
