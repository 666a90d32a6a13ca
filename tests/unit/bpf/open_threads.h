/* SPDX-License-Identifier: MIT */
/* The task iterator, opened once for all tests of a program; they are skipped, with cairn's own
 * reason, where it cannot be loaded. */
#ifndef CAIRN_TESTS_BPF_OPEN_THREADS_H
#define CAIRN_TESTS_BPF_OPEN_THREADS_H

#include "bpf/threads.h"
#include "support/test.h"

static struct cairn_bpf_threads *threads;

#define OPEN_OR_SKIP()                                                                             \
    do {                                                                                           \
        struct cairn_err open_err = {0};                                                           \
        if (!threads && cairn_bpf_threads_open(&threads, &open_err) < 0) {                         \
            print_message("skipped: %s (%s)\n", open_err.msg, open_err.hint);                      \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

#endif /* CAIRN_TESTS_BPF_OPEN_THREADS_H */
