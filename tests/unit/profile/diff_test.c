/* SPDX-License-Identifier: MIT */
/* What changed between two profiles: which functions are the same, by how much
 * they and the stacks changed, and in which order they stand. */
#include <cairn/diff.h>

#include "base/alloc.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/test.h"

static struct cairn_profile *profile_of(const char *text)
{
    struct cairn_profile *profile;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_span_of(text), CAIRN_FORMAT_COLLAPSED, &profile, &err), err);
    return profile;
}

static struct cairn_diff *diff_of(struct cairn_profile *before, struct cairn_profile *now,
                                  int absolute, int by_total)
{
    struct cairn_diff *diff;
    struct cairn_err err;
    struct cairn_diff_opts opts = {.size = sizeof opts, .absolute = absolute, .by_total = by_total};
    assert_ok(cairn_diff_new(before, now, &opts, &diff, &err), err);
    cairn_profile_free(before); /* nothing of them is borrowed */
    cairn_profile_free(now);
    return diff;
}

/* "name old_self>new_self self_change old_total>new_total total_change", a
 * function a line; where it is on one side alone, with a sign before the name.
 */
static void assert_functions(const struct cairn_diff *diff, const char *expected)
{
    const struct cairn_diff_row *rows;
    struct cairn_buffer out = {0};
    size_t n = cairn_diff_functions(diff, &rows);
    for (size_t i = 0; i < n; i++)
        cairn_buffer_printf(&out, "%s%s %lld>%lld %.1f %lld>%lld %.1f\n",
                            !rows[i].in_old   ? "+"
                            : !rows[i].in_new ? "-"
                                              : "",
                            rows[i].function, (long long)rows[i].old_self,
                            (long long)rows[i].new_self, rows[i].self_change,
                            (long long)rows[i].old_total, (long long)rows[i].new_total,
                            rows[i].total_change);
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
}

static void assert_stacks(const struct cairn_diff *diff, const char *expected)
{
    const struct cairn_diff_row *rows;
    const struct cairn_diff_stack *stacks;
    struct cairn_buffer out = {0};
    cairn_diff_functions(diff, &rows);
    size_t n = cairn_diff_stacks(diff, &stacks);
    for (size_t i = 0; i < n; i++) {
        uint32_t frames[8];
        size_t depth = cairn_diff_frames(diff, stacks[i].stack, frames, 8);
        assert_int_equal(depth, stacks[i].n_frames);
        for (size_t k = 0; k < depth; k++)
            cairn_buffer_printf(&out, "%s%s", k ? "<" : "", rows[frames[k]].function);
        cairn_buffer_printf(&out, " %lld>%lld %.1f\n", (long long)stacks[i].old_self,
                            (long long)stacks[i].new_self, stacks[i].change);
    }
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
}

static void shares_are_compared(void **state)
{
    (void)state;
    struct cairn_diff *diff = diff_of(profile_of("main;a 30\nmain;b 60\nmain;c 10\n"),
                                      profile_of("main;a 15\nmain;b 10\nmain;d 25\n"), 0, 0);
    int64_t before, now;
    cairn_diff_sums(diff, &before, &now);
    assert_int_equal(before, 100);
    assert_int_equal(now, 50);
    assert_functions(diff, "+d 0>25 50.0 0>25 50.0\n"
                           "a 30>15 0.0 30>15 0.0\n"
                           "main 0>0 0.0 100>50 0.0\n"
                           "-c 10>0 -10.0 10>0 -10.0\n"
                           "b 60>10 -40.0 60>10 -40.0\n");
    assert_stacks(diff, "d<main 0>25 50.0\n"
                        "a<main 30>15 0.0\n"
                        "c<main 10>0 -10.0\n"
                        "b<main 60>10 -40.0\n");
    cairn_diff_free(diff);
}

static void values_are_compared_as_they_are(void **state)
{
    (void)state;
    struct cairn_diff *diff =
        diff_of(profile_of("m;a 30\nm;b 60\n"), profile_of("m;a 29\nm;b 80\nx 1\n"), 1, 0);
    assert_functions(diff, "b 60>80 20.0 60>80 20.0\n"
                           "+x 0>1 1.0 0>1 1.0\n"
                           "m 0>0 0.0 90>109 19.0\n"
                           "a 30>29 -1.0 30>29 -1.0\n");
    cairn_diff_free(diff);
}

