/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <malloc.h>

#include "support/sanitized.h"
#include "support/test.h"

static void a_fresh_block_is_zero(void **state)
{
    (void)state;
    uint8_t *block = cairn_alloc(16, 4);
    assert_non_null(block);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(block[i], 0);
    cairn_free(block);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    assert_null(cairn_alloc(SIZE_MAX / 2, 3));
    assert_null(cairn_realloc(NULL, SIZE_MAX / 2, 3));
}

static void nothing_can_be_asked_for(void **state)
{
    (void)state;
    void *block = cairn_alloc(0, 0);
    assert_non_null(block);
    block = cairn_realloc(block, 0, 8);
    assert_non_null(block);
    cairn_free(block);
    cairn_free(NULL);
}

static void an_array_grows_by_doubling_and_keeps_its_elements(void **state)
{
    (void)state;
    int *rows = NULL;
    size_t cap = 0, n_moves = 0;
    for (size_t n = 0; n < 10000; n++) {
        size_t before = cap;
        assert_int_equal(cairn_grow((void **)&rows, &cap, n + 1, sizeof *rows), CAIRN_OK);
        n_moves += cap != before;
        rows[n] = (int)n;
    }
    for (size_t n = 0; n < 10000; n++)
        assert_int_equal(rows[n], n);
    assert_in_range(n_moves, 1, 12);
    cairn_free(rows);
}

static void an_array_that_cannot_grow_stays_as_it_was(void **state)
{
    (void)state;
    int *rows = NULL;
    size_t cap = 0;
    assert_int_equal(cairn_grow((void **)&rows, &cap, 1, sizeof *rows), CAIRN_OK);
    rows[0] = 42;
    int *before = rows;
    size_t cap_before = cap;
    assert_int_equal(cairn_grow((void **)&rows, &cap, SIZE_MAX, sizeof *rows), CAIRN_E_NOMEM);
    cairn_alloc_fail_after(0);
    assert_int_equal(cairn_grow((void **)&rows, &cap, cap + 1, sizeof *rows), CAIRN_E_NOMEM);
    cairn_alloc_fail_after(-1);
    assert_ptr_equal(rows, before);
    assert_int_equal(cap, cap_before);
    assert_int_equal(rows[0], 42);
    cairn_free(rows);
}

static void the_nth_allocation_and_all_later_ones_fail_on_demand(void **state)
{
    (void)state;
    cairn_alloc_fail_after(2);
    void *first = cairn_alloc(1, 1), *second = cairn_strdup("x");
    assert_non_null(first);
    assert_non_null(second);
    assert_null(cairn_alloc(1, 1));
    assert_null(cairn_strdup("x"));
    assert_null(cairn_realloc(NULL, 1, 1));
    cairn_alloc_fail_after(-1);
    void *later = cairn_alloc(1, 1);
    assert_non_null(later);
    cairn_free(first);
    cairn_free(second);
    cairn_free(later);
}

/* The last test: it is of the whole process. */
static void arrays_that_grow_have_pages_of_their_own_where_libc_can(void **state)
{
    (void)state;
    enum { APART = 64 << 10 };
#ifdef __GLIBC__
    struct mallinfo2 before = mallinfo2();
    /* A malloc of a sanitizer; TSan's does not know of mallopt(3), which glibc still has. */
    if (UNDER_TSAN || !cairn_alloc_apart(APART)) {
        print_message("this malloc has no such choice\n");
        skip();
    }
    /* One that is given back makes glibc put the next one of that size into its heap. */
    for (size_t i = 0; i < 3; i++) {
        void *block = cairn_alloc(16, APART);
        assert_non_null(block);
        assert_int_equal(mallinfo2().hblks, before.hblks + 1);
        cairn_free(block);
    }
    void *small = cairn_alloc(1, APART / 2);
    assert_int_equal(mallinfo2().hblks, before.hblks);
    cairn_free(small);
    assert_false(cairn_alloc_apart(SIZE_MAX));
#else
    assert_false(cairn_alloc_apart(APART));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_block_is_zero),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(nothing_can_be_asked_for),
        cmocka_unit_test(an_array_grows_by_doubling_and_keeps_its_elements),
        cmocka_unit_test(an_array_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(the_nth_allocation_and_all_later_ones_fail_on_demand),
        cmocka_unit_test(arrays_that_grow_have_pages_of_their_own_where_libc_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
