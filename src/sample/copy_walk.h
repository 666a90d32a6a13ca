/* SPDX-License-Identifier: MIT */
/*
 * Copy walk: a stack from its registers and a copy of its top, by the unwind information of the
 * files that were mapped when it was caught. The process may be gone meanwhile, or be another
 * program: what lies where comes from the sampler's own list.
 *
 *     registers ─► cursor over ┬─ the copy                    ─► frames
 *                              └─ the files that are mapped
 *     where the copy ends: the kernel's chain of frame pointers, if it leads on from just there
 *
 * Files and their tables are kept for all processes. Nothing of the copy is.
 */
#ifndef CAIRN_SAMPLE_COPY_WALK_H
#define CAIRN_SAMPLE_COPY_WALK_H

#include "sample/code_pages.h"
#include "sample/copy_files.h"
#include "sample/user_walk.h"
#include "target/copied.h"

/* What was caught; all is borrowed. */
struct cairn_copy {
    struct cairn_cursor_regs regs;
    struct cairn_target_copy stack;
    bool goes_on; /* the stack does, behind the copy */
    const uint64_t
        *chain; /* where the CPU was, then return addresses, by frame pointers; or NULL */
    size_t n_chain;
};

struct cairn_copy_walker {
    struct cairn_copy_files files;
    struct cairn_code_pages code; /* what is in none of the files */
    struct cairn_copied copied;
    /* Of the walk that runs. */
    const struct cairn_spaces *spaces;
    struct cairn_space *space;
    const struct cairn_copy *copy;
    bool is_switched;            /* it went from a handler to a stack that is not in the copy */
    struct cairn_user_walk walk; /* what comes of it; too large for a stack */
};

/* CAIRN_E_NOMEM. `walker` stays where it is. */
int cairn_copy_walker_init(struct cairn_copy_walker *walker, struct cairn_err *err);
void cairn_copy_walker_done(struct cairn_copy_walker *walker); /* all-zero is fine */

/* Fills walker->walk. `code` is the process's; `space` one of `spaces`. */
void cairn_copy_walk(struct cairn_copy_walker *walker, const struct cairn_spaces *spaces,
                     struct cairn_space *space, const struct cairn_walk_code *code,
                     const struct cairn_copy *copy);

#endif /* CAIRN_SAMPLE_COPY_WALK_H */
