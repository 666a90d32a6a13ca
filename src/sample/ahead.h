/* SPDX-License-Identifier: MIT */
/*
 * Ahead: the code of a program that is about to be started, and of the libraries that it needs,
 * mapped as it will be, so that whoever
 * looks at the held child (proc/child.h) reads its tables before it runs. Without it the first
 * stacks of a program would be walked from copies, which end where a copy ends.
 *
 * Nothing of it is executed, and no page is touched here.
 */
#ifndef CAIRN_SAMPLE_AHEAD_H
#define CAIRN_SAMPLE_AHEAD_H

#include <stddef.h>

enum { CAIRN_AHEAD_PIECES = 128 };

struct cairn_ahead {
    struct {
        void *at;
        size_t size;
    } pieces[CAIRN_AHEAD_PIECES];
    size_t n;
};

/* `name` as execvp(3) takes it; of a script, its interpreter. What cannot be had is left out: the
 * start will say what is wrong. A child of fork(2) has the mappings until it calls execve(2). */
void cairn_ahead_map(const char *name, struct cairn_ahead *ret_ahead);
void cairn_ahead_unmap(struct cairn_ahead *ahead); /* all-zero is fine */

#endif /* CAIRN_SAMPLE_AHEAD_H */
