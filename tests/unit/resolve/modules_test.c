/* SPDX-License-Identifier: MIT */
#include "resolve/modules.h"

#include "fixture.h"

static void a_known_build_id_is_asked_for(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    opts.build_ids = "# of the machine where it ran\r\n\n  AABBCCDD\t/opt/a b/lld.so \r\n";
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    static const char in[] = "/opt/a b/lld.so+0x1c10;/opt/lld.so+0x1c10 1\n";
    fixture_resolves(resolver, in, sizeof in - 1, "first;first 1\n", 14);
    struct cairn_resolved_module module = {.size = sizeof module};
    assert_int_equal(cairn_resolver_module(resolver, 0, &module), 1);
    assert_string_equal(module.build_id, "aabbccdd");
    assert_int_equal(module.verified, 1);
    assert_int_equal(module.missing, CAIRN_CAUSE_NONE);
    assert_int_equal(cairn_resolver_module(resolver, 1, &module), 1);
    assert_string_equal(module.build_id, "");
    assert_int_equal(module.verified, 0);
    assert_int_equal(fixture_summary(resolver).n_modules_unverified, 1);
    cairn_resolver_free(resolver);
}

static void a_line_without_folder_is_for_every_file_of_that_name(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    opts.build_ids = "aabbccdd lld.so\n01020304 two.so";
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    static const char in[] = "/opt/lld.so+0x1c10;/x/lld.so+0x1c10 1\n";
    fixture_resolves(resolver, in, sizeof in - 1, "first;first 1\n", 14);
    assert_int_equal(fixture_summary(resolver).n_modules_unverified, 0);
    cairn_resolver_free(resolver);
}

static void a_file_of_another_build_is_refused_or_asked_for(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    opts.build_ids = "aabbccde /opt/lld.so\n";
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    static const char in[] = "/opt/lld.so+0x1c10 1\n";
    fixture_resolves(resolver, in, sizeof in - 1, in, sizeof in - 1);
    struct cairn_resolve_summary s = fixture_summary(resolver);
    assert_int_equal(s.unique_by_cause[CAIRN_CAUSE_MISMATCH], 1);
    assert_int_equal(s.n_modules_missing, 1);
    assert_contains(fixture_said, "build ID mismatch for 1 of 1 addresses");
    cairn_resolver_free(resolver);
    opts.symbols.allow_mismatch = 1;
    resolver = fixture_resolver(&opts);
    fixture_resolves(resolver, in, sizeof in - 1, "first 1\n", 8);
    struct cairn_resolved_module module = {.size = sizeof module};
    assert_int_equal(cairn_resolver_module(resolver, 0, &module), 1);
    assert_int_equal(module.mismatch, 1);
    cairn_resolver_free(resolver);
}

static void a_line_that_is_no_build_id_is_named_by_its_number(void **state)
{
    (void)state;
    static const char *const texts[] = {"aabb /a\nabc /b\n", "aabb /a\nxx /b", "aabb /a\naabb",
                                        "aabb /a\naabb   \n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cairn_resolver *resolver = NULL;
        struct cairn_err err;
        struct cairn_resolve_opts opts = {.size = sizeof opts, .build_ids = texts[i]};
        assert_fails(cairn_resolver_new(&opts, &resolver, &err), CAIRN_E_FORMAT, err,
                     "build IDs, line 2");
        assert_null(resolver);
    }
}

static void beyond_the_limit_modules_are_not_looked_for(void **state)
{
    (void)state;
    struct cairn_buffer in = {0};
    for (int i = 0; i < CAIRN_MODULES_MAX + 2; i++)
        cairn_buffer_printf(&in, "[m%d]+0x1;", i);
    cairn_buffer_str(&in, "lld.so+0x1c10 1\n");
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    struct fixture_input input = {cairn_buffer_text(&in), in.size, 1 << 20};
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_resolve_text(resolver, fixture_read, &input, fixture_write_out, &out, &err),
              err);
    assert_true(cairn_span_equal(cairn_buffer_span(&in), cairn_buffer_span(&out)));
    assert_int_equal(fixture_summary(resolver).unique_by_cause[CAIRN_CAUSE_NO_BINARY], 3);
    assert_contains(fixture_said, "more than 16384 different modules");
    cairn_buffer_done(&in);
    cairn_buffer_done(&out);
    cairn_resolver_free(resolver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_known_build_id_is_asked_for, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(a_line_without_folder_is_for_every_file_of_that_name,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(a_file_of_another_build_is_refused_or_asked_for,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(a_line_that_is_no_build_id_is_named_by_its_number,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(beyond_the_limit_modules_are_not_looked_for, fixture_enter,
                                        fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
