/* SPDX-License-Identifier: MIT */
/*
 * As much of cmocka as the unwinder's unit tests use, for C libraries that cmocka is not built for.
 * A failure ends the test alone, by longjmp(3), as there.
 */
#ifndef CAIRN_TESTS_UNWIND_ONLY_CMOCKA_H
#define CAIRN_TESTS_UNWIND_ONLY_CMOCKA_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
    int (*set_up)(void **state);
};

enum { PLAIN_FAILED = 1, PLAIN_SKIPPED };

static jmp_buf plain_out;

#define cmocka_unit_test(function)                                                                 \
    {                                                                                              \
#function, function, NULL                                                                  \
    }
#define cmocka_unit_test_setup(function, before)                                                   \
    {                                                                                              \
#function, function, before                                                                \
    }

#define print_message printf
#define fail_msg(...)                                                                              \
    do {                                                                                           \
        printf("%s:%d: ", __FILE__, __LINE__);                                                     \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        longjmp(plain_out, PLAIN_FAILED);                                                          \
    } while (0)
#define skip() longjmp(plain_out, PLAIN_SKIPPED)

#define plain_compare(a, sign, b)                                                                  \
    do {                                                                                           \
        uintmax_t plain_a = (uintmax_t)(a), plain_b = (uintmax_t)(b);                              \
        if (!(plain_a sign plain_b))                                                               \
            fail_msg("%s is 0x%jx, not %s 0x%jx", #a, plain_a, #sign, plain_b);                    \
    } while (0)
#define assert_int_equal(a, b)     plain_compare(a, ==, b)
#define assert_int_not_equal(a, b) plain_compare(a, !=, b)
#define assert_ptr_equal(a, b)     plain_compare((uintptr_t)(a), ==, (uintptr_t)(b))
#define assert_ptr_not_equal(a, b) plain_compare((uintptr_t)(a), !=, (uintptr_t)(b))
#define assert_in_range(a, low, high)                                                              \
    do {                                                                                           \
        plain_compare(a, >=, low);                                                                 \
        plain_compare(a, <=, high);                                                                \
    } while (0)
#define assert_true(a)                                                                             \
    do {                                                                                           \
        if (!(a))                                                                                  \
            fail_msg("%s", #a);                                                                    \
    } while (0)
#define assert_false(a)              assert_true(!(a))
#define assert_null(a)               assert_true(!(a))
#define assert_non_null(a)           assert_true(a)
#define assert_memory_equal(a, b, n) assert_true(memcmp(a, b, n) == 0)
#define assert_string_equal(a, b)                                                                  \
    do {                                                                                           \
        const char *plain_a = (a), *plain_b = (b);                                                 \
        if (strcmp(plain_a, plain_b) != 0)                                                         \
            fail_msg("\"%s\" is not \"%s\"", plain_a, plain_b);                                    \
    } while (0)

static int plain_run(const struct CMUnitTest *test)
{
    void *state = NULL;
    int result = setjmp(plain_out);
    if (result)
        return result;
    if (test->set_up && test->set_up(&state) != 0)
        return PLAIN_FAILED;
    test->run(&state);
    return 0;
}

static int plain_run_all(const struct CMUnitTest *tests, size_t n)
{
    static const char *const words[] = {"      OK", " FAILED ", " SKIPPED"};
    volatile unsigned counts[3] = {0};
    for (volatile size_t i = 0; i < n; i++) {
        int result = plain_run(&tests[i]);
        counts[result]++;
        printf("[ %s ] %s\n", words[result], tests[i].name);
        fflush(stdout);
    }
    printf("[  PASSED  ] %u test(s).\n", counts[0]);
    if (counts[PLAIN_FAILED])
        printf("[  FAILED  ] %u test(s)\n", counts[PLAIN_FAILED]);
    return (int)counts[PLAIN_FAILED];
}

/* Of the group: what is called before all tests, and after them. */
typedef int plain_group_fn(void **state);

static inline int plain_run_group(const struct CMUnitTest *tests, size_t n, plain_group_fn *before,
                                  plain_group_fn *after)
{
    void *state = NULL;
    if (before && before(&state) != 0)
        return 1;
    int n_failed = plain_run_all(tests, n);
    if (after)
        after(&state);
    return n_failed;
}

#define cmocka_run_group_tests(tests, before, after)                                               \
    plain_run_group(tests, sizeof(tests) / sizeof(*(tests)), before, after)

#endif /* CAIRN_TESTS_UNWIND_ONLY_CMOCKA_H */
