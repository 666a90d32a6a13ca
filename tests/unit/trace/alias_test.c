/* SPDX-License-Identifier: MIT */
#include "trace/alias.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <cairn/error.h>

#include "support/test.h"

struct got {
    char text[4][256];
    size_t n;
    int answer;
};

static int note(void *ctx, const char *event, struct cairn_err *err)
{
    struct got *got = ctx;
    (void)err;
    snprintf(got->text[got->n++], sizeof *got->text, "%s", event);
    return got->answer;
}

static int expand(const char *text, const char *filter, struct got *ret_got, struct cairn_err *err)
{
    const struct cairn_probes probes = {0};
    ret_got->n = 0;
    return cairn_alias_each(&probes, text, strcspn(text, "["), filter, note, ret_got, err);
}

static void names_are_told_from_other_events(void **state)
{
    (void)state;
    assert_true(cairn_alias_is("exec"));
    assert_true(cairn_alias_is("exec[comm == \"sh\"]"));
    assert_true(cairn_alias_is("signal:SEGV"));
    assert_true(cairn_alias_is("page-fault"));
    assert_false(cairn_alias_is("signal"));
    assert_false(cairn_alias_is("exec:x"));
    assert_false(cairn_alias_is("execve"));
    assert_false(cairn_alias_is("syscall:mmap"));
    assert_false(cairn_alias_is(""));
}

static void a_name_stands_for_events_with_its_filter(void **state)
{
    (void)state;
    struct got got = {0};
    assert_int_equal(expand("exec", "", &got, NULL), CAIRN_OK);
    assert_int_equal(got.n, 1);
    assert_string_equal(got.text[0], "tracepoint:sched:sched_process_exec");
    assert_int_equal(expand("mmap[length > 4k]", "length > 4k", &got, NULL), CAIRN_OK);
    assert_string_equal(got.text[0], "syscall:mmap[length > 4k]");
    assert_int_equal(expand("signal:SEGV", "", &got, NULL), CAIRN_OK);
    assert_int_equal(got.n, 2);
    assert_string_equal(got.text[0], "tracepoint:signal:signal_generate[sig == 11]");
    assert_string_equal(got.text[1], "tracepoint:signal:signal_deliver[sig == 11]");
    assert_int_equal(expand("signal:9[code < 0 || code > 1]", "code < 0 || code > 1", &got, NULL),
                     CAIRN_OK);
    assert_string_equal(got.text[0],
                        "tracepoint:signal:signal_generate[sig == 9 && (code < 0 || code > 1)]");
    assert_int_equal(expand("signal:*", "", &got, NULL), CAIRN_OK);
    assert_string_equal(got.text[0], "tracepoint:signal:signal_generate");
    assert_int_equal(expand("malloc", "size > 1k", &got, NULL), CAIRN_OK);
    assert_string_equal(got.text[0], "uprobe:libc.so.6:malloc[size > 1k]");
}

static void refusals_of_all_events_are_one(void **state)
{
    (void)state;
    struct got got = {.answer = CAIRN_E_ARG};
    struct cairn_err err = {0};
    assert_int_equal(expand("signal:SEGV", "", &got, &err), CAIRN_E_ARG);
    assert_int_equal(got.n, 2);
    got.answer = CAIRN_E_MISSING;
    assert_int_equal(expand("signal:SEGV", "", &got, &err), CAIRN_E_MISSING);
    assert_int_equal(got.n, 1);
}

static void signals_have_names_and_numbers(void **state)
{
    (void)state;
    assert_int_equal(cairn_alias_signal("SIGSEGV"), SIGSEGV);
    assert_int_equal(cairn_alias_signal("TERM"), SIGTERM);
    assert_int_equal(cairn_alias_signal("9"), SIGKILL);
    assert_int_equal(cairn_alias_signal("0"), -1);
    assert_int_equal(cairn_alias_signal("-1"), -1);
    assert_int_equal(cairn_alias_signal("4000"), -1);
    assert_int_equal(cairn_alias_signal(""), -1);
    assert_int_equal(cairn_alias_signal("NOSUCH"), -1);
    struct got got = {0};
    struct cairn_err err = {0};
    assert_int_equal(expand("signal:NOSUCH", "", &got, &err), CAIRN_E_ARG);
    assert_string_equal(err.msg, "signal:NOSUCH: there is no such signal");
}

static void known_fields_get_their_kinds(void **state)
{
    (void)state;
    struct cairn_syscall call = {
        .n_args = 2, .args = {{"sig", CAIRN_KIND_INT, NULL}, {"error_code", CAIRN_KIND_HEX, NULL}}};
    cairn_alias_describe("tracepoint:sched:sched_switch", &call);
    assert_int_equal(call.args[0].kind, CAIRN_KIND_INT);
    cairn_alias_describe("tracepoint:signal:signal_deliver", &call);
    assert_int_equal(call.args[0].kind, CAIRN_KIND_SIGNAL);
    assert_int_equal(call.args[1].kind, CAIRN_KIND_HEX);
    cairn_alias_describe("tracepoint:exceptions:page_fault_user", &call);
    assert_int_equal(call.args[1].kind, CAIRN_KIND_FLAGS);
    assert_string_equal(call.args[1].names, "fault");
    call.n_args = -1;
    cairn_alias_describe("uprobe:libc.so.6:malloc", &call);
    assert_int_equal(call.n_args, 1);
    assert_string_equal(call.args[0].name, "size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_told_from_other_events),
        cmocka_unit_test(a_name_stands_for_events_with_its_filter),
        cmocka_unit_test(refusals_of_all_events_are_one),
        cmocka_unit_test(signals_have_names_and_numbers),
        cmocka_unit_test(known_fields_get_their_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
