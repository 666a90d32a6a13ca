/* SPDX-License-Identifier: MIT */
#include "formats/sanitizer_line.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/test.h"

static void assert_span(struct cairn_span span, const char *expected, const char *line)
{
    if (span.size != strlen(expected) || (span.size && memcmp(span.data, expected, span.size) != 0))
        fail_msg("%s: \"%.*s\", expected \"%s\"", line, (int)span.size, (const char *)span.data,
                 expected);
}

static void each_form_of_a_frame_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t number, pc;
        const char *name, *file;
        uint32_t line_number;
        const char *module;
        uint64_t offset;
        const char *build_id;
    } rows[] = {
        {"    #0 0x55d1 in use /src/a.c:4:53", 0, 0x55d1, "use", "/src/a.c", 4, "", 0, ""},
        {"#12 0x55d1 in f(int, char const*) const ../lib/a b.cc:7\r", 12, 0x55d1,
         "f(int, char const*) const ../lib/a", "b.cc", 7, "", 0, ""},
        {"#1 0x5 in a::(anonymous namespace)::f(int) /my src/a.cc:7:1", 1, 5,
         "a::(anonymous namespace)::f(int)", "/my src/a.cc", 7, "", 0, ""},
        {"#1 0x5 in std::map<int, a /b>::f() a.cc:7", 1, 5, "std::map<int, a /b>::f()", "a.cc", 7,
         "", 0, ""},
        {"#4 0x5 in _start (/bin/a+0x20300) (BuildId: A517)", 4, 5, "_start", "", 0, "/bin/a",
         0x20300, "A517"},
        {"#4 0x5 in f(int) (/my (old) dir/a+0x20)", 4, 5, "f(int)", "", 0, "/my (old) dir/a", 0x20,
         ""},
        {"#4 0x5 in f+0x12 (/a+0x20)", 4, 5, "f", "", 0, "/a", 0x20, ""},
        {"#4 0x5  (/a+0x20) (BuildId: a5)", 4, 5, "", "", 0, "/a", 0x20, "a5"},
        {"#4 0x5 (<unknown module>)", 4, 5, "", "", 0, "", 0, ""},
        {"#0 <null> <null> (t+0xd0) (BuildId: 8a)", 0, 0, "", "", 0, "t", 0xd0, "8a"},
        {"#0 pthread_create <null> (t+0xd0)", 0, 0, "pthread_create", "", 0, "t", 0xd0, ""},
        {"#0 main /t.c:3:61 (t+0xd0) (BuildId: 8a)", 0, 0, "main", "/t.c", 3, "t", 0xd0, "8a"},
        {"#1 0x5 in main", 1, 5, "main", "", 0, "", 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_text_frame frame;
        uint64_t number;
        if (!cairn_sanitizer_frame_parse(cairn_span_of(rows[i].line), &number, &frame))
            fail_msg("%s: no frame", rows[i].line);
        assert_int_equal(number, rows[i].number);
        assert_int_equal(frame.pc, rows[i].pc);
        assert_span(frame.name, rows[i].name, rows[i].line);
        assert_span(frame.file, rows[i].file, rows[i].line);
        assert_int_equal(frame.line, rows[i].line_number);
        assert_span(frame.module, rows[i].module, rows[i].line);
        assert_int_equal(frame.has_offset, *rows[i].module != 0);
        assert_int_equal(frame.has_offset ? frame.offset : 0, rows[i].offset);
        assert_span(frame.build_id, rows[i].build_id, rows[i].line);
    }
    static const char *const no_frames[] = {"",
                                            "#",
                                            "#x",
                                            "#1",
                                            "# 1 0x5 in f",
                                            "#1 of 3",
                                            "#1 0x5in f",
                                            "1 0x5 in f",
                                            "#99999999999999999999 0x5 in f",
                                            "#define X 1"};
    for (size_t i = 0; i < sizeof no_frames / sizeof *no_frames; i++) {
        struct cairn_text_frame frame;
        uint64_t number;
        if (cairn_sanitizer_frame_parse(cairn_span_of(no_frames[i]), &number, &frame))
            fail_msg("\"%s\" is a frame", no_frames[i]);
    }
}

