/* SPDX-License-Identifier: MIT */
/* Lost kernel: pointers that the kernel keeps for a process: the `data` of its epoll sets
 * (/proc/PID/fdinfo, proc(5)) and the values that its timers signal (/proc/PID/timers). */
#ifndef CAIRN_WATCH_LOST_KERNEL_H
#define CAIRN_WATCH_LOST_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_lost_kernel_word {
    uint64_t word;
    int set, fd; /* of a set: its descriptor, and the one that it watches; -1: of a timer */
};

struct cairn_lost_kernel {
    struct cairn_lost_kernel_word *words;
    size_t n, cap;
    size_t n_sets; /* of epoll(7) */
    bool has_ring; /* io_uring(7): what is in flight there is not shown */
    bool is_whole; /* the list of descriptors, each set and the timers could be read */
};

/* Reads all anew. False: memory is gone. */
bool cairn_lost_kernel_read(struct cairn_lost_kernel *kernel, int pid);
void cairn_lost_kernel_done(struct cairn_lost_kernel *kernel); /* all-zero is fine */

/* What one text says, added; for tests, too. False: memory is gone. */
bool cairn_lost_kernel_parse_set(struct cairn_lost_kernel *kernel, int set, const char *text);
bool cairn_lost_kernel_parse_timers(struct cairn_lost_kernel *kernel, const char *text);

#endif /* CAIRN_WATCH_LOST_KERNEL_H */
