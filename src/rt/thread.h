/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Thread: blocks of own pages, one for each thread that asks. How a thread's end is noticed without
 * the C library, whose destructors come too early or call malloc: nobody is told, but who needs a
 * block first looks at a few of the others, asks the kernel whether their threads still live
 * (tgkill(2) of no signal), and takes one whose owner is gone, its pages given back. So there are
 * about as many blocks as there ever were threads at once.
 *
 * The blocks read as zero in a child of fork: it has none of the parent's threads, and its own one
 * has another number.
 */
#ifndef CAIRN_RT_THREAD_H
#define CAIRN_RT_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kind of blocks; all zero but `bytes` and `kept` at first. */
struct cairn_thread_blocks {
    size_t bytes; /* of a block, its head included: whole pages of 64 KiB at most */
    size_t kept;  /* bytes behind the head that the next owner gets as they were; some hundred */
    _Atomic(_Atomic(uintptr_t) *) table; /* their addresses */
    _Atomic(uint32_t) n;                 /* used places of the table */
    _Atomic(uint32_t) hand;              /* where the next one begins to look for dead owners */
    atomic_bool is_hiding;               /* there is a block that the table does not have */
};

/* TSan does not know that a thread which the kernel says is gone did all that it did before: what
 * reads and writes blocks says so. */
#define CAIRN_THREAD_BLOCK_ACCESS __attribute__((no_sanitize("thread")))

/* What every block begins with; the rest belongs to whoever asked. */
struct cairn_thread_head {
    _Atomic(uint64_t) owner; /* how often it was taken << 32 | the thread's number; 0: nobody's,
                                also after a fork */
};

enum { CAIRN_THREAD_MAX = 1 << 19 /* blocks */ };

/* A block for the calling thread, zero behind its head, but for what is kept. NULL: no memory, or
 * more threads than CAIRN_THREAD_MAX. The caller keeps it in a thread-local pointer, and asks again
 * once `owner` reads 0. About a microsecond, no lock. */
void *cairn_thread_claim(struct cairn_thread_blocks *blocks);

/* Blocks that there are, dead owners' included. */
uint32_t cairn_thread_count(const struct cairn_thread_blocks *blocks);

/* The i-th of them, whoever's it is; NULL: it is just being made. It stays. */
struct cairn_thread_head *cairn_thread_at(const struct cairn_thread_blocks *blocks, uint32_t i);
/* Nobody owns it who lives. Asks the kernel. */
bool cairn_thread_is_gone(const struct cairn_thread_head *head);

#endif /* CAIRN_RT_THREAD_H */
