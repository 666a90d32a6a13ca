/* SPDX-License-Identifier: MIT */
/*
 * Facts: what /proc/PID/task/TID tells of a thread without touching it. What cannot be read is
 * left empty; a thread may end at any moment.
 */
#ifndef CAIRN_SNAPSHOT_FACTS_H
#define CAIRN_SNAPSHOT_FACTS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "proc/threads.h"

enum { CAIRN_WCHAN_SIZE = 64 };

/* Where a thread sleeps, as /proc/PID/task/TID/syscall has it. */
struct cairn_thread_place {
    bool known; /* it does not run: ip and sp are those with which it entered the kernel */
    bool in_syscall;
    long number;
    uint64_t arguments[6];
    uint64_t sp, ip;
    uint64_t run_ns, n_runs; /* schedstat: CPU time so far, and how often it was given a CPU; 0 on
                                kernels that do not count */
};

struct cairn_thread_facts {
    int tid;
    char name[CAIRN_COMM_SIZE];
    char state;
    bool is_kernel; /* a thread of the kernel, which has no memory of its own */
    char wchan[CAIRN_WCHAN_SIZE];
    struct cairn_thread_place place;
};

void cairn_facts_read(int pid, int tid, struct cairn_thread_facts *ret_facts);

/* The place alone. CAIRN_E_ACCESS: not for us to see; CAIRN_E_MISSING: it is gone. */
int cairn_place_read(int pid, int tid, struct cairn_thread_place *ret_place, struct cairn_err *err);

/* "running", "-1 0xSP 0xIP" or "NR 0xA 0xB 0xC 0xD 0xE 0xF 0xSP 0xIP"; false: none of these. */
bool cairn_place_parse(const char *text, struct cairn_thread_place *place);

/* Did the thread not run between the two? */
bool cairn_place_same(const struct cairn_thread_place *a, const struct cairn_thread_place *b);

/* The thread was stopped or interrupted where `ip` and `sp` say. Where that is not its place it has
 * run since: it runs, in no system call that is known. */
void cairn_facts_caught(struct cairn_thread_facts *facts, uint64_t ip, uint64_t sp);

/* The machine of the program as ELF numbers it; 0: it has none that can be read. */
uint32_t cairn_facts_machine(int pid);

/* The text of its stack in the kernel, appended, which only root may see. */
void cairn_facts_kernel_stack(int pid, int tid, struct cairn_buffer *ret_text);

/* Takes the next line "[<0>] name+0x10/0x20 [module]" off such a text: the function's name,
 * without the place in it. False at the end. */
bool cairn_kernel_frame_next(const char **text, const char **ret_name, size_t *ret_size);

#endif /* CAIRN_SNAPSHOT_FACTS_H */
