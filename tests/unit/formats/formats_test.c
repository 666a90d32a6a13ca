/* SPDX-License-Identifier: MIT */
/* The doors: which format bytes and names are, gzip before every reader. */
#include "base/zip.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/test.h"

static void names_of_files_ask_for_formats(void **state)
{
    (void)state;
    assert_int_equal(cairn_format_of_name("cairn.42.pb.gz"), CAIRN_FORMAT_PPROF);
    assert_int_equal(cairn_format_of_name("a.pb"), CAIRN_FORMAT_PPROF);
    assert_int_equal(cairn_format_of_name("dir.x/a.collapsed"), CAIRN_FORMAT_COLLAPSED);
    assert_int_equal(cairn_format_of_name("a.folded"), CAIRN_FORMAT_COLLAPSED);
    assert_int_equal(cairn_format_of_name("a.firefox.json.gz"), CAIRN_FORMAT_FIREFOX);
    assert_int_equal(cairn_format_of_name("a.firefox.json"), CAIRN_FORMAT_FIREFOX);
    assert_int_equal(cairn_format_of_name("a.speedscope.json"), CAIRN_FORMAT_SPEEDSCOPE);
    assert_int_equal(cairn_format_of_name("a.json"), CAIRN_FORMAT_AUTO);
    assert_int_equal(cairn_format_of_name("a.html"), CAIRN_FORMAT_AUTO);
    assert_int_equal(cairn_format_of_name(".pb.gz"), CAIRN_FORMAT_AUTO);
    assert_int_equal(cairn_format_of_name(""), CAIRN_FORMAT_AUTO);
}

static void formats_have_names(void **state)
{
    (void)state;
    assert_string_equal(cairn_format_name(CAIRN_FORMAT_PPROF), "pprof");
    assert_string_equal(cairn_format_name(CAIRN_FORMAT_COLLAPSED), "collapsed");
    assert_null(cairn_format_name(CAIRN_FORMAT_AUTO));
    assert_null(cairn_format_name((enum cairn_format)99));
    assert_int_equal(cairn_format_of("pprof"), CAIRN_FORMAT_PPROF);
    assert_int_equal(cairn_format_of("Pprof"), CAIRN_FORMAT_AUTO);
}

