/* SPDX-License-Identifier: MIT */
/* Profiles without memory: one allocation after the other fails, until all are enough. */
#ifndef CAIRN_TESTS_SUPPORT_NO_MEMORY_H
#define CAIRN_TESTS_SUPPORT_NO_MEMORY_H

#include "base/alloc.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/test.h"

static inline void test_read_without_memory(struct cairn_span bytes, enum cairn_format format)
{
    int code = CAIRN_E_NOMEM;
    for (long n = 0; code == CAIRN_E_NOMEM; n++) {
        struct cairn_profile *profile = NULL;
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        code = test_read_profile(bytes, format, &profile, &err);
        cairn_alloc_fail_after(-1);
        cairn_profile_free(profile);
    }
    assert_int_equal(code, CAIRN_OK);
}

/* Takes more than `n_least` attempts: after fewer, the writer's own allocations did not fail. */
static inline void test_write_without_memory(const struct cairn_profile *profile,
                                             enum cairn_format format, long n_least)
{
    int code = CAIRN_E_NOMEM;
    long n = 0;
    for (; code != CAIRN_OK && n < 2000; n++) {
        struct cairn_buffer out = {0};
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        code = cairn_profile_write(profile, format, test_write, &out, &err);
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_OK || code == CAIRN_E_NOMEM || code == CAIRN_E_IO);
        cairn_buffer_done(&out);
    }
    assert_int_equal(code, CAIRN_OK);
    assert_true(n > n_least);
}

#endif /* CAIRN_TESTS_SUPPORT_NO_MEMORY_H */
