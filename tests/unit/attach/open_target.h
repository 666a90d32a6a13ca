/* SPDX-License-Identifier: MIT */
/* A child that is entered. One that may not be traced here ends, and the test is skipped. */
#ifndef CAIRN_TESTS_ATTACH_OPEN_TARGET_H
#define CAIRN_TESTS_ATTACH_OPEN_TARGET_H

#include "attach/target.h"
#include "support/child.h"

static inline struct cairn_target_process test_open_target(pid_t child)
{
    struct cairn_target_process target;
    struct cairn_err err;
    int result = cairn_target_open_process(child, &target, &err);
    if (result == CAIRN_E_ACCESS) {
        print_message("skipped: %s (%s)\n", err.msg, err.hint);
        test_kill(child);
        skip();
    }
    assert_ok(result, err);
    return target;
}

#endif /* CAIRN_TESTS_ATTACH_OPEN_TARGET_H */
