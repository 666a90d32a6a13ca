/* SPDX-License-Identifier: MIT */
#include "base/escape.h"

#include "base/alloc.h"
#include "support/test.h"

typedef void (*escape_fn)(struct cairn_buffer *b, const char *text, size_t size);

struct row {
    const char *text;
    size_t size;
    const char *expected;
};

#define ROW(text, expected)                                                                        \
    {                                                                                              \
        text, sizeof text - 1, expected                                                            \
    }

static void hold_rows(escape_fn escape, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t *copy = test_copy(rows[i].text, rows[i].size);
        struct cairn_buffer b = {0};
        escape(&b, (const char *)copy, rows[i].size);
        assert_string_equal(cairn_buffer_text(&b), rows[i].expected);
        cairn_buffer_done(&b);
        free(copy);
    }
}

static void sound_text_passes_unchanged(void **state)
{
    (void)state;
    static const char text[] = "std::vector\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80";
    static const struct row rows[] = {ROW(text, text), ROW("", "")};
    hold_rows(cairn_escape_terminal, rows, 2);
    hold_rows(cairn_escape_markup, rows, 2);
    hold_rows(cairn_escape_json, rows, 2);
    hold_rows(cairn_escape_collapsed, rows, 2);
}

static void a_terminal_gets_no_controls(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("\x1b]0;title\a", "\\x1b]0;title\\x07"),
        ROW("a\r\n\tb\0c", "a\\x0d\\x0a\\x09b\\x00c"),
        ROW("\x7f", "\\x7f"),
        ROW("\xc2\x9b"
            "31m",
            "\\u{009b}31m"),                                     /* C1 CSI as UTF-8 */
        ROW("\x9b", "\\x9b"),                                    /* and as a bare byte */
        ROW("\xe2\x80\xaegnp.exe", "\\u{202e}gnp.exe"),          /* right-to-left override */
        ROW("\xe2\x81\xa6x\xe2\x81\xa9", "\\u{2066}x\\u{2069}"), /* isolates */
        ROW("\xe2\x80\xa8\xe2\x80\xa9", "\\u{2028}\\u{2029}"),
        ROW("\xe2\x80\xa9\xe2\x80\xaa\xe2\x81\xa5", "\\u{2029}\\u{202a}\xe2\x81\xa5"),
    };
    hold_rows(cairn_escape_terminal, rows, sizeof rows / sizeof *rows);
}

static void bytes_that_are_no_utf8_are_shown(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("\xff\xfe", "\\xff\\xfe"),
        ROW("\x80", "\\x80"),
        ROW("\xc0\xaf", "\\xc0\\xaf"),                   /* overlong '/' */
        ROW("\xe0\x80\xaf", "\\xe0\\x80\\xaf"),          /* overlong in three bytes */
        ROW("\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"), /* and in four */
        ROW("\xed\xa0\x80", "\\xed\\xa0\\x80"),          /* a surrogate */
        ROW("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"), /* beyond U+10FFFF */
        ROW("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"),
        ROW("a\xe6\x97", "a\\xe6\\x97"), /* cut short */
        ROW("\xe6\x97z", "\\xe6\\x97z"),
        ROW("\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"), /* around the surrogates */
        ROW("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"),
    };
    hold_rows(cairn_escape_terminal, rows, sizeof rows / sizeof *rows);
}

static void markup_cannot_be_opened_or_closed(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("<script>alert('x')</script>&\"",
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"),
        ROW("]]>", "]]&gt;"),
        ROW("a\x01\0b", "a\xef\xbf\xbd\xef\xbf\xbd"
                        "b"),
        ROW("\t\n\r", "\t\n\r"),
        ROW("\xff", "\xef\xbf\xbd"),
        ROW("\xef\xbf\xbe\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd"), /* U+FFFE, U+FFFF */
    };
    hold_rows(cairn_escape_markup, rows, sizeof rows / sizeof *rows);
}

