/* SPDX-License-Identifier: MIT */
/* Child: a command that is started, but held before its first instruction until we are ready. */
#ifndef CAIRN_PROC_CHILD_H
#define CAIRN_PROC_CHILD_H

#include <cairn/error.h>

struct cairn_child {
    int pid;     /* 0: none */
    int go_fd;   /* closing it without a byte lets the child give up; -1: released */
    int fail_fd; /* what exec refused comes from here; -1: read */
};

/* `env` ends with NULL; NULL: ours. */
int cairn_child_start(char *const *argv, char *const *env, struct cairn_child *ret_child,
                      struct cairn_err *err);

/* The same; the child calls `before` when it is released, before execve(2). `before` returns 0, or
 * an errno that ends the child. It runs in a forked process: it may make system calls, and call
 * nothing else. NULL: nothing is called. */
typedef int (*cairn_child_fn)(const void *ctx);
int cairn_child_start_by(char *const *argv, char *const *env, cairn_child_fn before,
                         const void *ctx, struct cairn_child *ret_child, struct cairn_err *err);

/* Lets it run and waits until the program runs or could not: then CAIRN_E_MISSING or
 * CAIRN_E_ACCESS. `serve`, where not NULL, is called every few milliseconds meanwhile. */
int cairn_child_release(struct cairn_child *child, const char *name, void (*serve)(void *),
                        void *ctx, struct cairn_err *err);

/* Ends a child that was never released, and waits for it; otherwise leaves it alone. */
void cairn_child_drop(struct cairn_child *child);

#endif /* CAIRN_PROC_CHILD_H */
