/* SPDX-License-Identifier: MIT */
#include "resolve/expected.h"

#include "base/alloc.h"
#include "fixture.h"

static const char maps[] = "7f0000001000-7f0000002000 r-xp 00000000 08:01 7 /opt/lld.so\n"
                           "401000-402000 r-xp 00001000 08:01 8 /opt/fixed\n";

static struct cairn_key key_of(uint64_t va)
{
    return (struct cairn_key){.value = va, .kind = CAIRN_ADDRESS_EXACT};
}

static void add(struct cairn_expected *expected, struct cairn_resolver *resolver, uint64_t va)
{
    struct cairn_err err;
    assert_ok(cairn_expected_add(expected, resolver, key_of(va), &err), err);
}

static void what_has_no_answer_yet_is_added_once(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(maps);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    struct cairn_expected expected = {0};
    struct cairn_answer answer;
    struct cairn_err err;
    add(&expected, resolver, 0x401004);
    add(&expected, resolver, 0x401004);
    assert_int_equal(expected.n, 1);
    assert_int_equal(expected.list[0].vaddr, 0x401004);
    add(&expected, resolver, 0x7f0000001c10);
    assert_int_equal(expected.n, 2);
    assert_int_equal(expected.list[1].vaddr, 0x1c10);
    assert_ptr_not_equal(expected.list[0].module, expected.list[1].module);
    assert_ok(cairn_resolver_name(resolver, key_of(0x401008), &answer, &err), err);
    add(&expected, resolver, 0x401008); /* known */
    add(&expected, resolver, 0x555555); /* nowhere */
    assert_int_equal(expected.n, 2);
    cairn_expected_done(&expected);
    assert_null(expected.list);
    cairn_resolver_free(resolver);
}

static void telling_changes_no_answer(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(maps);
    struct cairn_resolver *resolver = fixture_resolver(&opts);
    struct cairn_expected expected = {0};
    struct cairn_answer answer;
    struct cairn_err err;
    assert_ok(cairn_expected_tell(&expected, resolver, &err), err); /* nothing */
    for (uint64_t i = 0; i < 0x20; i++) {                           /* of two modules by turns */
        add(&expected, resolver, 0x401000 + i);
        add(&expected, resolver, 0x7f0000001c20 - i);
    }
    assert_int_equal(expected.n, 0x40);
    assert_ok(cairn_expected_tell(&expected, resolver, &err), err);
    assert_int_equal(expected.n, 0);
    for (uint64_t i = 0; i < 0x20; i++) {
        assert_ok(cairn_resolver_name(resolver, key_of(0x401000 + i), &answer, &err), err);
        assert_int_equal(answer.cause == CAIRN_CAUSE_NONE, i < 0x10);
    }
    add(&expected, resolver, 0x401020); /* after it, more may come */
    assert_int_equal(expected.n, 1);
    cairn_expected_done(&expected);
    cairn_resolver_free(resolver);
}

static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct cairn_resolve_opts opts = fixture_opts(maps);
        struct cairn_resolver *resolver = fixture_resolver(&opts);
        struct cairn_expected expected = {0};
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        int code = cairn_expected_add(&expected, resolver, key_of(0x401004), &err);
        if (code == CAIRN_OK)
            code = cairn_expected_tell(&expected, resolver, &err);
        cairn_alloc_fail_after(-1);
        cairn_expected_done(&expected);
        cairn_resolver_free(resolver);
        if (code == CAIRN_OK)
            break;
        assert_int_equal(code, CAIRN_E_NOMEM);
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_has_no_answer_yet_is_added_once, fixture_enter,
                                        fixture_leave),
        cmocka_unit_test_setup_teardown(telling_changes_no_answer, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(lack_of_memory_is_an_error, fixture_enter, fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
