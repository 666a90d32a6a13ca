/* SPDX-License-Identifier: MIT */
/*
 * Threads: registers, kernel frames and the top of the stack of every thread of a process, copied
 * by a program in the kernel (threads.bpf.c). Nobody is stopped, no system call is interrupted, and
 * no ptrace access to the process is asked for.
 *
 *     open -> ( each )* -> close
 *
 * Registers are those that the thread had when it entered the kernel. A thread that is on a CPU may
 * be out of the kernel: what was copied of it is not to be believed (CAIRN_BPF_RUNNING). A thread
 * that ran while its stack was copied is told, too (CAIRN_BPF_MOVED); ask once more.
 *
 * About 2.5 us for a thread with 32 kB of stack. One handle belongs to one thread at a time.
 */
#ifndef CAIRN_BPF_THREADS_H
#define CAIRN_BPF_THREADS_H

#include <stdint.h>

#include <cairn/error.h>

#include "base/span.h"
#include "bpf/load.h"
#include "bpf/threads_slot.h"

enum { CAIRN_BPF_STACK_BYTES = 32 << 10, CAIRN_BPF_STACK_BYTES_MAX = 1 << 20 };

struct cairn_bpf_threads;

enum cairn_bpf_found {
    CAIRN_BPF_STILL,   /* registers, kernel frames and stack are of one moment */
    CAIRN_BPF_RUNNING, /* on a CPU, before the copy or behind it */
    CAIRN_BPF_MOVED,   /* it ran, and waits again */
    CAIRN_BPF_NO_USER  /* a thread of the kernel, or one that has ended: no user side */
};

/* Everything is borrowed until the callback returns. */
struct cairn_bpf_thread {
    int pid, tid;
    const char *name; /* as it named itself */
    char state;       /* as in struct cairn_process_status */
    enum cairn_bpf_found found;
    uint64_t alt_stack;           /* va of sigaltstack(2)'s, which nothing else may know; 0: none */
    uint64_t switches;            /* how often it has left a CPU: did not change, it did not run */
    struct cairn_span regs;       /* as PTRACE_GETREGSET gives them for NT_PRSTATUS */
    struct cairn_span stack;      /* empty where the memory cannot be read */
    uint64_t stack_va;            /* of its first byte: the page of the stack pointer, + skipped */
    enum cairn_bpf_unread unread; /* CAIRN_BPF_READ, or why these are not to be read: */
    uint64_t unread_from, unread_to; /* in the stack's mapping, or the one above it */
    const uint64_t *kernel;          /* its frames in the kernel, innermost first; only if asked */
    size_t n_kernel;
    bool in_call; /* it is in a system call: */
    long call;    /* this one, as its own kind of program (32-bit) numbers it */
    uint64_t args[6];
};

/* All-zero but for `pid` is fine. */
struct cairn_bpf_threads_opts {
    int pid;
    int tid_first, tid_last; /* threads within, both included; 0: all of the process */
    size_t stack_bytes;      /* at most CAIRN_BPF_STACK_BYTES_MAX; 0: CAIRN_BPF_STACK_BYTES */
    size_t skip_bytes;       /* of the stack, from the page of the stack pointer on; whole pages */
    bool kernel_frames;      /* about 2 us a thread */
};

/* Anything but 0 ends the walk and is what cairn_bpf_threads_each() returns. */
typedef int (*cairn_bpf_thread_fn)(void *ctx, const struct cairn_bpf_thread *thread);

/* What cairn_bpf_check() wants to know of this program. */
extern const struct cairn_bpf_need cairn_bpf_threads_need;

/* Loads the program, which takes some milliseconds. Fails as cairn_bpf_load() does. */
int cairn_bpf_threads_open(struct cairn_bpf_threads **ret_threads, struct cairn_err *err);
void cairn_bpf_threads_close(struct cairn_bpf_threads *threads); /* accepts NULL */

/* Calls `fn` for each thread. Threads that start or end meanwhile may be left out; a process that
 * is not there has none. The process that calls is as good as any other; its calling thread waits
 * for the process that reads for it (base/apart.h). CAIRN_E_LIMIT: memory of the process kept the
 * program waiting; every later call with this handle fails so, too. CAIRN_E_ARG: more stack than
 * can be copied. */
int cairn_bpf_threads_each(struct cairn_bpf_threads *threads,
                           const struct cairn_bpf_threads_opts *opts, cairn_bpf_thread_fn fn,
                           void *ctx, struct cairn_err *err);

#endif /* CAIRN_BPF_THREADS_H */
