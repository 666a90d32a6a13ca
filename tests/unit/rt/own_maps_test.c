/* SPDX-License-Identifier: MIT */
#include "rt/own_maps.h"

#include "support/test.h"

static void a_line_of_maps_is_read(void **state)
{
    (void)state;
    struct cairn_own_mapping mapping;
    assert_true(cairn_own_mapping_read(
        "7f00a000-7f00c000 r-xp 00026000 fd:01 123456                     /usr/lib/a b.so",
        &mapping));
    assert_int_equal(mapping.from, 0x7f00a000);
    assert_int_equal(mapping.to, 0x7f00c000);
    assert_int_equal(mapping.off, 0x26000);
    assert_int_equal(mapping.dev_major, 0xfd);
    assert_int_equal(mapping.dev_minor, 1);
    assert_int_equal(mapping.inode, 123456);
    assert_memory_equal(mapping.access, "r-xp", 4);
    assert_string_equal(mapping.path, "/usr/lib/a b.so");
    assert_true(cairn_own_mapping_read("1000-2000 rw-p 00000000 00:00 0 ", &mapping));
    assert_memory_equal(mapping.access, "rw-p", 4);
    assert_string_equal(mapping.path, "");
}

static void what_is_no_line_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "1000",
        "1000-",
        "1000-2000",
        "2000-1000 r-xp 0 0:0 0 ",
        "1000-2000 r-xp",
        "1000-2000 r-xp 0 0:0",
        "11111111111111111111111-2 r-xp 0 0:0 0 ",
        "x-2000 r-xp 0 0:0 0 ",
    };
    struct cairn_own_mapping mapping;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (cairn_own_mapping_read(wrong[i], &mapping))
            fail_msg("\"%s\" was taken for a line", wrong[i]);
}

static bool find_own(void *context, const struct cairn_own_mapping *mapping)
{
    const uint64_t va = (uintptr_t)&find_own;
    bool *found = context;
    *found = va >= mapping->from && va < mapping->to && mapping->access[2] == 'x';
    return !*found;
}

static void the_mapping_of_this_function_is_among_the_own_maps(void **state)
{
    static struct cairn_own_maps_text text;
    bool found = false;
    (void)state;
    assert_true(cairn_own_maps_each(&text, find_own, &found));
    assert_true(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_maps_is_read),
        cmocka_unit_test(what_is_no_line_is_refused),
        cmocka_unit_test(the_mapping_of_this_function_is_among_the_own_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