static void the_begin_of_a_report_is_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *line, *what;
        int64_t pid;
    } rows[] = {
        {"==48==ERROR: AddressSanitizer: heap-use-after-free on address 0x6", "heap-use-after-free",
         48},
        {"==48==ERROR: HWAddressSanitizer: tag-mismatch on address 0x6", "tag-mismatch", 48},
        {"==7==ERROR: LeakSanitizer: detected memory leaks", "detected memory leaks", 7},
        {"WARNING: ThreadSanitizer: data race (pid=26926)", "data race", 26926},
        {"a.c:1:51: runtime error: signed integer overflow: 1 + 2", "signed integer overflow", -1},
        {"<unknown>: runtime error: null pointer", "null pointer", -1},
    };
    struct cairn_span what;
    int64_t pid;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!cairn_sanitizer_report_parse(cairn_span_of(rows[i].line), &what, &pid))
            fail_msg("%s: no report", rows[i].line);
        assert_span(what, rows[i].what, rows[i].line);
        assert_int_equal(pid, rows[i].pid);
    }
    static const char *const others[] = {"",
                                         "ERROR: file not found",
                                         "AddressSanitizer:DEADLYSIGNAL",
                                         "SUMMARY: AddressSanitizer: 72 byte(s) leaked",
                                         "my: runtime error: x",
                                         "main;Sanitizer: 12"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cairn_sanitizer_report_parse(cairn_span_of(others[i]), &what, &pid))
            fail_msg("\"%s\" begins a report", others[i]);
}

static const char text[] = "the program says hello\n"
                           "==9==ERROR: AddressSanitizer: heap-use-after-free on address 0x6\n"
                           "READ of size 1 at 0x6 thread T0\n"
                           "    #0 0x10 in inner /a.c:4:53\n"
                           "    #1 0x10 in outer /a.c:8:38\n"
                           "and goes on\n"
                           "    #2 0x20  (/bin/a+0x1234) (BuildId: A5B6)\n"
                           "\n"
                           "freed by thread T0 here:\n"
                           "    #0 0x30 in again /a.c:5\n"
                           "    #1 0x30 in again /a.c:5\n"
                           "\n"
                           "==9==ERROR: LeakSanitizer: detected memory leaks\n"
                           "\n"
                           "Direct leak of 72 byte(s) in 3 object(s) allocated from:\n"
                           "    #0 0x40 in get /a.c:3:59\n"
                           "\n"
                           "Indirect leak of 10 byte(s) in 1 object(s) allocated from:\n"
                           "    #0 0x40 in get /a.c:3:59\n";

static struct cairn_profile *read_text(const char *from, size_t size)
{
    struct cairn_profile *profile = NULL;
    struct cairn_err err;
    int code = test_read_profile((struct cairn_span){(const uint8_t *)from, size},
                                 CAIRN_FORMAT_AUTO, &profile, &err);
    assert_ok(code, err);
    return profile;
}

static const char *label_of(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return label ? cairn_strings_get(&p->strings, label->text) : NULL;
}

static const struct cairn_profile_frame *frame_of(const struct cairn_profile *p, size_t sample,
                                                  int depth)
{
    uint32_t at = p->samples[sample].stack;
    for (; depth; depth--)
        at = p->stacks[at].parent;
    return &p->frames[p->stacks[at].frame];
}

static void each_stack_is_a_sample_with_its_head(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text(text, sizeof text - 1);
    assert_int_equal(p->n_samples, 4);
    assert_int_equal(p->n_types, 3);
    assert_string_equal(label_of(p, 0, "stack"), "READ of size 1 at 0x6 thread T0");
    assert_string_equal(label_of(p, 0, "report"), "heap-use-after-free");
    assert_int_equal(cairn_profile_find_label(p, p->samples[0].labels, "pid")->number, 9);
    assert_string_equal(label_of(p, 1, "stack"), "freed by thread T0 here");
    assert_string_equal(label_of(p, 2, "report"), "detected memory leaks");
    static const int64_t values[4][3] = {{1, 0, 0}, {1, 0, 0}, {1, 72, 3}, {1, 10, 1}};
    assert_memory_equal(p->values, values, sizeof values);
    const struct cairn_profile_frame *raw = frame_of(p, 0, 2);
    assert_int_equal(raw->address, 0x1234);
    assert_int_equal(raw->n_lines, 0);
    assert_string_equal(cairn_strings_get(&p->strings, p->modules[raw->module].build_id), "a5b6");
    assert_int_equal(p->modules[raw->module].end, 0);
    assert_int_equal(p->lines[frame_of(p, 0, 1)->lines].line, 8);
    cairn_profile_free(p);
}

