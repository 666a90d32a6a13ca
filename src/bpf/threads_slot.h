/* SPDX-License-Identifier: MIT */
/*
 * Slots: what the program in the kernel (threads.bpf.c) says of each thread, and who loads it
 * (threads.c) reads. Compiled into both.
 *
 *     slots    [ thread | thread | ...          ]   CAIRN_BPF_SLOTS, filled from the first on
 *     stacks   [ 4 kB | 4 kB | 4 kB | ...       ]   a thread's lie side by side: [page, page + n)
 *
 * Both are mapped by who loads the program, and are his between two runs. A run that finds no room
 * ends, and the next one begins with the thread that had none.
 */
#ifndef CAIRN_BPF_THREADS_SLOT_H
#define CAIRN_BPF_THREADS_SLOT_H

#include <stdint.h>

enum {
    CAIRN_BPF_SLOTS = 64,
    CAIRN_BPF_PAGE = 4096,  /* bytes; all of one are copied, or none */
    CAIRN_BPF_PAGES = 1024, /* for all slots of a run */
    CAIRN_BPF_REG_WORDS = 36,
    CAIRN_BPF_KERNEL_FRAMES = 64,
};

/* Why memory is not copied: its owner may let a read of it wait for ever. */
enum cairn_bpf_unread { CAIRN_BPF_READ, CAIRN_BPF_FUSE, CAIRN_BPF_UFFD };

/* What a thread was when it was looked at, and when its stack had been copied. It did not run in
 * between if it was off the CPU both times and was never switched out. */
struct cairn_bpf_moment {
    uint32_t on_cpu;
    uint32_t state;    /* the kernel's bits (TASK_RUNNING is 0) */
    uint64_t switches; /* how often it has left a CPU */
};

struct cairn_bpf_slot {
    int32_t pid, tid; /* in the pid namespace of who reads */
    uint32_t flags;   /* PF_KTHREAD and others */
    int32_t exit_state;
    struct cairn_bpf_moment before, after;
    uint64_t alt_stack; /* va of sigaltstack(2)'s; 0: none */
    uint64_t stack_va;  /* of the first page that is copied; a multiple of CAIRN_BPF_PAGE */
    uint32_t page, n_pages;
    int32_t kernel_bytes; /* of kernel[]; below 0: it cannot be had */
    uint32_t has_regs;
    uint32_t unread; /* enum cairn_bpf_unread, of [unread_from, unread_to): */
    uint32_t reserved;
    uint64_t unread_from, unread_to; /* va; the mapping of the stack pointer, or the next one */
    char name[16];
    uint64_t regs[CAIRN_BPF_REG_WORDS]; /* struct pt_regs of this CPU */
    uint64_t kernel[CAIRN_BPF_KERNEL_FRAMES];
};

/* Where in struct pt_regs, in words, what the program itself has to know lies. */
struct cairn_bpf_cpu {
    uint32_t regs_bytes;
    uint32_t sp, sp_32;        /* the stack pointer, and that of a 32-bit program */
    uint32_t mode;             /* the word which tells one: */
    uint32_t mode_32;          /* these bits of it, */
    uint32_t mode_32_mask;     /* of these */
    uint32_t returns_on_stack; /* a call puts the return address where the stack pointer points */
};

/* What a run is asked for. */
struct cairn_bpf_wish {
    int32_t pid;                 /* in the pid namespace of who reads */
    int32_t tid_first, tid_last; /* threads within, both included */
    uint32_t skip_pages;         /* above the page that the stack pointer is in */
    uint32_t max_pages;          /* of each thread */
    uint32_t kernel_frames;      /* nonzero: these, too */
};

#endif /* CAIRN_BPF_THREADS_SLOT_H */
