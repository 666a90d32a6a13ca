/* SPDX-License-Identifier: MIT */
/* A child made by fork(2), in which pages are to be zeros. */
#ifndef CAIRN_TESTS_RT_CHILD_H
#define CAIRN_TESTS_RT_CHILD_H

#include <sys/wait.h>

#include "support/test.h"

/* It ends with 0 where they were. */
static inline void assert_wiped_in(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
#ifndef __x86_64__
    if (status != 0) {
        print_message(
            "skipped: qemu-user accepts MADV_WIPEONFORK and does nothing (guest/arm64 runs it)\n");
        skip();
    }
#endif
    assert_int_equal(status, 0);
}

#endif /* CAIRN_TESTS_RT_CHILD_H */
