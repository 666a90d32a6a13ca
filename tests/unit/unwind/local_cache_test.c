/* SPDX-License-Identifier: MIT */
/*
 * The cache of rules: no address is ever taken for another one, and an empty place for none.
 */
#include "unwind/local_cache.h"

#include "support/test.h"

enum {
    SET_LOW = CAIRN_LOCAL_CACHE_LOW,
    SET_HIGH = SET_LOW + CAIRN_LOCAL_CACHE_BITS,
    BITS = sizeof(uintptr_t) < 8 ? 32 : 49 /* of an address */
};

static uint64_t seed = 88172645463325252u;

static uint64_t roll(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static uint64_t tag(uint64_t va)
{
    return cairn_local_cache_key((uintptr_t)va) >> CAIRN_RULE_BITS;
}

static const uint64_t set_mask = (UINT64_C(1) << SET_HIGH) - (1u << SET_LOW);
static const uint64_t all_mask = (UINT64_C(1) << BITS) - 1;

/* An address has as many bits beyond its set as there are tests of single ones and of pairs. */
static void addresses_of_a_set_have_different_tags(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint64_t va = roll() & all_mask;
        for (int i = 0; i < BITS; i++)
            for (int j = i; j < BITS; j++) {
                uint64_t other = va ^ ((UINT64_C(1) << i | UINT64_C(1) << j) & ~set_mask);
                assert_true(other == va || tag(other) != tag(va));
            }
        uint64_t other = (va & set_mask) | (roll() & all_mask & ~set_mask);
        assert_true(other == va || tag(other) != tag(va));
    }
}

/* The address of a set whose key has nothing above a rule. */
static uint64_t without_tag(uint64_t set)
{
    uint64_t va = set & set_mask;
    va |= -(va >> 14) & ((1u << SET_LOW) - 1);
    for (int i = SET_LOW; i + 14 < BITS; i++)
        if (tag(va) >> i & 1)
            va ^= UINT64_C(1) << (i + 14);
    return va;
}

static void empty_places_have_no_rule(void **state)
{
    (void)state;
    if (sizeof(uintptr_t) < 8) {
        print_message("skipped: addresses are too short to be without a tag\n");
        skip();
    }
    cairn_local_cache_clear();
    for (int i = 0; i < 10000; i++) {
        uint64_t va = without_tag(roll());
        assert_true(tag(va) == 0 && va <= all_mask);
        assert_true(cairn_local_cache_at_home((uintptr_t)va) >> CAIRN_RULE_BITS != 0);
        uint32_t rule = (uint32_t)cairn_local_cache_key((uintptr_t)va);
        assert_false(cairn_local_cache_has((uintptr_t)va, rule));
    }
}

static void what_is_remembered_is_found(void **state)
{
    (void)state;
    uintptr_t va = (uintptr_t)what_is_remembered_is_found + 4;
    uint32_t rule = cairn_local_cache_rule(va);
    assert_true(rule != cairn_rule_make(CAIRN_RULE_NONE, 0));
    assert_true(cairn_local_cache_has(va, rule));
    assert_int_equal(cairn_local_cache_at_home(va), rule);
    assert_false(cairn_local_cache_has(va, rule ^ 1));
    for (unsigned i = 1; i < 1u << SET_LOW; i++)
        assert_false(cairn_local_cache_has(va ^ i, rule));
}

/* As the top bits of a word of the stack that is no return address may be. */
static void addresses_that_no_code_has_are_no_others(void **state)
{
    (void)state;
    if (sizeof(uintptr_t) < 8) {
        print_message("skipped: every address may be one of code\n");
        skip();
    }
    uintptr_t va = (uintptr_t)addresses_that_no_code_has_are_no_others + 4;
    uint32_t rule = cairn_local_cache_rule(va);
    for (int i = BITS; i < 64; i++) {
        uintptr_t other = va | (uintptr_t)(UINT64_C(1) << i);
        assert_false(cairn_local_cache_covers(other));
        assert_false(cairn_local_cache_has(other, rule));
        assert_int_equal(cairn_local_cache_rule(other), cairn_rule_make(CAIRN_RULE_NONE, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_a_set_have_different_tags),
        cmocka_unit_test(empty_places_have_no_rule),
        cmocka_unit_test(what_is_remembered_is_found),
        cmocka_unit_test(addresses_that_no_code_has_are_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
