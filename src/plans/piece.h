/* SPDX-License-Identifier: MIT */
/* A piece of executable code of a module, in a file or in memory, and plans for its functions. */
#ifndef CAIRN_PLANS_PIECE_H
#define CAIRN_PLANS_PIECE_H

#include <cairn/hook.h>
#include <cairn/plans.h>

#include "elf/image.h"

/* One request: the options, the function that reports go to, and which names were found so far. */
struct cairn_plans_run {
    struct cairn_plans_opts opts;
    cairn_planned_fn *fn;
    void *context;
    bool *found; /* by number of the name */
};

/* Copies of the caller's size of the options. CAIRN_E_NOMEM. */
int cairn_plans_run_init(struct cairn_plans_run *run, const struct cairn_plans_opts *opts,
                         cairn_planned_fn *fn, void *context, struct cairn_err *err);
void cairn_plans_run_done(struct cairn_plans_run *run); /* all-zero is fine */
/* CAIRN_E_MISSING: a name that was found nowhere in `where`. */
int cairn_plans_run_check(const struct cairn_plans_run *run, const char *where,
                          struct cairn_err *err);

/* Everything is borrowed. */
struct cairn_plans_piece {
    const char *path;
    const struct cairn_elf *elf; /* whose symbols are taken */
    uint64_t load_base;
    uint64_t module_low, module_high;
    struct cairn_span code;
    const uint8_t *unpatched; /* or NULL */
    uint64_t code_va;
    cairn_hook_free_fn *find_free;
    void *free_context;
};

enum cairn_hook_cpu cairn_plans_cpu(const struct cairn_elf *elf);

/* Reports the functions that begin in the piece. CAIRN_E_STOPPED, CAIRN_E_NOMEM, CAIRN_E_FORMAT. */
int cairn_plans_piece_each(struct cairn_plans_run *run, const struct cairn_plans_piece *piece,
                           struct cairn_err *err);

#endif /* CAIRN_PLANS_PIECE_H */
