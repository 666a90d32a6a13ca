/* SPDX-License-Identifier: MIT */
/* Choose: which thread of a process to hold, so that no call of it shows that it was. */
#ifndef CAIRN_ATTACH_CHOOSE_H
#define CAIRN_ATTACH_CHOOSE_H

#include <stddef.h>

#include <cairn/error.h>

enum { CAIRN_CHOICES = 8 };

/* The best threads first, at most CAIRN_CHOICES: those that wait in a call which goes on by itself,
 * those that run, those whose call has to be mended. None in the middle of a write, which would end
 * short. CAIRN_E_SUPPORT: no thread can be taken now, and why. */
int cairn_choose_threads(int pid, int ret_tids[CAIRN_CHOICES], size_t *ret_n,
                         struct cairn_err *err);

/* How good one is, by the text of /proc/PID/task/TID/syscall; 0: not to be taken. */
int cairn_choose_rank(const char *text);

#endif /* CAIRN_ATTACH_CHOOSE_H */
