/* SPDX-License-Identifier: MIT */
#include "doctor/tries.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static int succeed(const struct cairn_doctor_subject *subject, struct cairn_doctor_answer *answer)
{
    answer->number = (uint64_t)subject->pid + 1;
    return 0;
}

static int refuse(const struct cairn_doctor_subject *subject, struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    return EACCES;
}

/* As a filter ends who calls what it forbids. */
static int die(const struct cairn_doctor_subject *subject, struct cairn_doctor_answer *answer)
{
    (void)subject, (void)answer;
    signal(SIGSYS, SIG_DFL);
    raise(SIGSYS);
    return 0;
}

static int hang(const struct cairn_doctor_subject *subject, struct cairn_doctor_answer *answer)
{
    (void)answer;
    while (subject)
        pause();
    return 0;
}

static void each_outcome_is_told_apart(void **state)
{
    (void)state;
    const struct cairn_doctor_subject subject = {.pid = 41};
    struct cairn_doctor_result result = cairn_doctor_try_one(succeed, &subject, 10000);
    assert_int_equal(result.outcome, CAIRN_TRIED_OK);
    assert_int_equal(result.answer.number, 42);
    result = cairn_doctor_try_one(refuse, &subject, 10000);
    assert_int_equal(result.outcome, CAIRN_TRIED_REFUSED);
    assert_int_equal(result.os_errno, EACCES);
    result = cairn_doctor_try_one(die, &subject, 10000);
    assert_int_equal(result.outcome, CAIRN_TRIED_KILLED);
    assert_int_equal(result.signal, SIGSYS);
    result = cairn_doctor_try_one(hang, &subject, 50);
    assert_int_equal(result.outcome, CAIRN_TRIED_LATE);
}

/* A program may let the kernel forget its children. */
static void children_may_be_ignored(void **state)
{
    (void)state;
    const struct cairn_doctor_subject subject = {0};
    signal(SIGCHLD, SIG_IGN);
    struct cairn_doctor_result result = cairn_doctor_try_one(refuse, &subject, 10000);
    struct cairn_doctor_result killed = cairn_doctor_try_one(die, &subject, 10000);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(result.outcome, CAIRN_TRIED_REFUSED);
    assert_int_equal(killed.outcome, CAIRN_TRIED_KILLED);
    assert_int_equal(killed.signal, SIGSYS);
}

static void all_are_tried_and_leave_no_child(void **state)
{
    (void)state;
    struct cairn_doctor_tries tries;
    struct cairn_err err;
    memset(&tries, 0xff, sizeof tries);
    assert_ok(cairn_doctor_try_all(&tries, &err), err);
    for (enum cairn_doctor_try i = 0; i < CAIRN_N_TRIES; i++) {
        const struct cairn_doctor_result *result = &tries.results[i];
        assert_in_range(result->outcome, CAIRN_TRIED_NOT, CAIRN_TRIED_LATE);
        assert_int_not_equal(result->outcome, CAIRN_TRIED_LATE);
        if (result->outcome == CAIRN_TRIED_REFUSED)
            assert_int_not_equal(result->os_errno, 0);
        assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz", cairn_doctor_try_key(i)[0]));
        assert_true(strlen(cairn_doctor_try_name(i)) > 0);
    }
    assert_int_equal(tries.results[CAIRN_TRY_HEAP_FOLDER].outcome, CAIRN_TRIED_OK);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_outcome_is_told_apart),
        cmocka_unit_test(children_may_be_ignored),
        cmocka_unit_test(all_are_tried_and_leave_no_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
