/* SPDX-License-Identifier: MIT */
/*
 * Call filter: a program for seccomp(2) that stops the calls that are wanted for their tracer, and
 * lets all others pass.
 *
 *     arch ─► number ─┬─► in a range of wanted numbers ─► trace
 *                     ├─► maps code, or renames        ─► trace
 *                     └─► else                         ─► allow
 *
 * The kernel asks the program once for each number whether it always allows it, and remembers that
 * (Linux 5.11, kernel/seccomp.c, seccomp_cache_prepare()). So the length of the program costs calls
 * that are not traced nothing.
 */
#ifndef CAIRN_PROC_CALL_FILTER_H
#define CAIRN_PROC_CALL_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

#include <cairn/error.h>

#include "proc/call_abi.h"

enum { CAIRN_CALL_FILTER_MAX = BPF_MAXINSNS };

/* Bits by number; `compat` of 32-bit programs. */
struct cairn_calls_wanted {
    uint64_t native[CAIRN_CALL_NUMBERS / 64], compat[CAIRN_CALL_NUMBERS / 64];
};

static inline bool cairn_calls_want(const uint64_t *bits, uint64_t number)
{
    return number < CAIRN_CALL_NUMBERS && bits[number / 64] >> number % 64 & 1;
}

struct cairn_call_filter {
    struct sock_filter insns[CAIRN_CALL_FILTER_MAX];
    uint16_t n;
};

/* CAIRN_E_SUPPORT: calls of this CPU are not known. */
int cairn_call_filter_make(const struct cairn_calls_wanted *wanted,
                           struct cairn_call_filter *ret_filter, struct cairn_err *err);

/* Lays it over the calling process, and what that starts, for good; a child before its execve(2),
 * so it makes system calls alone. no_new_privs is set only where the kernel demands it. 0 or an
 * errno. */
int cairn_call_filter_lay(const struct cairn_call_filter *filter);

#endif /* CAIRN_PROC_CALL_FILTER_H */
