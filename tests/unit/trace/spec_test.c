/* SPDX-License-Identifier: MIT */
#include "trace/spec.h"

#include <string.h>
#include <sys/syscall.h>

#include "support/test.h"

#ifndef SYS_mmap /* 32-bit CPUs have another one alone */
#define SYS_mmap SYS_mmap2
#endif

static void lists_patterns_and_sets_choose_calls(void **state)
{
    (void)state;
    struct cairn_spec spec = {0};
    assert_int_equal(cairn_spec_add(&spec, "syscall:%memory,read*,!readv", NULL), CAIRN_OK);
    assert_int_equal(cairn_spec_finish(&spec, NULL, NULL), CAIRN_OK);
    assert_true(spec.calls[SYS_mmap].is_wanted);
    assert_true(spec.calls[SYS_read].is_wanted);
    assert_false(spec.calls[SYS_readv].is_wanted);
    assert_false(spec.calls[SYS_write].is_wanted);
    assert_int_equal(spec.calls[SYS_read].data, 2);
    assert_true(spec.calls[SYS_read].flags & CAIRN_TRACE_SIZE);
    cairn_spec_done(&spec);
}

static void what_is_taken_out_leaves_all_others(void **state)
{
    (void)state;
    struct cairn_spec spec = {0};
    assert_int_equal(cairn_spec_add(&spec, "syscall:!write", NULL), CAIRN_OK);
    assert_true(spec.calls[SYS_read].is_wanted);
    assert_false(spec.calls[SYS_write].is_wanted);
    cairn_spec_done(&spec);
}

static void a_filter_takes_calls_that_have_its_fields(void **state)
{
    (void)state;
    struct cairn_spec spec = {0};
    assert_int_equal(cairn_spec_add(&spec, "syscall:%desc[flags & O_CREAT]", NULL), CAIRN_OK);
    assert_int_equal(cairn_spec_finish(&spec, "ret < 0 && comm ~ \"x*\"", NULL), CAIRN_OK);
    assert_true(spec.calls[SYS_openat].is_wanted);
    assert_false(spec.calls[SYS_close].is_wanted);
    assert_int_equal(spec.calls[SYS_openat].n_terms, 2);
    assert_true(spec.calls[SYS_openat].flags & CAIRN_TRACE_EACH);
    cairn_spec_done(&spec);
}

/* An int is 32 bits of the register; of a 32-bit program so is all. */
static void results_have_the_width_of_their_type(void **state)
{
    (void)state;
    struct cairn_spec spec = {0};
    assert_int_equal(cairn_spec_add(&spec, "syscall:all", NULL), CAIRN_OK);
    assert_int_equal(cairn_spec_finish(&spec, NULL, NULL), CAIRN_OK);
    assert_int_equal(spec.calls[SYS_close].ret_width, CAIRN_TRACE_S32);
    assert_int_equal(spec.calls[SYS_read].ret_width, CAIRN_TRACE_U64);
    for (uint32_t row = CAIRN_TRACE_NUMBERS; row < CAIRN_TRACE_CALLS; row++)
        assert_true(!spec.calls[row].is_wanted || spec.calls[row].ret_width == CAIRN_TRACE_S32 ||
                    spec.calls[row].ret_width == CAIRN_TRACE_U32);
    cairn_spec_done(&spec);
    const uint32_t compat = CAIRN_TRACE_NUMBERS, probe = CAIRN_TRACE_CALLS;
    assert_int_equal(cairn_trace_result(probe, CAIRN_TRACE_S32, 0xffffffff), -1);
    assert_int_equal(cairn_trace_result(probe, CAIRN_TRACE_U32, UINT64_MAX), 0xffffffff);
    assert_int_equal(cairn_trace_result(compat, CAIRN_TRACE_U32, 0xfffffffff7fc0000), 0xf7fc0000);
    assert_int_equal(cairn_trace_result(compat, CAIRN_TRACE_U32, 0xfffffffe), -2);
    assert_int_equal(cairn_trace_result(0, CAIRN_TRACE_U64, (uint64_t)-2), -2);
}

/* A condition on what an event does not have is refused, not left out. */
static void a_result_is_compared_where_there_is_one(void **state)
{
    (void)state;
    struct cairn_spec spec = {0};
    struct cairn_err err = {0};
    assert_int_equal(cairn_spec_add(&spec, "syscall:exit_group[ret < 0]", &err), CAIRN_E_ARG);
    assert_string_equal(err.msg, "filter: column 1: exit_group has no field \"ret\"");
    assert_int_equal(cairn_spec_add(&spec, "syscall:exit_group,close", NULL), CAIRN_OK);
    assert_int_equal(cairn_spec_finish(&spec, "errno == EBADF", NULL), CAIRN_OK);
    assert_true(spec.calls[SYS_close].is_wanted);
    assert_false(spec.calls[SYS_exit_group].is_wanted);
    cairn_spec_done(&spec);
    spec.enter_only = true;
    assert_int_equal(cairn_spec_add(&spec, "syscall:close", NULL), CAIRN_OK);
    assert_int_equal(cairn_spec_finish(&spec, "duration > 1ms", &err), CAIRN_E_ARG);
    assert_string_equal(err.msg, "filter: column 1: close has no field \"duration\"");
    cairn_spec_done(&spec);
}

static void wrong_events_say_what_is_expected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"openat", "event \"openat\": expected syscall:NAME"},
        {"syscall:no_such", "syscall:no_such: no system call has that name"},
        {"syscall:%nothing", "%nothing: there is no such set of system calls"},
        {"syscall:", "syscall:: column 1: expected a name"},
        {"syscall:read[", "event \"syscall:read[\": the filter has no closing ]"},
        {"syscall:read[path == \"x\"]", "filter: column 1: read has no field \"path\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_spec spec = {0};
        struct cairn_err err = {0};
        assert_int_equal(cairn_spec_add(&spec, rows[i].text, &err), CAIRN_E_ARG);
        assert_string_equal(err.msg, rows[i].message);
        cairn_spec_done(&spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_patterns_and_sets_choose_calls),
        cmocka_unit_test(what_is_taken_out_leaves_all_others),
        cmocka_unit_test(a_filter_takes_calls_that_have_its_fields),
        cmocka_unit_test(results_have_the_width_of_their_type),
        cmocka_unit_test(a_result_is_compared_where_there_is_one),
        cmocka_unit_test(wrong_events_say_what_is_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
