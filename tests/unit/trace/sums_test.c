/* SPDX-License-Identifier: MIT */
#include "trace/sums.h"

#include "support/test.h"

/* The kernel's sums are taken again and again; least and most are those of all of them. */
static void what_comes_in_pieces_is_one_row(void **state)
{
    (void)state;
    struct cairn_sums sums = {0};
    const struct cairn_collected stack = {.stack = 9, .pid = 2, .tid = 2};
    struct cairn_bpf_trace_sum sum = {.n = 5, .ns = 50, .min_ns = 4, .max_ns = 20, .bytes = 7};
    assert_int_equal(cairn_sums_add(&sums, 3, &stack, &sum), CAIRN_OK);
    sum = (struct cairn_bpf_trace_sum){.n = 1, .ns = 3, .min_ns = 3, .max_ns = 3, .bytes = 1};
    assert_int_equal(cairn_sums_add(&sums, 3, &stack, &sum), CAIRN_OK);
    assert_int_equal(sums.n, 1);
    assert_int_equal(sums.rows[0].sum.n, 6);
    assert_int_equal(sums.rows[0].sum.ns, 53);
    assert_int_equal(sums.rows[0].sum.min_ns, 3);
    assert_int_equal(sums.rows[0].sum.max_ns, 20);
    assert_int_equal(sums.rows[0].sum.bytes, 8);
    cairn_sums_done(&sums);
}

static void another_thread_event_or_stack_is_another_row(void **state)
{
    (void)state;
    struct cairn_sums sums = {0};
    const struct cairn_collected stacks[] = {{.stack = 9, .pid = 2, .tid = 2},
                                             {.stack = 9, .pid = 2, .tid = 3},
                                             {.stack = 8, .pid = 2, .tid = 2}};
    const struct cairn_bpf_trace_sum one = {.n = 1};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(cairn_sums_add(&sums, 3, &stacks[i], &one), CAIRN_OK);
    assert_int_equal(cairn_sums_add(&sums, 4, &stacks[0], &one), CAIRN_OK);
    assert_int_equal(sums.n, 4);
    cairn_sums_done(&sums);
}

/* Takes those of event 3. */
static bool take_third(void *ctx, const struct cairn_sum_waiting *one, int *ret_code)
{
    const struct cairn_collected stack = {.stack = 9, .pid = 2, .tid = 2};
    if (one->key.row != 3)
        return false;
    *ret_code = cairn_sums_add(ctx, one->key.row, &stack, &one->sum);
    return true;
}

static void what_waits_for_its_stack_is_counted_once(void **state)
{
    (void)state;
    struct cairn_sums sums = {0};
    for (uint32_t i = 0; i < 6; i++) {
        const struct cairn_sum_waiting one = {.key = {.row = i % 2 ? 3 : 4}, .sum = {.n = i}};
        assert_int_equal(cairn_sums_wait(&sums, &one), CAIRN_OK);
    }
    assert_int_equal(cairn_sums_retry(&sums, take_third, &sums), CAIRN_OK);
    assert_int_equal(sums.n_waiting, 3);
    assert_int_equal(sums.rows[0].sum.n, 1 + 3 + 5);
    assert_int_equal(cairn_sums_retry(&sums, take_third, &sums), CAIRN_OK);
    assert_int_equal(sums.rows[0].sum.n, 1 + 3 + 5);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(sums.waiting[i].sum.n, 2 * i);
    cairn_sums_done(&sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_in_pieces_is_one_row),
        cmocka_unit_test(another_thread_event_or_stack_is_another_row),
        cmocka_unit_test(what_waits_for_its_stack_is_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
