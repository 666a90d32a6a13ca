/* SPDX-License-Identifier: MIT */
#include "base/below.h"

#include "support/test.h"

struct row {
    uint16_t other;
    uint64_t start;
};

static size_t below(const struct row *rows, size_t n, uint64_t at)
{
    return CAIRN_COUNT_BELOW(rows, n, start, at);
}

static void rows_that_begin_at_a_number_count(void **state)
{
    (void)state;
    enum { N = 9 };
    struct row rows[N];
    for (size_t i = 0; i < N; i++)
        rows[i] = (struct row){0xffff, 10 * (i + 1)};
    for (size_t n = 0; n <= N; n++)
        for (uint64_t at = 0; at <= 10 * (N + 1); at++) {
            size_t wanted = (size_t)(at / 10);
            assert_int_equal(below(rows, n, at), wanted < n ? wanted : n);
        }
}

static void all_numbers_are_numbers(void **state)
{
    (void)state;
    static const struct row rows[] = {{0, 0}, {0, 5}, {0, 5}, {0, UINT64_MAX}};
    assert_int_equal(below(rows, 4, 0), 1);
    assert_int_equal(below(rows, 4, 5), 3);
    assert_int_equal(below(rows, 4, UINT64_MAX - 1), 3);
    assert_int_equal(below(rows, 4, UINT64_MAX), 4);
    assert_int_equal(below(NULL, 0, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_begin_at_a_number_count),
        cmocka_unit_test(all_numbers_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