static void functions_can_stand_by_total(void **state)
{
    (void)state;
    struct cairn_diff *diff =
        diff_of(profile_of("m;a 4\nm;b 6\n"), profile_of("n;a 5\nn;b 5\n"), 0, 1);
    assert_functions(diff, "+n 0>0 0.0 0>10 100.0\n"
                           "a 4>5 10.0 4>5 10.0\n"
                           "b 6>5 -10.0 6>5 -10.0\n"
                           "-m 0>0 0.0 10>0 -100.0\n");
    assert_stacks(diff, "a<n 0>5 50.0\nb<n 0>5 50.0\na<m 4>0 -40.0\nb<m 6>0 -60.0\n");
    cairn_diff_free(diff);
}

/* Values that no double holds exactly: what rounding leaves of a third is no change. */
static void equal_shares_are_no_change(void **state)
{
    (void)state;
    struct cairn_diff *diff = diff_of(
        profile_of("a 1\nb 2\n"), profile_of("a 100000000000000009\nb 200000000000000018\n"), 0, 0);
    const struct cairn_diff_row *rows;
    for (size_t i = 0, n = cairn_diff_functions(diff, &rows); i < n; i++)
        assert_true(rows[i].self_change == 0);
    cairn_diff_free(diff);
}

static void a_side_may_be_empty(void **state)
{
    (void)state;
    struct cairn_diff *diff = diff_of(profile_of(""), profile_of("m;a 4\n"), 0, 0);
    assert_functions(diff, "+a 0>4 100.0 0>4 100.0\n+m 0>0 0.0 0>4 100.0\n");
    cairn_diff_free(diff);
    diff = diff_of(profile_of("a 4\n"), profile_of(""), 0, 0);
    assert_stacks(diff, "a 4>0 -100.0\n");
    cairn_diff_free(diff);
    diff = diff_of(profile_of(""), profile_of(""), 0, 0);
    assert_stacks(diff, "");
    cairn_diff_free(diff);
}

/* A stack of one function in a file, which is in a module. */
static void add_named(struct cairn_profile *p, const char *name, const char *file,
                      const char *module, int64_t value)
{
    struct cairn_profile_module m = {
        .path = cairn_profile_text(p, module, strlen(module)), .start = 0x1000, .end = 0x2000};
    struct cairn_profile_function function = {.name = cairn_profile_text(p, name, strlen(name)),
                                              .file = cairn_profile_text(p, file, strlen(file))};
    struct cairn_profile_line line = {.function = cairn_profile_add_function(p, &function)};
    struct cairn_profile_frame frame = {.address = 0x1000 + (uint64_t)value,
                                        .module = cairn_profile_add_module(p, &m)};
    uint32_t stack = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, &line, 1));
    cairn_profile_add_sample(p, stack, 0, &value);
}

static void a_function_of_another_build_is_the_same(void **state)
{
    (void)state;
    struct cairn_profile *before = profile_of("x 0\n"), *now = profile_of("x 0\n");
    add_named(before, "init", "/v1/src/a.c", "/opt/v1/prog", 1); /* by the name of the file */
    add_named(before, "init", "/v1/src/b.c", "/opt/v1/prog", 2);
    add_named(now, "init", "/v2/src/b.c", "/opt/v2/prog", 20);
    add_named(now, "init", "/v2/src/a.c", "/opt/v2/prog", 10);
    add_named(before, "read", "io.c", "/lib/libio.so.1.1", 3); /* a version in a name */
    add_named(now, "read", "io.c", "/lib/libio.so.1.2", 30);
    add_named(before, "moved", "old.c", "prog", 4); /* into another file of the module */
    add_named(now, "moved", "new.c", "prog", 40);
    add_named(before, "lone", "one.c", "this", 5); /* all but the name */
    add_named(now, "lone", "two.c", "that", 50);
    add_named(before, "two", "one.c", "this", 6); /* which of them it is nobody can say */
    add_named(now, "two", "two.c", "that", 60);
    add_named(now, "two", "three.c", "other", 61);
    add_named(before, "same", "a.c", "prog", 7); /* what is just the same goes before that */
    add_named(before, "same", "b.c", "prog", 8);
    add_named(now, "same", "b.c", "prog", 80);
    add_named(now, "same", "c.c", "prog", 70);
    struct cairn_diff *diff = diff_of(before, now, 1, 0);
    assert_functions(diff, "same 8>80 72.0 8>80 72.0\n"
                           "same 7>70 63.0 7>70 63.0\n"
                           "+two 0>61 61.0 0>61 61.0\n"
                           "+two 0>60 60.0 0>60 60.0\n"
                           "lone 5>50 45.0 5>50 45.0\n"
                           "moved 4>40 36.0 4>40 36.0\n"
                           "read 3>30 27.0 3>30 27.0\n"
                           "init 2>20 18.0 2>20 18.0\n"
                           "init 1>10 9.0 1>10 9.0\n"
                           "x 0>0 0.0 0>0 0.0\n"
                           "-two 6>0 -6.0 6>0 -6.0\n");
    const struct cairn_diff_row *rows;
    cairn_diff_functions(diff, &rows);
    assert_string_equal(rows[4].module, "that"); /* of the new side */
    assert_string_equal(rows[4].file, "two.c");
    cairn_diff_free(diff);
}

