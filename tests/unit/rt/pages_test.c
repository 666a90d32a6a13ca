/* SPDX-License-Identifier: MIT */
#include "rt/pages.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
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

/* Its first page is opened; the second is not, and a read of it ends a child. */
static void pages_of_a_file_are_opened_in_place(void **state)
{
    (void)state;
    size_t page = cairn_pages_size();
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)(3 * page)), 0);
    char *pages = cairn_pages_map_file(fileno(file), page, 2 * page, NULL, false);
    assert_non_null(pages);
    assert_true(cairn_pages_open(pages, page));
    pages[5] = 'x';
    char read = 0;
    assert_int_equal(pread(fileno(file), &read, 1, (off_t)page + 5), 1);
    assert_int_equal(read, 'x');
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(((volatile char *)pages)[page]);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_ptr_equal(cairn_pages_map_file(fileno(file), 0, page, pages + page, true), pages + page);
    pages[page] = 'y';
    assert_int_equal(pread(fileno(file), &read, 1, 0), 1);
    assert_int_equal(read, 'y');
    errno = 42;
    assert_null(cairn_pages_map_file(-1, 0, page, NULL, true));
    assert_false(cairn_pages_open((void *)1, page));
    assert_int_equal(errno, 42);
    cairn_pages_unmap(pages, 2 * page);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_zero_and_ours),
        cmocka_unit_test(pages_of_a_file_are_opened_in_place),
        cmocka_unit_test(a_failure_leaves_errno_alone),
        cmocka_unit_test(a_child_reads_wiped_pages_as_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
