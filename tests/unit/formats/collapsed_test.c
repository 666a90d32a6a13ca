/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/zip.h"
#include "profile/frame_kind.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/test.h"

/* What is read out of a text, written again; `piece` bytes come at a time, 0: all. */
static void assert_becomes(const char *text, size_t piece, const char *expected)
{
    struct test_input input = {cairn_span_of(text), piece};
    struct cairn_profile *profile;
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_read(test_read, &input, CAIRN_FORMAT_COLLAPSED, &profile, &err), err);
    assert_ok(cairn_profile_write(profile, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
    cairn_profile_free(profile);
}

static void assert_refused(struct cairn_span bytes, enum cairn_code code, const char *part)
{
    struct cairn_profile *profile = NULL;
    struct cairn_err err;
    assert_fails(test_read_profile(bytes, CAIRN_FORMAT_COLLAPSED, &profile, &err), code, err, part);
    assert_null(profile);
}

static void every_byte_comes_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "main 1\n",
        "main;f 1\nmain;f;g 2\nmain 3\n",
        "main;0x7f12;/usr/lib/libc.so.6+0x1234;0x00AB 5\n",
        "entry_SYSCALL_64_[k];ksys_write_[k] 2\nf_[i];g_[j];h_[w];i_[q];_[k] 1\n",
        "a;;b 1\na; 2\n; 3\n;; 4\n 5\n",
        "operator new(unsigned long) 7\na  b;c  d 8\n",
        "app::Table<std::map<int, long> >::get(std::string const&);x 0\n",
        "a;b -4\nc 9223372036854775807\n",
        ("aaaaaaaaaaaaaaaa;b 1\naaaaaaaaaaaaaaaa;bb 2\naaaaaaaaaaaaaaaa;b;c 3\n"
         "aaaaaaaaaaaaaaaab;b 4\n"),
        "\xc3\xa9;\xff\xfe;\x1b[31m 1\n",
        "2fast;\"quoted\";*star 1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t piece = 0; piece < 20; piece++)
            assert_becomes(texts[i], piece, texts[i]);
}

static void what_does_not_matter_is_made_the_same(void **state)
{
    (void)state;
    assert_becomes("a;b 1\r\n\r\n  \na;c 2 \t\r\n\na;d 3", 0, "a;b 1\na;c 2\na;d 3\n");
    assert_becomes("a 1\nb 2\na 3\n", 0, "a 4\nb 2\n");
    assert_becomes("a 1.4\nb 1.5\nc -2.5\nd 7.\n", 0, "a 1\nb 2\nc -3\nd 7\n");
}

static void lines_without_a_count_are_named(void **state)
{
    (void)state;
    assert_refused(cairn_span_of("a;b 1\nnothing\n"), CAIRN_E_FORMAT, "line 2");
    assert_refused(cairn_span_of("a;b\n"), CAIRN_E_FORMAT, "line 1");
    assert_refused(cairn_span_of("7\n"), CAIRN_E_FORMAT, "line 1");
    assert_refused(cairn_span_of("a 1\n\n\na one"), CAIRN_E_FORMAT, "line 4");
    assert_refused(cairn_span_of("a 1e5\n"), CAIRN_E_FORMAT, "line 1");
    assert_refused(cairn_span_of("a -\n"), CAIRN_E_FORMAT, "line 1");
    assert_refused(cairn_span_of("a .5\n"), CAIRN_E_FORMAT, "line 1");
    assert_refused(cairn_span_of("a 9223372036854775808\n"), CAIRN_E_FORMAT, "line 1");
}

static void a_nul_in_a_name_is_refused(void **state)
{
    (void)state;
    static const char text[] = "a;b 1\na;b\0c;d 2\n";
    assert_refused((struct cairn_span){(const uint8_t *)text, sizeof text - 1}, CAIRN_E_FORMAT,
                   "line 2");
}

static void a_line_longer_than_the_limit_is_refused(void **state)
{
    (void)state;
    enum { SIZE = (64 << 20) + (2 << 20) };
    struct cairn_buffer text = {0};
    assert_true(cairn_buffer_reserve(&text, SIZE));
    cairn_buffer_str(&text, "a 1\n");
    memset(text.data + text.size, 'x', SIZE - text.size);
    text.size = SIZE;
    assert_refused(cairn_buffer_span(&text), CAIRN_E_LIMIT, "line 2: longer than");
    cairn_buffer_done(&text);
}

static void a_stack_deeper_than_the_limit_is_refused(void **state)
{
    (void)state;
    struct cairn_buffer text = {0};
    for (unsigned i = 0; i < CAIRN_PROFILE_DEPTH_MAX; i++)
        cairn_buffer_str(&text, "f;");
    text.size--;
    cairn_buffer_str(&text, " 1\n");
    struct cairn_profile *profile;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_buffer_span(&text), CAIRN_FORMAT_COLLAPSED, &profile, &err),
              err);
    assert_int_equal(profile->n_stacks, 1 + CAIRN_PROFILE_DEPTH_MAX);
    cairn_profile_free(profile);
    cairn_buffer_clear(&text);
    for (unsigned i = 0; i < CAIRN_PROFILE_DEPTH_MAX; i++)
        cairn_buffer_str(&text, "f;");
    cairn_buffer_str(&text, "f 1\n");
    assert_refused(cairn_buffer_span(&text), CAIRN_E_LIMIT, "frames");
    cairn_buffer_done(&text);
}

