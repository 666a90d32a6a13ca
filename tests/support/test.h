/* SPDX-License-Identifier: MIT */
/*
 * cmocka, with the headers that it wants before itself, and what every room's tests ask for: the
 * code of a failure, a piece of its message, bytes without a length of their own.
 *
 *     static void a_note_without_a_name_is_accepted(void **state) { ... }
 *
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = {
 *             cmocka_unit_test(a_note_without_a_name_is_accepted),
 *         };
 *         return cmocka_run_group_tests(tests, NULL, NULL);
 *     }
 */
#ifndef CAIRN_TESTS_TEST_H
#define CAIRN_TESTS_TEST_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/error.h>

/* Holds that a call succeeded; where it did not, the failure's own text is what the log shows. */
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        int test_code = (call);                                                                    \
        if (test_code != CAIRN_OK)                                                                 \
            fail_msg("%s: %s: %s", #call, cairn_code_name((enum cairn_code)test_code), (err).msg); \
    } while (0)

/* Holds that a call failed with `code`, that `err` says so too, and that its text holds `part`. */
#define assert_fails(call, expected_code, err, part)                                               \
    do {                                                                                           \
        int test_code = (call);                                                                    \
        if (test_code != (int)(expected_code))                                                     \
            fail_msg("%s: %s, expected %s", #call, cairn_code_name((enum cairn_code)test_code),    \
                     cairn_code_name(expected_code));                                              \
        assert_int_equal((err).code, (expected_code));                                             \
        if (!strstr((err).msg, (part)))                                                            \
            fail_msg("%s: \"%s\" does not hold \"%s\"", #call, (err).msg, (part));                 \
    } while (0)

/* Holds that the text contains the part, and shows both where it does not. */
#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        const char *test_text = (text);                                                            \
        if (!test_text || !strstr(test_text, (part)))                                              \
            fail_msg("\"%s\" does not hold \"%s\"", test_text ? test_text : "(null)", (part));     \
    } while (0)

/* A copy that is exactly as long as it says, on the heap, so that a sanitizer sees the first byte
 * read beyond it. The caller frees it. */
static inline uint8_t *test_copy(const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

#endif /* CAIRN_TESTS_TEST_H */
