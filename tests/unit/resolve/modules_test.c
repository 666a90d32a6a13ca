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

/* A program without symbols: nothing in it has a name. */
static void make_stripped(const char *name)
{
    static struct test_elf w; /* large */
    size_t size;
    w = test_elf_of(true, false, ET_DYN, EM_X86_64);
    test_elf_load(&w, PF_R | PF_X, 0x1000, 0x1000, 0x800, 0x800);
    fixture_code(&w, ".text", SHT_PROGBITS, 0x1000, 0x800);
    uint8_t *bytes = test_elf_finish(&w, &size);
    fixture_write(name, bytes, size);
    free(bytes);
}

/* Resolves one address in libA.so, two in libB.so and so on; `fixture_said` has the messages. */
static void resolve_stripped(int n_modules)
{
    struct cairn_buffer in = {0}, out = {0};
    struct cairn_err err;
    for (int i = 0; i < n_modules; i++) {
        char name[] = "libA.so";
        name[3] = (char)('A' + i);
        make_stripped(name);
        for (int k = 0; k <= i; k++)
            cairn_buffer_printf(&in, "%s+0x%x;", name, 0x100 + k);
    }
    cairn_buffer_str(&in, "main 1\n");
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    struct fixture_input input = {cairn_buffer_text(&in), in.size, 1 << 20};
    fixture_said[0] = 0;
    assert_ok(cairn_resolve_text(resolver, fixture_read, &input, fixture_write_out, &out, &err),
              err);
    cairn_resolver_free(resolver);
    cairn_buffer_done(&in);
    cairn_buffer_done(&out);
}

static int count_hints(void)
{
    int n = 0;
    for (const char *at = fixture_said; (at = strstr(at, "H ")) != NULL; at++)
        n += at == fixture_said || at[-1] == '\n';
    return n;
}

static void five_stripped_modules_have_hints_and_one_line_counts_the_others(void **state)
{
    (void)state;
    resolve_stripped(5);
    assert_int_equal(count_hints(), 5);
    assert_null(strstr(fixture_said, "more stripped"));

    resolve_stripped(6);
    assert_int_equal(count_hints(), 6);
    assert_contains(fixture_said,
                    "H and 1 more stripped module: no symbol for 1 addresses (-v lists it)\n");

    resolve_stripped(8);
    assert_int_equal(count_hints(), 6);
    assert_contains(fixture_said, "libH.so: no symbol for 8 of 8 addresses (it is stripped");
    assert_contains(fixture_said, "libD.so: no symbol for 4 of 4 addresses (it is stripped");
    assert_null(strstr(fixture_said, "libC.so"));
    assert_contains(fixture_said,
                    "H and 3 more stripped modules: no symbol for 6 addresses (-v lists them)\n");

    cairn_log_set(fixture_keep_log, NULL, CAIRN_LOG_INFO);
    resolve_stripped(8);
    assert_int_equal(count_hints(), 6);
    assert_contains(fixture_said, "libA.so: no symbol for 1 of 1 addresses (it is stripped)\n");
    assert_contains(fixture_said, "libC.so: no symbol for 3 of 3 addresses (it is stripped)\n");
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
        cmocka_unit_test_setup_teardown(
            five_stripped_modules_have_hints_and_one_line_counts_the_others, fixture_enter,
            fixture_leave),
        cmocka_unit_test_setup_teardown(beyond_the_limit_modules_are_not_looked_for, fixture_enter,
                                        fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
