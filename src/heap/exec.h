/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Exec: what the environment of a program must be that is about to be executed, so that the tracker
 * does it no harm, and goes along where it can:
 *
 *     the program refuses a preloaded tracker (rt/program.h)   LD_PRELOAD without us
 *     its environment was made anew, without us                with us, what our settings are, and
 *                                                              CAIRN_HEAP_HIDE=1
 *     else                                                     as it is
 *
 * A process that finds CAIRN_HEAP_HIDE takes all of it out of its environment again, before main()
 * runs, so that the program has the one that was meant for it. The caller of exec(3) may be a child
 * of vfork(2), which has its parent's memory: whatever is made is on the caller's stack.
 */
#ifndef CAIRN_HEAP_EXEC_H
#define CAIRN_HEAP_EXEC_H

#include <stdbool.h>
#include <stddef.h>

#include "rt/program.h"

/* Takes this library out of a list as LD_PRELOAD has it; its bytes then. */
size_t cairn_heap_exec_take_out(char *list);

/* When the program is loaded: keeps what to hand on, and hides what is to be hidden. */
void cairn_heap_exec_begin(char **env);

/* False behind a seal (rt/seal.h), also of a child of vfork(2) alone: then nothing is judged. */
bool cairn_heap_exec_may_ask(void);

enum cairn_heap_exec_change { CAIRN_HEAP_EXEC_NONE, CAIRN_HEAP_EXEC_OUT, CAIRN_HEAP_EXEC_IN };

struct cairn_heap_exec {
    char *const *env;    /* as it was given */
    const char *preload; /* its LD_PRELOAD; NULL: it has none, or an empty one */
    enum cairn_heap_exec_change change;
    size_t n, bytes; /* pointers and bytes that cairn_heap_exec_env() needs */
    struct cairn_heap_untracked *row;
};

/* Judges what is at `path`, and notes it where it will not be tracked. NULL: nobody knows. */
void cairn_heap_exec_plan(struct cairn_heap_exec *ret_plan, const char *path, char *const *env);
/* The environment to use: the one that was given, or one in `list` and `text`. */
char *const *cairn_heap_exec_env(const struct cairn_heap_exec *plan, char **list, char *text);
/* It was not executed. */
void cairn_heap_exec_undo(const struct cairn_heap_exec *plan);

/* As execvp(3) finds a program in PATH (cairn_program_find()); NULL: it does not, or may not ask.
 */
enum { CAIRN_HEAP_EXEC_PATH = 4096 };
const char *cairn_heap_exec_find(const char *name, char path[CAIRN_HEAP_EXEC_PATH]);

#endif /* CAIRN_HEAP_EXEC_H */