static void inlined_calls_and_recursion_differ(void **state)
{
    (void)state;
    struct cairn_profile *p = read_text(text, sizeof text - 1);
    assert_int_equal(frame_of(p, 0, 0)->what, CAIRN_WHAT_INLINED);
    assert_int_equal(frame_of(p, 0, 1)->what, CAIRN_WHAT_NATIVE);
    assert_int_equal(frame_of(p, 1, 0)->what, CAIRN_WHAT_NATIVE);
    assert_int_equal(frame_of(p, 1, 1)->what, CAIRN_WHAT_NATIVE);
    cairn_profile_free(p);
}

static void leaks_alone_show_their_bytes(void **state)
{
    (void)state;
    const char *from = strstr(text, "==9==ERROR: LeakSanitizer");
    struct cairn_profile *p = read_text(from, strlen(from));
    assert_int_equal(p->n_samples, 2);
    assert_int_equal(cairn_profile_default_value(p), 1);
    cairn_profile_free(p);
}

/* Samples that are whole are those of the whole text, and nothing is made up. */
static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof text - 1; size++) {
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        int code = test_read_profile((struct cairn_span){(const uint8_t *)text, size},
                                     CAIRN_FORMAT_SANITIZER, &p, &err);
        const char *first = strstr(text, "#0"), *second = strstr(text, "freed by");
        if (size > (size_t)(strchr(first, '\n') - text))
            assert_ok(code, err);
        if (size <= (size_t)(first - text))
            assert_int_equal(code, CAIRN_E_FORMAT);
        if (code < 0)
            continue;
        assert_string_equal(label_of(p, 0, "report"), "heap-use-after-free");
        if (size > (size_t)(second - text))
            assert_int_equal(frame_of(p, 0, 2)->address, 0x1234);
        for (uint32_t i = 1; i < p->n_functions; i++)
            assert_non_null(strstr("inner outer again get",
                                   cairn_strings_get(&p->strings, p->functions[i].name)));
        cairn_profile_free(p);
    }
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    static const char odd[] = {0, '\n', '#', '(', ')', ' ', (char)0xff};
    for (size_t i = 0; i < (sizeof text - 1) * sizeof odd; i++) {
        char changed[sizeof text];
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        memcpy(changed, text, sizeof text);
        changed[i / sizeof odd] = odd[i % sizeof odd];
        int code = test_read_profile((struct cairn_span){(const uint8_t *)changed, sizeof text - 1},
                                     CAIRN_FORMAT_SANITIZER, &p, &err);
        assert_ok(code, err);
        assert_true(p->n_samples >= 2 && p->n_samples <= 6);
        cairn_profile_free(p);
    }
}

static void a_report_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_fails(test_read_profile(cairn_span_of("a.c:1:51: runtime error: overflow: 1 + 2\n"),
                                   CAIRN_FORMAT_AUTO, &p, &err),
                 CAIRN_E_FORMAT, err, "1 reports of a sanitizer, but no stack");
    assert_non_null(strstr(err.hint, "print_stacktrace=1"));
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_read_without_memory(cairn_span_of(text), CAIRN_FORMAT_SANITIZER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_of_a_frame_is_read),
        cmocka_unit_test(the_begin_of_a_report_is_recognised),
        cmocka_unit_test(each_stack_is_a_sample_with_its_head),
        cmocka_unit_test(inlined_calls_and_recursion_differ),
        cmocka_unit_test(leaks_alone_show_their_bytes),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(a_report_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
