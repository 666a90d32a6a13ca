/* SPDX-License-Identifier: MIT */
#include "rt/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

static void the_inode_is_what_stat_says(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct stat st;
    uint64_t inode = 0;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    assert_true(cairn_inode_of(fileno(file), &inode));
    assert_int_equal(inode, st.st_ino);
    fclose(file);
}

static void what_is_no_file_has_none_and_errno_stays(void **state)
{
    (void)state;
    int ends[2];
    uint64_t inode = 42;
    assert_int_equal(pipe(ends), 0);
    errno = 7;
    assert_false(cairn_inode_of(ends[0], &inode));
    assert_false(cairn_inode_of(-1, &inode));
    assert_int_equal(errno, 7);
    assert_int_equal(inode, 42);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_inode_is_what_stat_says),
        cmocka_unit_test(what_is_no_file_has_none_and_errno_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
