/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/sample.h"

enum { MANTISSA_BITS = 52 };

/* xorshift64* (Vigna 2016). */
static uint64_t next_random(uint64_t *random)
{
    uint64_t x = *random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* -ln of a number in (0, 1], uniform; to 1 in 100,000, without libm: 2^-k * m, m in [1, 2), and ln
 * m = 2 artanh((m - 1) / (m + 1)). */
static double exponential(uint64_t *random)
{
    static const double ln2 = 0.69314718055994531;
    uint64_t bits = next_random(random) >> 11 | 1; /* of 53 */
    unsigned zeros = (unsigned)__builtin_clzll(bits) - (63 - MANTISSA_BITS);
    double m = (double)(bits << zeros) / (double)(UINT64_C(1) << MANTISSA_BITS);
    double t = (m - 1) / (m + 1), t2 = t * t;
    double ln_m = 2 * t * (1 + t2 * (1.0 / 3 + t2 * (1.0 / 5 + t2 * (1.0 / 7 + t2 / 9))));
    return (zeros + 1) * ln2 - ln_m;
}

static int64_t distance(struct cairn_heap_sampler *sampler, uint64_t mean)
{
    double bytes = exponential(&sampler->random) * (double)mean;
    /* Rounded up: a block of n bytes holds the point if the distance is n or less. */
    return bytes > 1e18 ? (int64_t)1e18 : (int64_t)bytes + 1;
}

void cairn_heap_sample_begin(struct cairn_heap_sampler *sampler, uint64_t mean, uint64_t seed)
{
    sampler->random = (seed ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd) | 1;
    sampler->until = distance(sampler, mean);
}

bool cairn_heap_sample_takes(struct cairn_heap_sampler *sampler, uint64_t mean, uint64_t bytes)
{
    /* One of no bytes is a block, too. */
    bytes = bytes ? bytes : 1;
    if (bytes > INT64_MAX || (int64_t)bytes < sampler->until) {
        sampler->until -= bytes > INT64_MAX ? 0 : (int64_t)bytes;
        return false;
    }
    /* The process has no memory: what lies behind the block begins anew. */
    sampler->until = distance(sampler, mean);
    return true;
}

struct cairn_heap_share cairn_heap_sample_share(struct cairn_heap_sampler *sampler, uint64_t mean,
                                                uint64_t bytes)
{
    double between = mean ? (double)(next_random(&sampler->random) >> 11) / 9007199254740992.0 : 0;
    return cairn_heap_share_of(bytes, mean, between);
}
