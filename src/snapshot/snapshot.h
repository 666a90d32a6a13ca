/* SPDX-License-Identifier: MIT */
/*
 * One process, looked at as often as one likes: its modules and their tables are kept between.
 *
 *     facts of each thread (/proc) ──► ways, until one has it ──► walk ──► rows, profile
 */
#ifndef CAIRN_SNAPSHOT_SNAPSHOT_H
#define CAIRN_SNAPSHOT_SNAPSHOT_H

#include "snapshot/coroutines.h"
#include "snapshot/stacks.h"
#include "snapshot/way.h"
#include "target/guests.h"

struct cairn_snapshot {
    struct cairn_snapshot_opts opts;
    struct cairn_unwind_space *space; /* NULL: there is no memory: kernel thread, zombie */
    struct cairn_catcher catcher;
    struct cairn_buffer command;
    bool is_native; /* a program of this machine's own kind: its system calls have our numbers */
    uint64_t maps_hash; /* of the code that was mapped when the modules were learnt */
    struct cairn_caught *threads;
    size_t n, cap;
    struct cairn_stacks stacks;
    struct cairn_target_guests guests;
    struct cairn_coroutines coroutines;
};

/* The next thread of the list, empty but for its facts' tid. NULL: memory is gone. */
struct cairn_caught *cairn_snapshot_add(struct cairn_snapshot *snapshot, int tid);

/* Walks a caught thread, and asks for more of its stack where that is not enough. */
int cairn_snapshot_walk(struct cairn_snapshot *snapshot, struct cairn_caught *thread,
                        struct cairn_err *err);

/* All threads that are listed, stopped together. */
int cairn_snapshot_take_consistent(struct cairn_snapshot *snapshot, struct cairn_err *err);

/* The first bytes of a stack that are copied: enough for nearly all. */
enum { CAIRN_SNAPSHOT_COPY_BYTES = 32 << 10 };

#endif /* CAIRN_SNAPSHOT_SNAPSHOT_H */