static void json_may_stand_inside_a_script(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("\"\\\b\f\n\r\t\x01\x1f", "\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f"),
        ROW("</script><!--&", "\\u003c/script\\u003e\\u003c!--\\u0026"),
        ROW("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"),
        ROW("\xffx\xc3", "\xef\xbf\xbdx\xef\xbf\xbd"),
        ROW("\0", "\\u0000"),
        ROW("\x7f/", "\\u007f/"),
        ROW("std::vector\x7f", "std::vector\\u007f"), /* also behind eight plain bytes */
        ROW("\xc2\x9b"
            "31m\xc2\xa0",
            "\\u009b31m\xc2\xa0"), /* C1 CSI, and what is no control any more */
    };
    hold_rows(cairn_escape_json, rows, sizeof rows / sizeof *rows);
}

static void a_collapsed_frame_stays_one_frame_on_one_line(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("a;b\nc\rd\0e", "a:b c d e"),
        ROW("<x>\x1b\xff 12", "<x>\x1b\xff 12"),
    };
    hold_rows(cairn_escape_collapsed, rows, sizeof rows / sizeof *rows);
}

static void every_rune_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (uint32_t rune = 0; rune <= 0x10ffff; rune++) {
        if (rune >= 0xd800 && rune <= 0xdfff)
            continue;
        char text[4];
        unsigned size = rune < 0x80 ? 1 : rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
        static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (unsigned i = size; i-- > 1;)
            text[i] = (char)(0x80 | ((rune >> 6 * (size - 1 - i)) & 0x3f));
        text[0] = (char)(leads[size] | rune >> 6 * (size - 1));
        uint32_t found = UINT32_MAX;
        assert_int_equal(cairn_utf8_next(text, size, &found), size);
        assert_int_equal(found, rune);
        assert_int_equal(cairn_utf8_next(text, size - 1, &found), 0);
    }
}

static void lack_of_memory_latches(void **state)
{
    (void)state;
    struct cairn_buffer b = {0};
    cairn_alloc_fail_after(0);
    cairn_escape_terminal(&b, "a\nb", 3);
    cairn_alloc_fail_after(-1);
    assert_true(b.failed);
    cairn_buffer_done(&b);
}

/* Eight bytes are looked at together: a byte must matter at any place among plain ones. */
static void every_byte_is_escaped_wherever_it_stands(void **state)
{
    (void)state;
    static void (*const escapes[])(struct cairn_buffer *, const char *, size_t) = {
        cairn_escape_terminal, cairn_escape_markup, cairn_escape_json, cairn_escape_collapsed};
    for (size_t form = 0; form < sizeof escapes / sizeof *escapes; form++)
        for (int byte = 0; byte < 256; byte++)
            for (size_t size = 1; size <= 19; size++)
                for (size_t at = 0; at < size; at++) {
                    struct cairn_buffer whole = {0}, parts = {0};
                    char text[19];
                    memset(text, 'a' + (char)(at % 3), sizeof text);
                    text[at] = (char)byte;
                    escapes[form](&whole, text, size);
                    for (size_t i = 0; i < size; i++)
                        escapes[form](&parts, text + i, 1);
                    assert_string_equal(cairn_buffer_text(&whole), cairn_buffer_text(&parts));
                    assert_int_equal(whole.size, parts.size);
                    cairn_buffer_done(&whole);
                    cairn_buffer_done(&parts);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_text_passes_unchanged),
        cmocka_unit_test(a_terminal_gets_no_controls),
        cmocka_unit_test(bytes_that_are_no_utf8_are_shown),
        cmocka_unit_test(markup_cannot_be_opened_or_closed),
        cmocka_unit_test(json_may_stand_inside_a_script),
        cmocka_unit_test(a_collapsed_frame_stays_one_frame_on_one_line),
        cmocka_unit_test(every_rune_is_read_as_it_was_written),
        cmocka_unit_test(lack_of_memory_latches),
        cmocka_unit_test(every_byte_is_escaped_wherever_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
