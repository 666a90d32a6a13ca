/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * By which signal a thread is asked: one for which the program has no handler, so that none of its
 * own is ever taken for one of these, nor swallowed because one of these is pending.
 *
 * SIGURG is the first choice: where a handler is gone, after execve(2) for one, the kernel throws
 * it away. Where the program handles that itself, a real-time signal, from the last one downwards;
 * of these each that is sent is queued, and one without a handler ends the process.
 */
#ifndef CAIRN_UNWIND_THREAD_SIGNAL_H
#define CAIRN_UNWIND_THREAD_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

typedef void (*cairn_thread_handler_fn)(int number, siginfo_t *info, void *ucontext);

/* The signal for which `handler` is installed now, always the same function. 0: another thread is
 * about to install it, or all signals are taken. */
int cairn_thread_signal_get(cairn_thread_handler_fn handler);

/* One that was left by who did not wait: is it still in the queue of `tid`, so that the next one
 * need not be sent? `room` is for the text of /proc. False also where that cannot be told. */
bool cairn_thread_signal_is_left(int number, int tid, char *room, size_t bytes);

/* Notes that `tid` did not answer in time. */
void cairn_thread_signal_leave(int number, int tid);

#endif /* CAIRN_UNWIND_THREAD_SIGNAL_H */
