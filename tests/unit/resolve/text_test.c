/* SPDX-License-Identifier: MIT */
#include "fixture.h"

static const char maps[] = "7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/lld.so\n"
                           "401000-402000 r-xp 00001000 08:01 8 /opt/fixed\n";

static void the_leaf_is_exact_and_all_others_return(void **state)
{
    (void)state;
    /* 0x7f0000001c20 is where `second` begins, and where a call at the end of `first` returns to.
     */
    fixture_names(fixture_opts(maps), "0x7f0000001c20;0x7f0000001c20;0x7f0000001c20 1\n",
                  "first;first;second 1\n");
    struct cairn_resolve_opts opts = fixture_opts(maps);
    opts.leaf = CAIRN_LEAF_RET;
    fixture_names(opts, "0x7f0000001c20;0x7f0000001c20 1\n", "first;first 1\n");
}

static void offsets_count_from_the_load_base(void **state)
{
    (void)state;
    fixture_names(
        fixture_opts(NULL),
        "lld.so+0x1c10;/opt/lib/lld.so+0x1c30;lld.so+0x1c20;fixed+0x401005;fixed+0x1005 1\n",
        "first;second;first;start;start 1\n");
}

static void offsets_may_be_those_of_the_file(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    opts.offsets = CAIRN_OFFSETS_FILE;
    fixture_names(opts, "lld.so+0xc10;lld.so+0xc30;fixed+0x1005 1\n", "first;second;start 1\n");
}

static void a_base_name_is_a_mapped_file(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(maps);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    fixture_resolves(resolver, "lld.so+0x1c10 1", 15, "first 1", 7);
    struct cairn_resolved_module module = {.size = sizeof module};
    assert_int_equal(cairn_resolver_module(resolver, 0, &module), 1);
    assert_string_equal(module.path, "/opt/lld.so");
    assert_int_equal(cairn_resolver_module(resolver, 1, &module), 0);
    cairn_resolver_free(resolver);
}

static void what_is_no_address_stays(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "main;std::vector<int>::at(unsigned long) 3\n",
        "0x;0xg;0x12345678901234567;x401005;0X401005;401005 3\n",
        "0x401005_[k];0x401005_[j];0x401005+;+0x5;0x401005 a 3\n",
        "operator+(int)+0x5;f<a>+0x5;std::x+0x5;lld.so+0x 3\n",
        ";;; 3\n",
        "\n",
        "\r\n",
        "0x401005\n",
        " 3\n",
        "0x401005 \n",
        "0x401005 x\n",
        "0x401005 3x\n",
        "0x401005 3 \n",
        "0x401005\t3\n",
        "\xff\xfe;\x80 3\n",
        "# 0x401005 3\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        fixture_names(fixture_opts(maps), lines[i], lines[i]);
}

static void counts_and_line_ends_stay(void **state)
{
    (void)state;
    fixture_names(fixture_opts(maps), "0x401005 3\r\n0x401005 00\n\n0x401005 -1.5\n0x401005 7",
                  "start 3\r\nstart 00\n\nstart -1.5\nstart 7");
    fixture_names(fixture_opts(maps), "a;0x401005 3 4\na b;0x401005 c;0x401005 0 4\n",
                  "a;start 3 4\na b;0x401005 c;start 0 4\n");
}

static void bytes_that_are_no_text_stay(void **state)
{
    (void)state;
    static const char in[] = "a\0b;0x401005;l\0ld.so+0x1c10 3\n\0\n";
    static const char out[] = "a\0b;start;l\0ld.so+0x1c10 3\n\0\n";
    struct cairn_resolve_opts opts = fixture_opts(maps);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    fixture_resolves(resolver, in, sizeof in - 1, out, sizeof out - 1);
    cairn_resolver_free(resolver);
}

static void semicolons_in_names_are_made_safe(void **state)
{
    (void)state;
    fixture_names(fixture_opts(maps), "0x7f0000001c70;a 1\n", "third:;a 1\n");
}

static void gaps_between_functions_have_no_name(void **state)
{
    (void)state;
    fixture_names(fixture_opts(maps), "a;0x7f0000001c50 1\n", "a;0x7f0000001c50 1\n");
    assert_contains(fixture_said, "/opt/lld.so: no symbol for 1 of 1 addresses");
}

