/* SPDX-License-Identifier: MIT */
/* May a child be stopped here, and its registers and memory be read? Not under qemu-user, and not
 * where ptrace(2) is forbidden: then the test that asks is skipped. */
#ifndef CAIRN_TESTS_TARGET_MAY_HOLD_H
#define CAIRN_TESTS_TARGET_MAY_HOLD_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "support/test.h"

static inline void test_may_hold(void)
{
    struct cairn_unwind_space *space = NULL;
    struct cairn_cursor_regs regs;
    struct cairn_err err = {0};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        for (;;)
            pause();
    int code = cairn_unwind_space_open_pid(child, NULL, &space, &err);
    if (code == CAIRN_OK)
        code = cairn_unwind_hold(space, child, 5000, &err);
    if (code == CAIRN_OK)
        code = cairn_unwind_thread_regs(space, child, &regs, &err);
    cairn_unwind_space_free(space);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (code < 0) {
        print_message("skipped: a child cannot be held here: %s\n", err.msg);
        skip();
    }
}

#endif /* CAIRN_TESTS_TARGET_MAY_HOLD_H */
