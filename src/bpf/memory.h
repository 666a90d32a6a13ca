/* SPDX-License-Identifier: MIT */
/*
 * Memory: what the program at hardware breakpoints, and the loader, have in common. Compiled into
 * both; kernel types alone.
 *
 *     breakpoint   one for each CPU: threads and children need none of their own
 *     event        in the address space of the target alone: by `stack_start`, which execve(2)
 *                  chooses by chance, and fork(2) leaves
 *
 * On x86-64 the CPU stops behind the instruction that wrote: the value is the new one, and the
 * innermost address is that of the next instruction (CAIRN_BPF_BEHIND). On aarch64 it stops before.
 */
#ifndef CAIRN_BPF_MEMORY_H
#define CAIRN_BPF_MEMORY_H

#include "bpf/trace.h"

enum {
    CAIRN_MEMORY_PIDS_MAX = 256,
    CAIRN_MEMORY_LAST_MAX = 4096 /* values that are remembered: of a place in an address space */
};

/* Arguments of the event. */
enum cairn_memory_arg {
    CAIRN_MEMORY_ADDRESS,
    CAIRN_MEMORY_SYMBOL, /* user space knows it */
    CAIRN_MEMORY_VALUE,  /* with its sign */
    CAIRN_MEMORY_PREVIOUS,
    CAIRN_MEMORY_KNOWN, /* a bit for each of those before that is valid */
    CAIRN_MEMORY_ARGS = 4
};

/* What is watched by the probe of that number. */
struct cairn_bpf_memory {
    __u64 va;
    __u64 stack_start; /* of the address space; 0: the kernel's */
    __u32 bytes;       /* of the value; 0: an instruction */
    __u32 reserved;
};

struct cairn_bpf_memory_key {
    __u64 mm;
    __u32 number, reserved;
};

enum {
    CAIRN_MEMORY_WATCHED = 1,
    CAIRN_MEMORY_REPLACED = 2
}; /* of a process: it called execve(2) */

#endif /* CAIRN_BPF_MEMORY_H */
