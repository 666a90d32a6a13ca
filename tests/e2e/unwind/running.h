/* SPDX-License-Identifier: MIT */
/* Which threads of the process run just now, by /proc. */
#ifndef CAIRN_TESTS_RUNNING_H
#define CAIRN_TESTS_RUNNING_H

#include <stdbool.h>
#include <sys/types.h>

enum { RUNNING_MAX = 256 };

struct running_thread {
    pid_t tid;
    int stat; /* fd of its stat */
};

/* All but `self`; at most RUNNING_MAX. Returns how many there are. */
unsigned running_open(struct running_thread *ret_threads, pid_t self);
bool running_now(const struct running_thread *thread);
void running_close(const struct running_thread *threads, unsigned n);

#endif /* CAIRN_TESTS_RUNNING_H */
