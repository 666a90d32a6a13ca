/* SPDX-License-Identifier: MIT */
#include "picture/layout.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "unit/picture/stacks.h"

struct picture {
    struct cairn_looks looks;
    struct cairn_layout layout;
};

static struct picture lay_out(const struct cairn_profile *p)
{
    struct picture picture;
    struct cairn_err err;
    assert_ok(cairn_looks_build(p, &picture.looks, &err), err);
    assert_ok(cairn_layout_build(p, &picture.looks, SIZE_MAX, &picture.layout, &err), err);
    return picture;
}

static void done(struct picture *picture)
{
    cairn_layout_done(&picture->layout);
    cairn_looks_done(&picture->looks);
}

/* One node a line, "name self/total", indented by its depth. */
static void assert_tree(const struct cairn_profile *p, size_t type, const char *expected)
{
    struct picture picture = lay_out(p);
    const struct cairn_layout *layout = &picture.layout;
    const int64_t *self = cairn_layout_self(layout, CAIRN_SIDE_NEW, type);
    int64_t *totals = cairn_layout_totals(layout, type);
    assert_non_null(totals);
    struct cairn_buffer text = {0};
    for (size_t node = 0; node < layout->n; node++) {
        uint32_t look = layout->looks[node];
        const char *name =
            look == CAIRN_LAYOUT_ROOT
                ? "all"
                : cairn_strings_get(&picture.looks.texts, picture.looks.rows[look].name);
        cairn_buffer_printf(&text, "%*s%s %lld/%lld\n", (int)layout->depths[node], "", name,
                            (long long)self[node], (long long)totals[node]);
    }
    assert_string_equal(cairn_buffer_text(&text), expected);
    cairn_buffer_done(&text);
    cairn_free(totals);
    done(&picture);
}