static void assert_read_as(const void *bytes, size_t size, const char *expected)
{
    struct cairn_profile *p;
    struct cairn_buffer out = {0};
    struct cairn_err err;
    struct cairn_span span = {bytes, size};
    assert_ok(test_read_profile(span, CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

/* Texts whose first bytes could be a message's: field 1, 2, 6 and their like. */
static void text_is_text_whatever_it_begins_with(void **state)
{
    (void)state;
    static const char *const texts[] = {"2foo;bar 5\n", "\"a\";b 1\n", "*;b 1\n", "J 1\n",
                                        "P;E;R 1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_read_as(texts[i], strlen(texts[i]), texts[i]);
    assert_read_as("\n\nmain;f 1\n", 11, "main;f 1\n");
    assert_read_as("\n\tmain;f 1", 10, "\tmain;f 1\n");
}

static void gzip_is_unpacked_for_every_format(void **state)
{
    (void)state;
    struct cairn_buffer zipped = {0};
    struct cairn_err err;
    assert_ok(cairn_zip_gzip(cairn_span_of("main;f 1\n"), 6, &zipped, &err), err);
    assert_read_as(zipped.data, zipped.size, "main;f 1\n");
    /* One member behind the other is what `cat a.gz b.gz` makes. */
    assert_ok(cairn_zip_gzip(cairn_span_of("main;g 2\n"), 6, &zipped, &err), err);
    assert_read_as(zipped.data, zipped.size, "main;f 1\nmain;g 2\n");
    struct cairn_profile *p;
    assert_fails(test_read_profile((struct cairn_span){zipped.data, zipped.size - 9},
                                   CAIRN_FORMAT_AUTO, &p, &err),
                 CAIRN_E_FORMAT, err, "ends early");
    cairn_buffer_done(&zipped);
}

/* 300 MiB of zeros in 300 kB, as members of 10 MiB each: more than any profile shrinks. */
static void a_bomb_is_refused(void **state)
{
    (void)state;
    enum { SIZE = 10 << 20, MEMBERS = 30 };
    struct cairn_buffer plain = {0}, member = {0}, zipped = {0};
    struct cairn_profile *p;
    struct cairn_err err;
    assert_true(cairn_buffer_reserve(&plain, SIZE));
    memset(plain.data, 0, SIZE);
    plain.size = SIZE;
    assert_ok(cairn_zip_gzip(cairn_buffer_span(&plain), 6, &member, &err), err);
    for (unsigned i = 0; i < MEMBERS; i++)
        cairn_buffer_add(&zipped, member.data, member.size);
    assert_fails(test_read_profile(cairn_buffer_span(&zipped), CAIRN_FORMAT_AUTO, &p, &err),
                 CAIRN_E_LIMIT, err, "unpacks to more than");
    cairn_buffer_done(&plain);
    cairn_buffer_done(&member);
    cairn_buffer_done(&zipped);
}

static void what_is_no_profile_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *part;
    } cases[] = {
        {"", 0, "empty"},
        {"\n\n", 2, "neither"},
        {"\x7f"
         "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0",
         20, "neither"},
        {"#!/bin/sh\n", 10, "neither"},
        {"\0\0\0\0", 4, "neither"},
        {"\xff\xfe"
         "a\0;\0",
         6, "neither"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_span bytes = {(const uint8_t *)cases[i].bytes, cases[i].size};
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        assert_fails(test_read_profile(bytes, CAIRN_FORMAT_AUTO, &p, &err), CAIRN_E_FORMAT, err,
                     cases[i].part);
        assert_null(p);
    }
}

static void formats_that_are_not_there_are_refused(void **state)
{
    (void)state;
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_fails(test_read_profile(cairn_span_of("a 1\n"), (enum cairn_format)99, &p, &err),
                 CAIRN_E_ARG, err, "99");
    assert_fails(test_read_profile(cairn_span_of("{}"), CAIRN_FORMAT_FIREFOX, &p, &err),
                 CAIRN_E_ARG, err, "firefox can be written, not read");
    assert_ok(cairn_profile_new(&p, &err), err);
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_AUTO, test_write, NULL, &err), CAIRN_E_ARG,
                 err, "format");
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_PPROF, test_write, NULL, &err), CAIRN_E_ARG,
                 err, "without value types");
    assert_fails(cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, test_write, NULL, &err),
                 CAIRN_E_ARG, err, "without value types");
    cairn_profile_free(p);
}

static long broken(void *ctx, void *buf, size_t size)
{
    (void)size;
    int *calls = ctx;
    if ((*calls)-- == 0)
        return -1;
    memcpy(buf, "a;b 1\n", 6);
    return 6;
}

static void an_input_that_breaks_off_is_an_error(void **state)
{
    (void)state;
    for (int calls = 0; calls < 3; calls++) {
        struct cairn_profile *p = NULL;
        struct cairn_err err;
        int left = calls;
        assert_fails(cairn_profile_read(broken, &left, CAIRN_FORMAT_AUTO, &p, &err), CAIRN_E_IO,
                     err, "read");
        assert_null(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_files_ask_for_formats),
        cmocka_unit_test(formats_have_names),
        cmocka_unit_test(text_is_text_whatever_it_begins_with),
        cmocka_unit_test(gzip_is_unpacked_for_every_format),
        cmocka_unit_test(a_bomb_is_refused),
        cmocka_unit_test(what_is_no_profile_is_refused),
        cmocka_unit_test(formats_that_are_not_there_are_refused),
        cmocka_unit_test(an_input_that_breaks_off_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
