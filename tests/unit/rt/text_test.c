/* SPDX-License-Identifier: MIT */
#include "rt/text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "support/test.h"

/* What was put, through a pipe that holds all of it. */
static void assert_written(struct cairn_text *text, int from, const char *expected)
{
    static char got[8192];
    cairn_text_flush(text);
    assert_false(text->failed);
    size_t size = strlen(expected);
    assert_int_equal(read(from, got, sizeof got), (ssize_t)size);
    assert_memory_equal(got, expected, size);
}

static void numbers_and_names_are_written(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct cairn_text text = {.fd = ends[1]};
    cairn_text_put_decimal(&text, 0, 3);
    cairn_text_put_decimal(&text, UINT64_MAX, 3);
    cairn_text_put_hex(&text, 0, 1);
    cairn_text_put_hex(&text, 0xabc, 6);
    cairn_text_put_hex(&text, UINT64_MAX, 1);
    assert_written(&text, ends[0], "0  184467440737095516150x00x000abc0xffffffffffffffff");
    cairn_text_put_name(&text, "a\nb\x1b[2J\\\x7f\xc2\x9b<>");
    assert_written(&text, ends[0], "a\\x0ab\\x1b[2J\\\\\\x7f\\xc2\\x9b<>");
    close(ends[0]);
    close(ends[1]);
}

static void text_without_an_end_is_written_in_pieces(void **state)
{
    (void)state;
    int ends[2];
    char long_text[3 * CAIRN_TEXT_BYTES + 8];
    assert_int_equal(pipe(ends), 0);
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    struct cairn_text text = {.fd = ends[1]};
    cairn_text_put(&text, long_text);
    assert_written(&text, ends[0], long_text);
    close(ends[0]);
    close(ends[1]);
}

static void a_descriptor_that_takes_nothing_ends_it(void **state)
{
    (void)state;
    struct cairn_text text = {.fd = -1};
    errno = ENOENT;
    cairn_text_put(&text, "lost");
    cairn_text_flush(&text);
    assert_true(text.failed);
    assert_int_equal(errno, ENOENT);
    int full = open("/dev/full", O_WRONLY);
    if (full >= 0) {
        text = (struct cairn_text){.fd = full};
        cairn_text_put(&text, "lost");
        cairn_text_flush(&text);
        assert_true(text.failed);
        close(full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_names_are_written),
        cmocka_unit_test(text_without_an_end_is_written_in_pieces),
        cmocka_unit_test(a_descriptor_that_takes_nothing_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