static void children_stand_in_the_order_of_their_names(void **state)
{
    (void)state;
    const char *const lines[] = {"main;put 4", "main;get;hash 2", "main;get 1", "init 3", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    assert_tree(p, 0,
                "all 0/10\n"
                " init 3/3\n"
                " main 0/7\n"
                "  get 1/3\n"
                "   hash 2/2\n"
                "  put 4/4\n");
    cairn_profile_free(p);
}

static void recursion_is_a_tower(void **state)
{
    (void)state;
    const char *const lines[] = {"f;f;f 2", "f;f 1", "f;g;f 4", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    assert_tree(p, 0,
                "all 0/7\n"
                " f 0/7\n"
                "  f 1/3\n"
                "   f 2/2\n"
                "  g 0/4\n"
                "   f 4/4\n");
    cairn_profile_free(p);
}

static void equal_stacks_are_summed(void **state)
{
    (void)state;
    const char *const lines[] = {"a;b 1", "a;b 2", "a 5", "a;b 4", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    assert_tree(p, 0, "all 0/12\n a 5/12\n  b 7/7\n");
    cairn_profile_free(p);
}

/* main at two addresses, below it get at two more: all that is under either main is under one. */
static void addresses_of_a_function_are_one_node(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    int64_t one = 1, two = 2, four = 4;
    uint32_t main1 = cairn_profile_add_stack(p, 0, stacks_frame(p, "main", '-', 0x10));
    uint32_t main2 = cairn_profile_add_stack(p, 0, stacks_frame(p, "main", '-', 0x20));
    uint32_t get1 = cairn_profile_add_stack(p, main1, stacks_frame(p, "get", '-', 0x30));
    uint32_t put = cairn_profile_add_stack(p, main1, stacks_frame(p, "put", '-', 0x50));
    uint32_t get2 = cairn_profile_add_stack(p, main2, stacks_frame(p, "get", '-', 0x40));
    cairn_profile_add_sample(p, get1, 0, &one);
    cairn_profile_add_sample(p, get2, 0, &two);
    cairn_profile_add_sample(p, put, 0, &four);
    assert_tree(p, 0, "all 0/7\n main 0/7\n  get 3/3\n  put 4/4\n");
    cairn_profile_free(p);
}

static void inlined_calls_are_nodes_outermost_first(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    int64_t one = 1, two = 2;
    struct cairn_profile_line lines[] = {stacks_line(p, "hash", "", 3),
                                         stacks_line(p, "find", "", 2),
                                         stacks_line(p, "main", "", 1)};
    struct cairn_profile_frame frame = {.address = 0x10, .how = CAIRN_HOW_CFI};
    uint32_t whole = cairn_profile_add_frame(p, &frame, lines, 3);
    frame.address = 0x20;
    uint32_t outer = cairn_profile_add_frame(p, &frame, lines + 1, 2);
    uint32_t stack = cairn_profile_add_stack(p, 0, whole);
    cairn_profile_add_sample(p, stack, 0, &one);
    cairn_profile_add_sample(p, cairn_profile_add_stack(p, 0, outer), 0, &two);
    uint32_t callee = cairn_profile_add_stack(p, stack, stacks_frame(p, "read", '-', 0x30));
    cairn_profile_add_sample(p, callee, 0, &one);
    assert_tree(p, 0, "all 0/4\n main 0/4\n  find 2/4\n   hash 1/2\n    read 1/1\n");
    cairn_profile_free(p);
}

static void every_value_type_has_its_own_sums(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    cairn_profile_add_type(p, "cpu", "nanoseconds");
    uint32_t a = cairn_profile_add_stack(p, 0, stacks_frame(p, "a", '-', 0));
    uint32_t b = cairn_profile_add_stack(p, a, stacks_frame(p, "b", '-', 0));
    cairn_profile_add_sample(p, a, 0, (const int64_t[]){1, 10});
    cairn_profile_add_sample(p, b, 0, (const int64_t[]){2, 700});
    assert_tree(p, 0, "all 0/3\n a 1/3\n  b 2/2\n");
    assert_tree(p, 1, "all 0/710\n a 10/710\n  b 700/700\n");
    cairn_profile_free(p);
}

static void a_profile_without_samples_is_its_root(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_new();
    assert_tree(p, 0, "all 0/0\n");
    cairn_profile_add_type(p, "samples", "count");
    assert_tree(p, 0, "all 0/0\n");
    cairn_profile_free(p);
}

static void a_sample_without_a_stack_belongs_to_the_root(void **state)
{
    (void)state;
    const char *const lines[] = {" 3", "a 1", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    assert_tree(p, 0, "all 3/4\n a 1/1\n");
    cairn_profile_free(p);
}

static void sums_that_no_number_holds_are_clamped(void **state)
{
    (void)state;
    const char *const lines[] = {"a 9223372036854775807", "a 9223372036854775807", "b 5", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    assert_tree(p, 0,
                "all 0/9223372036854775807\n a 9223372036854775807/9223372036854775807\n b 5/5\n");
    cairn_profile_free(p);
}

/* More siblings than are sorted in place, each at two addresses, added in no good order. */
static void many_siblings_are_sorted_and_merged(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct cairn_profile *p = stacks_of_samples();
    for (int i = 0; i < 2 * N; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%04d", i * 7 % N);
        uint32_t frame = stacks_frame(p, name, '-', (uint64_t)i + 1);
        cairn_profile_add_sample(p, cairn_profile_add_stack(p, 0, frame), 0, &(int64_t){1});
    }
    struct picture picture = lay_out(p);
    assert_int_equal(picture.layout.n, 1 + N);
    for (size_t node = 1; node <= N; node++) {
        assert_int_equal(picture.layout.looks[node], node - 1);
        assert_int_equal(cairn_layout_self(&picture.layout, CAIRN_SIDE_NEW, 0)[node], 2);
    }
    done(&picture);
    cairn_profile_free(p);
}

static void a_very_deep_stack_needs_no_deep_calls(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    struct cairn_profile *p = stacks_of_samples();
    uint32_t frame = stacks_frame(p, "again", '-', 0), stack = 0;
    for (int i = 0; i < DEPTH; i++)
        stack = cairn_profile_add_stack(p, stack, frame);
    cairn_profile_add_sample(p, stack, 0, &(int64_t){1});
    struct picture picture = lay_out(p);
    assert_int_equal(picture.layout.n, 1 + DEPTH);
    assert_int_equal(picture.layout.depth_max, DEPTH);
    int64_t *totals = cairn_layout_totals(&picture.layout, 0);
    assert_int_equal(totals[1], 1);
    cairn_free(totals);
    done(&picture);
    cairn_profile_free(p);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const char *const lines[] = {"main;put@k 4", "main;get;hash 2", "main;get@i 1", "init 3", NULL};
    struct cairn_profile *p = stacks_profile(lines);
    int rc = CAIRN_E_NOMEM;
    long n = 0;
    for (; rc == CAIRN_E_NOMEM && n < 1000; n++) {
        struct picture picture = {0};
        struct cairn_err err = {0};
        cairn_alloc_fail_after(n);
        rc = cairn_looks_build(p, &picture.looks, &err);
        if (rc == CAIRN_OK)
            rc = cairn_layout_build(p, &picture.looks, SIZE_MAX, &picture.layout, &err);
        cairn_alloc_fail_after(-1);
        assert_int_equal(err.code, rc);
        done(&picture);
    }
    assert_int_equal(rc, CAIRN_OK);
    assert_in_range(n, 10, 999);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_stand_in_the_order_of_their_names),
        cmocka_unit_test(recursion_is_a_tower),
        cmocka_unit_test(equal_stacks_are_summed),
        cmocka_unit_test(addresses_of_a_function_are_one_node),
        cmocka_unit_test(inlined_calls_are_nodes_outermost_first),
        cmocka_unit_test(every_value_type_has_its_own_sums),
        cmocka_unit_test(a_profile_without_samples_is_its_root),
        cmocka_unit_test(a_sample_without_a_stack_belongs_to_the_root),
        cmocka_unit_test(sums_that_no_number_holds_are_clamped),
        cmocka_unit_test(many_siblings_are_sorted_and_merged),
        cmocka_unit_test(a_very_deep_stack_needs_no_deep_calls),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
