/* SPDX-License-Identifier: MIT */
/* Call threads: the threads whose calls call_stops.h traces; a part of it. */
#ifndef CAIRN_PROC_CALL_THREADS_H
#define CAIRN_PROC_CALL_THREADS_H

#include "proc/call_stops.h"

/* NULL: it is not traced. */
struct cairn_call_thread *cairn_call_threads_find(const struct cairn_call_stops *stops, int tid);

/* The one of that number, made where there is none; NULL: memory is gone. */
struct cairn_call_thread *cairn_call_threads_add(struct cairn_call_stops *stops, int tid);
void cairn_call_threads_remove(struct cairn_call_stops *stops, struct cairn_call_thread *thread);

/* `caller` has called execve(2), and has the number of `first` now, which has ended. */
int cairn_call_threads_take_over(struct cairn_call_stops *stops, struct cairn_call_thread *first,
                                 struct cairn_call_thread *caller);

/* A stopped one runs untraced from now on, and gets that signal; 0: none. */
void cairn_call_threads_let_go(struct cairn_call_stops *stops, struct cairn_call_thread *thread,
                               int signal);

/* A held one whose parent was killed before its event came: nothing else resumes it. */
void cairn_call_threads_adopt(struct cairn_call_stops *stops, struct cairn_call_thread *thread);

/* A stop of ours has ended its call with EINTR, and no signal did: it calls again. */
void cairn_call_threads_mend(int tid);

#endif /* CAIRN_PROC_CALL_THREADS_H */
