/* SPDX-License-Identifier: MIT */
/*
 * Divert: functions of a process that are to lead to us. Planned from outside before anything is
 * touched; then each gets an island:
 *
 *     function   jmp island ......  one instruction changed, with its page
 *     island     jmp replacement    in the library
 *                moved code         what the changed instruction did, and a jump behind it:
 *                                   what the replacement calls as the original
 */
#ifndef CAIRN_ATTACH_DIVERT_H
#define CAIRN_ATTACH_DIVERT_H

#include <cairn/hook.h>

#include "attach/late_table.h"
#include "attach/ledger.h"
#include "attach/modules.h"

enum { CAIRN_ISLAND_BYTES = 256, CAIRN_ISLAND_PAGES = 2 * CAIRN_LEDGER_ROWS };

struct cairn_diversion {
    const struct cairn_late_wish *wish;
    uint64_t entry_va, bytes;
    size_t module;
    struct cairn_hook_plan plan; /* way NONE: it stays as it is, for plan.reason */
    uint64_t island_va;
    const struct cairn_diversion *same; /* another name of the same function; NULL: none */
};

struct cairn_diversions {
    const struct cairn_target_process *target;
    struct cairn_diversion *items;
    size_t n;
    uint64_t pages[CAIRN_ISLAND_PAGES]; /* that were mapped for islands */
    size_t n_pages;
    size_t allocator; /* number of the module whose malloc is called */
    unsigned granule_bits;
};

/* CAIRN_E_SUPPORT: there is no allocator that could be diverted: the message names it. */
int cairn_divert_plan(const struct cairn_target_process *target,
                      const struct cairn_loaded_modules *modules,
                      const struct cairn_late_table *table, struct cairn_diversions *ret,
                      struct cairn_err *err);
void cairn_diversions_done(struct cairn_diversions *diversions);

/* Maps and writes the islands for a library that lies at `ledger->base`, fills the ledger's rows,
 * and tells the library the originals. Nothing leads there yet. `fd`: a file of the target's, whose
 * pages the islands are mapped out of. */
int cairn_divert_prepare(struct cairn_foothold *foothold, struct cairn_diversions *diversions,
                         int their_fd, struct cairn_ledger *ledger, struct cairn_err *err);

/* Unmaps the islands, to which nothing leads. */
void cairn_divert_drop(struct cairn_foothold *foothold, const struct cairn_diversions *diversions);

/* What came of it. */
struct cairn_divert_counts {
    uint32_t n_done;     /* of those that are meant: changed now, or were already */
    uint32_t n_foreign;  /* hold what neither the program nor we wrote there: left alone */
    uint32_t n_gone;     /* their code is not mapped any more */
    uint32_t n_pads;     /* still hold a jump that nothing leads to: a thread may stand there */
    uint32_t n_nameless; /* changes for which a page is no longer one of its file (renew.h) */
};

enum cairn_divert_what {
    CAIRN_DIVERT_NONE,   /* as before the attach */
    CAIRN_DIVERT_DEATHS, /* all but what only makes blocks: slots lead to that (chosen.h) */
    CAIRN_DIVERT_ALL
};

/* Makes these functions of the ledger lead to us, and the others as before: deaths first, so that
 * no death of a recorded block is missed; where none is to, in the opposite order. Also finishes
 * what a killed cairn began. `foothold`: of the process; NULL: no thread runs in it. */
int cairn_divert_set(const struct cairn_target_process *target, struct cairn_foothold *foothold,
                     const struct cairn_ledger *ledger, enum cairn_divert_what what,
                     struct cairn_divert_counts *ret_counts, struct cairn_err *err);

/* Is this row among them? */
bool cairn_divert_is_meant(const struct cairn_ledger_row *row, enum cairn_divert_what what);

/* Does this one lead to us now? */
bool cairn_divert_leads_to_us(const struct cairn_target_process *target,
                              const struct cairn_ledger_row *row);

#endif /* CAIRN_ATTACH_DIVERT_H */
