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

/* What is counted adds up to what there was, in blocks and in bytes, whatever the mixture; and the
 * standard error is what is said of it. */
static void shares_add_up(void **state)
{
    (void)state;
    enum { MEAN = 4096, TRIALS = 200, N = 3000 };
    double squares = 0, blocks = 0, bytes = 0, live_blocks = 0, all_bytes = 0;
    uint64_t random = 1;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        struct cairn_heap_sampler sampler = {0};
        double real = 0, estimate = 0;
        cairn_heap_sample_begin(&sampler, MEAN, trial * 77);
        for (uint64_t i = 0; i < N; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint64_t size = random >> 60 ? random >> 55 : random >> 48; /* to 511, few to 4,095 */
            real += (double)size;
            if (!cairn_heap_sample_takes(&sampler, MEAN, size))
                continue;
            struct cairn_heap_share share = cairn_heap_sample_share(&sampler, MEAN, size);
            struct cairn_heap_share live = cairn_heap_live_share(i * 64 + trial * 4, size, MEAN);
            assert_int_equal(share.bytes, live.bytes);
            assert_in_range(share.bytes, MEAN * (size > 0), MEAN + 4096);
            blocks += (double)share.blocks;
            live_blocks += (double)live.blocks;
            estimate += (double)share.bytes;
        }
        bytes += estimate;
        all_bytes += real;
        squares += (estimate - real) * (estimate - real);
    }
    double said = MEAN * all_bytes; /* the variance of the sum of all trials */
    assert_true((bytes - all_bytes) * (bytes - all_bytes) < 16 * said);
    assert_true(squares < said * 1.5 && squares > said / 2);
    /* The variance of a count: 1 / p for each block, most of which are about 256 bytes. */
    double n = (double)TRIALS * N, count_variance = n * MEAN / 20;
    assert_true((blocks - n) * (blocks - n) < 16 * count_variance);
    assert_true((live_blocks - n) * (live_blocks - n) < 16 * count_variance);
}

static void a_weight_is_one_over_the_probability(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 16, 1000, 4096, 10000, 1 << 20, UINT64_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        double size = sizes[i] ? (double)sizes[i] : 1, weight = cairn_heap_weight(sizes[i], 4096);
        double taken = 1 - survives(size / 4096);
        assert_true(weight * taken > 0.999 && weight * taken < 1.001);
    }
    assert_int_equal(cairn_heap_share_of(7, 0, 0.9).blocks, 1);
    assert_int_equal(cairn_heap_share_of(7, 0, 0.9).bytes, 7);
    assert_int_equal(cairn_heap_share_of(UINT64_MAX, 1, 0.5).bytes, UINT64_MAX);
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
        cmocka_unit_test(shares_add_up),
        cmocka_unit_test(a_weight_is_one_over_the_probability),
        cmocka_unit_test(threads_of_other_seeds_take_other_blocks),
        cmocka_unit_test(no_bytes_and_absurd_ones_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