static void lines_longer_than_a_piece_are_read(void **state)
{
    (void)state;
    struct cairn_buffer text = {0};
    for (unsigned line = 0; line < 40; line++) {
        for (unsigned i = 0; i < 9000; i++)
            cairn_buffer_printf(&text, "%sfunction_%u", i ? ";" : "", i % (100 + line));
        cairn_buffer_printf(&text, " %u\n", line);
    }
    assert_becomes(cairn_buffer_text(&text), 0, cairn_buffer_text(&text));
    assert_becomes(cairn_buffer_text(&text), 4099, cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

static void suffixes_are_kinds(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_err err;
    struct cairn_span text = cairn_span_of("a_[k];b_[i];c_[j];d_[w];e 1\n");
    assert_ok(test_read_profile(text, CAIRN_FORMAT_COLLAPSED, &p, &err), err);
    static const struct {
        uint8_t kind;
        const char *name;
    } expected[] = {{'-', NULL}, {'k', "a"}, {'i', "b"}, {'j', "c"}, {'-', "d_[w]"}, {'-', "e"}};
    assert_int_equal(p->n_frames, 6);
    for (uint32_t i = 1; i < 6; i++) {
        const struct cairn_profile_function *f =
            &p->functions[p->lines[p->frames[i].lines].function];
        assert_int_equal(cairn_frame_kind_of(&p->frames[i]), expected[i].kind);
        assert_string_equal(cairn_strings_get(&p->strings, f->name), expected[i].name);
    }
    cairn_profile_free(p);
}

/* A name from elsewhere cannot end a frame or a line. */
static void semicolons_and_breaks_in_names_are_made_safe(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_err err;
    struct cairn_buffer out = {0};
    assert_ok(cairn_profile_new(&p, &err), err);
    cairn_profile_add_type(p, "samples", "count");
    static const char name[] = "op;weird\nname\r 5";
    struct cairn_profile_function f = {.name = cairn_profile_text(p, name, sizeof name - 1)};
    struct cairn_profile_line line = {.function = cairn_profile_add_function(p, &f)};
    struct cairn_profile_frame frame = {.what = CAIRN_WHAT_KERNEL, .how = CAIRN_HOW_KERNEL};
    uint32_t number = cairn_profile_add_frame(p, &frame, &line, 1);
    cairn_profile_add_sample(p, cairn_profile_add_stack(p, 0, number), 0, &(int64_t){3});
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), "op:weird name  5_[k] 3\n");
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

/* Two addresses of one function are one frame in the text. */
static void stacks_that_read_the_same_are_one_line(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_err err;
    struct cairn_buffer out = {0};
    assert_ok(cairn_profile_new(&p, &err), err);
    cairn_profile_add_type(p, "samples", "count");
    struct cairn_profile_function f = {.name = cairn_profile_text(p, "f", 1)};
    struct cairn_profile_line line = {.function = cairn_profile_add_function(p, &f)};
    for (uint64_t address = 1; address <= 3; address++) {
        struct cairn_profile_frame frame = {.address = address, .how = CAIRN_HOW_CFI};
        uint32_t stack =
            cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, &line, 1));
        cairn_profile_add_sample(p, stack, 0, &(int64_t){10});
    }
    cairn_profile_add_sample(p, 0, 0, &(int64_t){1});
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), "f 30\n[no stack] 1\n");
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static void the_value_to_show_is_what_is_written(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_err err;
    struct cairn_buffer out = {0};
    assert_ok(cairn_profile_new(&p, &err), err);
    cairn_profile_add_type(p, "samples", "count");
    cairn_profile_add_type(p, "cpu", "nanoseconds");
    cairn_profile_add_sample(p, 0, 0, (int64_t[]){1, 1000});
    assert_ok(cairn_profile_set_default_value(p, 1, &err), err);
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), "[no stack] 1000\n");
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

static int refuse(void *ctx, const void *bytes, size_t size)
{
    (void)ctx, (void)bytes, (void)size;
    return 1;
}

static void a_full_disk_stops_the_writer(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_span_of("a;b 1\n"), CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, refuse, NULL, &err), CAIRN_E_IO,
                 err, "written");
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_PPROF, refuse, NULL, &err), CAIRN_E_IO, err,
                 "written");
    cairn_profile_free(p);
}

static void reading_and_writing_without_memory_fail_cleanly(void **state)
{
    (void)state;
    static const char text[] = "main;f_[k];g 1\nmain;f_[k];h 2\nother;0x10 3\nmain 4\n";
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_profile *p = NULL;
        struct cairn_buffer out = {0};
        struct cairn_err err = {0};
        cairn_alloc_fail_after(countdown);
        code = test_read_profile(cairn_span_of(text), CAIRN_FORMAT_AUTO, &p, &err);
        if (code == CAIRN_OK)
            code = cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err);
        cairn_alloc_fail_after(-1);
        if (code == CAIRN_E_IO) /* the buffer that the test writes to is the one that failed */
            code = CAIRN_E_NOMEM;
        if (code == CAIRN_OK)
            assert_string_equal(cairn_buffer_text(&out), text);
        cairn_buffer_done(&out);
        cairn_profile_free(p);
        assert_true(countdown < 10000);
    }
    assert_int_equal(code, CAIRN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(what_does_not_matter_is_made_the_same),
        cmocka_unit_test(lines_without_a_count_are_named),
        cmocka_unit_test(a_nul_in_a_name_is_refused),
        cmocka_unit_test(a_line_longer_than_the_limit_is_refused),
        cmocka_unit_test(a_stack_deeper_than_the_limit_is_refused),
        cmocka_unit_test(lines_longer_than_a_piece_are_read),
        cmocka_unit_test(suffixes_are_kinds),
        cmocka_unit_test(semicolons_and_breaks_in_names_are_made_safe),
        cmocka_unit_test(stacks_that_read_the_same_are_one_line),
        cmocka_unit_test(the_value_to_show_is_what_is_written),
        cmocka_unit_test(a_full_disk_stops_the_writer),
        cmocka_unit_test(reading_and_writing_without_memory_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
