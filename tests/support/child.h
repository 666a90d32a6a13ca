/* SPDX-License-Identifier: MIT */
/* A child of a test, which does not outlive it. */
#ifndef CAIRN_TESTS_SUPPORT_CHILD_H
#define CAIRN_TESTS_SUPPORT_CHILD_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

/* As fork(2): 0 in the child. */
static inline pid_t test_fork(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static inline void test_kill(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

#endif /* CAIRN_TESTS_SUPPORT_CHILD_H */
