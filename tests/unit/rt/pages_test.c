/* SPDX-License-Identifier: MIT */
#include "rt/pages.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "child.h"
#include "support/test.h"

static void pages_are_zero_and_ours(void **state)
{
    (void)state;
    size_t bytes = 3 * cairn_pages_size();
    char *pages = cairn_pages_map(bytes);
    assert_non_null(pages);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(pages[i], 0);
        pages[i] = 1;
    }
    cairn_pages_drop(pages, bytes);
    assert_int_equal(pages[0], 0);
    assert_int_equal(pages[bytes - 1], 0);
    cairn_pages_unmap(pages, bytes);
    cairn_pages_unmap(NULL, bytes);
}

static void a_failure_leaves_errno_alone(void **state)
{
    (void)state;
    errno = 42;
    assert_null(cairn_pages_map(SIZE_MAX - 65535));
    assert_int_equal(errno, 42);
    assert_false(cairn_pages_wipe_on_fork((void *)1, 1));
    assert_int_equal(errno, 42);
}

static void a_child_reads_wiped_pages_as_zero(void **state)
{
    (void)state;
    size_t bytes = cairn_pages_size();
    char *pages = cairn_pages_map(bytes);
    if (!cairn_pages_wipe_on_fork(pages, bytes)) {
        print_message("skipped: this kernel has no MADV_WIPEONFORK\n");
        skip();
    }
    pages[7] = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(pages[7]);
    assert_wiped_in(child);
    assert_int_equal(pages[7], 1);
    cairn_pages_unmap(pages, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_zero_and_ours),
        cmocka_unit_test(a_failure_leaves_errno_alone),
        cmocka_unit_test(a_child_reads_wiped_pages_as_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
