/* SPDX-License-Identifier: MIT */
/*
 * Apart: system calls that another process can keep from returning, made by a helper process with a
 * deadline.
 *
 *     caller                              helper, forked at the first call
 *     copies the input       ──► io       pages that both processes map
 *     request, descriptor    ──► socket   fn(io, descriptor)
 *     poll(2), deadline      ◄── socket   result, descriptor
 *     copies the output      ◄── io
 *
 * A read of a page under userfaultfd(2) waits until its owner fills it. A read of a FUSE file waits
 * until its server answers, and no signal ends that wait. A thread that waits so keeps its process
 * from exiting, so a process makes the call. At the deadline it is killed and left behind; the next
 * call starts another one. A helper has no descriptor but its socket, and so keeps no pipe open.
 *
 * Costs about 15 us a call, and a fork(2) for the first. One helper serves the whole process; a
 * mutex is held from request to result. Not signal-safe.
 */
#ifndef CAIRN_BASE_APART_H
#define CAIRN_BASE_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CAIRN_APART_BYTES = 1 << 20,   /* of io */
    CAIRN_APART_LEFT_MAX = 16,     /* helpers that may be left behind; then every call fails */
    CAIRN_APART_DEADLINE_MS = 1000 /* a sound read takes microseconds, from a slow disk some ms */
};

/*
 * Runs in the helper: system calls alone, for locks may be held by threads that fork(2) did not
 * copy. Returns what the caller gets, or a negative errno. `fd` is the caller's descriptor, or -1;
 * a descriptor in `*ret_fd`, which is -1 before, goes to the caller. Both are closed afterwards.
 */
typedef long (*cairn_apart_fn)(uint8_t *io, int fd, int *ret_fd);

struct cairn_apart_call {
    cairn_apart_fn fn;
    unsigned deadline_ms; /* 0: CAIRN_APART_DEADLINE_MS */
    int fd;               /* -1: none */
    const void *in;       /* the first bytes of io */
    size_t in_size;
    void *out; /* copied from io + out_off after a result >= 0 */
    size_t out_off, out_size;
    bool out_is_result; /* as many bytes as the result says, out_size at most */
    int *ret_fd;        /* NULL: none is expected; -1: none came */
    void *noted;        /* copied from io + note_off after -ETIMEDOUT: how far it came */
    size_t note_off, note_size;
};

/* -ETIMEDOUT: no result at the deadline. -EUSERS: CAIRN_APART_LEFT_MAX helpers were left behind.
 * Where no helper can be started the call is made in the caller's process, without a deadline. */
long cairn_apart_do(const struct cairn_apart_call *call);

/* Does a helper run already? Then whoever looks at processes is the caller, and a call is cheap. */
bool cairn_apart_is_used(void);

#endif /* CAIRN_BASE_APART_H */
