/* SPDX-License-Identifier: MIT */
#include "profile/trie.h"

#include "base/alloc.h"
#include "support/test.h"

static void a_child_is_made_once_however_many_there_are(void **state)
{
    (void)state;
    enum { CHILDREN = 1000, LEVELS = 3 };
    struct cairn_profile_trie trie;
    uint32_t nodes[LEVELS][CHILDREN], parent = 0;
    assert_true(cairn_profile_trie_init(&trie));
    for (unsigned level = 0; level < LEVELS; level++) {
        for (uint32_t row = 0; row < CHILDREN; row++)
            nodes[level][row] = cairn_profile_trie_child(&trie, parent, row);
        parent = nodes[level][CHILDREN / 2];
    }
    assert_int_equal(trie.n, 1 + LEVELS * CHILDREN);
    parent = 0;
    for (unsigned level = 0; level < LEVELS; level++) {
        for (uint32_t row = CHILDREN; row-- > 0;) {
            uint32_t node = cairn_profile_trie_child(&trie, parent, row);
            assert_int_equal(node, nodes[level][row]);
            assert_int_equal(trie.nodes[node].parent, parent);
            assert_int_equal(trie.nodes[node].row, row);
            assert_true(node > parent);
        }
        parent = nodes[level][CHILDREN / 2];
    }
    assert_int_equal(trie.n, 1 + LEVELS * CHILDREN);
    cairn_profile_trie_close(&trie);
    assert_int_equal(trie.nodes[parent].row, CHILDREN / 2); /* nodes stay */
    cairn_profile_trie_done(&trie);
}

static void without_memory_there_is_no_child_and_nothing_is_lost(void **state)
{
    (void)state;
    struct cairn_profile_trie trie;
    cairn_alloc_fail_after(0);
    assert_false(cairn_profile_trie_init(&trie));
    cairn_profile_trie_done(&trie);
    cairn_alloc_fail_after(-1);
    assert_true(cairn_profile_trie_init(&trie));
    for (uint32_t row = 0; row < 200; row++) {
        cairn_alloc_fail_after(0);
        uint32_t node = cairn_profile_trie_child(&trie, 0, row);
        cairn_alloc_fail_after(-1);
        if (node == UINT32_MAX) {
            assert_int_equal(trie.n, row + 1);
            node = cairn_profile_trie_child(&trie, 0, row);
        }
        assert_int_equal(node, row + 1);
    }
    for (uint32_t row = 0; row < 200; row++)
        assert_int_equal(cairn_profile_trie_child(&trie, 0, row), row + 1);
    cairn_profile_trie_done(&trie);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_made_once_however_many_there_are),
        cmocka_unit_test(without_memory_there_is_no_child_and_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
