/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/test.h"

enum { MS = 1000000 };
static const int64_t start_ns = 1700000000000000000;

static uint32_t add_text(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

static struct cairn_profile *new_profile(const char *value)
{
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, "samples", "count");
    cairn_profile_add_type(p, value, "nanoseconds");
    return p;
}

/* "main;f" */
static uint32_t add_stack(struct cairn_profile *p, const char *names)
{
    uint32_t stack = 0;
    for (size_t size; *names; names += size + (names[size] == ';')) {
        size = strcspn(names, ";");
        struct cairn_profile_function function = {.name = cairn_profile_text(p, names, size)};
        struct cairn_profile_line line = {cairn_profile_add_function(p, &function), 0};
        struct cairn_profile_frame frame = {.how = CAIRN_HOW_TEXT};
        stack = cairn_profile_add_stack(p, stack, cairn_profile_add_frame(p, &frame, &line, 1));
    }
    return stack;
}

/* Of one thread; a time below zero: unknown. */
static void add_sample(struct cairn_profile *p, const char *names, int64_t at_ms, int64_t ms)
{
    struct cairn_profile_label labels[] = {{.key = add_text(p, "pid"), .number = 7},
                                           {.key = add_text(p, "tid"), .number = 8}};
    uint32_t set =
        cairn_profile_add_label_set(p, labels, 2, 0, at_ms < 0 ? 0 : start_ns + at_ms * MS);
    cairn_profile_add_sample(p, add_stack(p, names), set, (int64_t[]){1, ms * MS});
}

/* Each event of a call, "B main 0" and so on, as it stands in the file. Frees the profile. */
static void assert_calls(struct cairn_profile *p, const char *expected)
{
    struct cairn_buffer out = {0}, calls = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_CHROME, test_write, &out, &err), err);
    const char *at = cairn_buffer_text(&out);
    while ((at = strstr(at, "{\"ph\":\"")) != NULL) {
        char phase = at[7], name[32];
        double us;
        if ((phase == 'B' || phase == 'E') &&
            sscanf(at + 9, ",\"name\":\"%31[^\"]\",\"pid\":7,\"tid\":8,\"ts\":%lf", name, &us) == 2)
            cairn_buffer_printf(&calls, "%c %s %g\n", phase, name, us / 1000);
        at += 7;
    }
    assert_string_equal(cairn_buffer_text(&calls), expected);
    cairn_buffer_done(&out);
    cairn_buffer_done(&calls);
    cairn_profile_free(p);
}

static void frames_that_follow_each_other_are_one_call(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu");
    add_sample(p, "main;f;g", 0, 2);
    add_sample(p, "main;f;h", 2, 2);
    add_sample(p, "main;f", 4, 2);
    assert_calls(p, "B main 0\nB f 0\nB g 0\nE g 2\nB h 2\nE h 4\nE f 6\nE main 6\n");
}

/* Backwards in the profile; a pause longer than two samples ends all calls. */
static void order_is_that_of_time_and_pauses_end_calls(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu");
    add_sample(p, "main;f", 20, 2);
    add_sample(p, "main;f", 3, 2);
    add_sample(p, "main;f", 0, 2);
    assert_calls(p, "B main 0\nB f 0\nE f 5\nE main 5\nB main 20\nB f 20\nE f 22\nE main 22\n");
}

/* A time off the CPU is as long as it says, however long that is. */
static void waits_are_stretches(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("off_cpu");
    add_sample(p, "main;wait", 0, 500);
    add_sample(p, "main;wait", 501, 9);
    assert_calls(p, "B main 0\nB wait 0\nE wait 500\nE main 500\nB main 501\nB wait 501\n"
                    "E wait 510\nE main 510\n");
}

static void what_has_no_time_is_left_out_or_refused(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu");
    struct cairn_buffer out = {0};
    struct cairn_err err;
    add_sample(p, "main", -1, 2);
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_CHROME, test_write, &out, &err), CAIRN_E_ARG,
                 err, "no sample says when it was");
    cairn_buffer_done(&out);
    add_sample(p, "main", 0, 2);
    assert_calls(p, "B main 0\nE main 2\n");
}

static void markers_have_their_details(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu");
    struct cairn_profile_label labels[] = {
        {.key = add_text(p, "pid"), .number = 7},
        {.key = add_text(p, "arg.path"), .text = add_text(p, "\"/x\"")}};
    struct cairn_profile_marker marker = {
        .name = add_text(p, "openat"),
        .labels = cairn_profile_add_label_set(p, labels, 2, 0, start_ns),
        .duration_ns = 1500};
    struct cairn_buffer out = {0};
    struct cairn_err err;
    cairn_profile_add_marker(p, &marker);
    marker.duration_ns = 0;
    cairn_profile_add_marker(p, &marker);
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_CHROME, test_write, &out, &err), err);
    static const char head[] = "\"name\":\"openat\",\"pid\":7,\"tid\":1,\"cat\":\"event\",\"id\":";
    const char *const wanted[] = {
        "{\"ph\":\"b\",", head, "1,\"ts\":0,\"args\":{\"path\":\"\\\"/x\\\"\"}},",
        "{\"ph\":\"e\",", head, "1,\"ts\":1.5},",
        "{\"ph\":\"n\",", head, "2,\"ts\":0,"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_non_null(strstr(cairn_buffer_text(&out), wanted[i]));
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void lack_of_memory_is_reported_wherever_it_happens(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu");
    add_sample(p, "main;f", 0, 2);
    add_sample(p, "main;g", 2, 2);
    test_write_without_memory(p, CAIRN_FORMAT_CHROME, 5);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_follow_each_other_are_one_call),
        cmocka_unit_test(order_is_that_of_time_and_pauses_end_calls),
        cmocka_unit_test(waits_are_stretches),
        cmocka_unit_test(what_has_no_time_is_left_out_or_refused),
        cmocka_unit_test(markers_have_their_details),
        cmocka_unit_test(lack_of_memory_is_reported_wherever_it_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
