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

#include <linux/types.h>

enum {
    CAIRN_BPF_SLOTS = 64,
    CAIRN_BPF_PAGE = 4096,  /* bytes; all of one are copied, or none */
    CAIRN_BPF_PAGES = 1024, /* for all slots of a run */
    CAIRN_BPF_REG_WORDS = 36,
    CAIRN_BPF_KERNEL_FRAMES = 64,
};

/* What a thread was when it was looked at, and when its stack had been copied. It did not run in
 * between if it was off the CPU both times and was never switched out. */
struct cairn_bpf_moment {
    __u32 on_cpu;
    __u32 state;    /* the kernel's bits (TASK_RUNNING is 0) */
    __u64 switches; /* how often it has left a CPU */
};

struct cairn_bpf_slot {
    __s32 pid, tid; /* in the pid namespace of who reads */
    __u32 flags;    /* PF_KTHREAD and others */
    __s32 exit_state;
    struct cairn_bpf_moment before, after;
    __u64 stack_va; /* of the first page that is copied; a multiple of CAIRN_BPF_PAGE */
    __u32 page, n_pages;
    __s32 kernel_bytes; /* of kernel[]; below 0: it cannot be had */
    __u32 has_regs;
    char name[16];
    __u64 regs[CAIRN_BPF_REG_WORDS]; /* struct pt_regs of this CPU */
    __u64 kernel[CAIRN_BPF_KERNEL_FRAMES];
};

/* Where in struct pt_regs, in words, what the program itself has to know lies. */
struct cairn_bpf_cpu {
    __u32 regs_bytes;
    __u32 sp, sp_32;    /* the stack pointer, and that of a 32-bit program */
    __u32 mode;         /* the word which tells one: */
    __u32 mode_32;      /* these bits of it, */
    __u32 mode_32_mask; /* of these */
};

/* What a run is asked for. */
struct cairn_bpf_wish {
    __s32 pid;        /* in the pid namespace of who reads */
    __s32 tid;        /* of one thread alone; 0: all */
    __u32 skip_pages; /* above the page that the stack pointer is in */
    __u32 max_pages;  /* of each thread */
};

#endif /* CAIRN_BPF_THREADS_SLOT_H */
