/* SPDX-License-Identifier: MIT */
/*
 * Copy walk: a stack from all registers and a copy of its top, by the unwind information of the
 * files that were mapped when it was caught. The process may be gone meanwhile, or be another
 * program: what lies where comes from the sampler's own list, and the files are opened once for all
 * processes.
 */
#ifndef CAIRN_SAMPLE_COPY_WALK_H
#define CAIRN_SAMPLE_COPY_WALK_H

#include <cairn/unwind.h>

#include "debugfile/debugfile.h"
#include "sample/space.h"
#include "sample/user_walk.h"

/* What was caught; the bytes are borrowed. */
struct cairn_copy {
    struct cairn_cursor_regs regs;
    uint64_t va; /* where the bytes lay */
    struct cairn_span bytes;
    bool goes_on; /* the stack does, behind them */
};

struct cairn_copy_file;

struct cairn_copy_walker {
    struct cairn_debugfile_finder *finder;
    struct cairn_unwind_space *unwind;
    struct cairn_copy_file **files;
    size_t n_files, cap_files;
    struct cairn_table by_file; /* struct cairn_space_map's `file` -> number in `files` */
    /* Of the walk that runs. */
    struct cairn_spaces *spaces;
    struct cairn_space *space;
    const struct cairn_copy *copy;
    struct cairn_user_walk walk; /* what comes of it; too large for a stack */
};

/* CAIRN_E_NOMEM. `walker` stays where it is. */
int cairn_copy_walker_init(struct cairn_copy_walker *walker, struct cairn_err *err);
void cairn_copy_walker_done(struct cairn_copy_walker *walker); /* all-zero is fine */

/* Fills walker->walk. */
void cairn_copy_walk(struct cairn_copy_walker *walker, struct cairn_spaces *spaces,
                     struct cairn_space *space, const struct cairn_copy *copy);

#endif /* CAIRN_SAMPLE_COPY_WALK_H */
