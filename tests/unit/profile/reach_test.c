/* SPDX-License-Identifier: MIT */
/* What samples reach, and nothing that only dropped samples used. */
#include "base/alloc.h"
#include "profile/profile.h"
#include "support/test.h"

/* Two modules with a function each; the second is inlined into the first at address 0x20.
 *
 *     stack 1: a (0x10, module 1)                stack 3: b (0x30, module 2)
 *     stack 2: b inlined into a (0x20)           stack 4: b, a
 */
static struct cairn_profile *make_profile(void)
{
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(cairn_profile_new(&p, &err), err);
    assert_int_equal(cairn_profile_add_type(p, "samples", "count"), 0);
    for (uint32_t i = 1; i <= 2; i++) {
        struct cairn_profile_module module = {.start = 0x1000 * i};
        struct cairn_profile_function function = {.name = cairn_profile_text(p, &"ab"[i - 1], 1)};
        assert_int_equal(cairn_profile_add_module(p, &module), i);
        assert_int_equal(cairn_profile_add_function(p, &function), i);
    }
    const struct cairn_profile_line a = {1, 5}, b = {2, 6}, both[] = {{2, 7}, {1, 8}};
    const struct {
        struct cairn_profile_frame frame;
        const struct cairn_profile_line *lines;
        uint32_t n;
    } rows[] = {{{.address = 0x10, .module = 1}, &a, 1},
                {{.address = 0x20, .module = 1}, both, 2},
                {{.address = 0x30, .module = 2}, &b, 1}};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(cairn_profile_add_frame(p, &rows[i].frame, rows[i].lines, rows[i].n),
                         i + 1);
    assert_int_equal(cairn_profile_add_stack(p, 0, 1), 1);
    assert_int_equal(cairn_profile_add_stack(p, 0, 2), 2);
    assert_int_equal(cairn_profile_add_stack(p, 0, 3), 3);
    assert_int_equal(cairn_profile_add_stack(p, 3, 1), 4);
    return p;
}

static void add_sample(struct cairn_profile *p, uint32_t stack)
{
    const int64_t one = 1;
    assert_int_not_equal(cairn_profile_add_sample(p, stack, 0, &one), UINT32_MAX);
}

/* `expected` has a '1' for each number from 1 on that is reached. */
static void assert_marks(const bool *marks, const char *expected)
{
    char text[16] = "";
    for (size_t i = 0; expected[i]; i++)
        text[i] = marks[i + 1] ? '1' : '0';
    assert_string_equal(text, expected);
}

static void assert_reach(const struct cairn_profile *p, const char *stacks, const char *frames,
                         const char *functions, const char *modules)
{
    struct cairn_profile_reach reach;
    assert_true(cairn_profile_reach(p, &reach));
    assert_marks(reach.stacks, stacks);
    assert_marks(reach.frames, frames);
    assert_marks(reach.functions, functions);
    assert_marks(reach.modules, modules);
    cairn_profile_reach_done(&reach);
    assert_null(reach.stacks);
}

static void without_samples_nothing_is_reached(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    assert_reach(p, "0000", "000", "00", "00");
    add_sample(p, 0); /* the empty stack */
    assert_reach(p, "0000", "000", "00", "00");
    cairn_profile_free(p);
}

static void a_sample_reaches_all_that_its_stack_stands_on(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    add_sample(p, 1);
    assert_reach(p, "1000", "100", "10", "10");
    add_sample(p, 4);
    assert_reach(p, "1011", "101", "11", "11");
    cairn_profile_free(p);
}

static void what_is_inlined_is_reached(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    add_sample(p, 2);
    assert_reach(p, "0100", "010", "11", "10");
    cairn_profile_free(p);
}

static void what_a_filter_dropped_is_not_reached(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = make_profile();
    add_sample(p, 1);
    add_sample(p, 3);
    struct cairn_filter filter = {.size = sizeof filter, .function = "b"};
    assert_ok(cairn_profile_filter(p, &filter, &err), err);
    assert_reach(p, "0010", "001", "01", "01");
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(p, &stats);
    assert_int_equal(stats.n_stacks, 1);
    assert_int_equal(stats.n_functions, 1);
    cairn_profile_free(p);
}

static void without_memory_the_result_is_untouched(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    bool mark = true, reached = false;
    for (long countdown = 0; !reached; countdown++) {
        struct cairn_profile_reach reach = {.stacks = &mark};
        cairn_alloc_fail_after(countdown);
        reached = cairn_profile_reach(p, &reach);
        cairn_alloc_fail_after(-1);
        assert_true(reached == (countdown == 4));
        assert_true(reached == (reach.stacks != &mark));
        if (reached)
            cairn_profile_reach_done(&reach);
    }
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_samples_nothing_is_reached),
        cmocka_unit_test(a_sample_reaches_all_that_its_stack_stands_on),
        cmocka_unit_test(what_is_inlined_is_reached),
        cmocka_unit_test(what_a_filter_dropped_is_not_reached),
        cmocka_unit_test(without_memory_the_result_is_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
