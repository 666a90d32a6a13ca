/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "fixture.h"
#include "resolve/resolver.h"

static const char maps[] = "7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/lld.so\n"
                           "401000-402000 r-xp 00001000 08:01 8 /opt/fixed\n";

static void each_address_is_looked_up_once(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(maps);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    struct cairn_err err;
    struct cairn_answer first, again;
    struct cairn_key key = {.value = 0x401004, .kind = CAIRN_ADDRESS_EXACT};
    assert_ok(cairn_resolver_name(resolver, key, &first, &err), err);
    assert_ok(cairn_resolver_name(resolver, key, &again, &err), err);
    assert_ptr_equal(first.text, again.text);
    assert_int_equal(first.size, 5);
    assert_int_equal(fixture_summary(resolver).n_unique, 1);
    key.kind = CAIRN_ADDRESS_RETURN;
    assert_ok(cairn_resolver_name(resolver, key, &again, &err), err);
    assert_ptr_equal(first.text, again.text); /* equal texts are kept once */
    assert_int_equal(fixture_summary(resolver).n_unique, 2);
    cairn_resolver_free(resolver);
}

static void many_addresses_are_told_apart(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(maps);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    struct cairn_err err;
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 20000; i++) {
            struct cairn_key key = {.value = 0x400000 + i, .kind = CAIRN_ADDRESS_EXACT};
            struct cairn_answer answer;
            assert_ok(cairn_resolver_name(resolver, key, &answer, &err), err);
            bool in_start = i >= 0x1000 && i < 0x1010;
            assert_int_equal(answer.cause == CAIRN_CAUSE_NONE, in_start);
        }
    assert_int_equal(fixture_summary(resolver).n_unique, 20000);
    assert_int_equal(fixture_summary(resolver).n_unique_named, 16);
    cairn_resolver_free(resolver);
}

static void texts_beyond_the_bound_are_forgotten_and_made_again(void **state)
{
    (void)state;
    static const char in[] = "0x401004;lld.so+0x1c10;lld.so+0x1c30;0x401004;0x7f0000001c70 1\n"
                             "0x401005;lld.so+0x1c11;lld.so+0x1c31;0x401004;0x7f0000001c70 1\n";
    static const char out[] = "start;first;second;start;third: 1\n"
                              "start;first;second;start;third: 1\n";
    struct cairn_resolve_opts opts = fixture_opts(maps);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    resolver->names.max_bytes = 1;
    fixture_resolves(resolver, in, sizeof in - 1, out, sizeof out - 1);
    assert_true(resolver->names.texts.arena.used_bytes < 256);
    assert_int_equal(fixture_summary(resolver).n_unique, 7);
    cairn_resolver_free(resolver);
}

/* Whichever allocation fails: no crash, no leak, and the code that says so. */
static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    static const char in[] = "0x401004;lld.so+0x1c10;two.so+0x1110;none+0x1 1\n";
    for (long n = 0;; n++) {
        struct cairn_resolve_opts opts = fixture_opts(maps);
        struct cairn_resolver *resolver = NULL;
        struct fixture_input input = {in, sizeof in - 1, 1 << 20};
        char out[256];
        struct cairn_err err = {0};
        cairn_alloc_fail_after(n);
        int result = cairn_resolver_new(&opts, &resolver, &err);
        struct cairn_buffer buffer = {0};
        if (result == CAIRN_OK)
            result = cairn_resolve_text(resolver, fixture_read, &input, fixture_write_out, &buffer,
                                        &err);
        cairn_alloc_fail_after(-1);
        snprintf(out, sizeof out, "%s", cairn_buffer_text(&buffer));
        bool failed = buffer.failed;
        cairn_buffer_done(&buffer);
        cairn_resolver_free(resolver);
        cairn_maps_free((struct cairn_maps *)opts.maps);
        if (result == CAIRN_OK && !failed && strcmp(out, "start;first;low;none+0x1 1\n") == 0)
            return;
        assert_true(n < 100000);
        if (result < 0)
            assert_int_equal(result, CAIRN_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_address_is_looked_up_once, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(many_addresses_are_told_apart, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(texts_beyond_the_bound_are_forgotten_and_made_again,
                                        fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(lack_of_memory_is_an_error, fixture_enter, fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
