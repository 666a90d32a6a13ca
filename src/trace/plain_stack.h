/* SPDX-License-Identifier: MIT */
/*
 * Plain stacks: the stack of a thread that ptrace(2) has stopped.
 *
 *     registers ─► one read of what its remembered stacks read ─┬─► equal words: it is known
 *                                                               └─► a copy of its top, walked
 *
 * A walk that was given ip, sp, fp and lr, and no other register, is a function of these, of the
 * words that it read and of the code. Only such walks are remembered. Programs keep loop counters
 * in fp: where all but fp is equal, a walk without fp finds out whether the stack depends on it.
 */
#ifndef CAIRN_TRACE_PLAIN_STACK_H
#define CAIRN_TRACE_PLAIN_STACK_H

#include "sample/collect.h"

struct cairn_plain_memo;

struct cairn_plain_stacks {
    struct cairn_collect *collect;  /* borrowed */
    struct cairn_table stale;       /* pids whose mappings have changed since they were read */
    struct cairn_plain_memo *memos; /* slots by ip and sp */
    struct cairn_copied_reads reads;
    uint8_t *copy;
    uint64_t n_remembered, n_walked;
    /* Of the thread that is stopped now. */
    int tid;
    struct cairn_cursor_regs regs;
    size_t n_copied;
    struct cairn_guest_walk *guests;
    struct cairn_plain_memo *alike; /* equal but for fp; NULL: none */
    struct cairn_plain_block {      /* what was read last beyond the copy */
        uint64_t va;
        size_t n;
        uint8_t *bytes;
    } block;
};

int cairn_plain_stacks_init(struct cairn_plain_stacks *stacks, struct cairn_collect *collect);
void cairn_plain_stacks_done(struct cairn_plain_stacks *stacks); /* all-zero is fine */

/* The process maps other code now. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_plain_stacks_moved(struct cairn_plain_stacks *stacks, int pid);

/* The stack of a stopped thread. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_plain_stacks_catch(struct cairn_plain_stacks *stacks, int pid, int tid,
                             struct cairn_collected *ret_stack);

/* Reads memory of a stopped thread, from the front on; returns how many bytes came. */
size_t cairn_plain_read(int tid, uint64_t va, void *to, size_t size);

/* The registers of a stopped thread; false: it is gone. */
bool cairn_plain_stacks_regs(struct cairn_plain_stacks *stacks, int tid,
                             struct cairn_cursor_regs *ret_regs);

#endif /* CAIRN_TRACE_PLAIN_STACK_H */