static void numbers_may_be_written_in_more_than_one_way(void **state)
{
    (void)state;
    fixture_names(fixture_opts(maps), "0x0000000000401005;0x7F0000001C10;0x00 1\n",
                  "start;first;0x00 1\n");
}

static void everything_is_counted(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(maps);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    struct fixture_input in = {"a;0x401005;0x401005 1\nb;0x401005;0x5;0x7f0000001c50 1\n\nnone\n",
                               0, 1 << 20};
    in.size = strlen(in.bytes);
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_resolve_text(resolver, fixture_read, &in, fixture_write_out, &out, &err), err);
    cairn_buffer_done(&out);
    struct cairn_resolve_summary s = fixture_summary(resolver);
    assert_int_equal(s.n_lines, 4);
    assert_int_equal(s.n_malformed, 1);
    assert_int_equal(s.n_frames, 7);
    assert_int_equal(s.n_named, 3);
    assert_int_equal(s.n_unique, 4);
    assert_int_equal(s.n_unique_named, 2);
    assert_int_equal(s.frames_by_cause[CAIRN_CAUSE_NO_MAPPING], 1);
    assert_int_equal(s.frames_by_cause[CAIRN_CAUSE_NO_SYMBOL], 1);
    assert_int_equal(s.n_modules_found, 2);
    assert_int_equal(s.n_modules_unverified, 2);
    assert_int_equal(s.n_modules_missing, 0);
    cairn_resolver_free(resolver);
}

static void a_missing_module_is_warned_of_once(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    static const char in[] = "/no/such.so+0x1;/no/such.so+0x2;[vdso]+0x4 1\n";
    fixture_resolves(resolver, in, sizeof in - 1, in, sizeof in - 1);
    const char *warning = strstr(fixture_said, "/no/such.so: no binary for 2 of 2 addresses");
    assert_non_null(warning);
    assert_null(strstr(warning + 4, "/no/such.so"));
    cairn_resolver_free(resolver);
}

static void a_line_without_end_is_a_limit(void **state)
{
    (void)state;
    size_t size = (17 << 20) + 1;
    char *in = malloc(size);
    assert_non_null(in);
    memset(in, 'a', size);
    struct cairn_resolver *resolver = fixture_resolver(&(struct cairn_resolve_opts){0});
    struct fixture_input input = {in, size, 1 << 20};
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_fails(cairn_resolve_text(resolver, fixture_read, &input, fixture_write_out, &out, &err),
                 CAIRN_E_LIMIT, err, "line 1: longer than 16777216 bytes");
    cairn_buffer_done(&out);
    cairn_resolver_free(resolver);
    free(in);
}

static long fail_to_read(void *ctx, void *buf, size_t size)
{
    (void)ctx;
    (void)buf;
    (void)size;
    return -1;
}

static int fail_to_write(void *ctx, const void *bytes, size_t size)
{
    (void)ctx;
    (void)bytes;
    (void)size;
    return 1;
}

static void failures_of_the_callbacks_come_back(void **state)
{
    (void)state;
    struct cairn_resolver *resolver = fixture_resolver(&(struct cairn_resolve_opts){0});
    struct cairn_err err;
    assert_fails(cairn_resolve_text(resolver, fail_to_read, NULL, fail_to_write, NULL, &err),
                 CAIRN_E_IO, err, "cannot read");
    struct fixture_input in = {"a 1\n", 4, 4};
    assert_fails(cairn_resolve_text(resolver, fixture_read, &in, fail_to_write, NULL, &err),
                 CAIRN_E_IO, err, "cannot write");
    cairn_resolver_free(resolver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_leaf_is_exact_and_all_others_return, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(offsets_count_from_the_load_base, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(offsets_may_be_those_of_the_file, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(a_base_name_is_a_mapped_file, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(what_is_no_address_stays, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(counts_and_line_ends_stay, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(bytes_that_are_no_text_stay, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(semicolons_in_names_are_made_safe, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(gaps_between_functions_have_no_name, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(numbers_may_be_written_in_more_than_one_way, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(everything_is_counted, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(a_missing_module_is_warned_of_once, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(a_line_without_end_is_a_limit, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(failures_of_the_callbacks_come_back, fixture_enter,
                                        fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
