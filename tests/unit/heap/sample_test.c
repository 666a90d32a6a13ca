/* SPDX-License-Identifier: MIT */
#include "heap/sample.h"

#include "support/test.h"

enum { BLOCKS = 400000 };

/* exp(-x), as (1 - x / n) to the power of n = 2^20; small enough beyond the sizes that matter. */
static double survives(double x)
{
    double power = x < 20 ? 1 - x / (1 << 20) : 0;
    for (int i = 0; i < 20; i++)
        power *= power;
    return power;
}

/* Weighed by the inverse of its probability, what is recorded adds up to what there was. */
static void check(uint64_t mean, uint64_t bytes)
{
    struct cairn_heap_sampler sampler = {0};
    cairn_heap_sample_begin(&sampler, mean, mean * 31 + bytes);
    double probability = 1 - survives((double)bytes / (double)mean), n = 0;
    for (int i = 0; i < BLOCKS; i++)
        n += cairn_heap_sample_takes(&sampler, mean, bytes);
    double expected = BLOCKS * probability, variance = expected * (1 - probability) + 1;
    if ((n - expected) * (n - expected) > 25 * variance)
        fail_msg("%g of %g expected: mean %g, blocks of %g", n, expected, (double)mean,
                 (double)bytes);
}

static void the_estimate_is_unbiased_for_blocks_of_any_size(void **state)
{
    (void)state;
    static const uint64_t means[] = {1, 100, 4096, 524288}, sizes[] = {1, 16, 100, 5000, 1 << 20};
    for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
            check(means[i], sizes[k]);
}

static void threads_of_other_seeds_take_other_blocks(void **state)
{
    (void)state;
    struct cairn_heap_sampler a = {0}, b = {0};
    cairn_heap_sample_begin(&a, 1000, 1);
    cairn_heap_sample_begin(&b, 1000, 2);
    int differ = 0;
    for (int i = 0; i < 1000; i++)
        differ += cairn_heap_sample_takes(&a, 1000, 100) != cairn_heap_sample_takes(&b, 1000, 100);
    assert_in_range(differ, 50, 400);
}

static void no_bytes_and_absurd_ones_do_no_harm(void **state)
{
    (void)state;
    struct cairn_heap_sampler sampler = {0};
    cairn_heap_sample_begin(&sampler, UINT64_MAX, 1);
    for (int i = 0; i < 1000; i++) {
        assert_false(cairn_heap_sample_takes(&sampler, UINT64_MAX, 0));
        cairn_heap_sample_takes(&sampler, UINT64_MAX, UINT64_MAX);
        cairn_heap_sample_takes(&sampler, UINT64_MAX, INT64_MAX);
    }
    assert_true(sampler.until > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_estimate_is_unbiased_for_blocks_of_any_size),
        cmocka_unit_test(threads_of_other_seeds_take_other_blocks),
        cmocka_unit_test(no_bytes_and_absurd_ones_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
