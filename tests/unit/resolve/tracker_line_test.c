/* SPDX-License-Identifier: MIT */
#include "resolve/tracker_line.h"

#include <string.h>

#include "support/test.h"

static bool read_line(const char *text, struct cairn_tracker_line *ret_line)
{
    return cairn_tracker_line_read(text, strlen(text), ret_line);
}

static void frames_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *module, *head, *tail;
        uint64_t va, rel;
    } cases[] = {
        {"    #0: 0x7f8a5c1234 libsample.so+0x1234 (make_buffer)", "libsample.so",
         "    #0: 0x7f8a5c1234 libsample.so+0x1234", "", 0x7f8a5c1234, 0x1234},
        {"    #10: 0x7f8a5c1456 app+0x456", "app", "    #10: 0x7f8a5c1456 app+0x456", "",
         0x7f8a5c1456, 0x456},
        {"#1: 0xAB (f(int) const)", "", "#1: 0xAB", "", 0xab, 0},
        {"#1: 0xab", "", "#1: 0xab", "", 0xab, 0},
        {"11-22 13:10:01.123  1234  1234 I tag:     #0: 0x12 a b.so+0x3 (f)\r", "a b.so",
         "11-22 13:10:01.123  1234  1234 I tag:     #0: 0x12 a b.so+0x3", "\r", 0x12, 3},
        {"x #no #2: 0x5 m+0x1 (a+0x2 (b))", "m", "x #no #2: 0x5 m+0x1", "", 5, 1},
        {"\t#2: 0x5 a+0xg+0x1", "a+0xg", "\t#2: 0x5 a+0xg+0x1", "", 5, 1},
        {"#0: 0x1 m+0xffffffffffffffff (f)  ", "m", "#0: 0x1 m+0xffffffffffffffff", "  ", 1,
         UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_tracker_line line;
        assert_true(read_line(cases[i].text, &line));
        assert_int_equal(line.va, cases[i].va);
        assert_int_equal(line.rel, cases[i].rel);
        assert_int_equal(line.module_size, strlen(cases[i].module));
        assert_memory_equal(line.module_size ? line.module : "", cases[i].module, line.module_size);
        assert_int_equal(line.head, strlen(cases[i].head));
        assert_string_equal(cases[i].text + line.tail, cases[i].tail);
    }
}

static void other_lines_are_none(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "#",
        "#0",
        "#0:",
        "#0: 0x",
        "#0: 0xg",
        "#: 0x12",
        "a#0: 0x12",
        "#0: 0x12345678901234567",
        "#0: 0x12 m",
        "#0: 0x12 m+0x",
        "#0: 0x12 m+12",
        "#0: 0x12 +0x1",
        "#0: 0x12 m+0x1 f",
        "#0: 0x12 m+0x1 (f",
        "#0: 0x12 m+0x1 f)",
        "#0: 0x12m+0x1",
        "=== Memory Leak Report ===",
        "Leak #1: ptr=0x7f8a4c0010, size=64, so=libsample.so",
        "  Backtrace (2 frames):",
        "item #3: 0 of 7 (none)",
    };
    struct cairn_tracker_line line;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (read_line(lines[i], &line))
            fail_msg("a frame: %s", lines[i]);
    assert_false(cairn_tracker_line_read("#0: 0x1 a\0b+0x2", 15, &line));
}

static void every_part_of_a_line_is_safe(void **state)
{
    (void)state;
    static const char text[] = "I tag: #0: 0x7f8a5c1234 libsample.so+0x1234 (make_buffer)";
    struct cairn_tracker_line line;
    for (size_t from = 0; from < sizeof text; from++)
        for (size_t size = 0; size <= sizeof text - 1 - from; size++) {
            char *copy = malloc(size + 1); /* so that a sanitizer sees what is read behind it */
            memcpy(copy, text + from, size);
            if (cairn_tracker_line_read(copy, size, &line))
                assert_true(line.head <= line.tail && line.tail <= size);
            free(copy);
        }
}

static void reports_begin_with_their_title(void **state)
{
    (void)state;
    static const char text[] = "I tag: === Memory Leak Report ===";
    assert_true(cairn_tracker_line_begins(text, sizeof text - 1));
    assert_false(cairn_tracker_line_begins(text, sizeof text - 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_read),
        cmocka_unit_test(other_lines_are_none),
        cmocka_unit_test(every_part_of_a_line_is_safe),
        cmocka_unit_test(reports_begin_with_their_title),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
