/* SPDX-License-Identifier: MIT */
/*
 * Dump: walks a user stack by unwind tables out of what a sample of perf_event_open(2) holds: the
 * registers and a copy of the top of the stack. For who may not load programs into the kernel.
 *
 *     registers ─► cursor over ┬─ the copy                    ─► frames, as bpf/walk.h has them
 *                              └─ the files that are mapped
 *     where the copy ends: the kernel's chain of frame pointers, if it leads on from just there
 *
 * Files and their tables are kept for all processes. Nothing of the copy is.
 */
#ifndef CAIRN_SAMPLE_DUMP_H
#define CAIRN_SAMPLE_DUMP_H

#include "proc/perf_record.h"
#include "sample/dump_files.h"
#include "sample/user_walk.h"

struct cairn_unwind_space;

struct cairn_dump {
    struct cairn_unwind_space *space; /* the files' tables; where they lie in */
    uint64_t n_changes;               /* this process, as long as nothing was mapped since */
    struct cairn_space *process;      /* of the walk that runs, */
    const struct cairn_spaces *spaces;
    struct cairn_dump_files files;
    uint32_t stack_bytes; /* that are asked for: the stack goes on behind a full copy */
    uint64_t sp;          /* of the copy */
    struct cairn_span stack;
    bool is_beyond; /* the walk asked for what lies behind it */
    uint64_t frames[CAIRN_WALK_FRAMES_MAX];
};

/* CAIRN_E_NOMEM. */
int cairn_dump_init(struct cairn_dump *dump, uint32_t stack_bytes, struct cairn_err *err);
void cairn_dump_done(struct cairn_dump *dump); /* all-zero is fine */

/* Fills the walked frames of `ret_user`, which are borrowed until the next call. `chain` is the
 * sample's own; `space` one of `spaces`. */
void cairn_dump_walk(struct cairn_dump *dump, const struct cairn_spaces *spaces,
                     struct cairn_space *space, const struct cairn_perf_record *record,
                     const struct cairn_perf_chain *chain, struct cairn_user_sample *ret_user);

#endif /* CAIRN_SAMPLE_DUMP_H */