/* Of either side, whatever the stacks are: its own numbers are those of its
 * table, and stacks of one function at their end sum up to what that has. */
static void numbers_are_those_of_the_tables(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_buffer texts[2] = {{0}, {0}};
    uint32_t random = 1;
    for (unsigned i = 0; i < 600; i++) {
        for (unsigned k = 0; k <= i % 7; k++) {
            random = random * 1103515245 + 12345;
            cairn_buffer_printf(&texts[i % 2], "%sf%u", k ? ";" : "", (random >> 16) % 12);
        }
        cairn_buffer_printf(&texts[i % 2], " %u\n", i % 9);
    }
    const struct cairn_top_row *tops[2];
    struct cairn_top *top[2];
    struct cairn_profile *p[2];
    size_t n[2];
    for (unsigned i = 0; i < 2; i++) {
        p[i] = profile_of(cairn_buffer_text(&texts[i]));
        assert_ok(cairn_profile_top(p[i], 0, &top[i], &err), err);
        n[i] = cairn_top_rows(top[i], &tops[i]);
    }
    struct cairn_diff *diff = diff_of(p[0], p[1], 1, 0);
    const struct cairn_diff_row *rows;
    const struct cairn_diff_stack *stacks;
    size_t n_rows = cairn_diff_functions(diff, &rows), n_stacks = cairn_diff_stacks(diff, &stacks);
    assert_int_equal(n_rows, 12);
    for (size_t i = 0; i < n_rows; i++) {
        int64_t ended[2] = {0, 0};
        uint32_t leaf;
        for (size_t k = 0; k < n_stacks; k++) {
            assert_true(cairn_diff_frames(diff, stacks[k].stack, &leaf, 1) > 0);
            ended[0] += leaf == i ? stacks[k].old_self : 0;
            ended[1] += leaf == i ? stacks[k].new_self : 0;
        }
        assert_int_equal(ended[0], rows[i].old_self);
        assert_int_equal(ended[1], rows[i].new_self);
        for (size_t side = 0; side < 2; side++)
            for (size_t k = 0; k < n[side]; k++)
                if (strcmp(tops[side][k].function, rows[i].function) == 0) {
                    assert_int_equal(tops[side][k].self, ended[side]);
                    assert_int_equal(tops[side][k].total,
                                     side ? rows[i].new_total : rows[i].old_total);
                }
    }
    cairn_diff_free(diff);
    for (unsigned i = 0; i < 2; i++) {
        cairn_top_free(top[i]);
        cairn_buffer_done(&texts[i]);
    }
}

static void types_are_checked(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_diff *diff;
    struct cairn_profile *p = profile_of("a 1\n");
    struct cairn_diff_opts opts = {.size = sizeof opts, .new_value_type = 1};
    assert_fails(cairn_diff_new(p, p, &opts, &diff, &err), CAIRN_E_ARG, err, "have 1 and 1");
    cairn_profile_free(p);
}

static void without_memory_there_is_no_diff(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *before = profile_of("a;b;c 5\nd 1\n");
    struct cairn_profile *now = profile_of("a;b 5\n0x10;0x20;a 3\n");
    struct cairn_diff_opts opts = {.size = sizeof opts};
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_diff *diff = NULL;
        cairn_alloc_fail_after(countdown);
        code = cairn_diff_new(before, now, &opts, &diff, &err);
        cairn_alloc_fail_after(-1);
        assert_true((code == CAIRN_OK) == (diff != NULL));
        cairn_diff_free(diff);
        assert_true(countdown < 10000);
    }
    assert_int_equal(code, CAIRN_OK);
    cairn_profile_free(before);
    cairn_profile_free(now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_compared),
        cmocka_unit_test(values_are_compared_as_they_are),
        cmocka_unit_test(functions_can_stand_by_total),
        cmocka_unit_test(equal_shares_are_no_change),
        cmocka_unit_test(a_side_may_be_empty),
        cmocka_unit_test(a_function_of_another_build_is_the_same),
        cmocka_unit_test(numbers_are_those_of_the_tables),
        cmocka_unit_test(types_are_checked),
        cmocka_unit_test(without_memory_there_is_no_diff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
