/* SPDX-License-Identifier: MIT */
#include "trace/filter_text.h"

#include <string.h>

#include "support/test.h"

static const char format[] = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                             "\tfield:int prio;\toffset:24;\tsize:4;\tsigned:1;\n"
                             "\tfield:unsigned char kind;\toffset:28;\tsize:1;\tsigned:0;\n"
                             "\tfield:__data_loc char[] file;\toffset:32;\tsize:4;\tsigned:0;\n";

/* What the kernel is given; `*ret_all`: there is no more. */
static void text_of(const char *filter_text, char *ret_text, bool *ret_all)
{
    struct cairn_syscall call = {.name = "point", .n_args = 0};
    struct cairn_fields fields;
    struct cairn_trace_filter filter;
    struct cairn_buffer out = {0};
    struct cairn_err err = {0};
    bool no_field;
    assert_true(cairn_fields_read((struct cairn_span){(const uint8_t *)format, sizeof format - 1},
                                  &fields, &call));
    if (cairn_trace_filter_parse(filter_text, &call, &filter, &no_field, &err) < 0)
        fail_msg("%s: %s", filter_text, err.msg);
    *ret_all = cairn_trace_filter_text(&filter, &call, &fields, &out);
    strcpy(ret_text, cairn_buffer_text(&out));
    cairn_buffer_done(&out);
}

static void the_kernel_is_given_what_its_language_has(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *text;
        bool all;
    } rows[] = {
        {"prio > 5", "prio>5", true},
        {"prio >= -1 && kind & 3", "prio>=-1&&kind&3", true},
        {"prio == 1 || kind == 2", "(prio==1||kind==2)", true},
        {"!(prio < 0)", "!(prio<0)", true},
        {"prio == 1 && uid == 0", "prio==1", false},
        {"prio == 1 || uid == 0", "", false},
        {"kind == 300", "", false}, /* the kernel would compare 44 */
        {"prio < 5000000000", "", false},
        {"uid == 0 && prio == 1", "prio==1", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        bool all;
        text_of(rows[i].filter, text, &all);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(all, rows[i].all);
    }
}

static void texts_are_given_if_they_need_no_quotes(void **state)
{
    (void)state;
    char text[256];
    bool all;
    text_of("comm ~ \"ng*\"", text, &all);
    assert_string_equal(text, "comm~\"ng*\"");
    assert_true(all);
    text_of("comm == \"a*\"", text, &all); /* the kernel would take it for a pattern */
    assert_string_equal(text, "");
    assert_false(all);
    text_of("comm ~ \"[ab]*\" && prio == 2", text, &all);
    assert_string_equal(text, "prio==2");
    assert_false(all);
}

/* "9t*" would be a whole text there, and "*sh" be looked for at the end of all 16 bytes. */
static void patterns_are_given_if_the_kernel_matches_as_we_do(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *text;
    } rows[] = {
        {"comm ~ \"9t*\"", ""},
        {"file ~ \"9t*\"", ""},
        {"comm ~ \"*sh\"", ""},
        {"file ~ \"*/sh\"", "file~\"*/sh\""},
        {"comm ~ \"?sh\"", "comm~\"?sh\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        bool all;
        text_of(rows[i].filter, text, &all);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(all, *text != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_is_given_what_its_language_has),
        cmocka_unit_test(texts_are_given_if_they_need_no_quotes),
        cmocka_unit_test(patterns_are_given_if_the_kernel_matches_as_we_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
