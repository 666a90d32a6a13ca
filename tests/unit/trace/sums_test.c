/* SPDX-License-Identifier: MIT */
#include "trace/sums.h"

#include "support/test.h"

static void what_is_read_twice_counts_once(void **state)
{
    (void)state;
    struct cairn_sums sums = {0};
    const struct cairn_bpf_trace_key key = {.hash = 1, .tid = 2, .row = 3};
    const struct cairn_collected stack = {.stack = 9, .pid = 2, .tid = 2};
    struct cairn_bpf_trace_sum sum = {.n = 5, .ns = 50, .min_ns = 4, .max_ns = 20, .bytes = 7};
    assert_int_equal(cairn_sums_read(&sums, &key, &sum, &stack), CAIRN_OK);
    sum = (struct cairn_bpf_trace_sum){.n = 6, .ns = 53, .min_ns = 3, .max_ns = 20, .bytes = 8};
    assert_int_equal(cairn_sums_read(&sums, &key, &sum, &stack), CAIRN_OK);
    assert_int_equal(sums.n, 1);
    assert_int_equal(sums.rows[0].sum.n, 6);
    assert_int_equal(sums.rows[0].sum.ns, 53);
    assert_int_equal(sums.rows[0].sum.min_ns, 3);
    assert_int_equal(sums.rows[0].sum.bytes, 8);
    cairn_sums_done(&sums);
}

/* The thread is over; its number, and the stack, may be another thread's. */
static void a_forgotten_key_begins_anew_in_its_row(void **state)
{
    (void)state;
    struct cairn_sums sums = {0};
    const struct cairn_bpf_trace_key key = {.hash = 1, .tid = 2, .row = 3};
    const struct cairn_collected stack = {.stack = 9, .pid = 2, .tid = 2};
    const struct cairn_bpf_trace_sum sum = {.n = 5};
    assert_int_equal(cairn_sums_read(&sums, &key, &sum, &stack), CAIRN_OK);
    cairn_sums_forget(&sums, &key);
    assert_int_equal(cairn_sums_read(&sums, &key, &sum, &stack), CAIRN_OK);
    assert_int_equal(sums.n, 1);
    assert_int_equal(sums.n_known, 1);
    assert_int_equal(sums.rows[0].sum.n, 10);
    assert_int_equal(cairn_sums_add(&sums, 3, &stack, &sum), CAIRN_OK);
    assert_int_equal(sums.rows[0].sum.n, 15);
    cairn_sums_done(&sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_twice_counts_once),
        cmocka_unit_test(a_forgotten_key_begins_anew_in_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
