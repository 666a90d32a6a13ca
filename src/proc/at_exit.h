/* SPDX-License-Identifier: MIT */
/*
 * At exit: a child that stops when it ends, while its memory, its descriptors and its main thread's
 * registers still exist. Its other threads have ended by then. ptrace(2) traces the main thread
 * alone, from before its first instruction; what it starts is not traced.
 *
 *     child_start -> seize -> child_release(serve) -> turn* -> STANDS -> let_go -> turn* -> ENDED
 *
 * While it stands, cairn_ptrace_prstatus() reads the main thread's registers.
 *
 * All calls come from one OS thread.
 */
#ifndef CAIRN_PROC_AT_EXIT_H
#define CAIRN_PROC_AT_EXIT_H

#include <stdbool.h>

#include <cairn/error.h>

enum cairn_at_exit_turn { CAIRN_AT_EXIT_RUNS, CAIRN_AT_EXIT_STANDS, CAIRN_AT_EXIT_ENDED };

struct cairn_at_exit {
    int pid;
    enum cairn_at_exit_turn at;
    int status; /* as waitpid(2) has it, once it has ended */
};

/* CAIRN_E_ACCESS: it may not be traced. */
int cairn_at_exit_seize(int pid, struct cairn_at_exit *ret_exit, struct cairn_err *err);

/* Handles the stops that are pending, and does not block: signals reach the child, and a group stop
 * stays one. */
enum cairn_at_exit_turn cairn_at_exit_turn(struct cairn_at_exit *at_exit);
void cairn_at_exit_serve(void *at_exit); /* the same, for cairn_child_release() */

/* It goes on to end. */
void cairn_at_exit_let_go(struct cairn_at_exit *at_exit);

/* Lets it go untraced for a while, so that another tracer of this thread can stop all of it. False:
 * it stands, has ended, or does not stop within a second; then it is traced as before. */
bool cairn_at_exit_pause(struct cairn_at_exit *at_exit);
void cairn_at_exit_resume(struct cairn_at_exit *at_exit);

/* Kills a child that could not be started, and waits for its end. */
void cairn_at_exit_drop(struct cairn_at_exit *at_exit);

#endif /* CAIRN_PROC_AT_EXIT_H */
