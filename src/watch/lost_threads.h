/* SPDX-License-Identifier: MIT */
/*
 * Lost threads: what the threads of a process hold outside of memory that others read: registers,
 * where their stacks end, and where their alternate signal stacks are (by BPF alone).
 *
 *     a thread that is not on a CPU   a BPF program copies its registers; it is not stopped
 *     any other one                   ptrace(2) stops it for some microseconds
 *     without BPF, in a system call   /proc/PID/task/TID/syscall gives the stack pointer and the
 *                                     call's arguments. Registers that the caller keeps its values
 *                                     in are not read, unless a stop is asked for, which some calls
 *                                     end with EINTR (signal(7)); in these it is never made
 */
#ifndef CAIRN_WATCH_LOST_THREADS_H
#define CAIRN_WATCH_LOST_THREADS_H

#include "proc/ptrace.h"
#include "watch/lost_space.h"

struct cairn_bpf_threads;
struct cairn_heap_core;

/* A word that is in no memory, or that says where memory is. */
enum cairn_lost_word_kind {
    CAIRN_LOST_REGISTER,
    CAIRN_LOST_SIGNAL_STACK, /* where sigaltstack(2) has it */
    CAIRN_LOST_ENDED         /* what a thread that has ended left */
};
struct cairn_lost_word {
    uint64_t word;
    int tid; /* 0: not known */
    enum cairn_lost_word_kind kind;
};

struct cairn_lost_thread {
    int tid;
    uint64_t sp, tp; /* tp: what thread-local data is counted from; 0: not known */
};

struct cairn_lost_threads {
    struct cairn_bpf_threads *iterator; /* NULL: there is no BPF program */
    struct cairn_lost_word *words;
    size_t n_words, cap_words;
    struct cairn_lost_thread *list; /* those whose stack pointer is known; by it, once cut */
    size_t n_list, cap_list;
    size_t n_threads;
    bool at_exit;    /* the main thread stands at its end (proc/at_exit.h); others are gone */
    size_t n_partly; /* whose registers were read in part, */
    size_t n_unread; /* or not at all */
};

void cairn_lost_threads_open(struct cairn_lost_threads *threads);
/* The threads of a core file, into an all-zero object. CAIRN_E_NOMEM. */
int cairn_lost_threads_read_core(struct cairn_lost_threads *threads,
                                 const struct cairn_heap_core *core, struct cairn_err *err);
void cairn_lost_threads_close(struct cairn_lost_threads *threads); /* all-zero is fine */

enum cairn_lost_stop {
    CAIRN_LOST_STOP_RUNNING, /* those that run alone are stopped */
    CAIRN_LOST_STOP_ANY      /* and those whose registers cannot be read otherwise */
};

/* Reads all threads anew. `tracer`: it holds them all; or NULL. */
int cairn_lost_threads_read(struct cairn_lost_threads *threads, int pid, enum cairn_lost_stop stop,
                            struct cairn_tracer *tracer, struct cairn_err *err);

/*
 * Leaves out the parts of stacks that their threads have left: what is below the stack pointer, but
 * for the red zone (System V ABI of x86-64). Only where a mapping has no other use: it is the main
 * thread's, or the C library's record at its top names the page without access right below it; and
 * neither another thread's stack pointer nor a block is in it. And the stacks of threads that have
 * ended, but for what the next thread gets of them, and what pthread_join(3) has still to return:
 * that is added to `words`. False: memory is gone.
 */
bool cairn_lost_threads_cut(struct cairn_lost_threads *threads,
                            const struct cairn_reach_blocks *blocks,
                            struct cairn_lost_space *space);

/*
 * glibc's struct pthread on x86-64 (nptl/descr.h; 2.26 to 2.41):
 *
 *     0x000  its own address      0x010  the same      0x2d0  the thread's number
 *
 * The first one at `*at` or behind, of which `least` bytes are among those read at `va`: `*at` is
 * its offset then. `*at` and its address are multiples of 64; `least` is 0x2d4 or more.
 */
enum { CAIRN_LOST_PTHREAD_ALIGN = 64 };
bool cairn_lost_find_pthread(struct cairn_span bytes, uint64_t va, size_t least, size_t *at,
                             int32_t *ret_tid);

#endif /* CAIRN_WATCH_LOST_THREADS_H */
