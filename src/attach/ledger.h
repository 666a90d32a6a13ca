/* SPDX-License-Identifier: MIT */
/*
 * Ledger: what was done to a process, kept in the process itself: a private mapping of a nameless
 * file that its maps call "/memfd:cairn-ledger". It is written before the functions are changed, so
 * that the next cairn can finish or undo what a killed one began. A process may have written over
 * it, or fake it: every number is checked against the mappings.
 */
#ifndef CAIRN_ATTACH_LEDGER_H
#define CAIRN_ATTACH_LEDGER_H

#include "attach/foothold.h"
#include "attach/target.h"

#define CAIRN_LEDGER_MAGIC "cairn-ledger"

enum {
    CAIRN_LEDGER_VERSION = 1,
    CAIRN_LEDGER_ROWS = 64,
    CAIRN_LEDGER_NAME = 64,
    CAIRN_LEDGER_WORD = 8
};

/* A function that leads to us, or did. */
struct cairn_ledger_row {
    char name[CAIRN_LEDGER_NAME];
    uint32_t way;   /* enum cairn_hook_way */
    uint32_t roles; /* enum cairn_late_role */
    uint64_t entry_va;
    /* Stored first; nothing runs there. n_pad 0: there is none. */
    uint64_t pad_va;
    uint32_t n_pad, unused;
    uint8_t pad_before[CAIRN_LEDGER_WORD], pad_after[CAIRN_LEDGER_WORD];
    /* Stored by one write. */
    uint64_t word_va;
    uint8_t word_before[CAIRN_LEDGER_WORD], word_after[CAIRN_LEDGER_WORD];
    uint64_t island_va; /* jumps to the replacement */
    uint64_t moved_va;  /* does what the function does */
};

struct cairn_ledger {
    char magic[16];
    uint32_t version, bytes; /* of this struct */
    uint32_t is_complete;    /* the library is in its place, relocated, and knows the originals */
    uint32_t n_rows;
    uint64_t base, library_bytes; /* the tracker's */
    uint64_t late_va;             /* its struct cairn_late */
    uint64_t room_va;             /* what our threads stand on (foothold.h) */
    uint64_t code_bytes;          /* that stay mapped: the library and the islands */
    struct cairn_ledger_row rows[CAIRN_LEDGER_ROWS];
};

/* 0: the process has none. */
uint64_t cairn_ledger_find(const struct cairn_target_process *target);

/* CAIRN_E_FORMAT: what is there was not written by a cairn of this version, or was damaged. */
int cairn_ledger_read(const struct cairn_target_process *target, uint64_t va,
                      struct cairn_ledger *ret_ledger, struct cairn_err *err);

/* Whole at once: the process has either none or all of it, whenever we are killed. */
int cairn_ledger_make(struct cairn_foothold *foothold, const struct cairn_ledger *ledger,
                      uint64_t *ret_va, struct cairn_err *err);

#endif /* CAIRN_ATTACH_LEDGER_H */
