/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/test.h"

static const char text[] =
    "the program says hello\n"
    "==9== Memcheck, a memory error detector\n"
    "==9== \n"
    "==9== Invalid read of size 1\n"
    "==9==    at 0x10: inner(int) const (a.c:4)\n"
    "the program goes on\n"
    "==9==    by 0x10: outer (/src dir/a.c:8)\n"
    "==9==    by 0x20: ??? (in /bin/a (old))\n"
    "==9==    by 0x30: (below main) (start.c:58)\n"
    "==9==    by 0x40: ???\n"
    "==9==  Address 0x4a44043 is 3 bytes inside a block of size 10 free'd\n"
    "==9==    at 0x50: free (in /lib/vg.so)\n"
    "==9== \n"
    "==9== 1,024 bytes in 2 blocks are indirectly lost in loss record 1 of 2\n"
    "==9==    at 0x60: malloc (in /lib/vg.so)\n"
    "==9== \n"
    "==9== 2,000 (8 direct, 1,992 indirect) bytes in 1 blocks are definitely lost in loss record 2 "
    "of 2\n"
    "==9==    at 0x60: malloc (in /lib/vg.so)\n"
    "==9== \n"
    "==9== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)\n"
    "==9== \n"
    "==9== 1 errors in context 1 of 1:\n"
    "==9== Invalid read of size 1\n"
    "==9==    at 0x10: inner(int) const (a.c:4)\n"
    "==9== \n"
    "==9== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)\n"
    "==00:00:00:00.883 7== Invalid write of size 4\n"
    "==00:00:00:00.884 7==    at 0x70: other (b.c:1)\n";

static int read_sized(const char *from, size_t size, enum cairn_format format,
                      struct cairn_profile **ret_profile, struct cairn_err *err)
{
    return test_read_profile((struct cairn_span){(const uint8_t *)from, size}, format, ret_profile,
                             err);
}

static struct cairn_profile *read_text(void)
{
    struct cairn_profile *profile = NULL;
    struct cairn_err err;
    int code = read_sized(text, sizeof text - 1, CAIRN_FORMAT_AUTO, &profile, &err);
    assert_ok(code, err);
    return profile;
}

static void assert_label(const struct cairn_profile *p, size_t sample, const char *key,
                         const char *expected)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    assert_non_null(label);
    assert_string_equal(cairn_strings_get(&p->strings, label->text), expected);
}

static void each_stack_is_a_sample_with_its_head(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text();
    static const int64_t values[5][3] = {{1, 0, 0}, {1, 0, 0}, {1, 1024, 2}, {1, 8, 1}, {1, 0, 0}};
    assert_int_equal(p->n_samples, 5); /* what is listed again counts once */
    assert_memory_equal(p->values, values, sizeof values);
    assert_label(p, 0, "stack", "Invalid read of size 1");
    assert_label(p, 1, "stack", "Address 0x4a44043 is 3 bytes inside a block of size 10 free'd");
    assert_label(p, 1, "report", "Invalid read of size 1");
    assert_label(p, 2, "report", "indirectly lost");
    assert_label(p, 4, "report", "Invalid write of size 4");
    assert_int_equal(cairn_profile_find_label(p, p->samples[4].labels, "pid")->number, 7);
    cairn_profile_free(p);
}

static void frames_have_what_the_text_says(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file, *module;
        uint32_t line;
        uint64_t address;
        uint8_t what;
    } rows[] = {{"inner(int) const", "a.c", "", 4, 0, CAIRN_WHAT_INLINED},
                {"outer", "/src dir/a.c", "", 8, 0, CAIRN_WHAT_NATIVE},
                {"[unknown]", "", "/bin/a (old)", 0, 0, CAIRN_WHAT_NATIVE},
                {"(below main)", "start.c", "", 58, 0, CAIRN_WHAT_NATIVE},
                {NULL, "", "", 0, 0x40, CAIRN_WHAT_NATIVE}};
    struct cairn_profile *p = read_text();
    uint32_t at = p->samples[0].stack;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++, at = p->stacks[at].parent) {
        const struct cairn_profile_frame *frame = &p->frames[p->stacks[at].frame];
        assert_int_equal(frame->n_lines, rows[i].name != NULL);
        assert_int_equal(frame->address, rows[i].address);
        assert_int_equal(frame->what, rows[i].what);
        assert_string_equal(cairn_strings_get(&p->strings, p->modules[frame->module].path),
                            rows[i].module);
        if (!rows[i].name)
            continue;
        const struct cairn_profile_line *line = &p->lines[frame->lines];
        const struct cairn_profile_function *function = &p->functions[line->function];
        assert_int_equal(line->line, rows[i].line);
        assert_string_equal(cairn_strings_get(&p->strings, function->name), rows[i].name);
        assert_string_equal(cairn_strings_get(&p->strings, function->file), rows[i].file);
    }
    assert_int_equal(at, 0);
    cairn_profile_free(p);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    size_t n_before = 0;
    size_t first = (size_t)(strstr(text, "by 0x10") - text);
    for (size_t size = 0; size < sizeof text - 1; size++) {
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        int code = read_sized(text, size, CAIRN_FORMAT_VALGRIND, &p, &err);
        assert_int_equal(code, size > first || p ? CAIRN_OK : CAIRN_E_FORMAT);
        if (!p)
            continue;
        assert_true(p->n_samples >= n_before);
        n_before = p->n_samples;
        for (uint32_t i = 1; i < p->n_functions; i++)
            assert_non_null(
                strstr("inner(int) const outer [unknown] (below main) free malloc other",
                       cairn_strings_get(&p->strings, p->functions[i].name)));
        cairn_profile_free(p);
    }
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    static const char odd[] = {0, '\n', '=', '(', ')', ' ', (char)0xff};
    for (size_t i = 0; i < (sizeof text - 1) * sizeof odd; i++) {
        char changed[sizeof text];
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        memcpy(changed, text, sizeof text);
        changed[i / sizeof odd] = odd[i % sizeof odd];
        int code = read_sized(changed, sizeof text - 1, CAIRN_FORMAT_VALGRIND, &p, &err);
        assert_ok(code, err);
        assert_true(p->n_samples >= 4 && p->n_samples <= 6);
        cairn_profile_free(p);
    }
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    static const char from[] = "==9== Memcheck, a memory error detector\n==9== All good\n";
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_fails(read_sized(from, sizeof from - 1, CAIRN_FORMAT_AUTO, &p, &err), CAIRN_E_FORMAT,
                 err, "text of valgrind without a stack");
    assert_non_null(strstr(err.hint, "--leak-check=full"));
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_read_without_memory(cairn_span_of(text), CAIRN_FORMAT_VALGRIND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stack_is_a_sample_with_its_head),
        cmocka_unit_test(frames_have_what_the_text_says),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
