/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Rules of this process's own code, made when they are first asked for: the module of an address,
 * the one FDE that covers it, run up to the address. The bytes of both entries are copied out by
 * the kernel (rt/self.h), so that neither damaged information nor a module that is unloaded
 * meanwhile can be more than a rule that is not there.
 */
#ifndef CAIRN_UNWIND_LOCAL_RULE_H
#define CAIRN_UNWIND_LOCAL_RULE_H

#include "dwarf/cfi_machine.h"
#include "unwind/arch.h"

enum cairn_local_found {
    CAIRN_LOCAL_RULE,
    CAIRN_LOCAL_GAP,       /* in a module, but nothing covers it */
    CAIRN_LOCAL_NO_MODULE, /* in none that is known */
    CAIRN_LOCAL_DAMAGED,
    CAIRN_LOCAL_NO_MEMORY
};

/* Longer entries get pages of their own. So large that a row is a page of 4 KiB, or less. */
enum { CAIRN_LOCAL_ENTRY_BYTES = 1024 };

/* A row, which is machine.row, and what its expressions need. */
struct cairn_local_row {
    struct cairn_cfi cfi;
    struct cairn_fde fde;
    struct cairn_cfi_machine machine;
    uint8_t *pages; /* NULL, or where the entries are */
    size_t pages_bytes;
    uint8_t bytes[CAIRN_LOCAL_ENTRY_BYTES];
};

/* The row for the instruction at `va`, to be given back; NULL, and why, where there is none. It
 * lies on pages of our own, for the stack may be a signal handler's. Some microseconds. */
struct cairn_local_row *cairn_local_row_find(uintptr_t va, enum cairn_local_found *ret_found);
void cairn_local_row_done(struct cairn_local_row *row);

/* The rule for the instruction at `va`. NONE unless it says RULE. */
enum cairn_local_found cairn_local_rule_make(uintptr_t va, uint32_t *ret_rule);

#endif /* CAIRN_UNWIND_LOCAL_RULE_H */
