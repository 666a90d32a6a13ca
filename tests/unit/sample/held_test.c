/* SPDX-License-Identifier: MIT */
#include "sample/held.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"

enum { NO_SUCH_PID = 0x3fffffff };

/* A file with a name of its own; its number. */
static uint64_t make_file(char *path)
{
    struct stat st;
    strcpy(path, "/tmp/cairn-held.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    return st.st_ino;
}

static int fd_of(const struct cairn_held *held, uint32_t module)
{
    return module < held->n ? held->fds[module] : -1;
}

static void a_file_is_held_when_its_name_is_gone(void **state)
{
    (void)state;
    char path[64];
    struct stat st;
    struct cairn_held held = {0};
    const struct cairn_held_mapping mapping = {
        .pid = NO_SUCH_PID, .inode = make_file(path), .path = path};
    cairn_held_take(&held, 3, &mapping);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(held.n, 4);
    assert_int_equal(fd_of(&held, 1), -1);
    assert_int_equal(fstat(fd_of(&held, 3), &st), 0);
    assert_int_equal(st.st_ino, mapping.inode);
    int fd = fd_of(&held, 3);
    cairn_held_take(&held, 3, &mapping); /* is there already */
    assert_int_equal(fd_of(&held, 3), fd);
    cairn_held_done(&held);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void another_file_of_the_name_is_not_held(void **state)
{
    (void)state;
    char path[64];
    struct cairn_held held = {0};
    struct cairn_held_mapping mapping = {
        .pid = NO_SUCH_PID, .inode = make_file(path) + 1, .path = path};
    cairn_held_take(&held, 1, &mapping);
    assert_int_equal(fd_of(&held, 1), -1);
    mapping.inode--;
    mapping.is_deleted = true; /* as the kernel says, whatever has the name by now */
    cairn_held_take(&held, 1, &mapping);
    assert_int_equal(fd_of(&held, 1), -1);
    mapping.is_deleted = false; /* of the next process */
    cairn_held_take(&held, 1, &mapping);
    assert_true(fd_of(&held, 1) >= 0);
    unlink(path);
    cairn_held_done(&held);
}

static void what_is_no_file_is_not_held(void **state)
{
    (void)state;
    static const char *const paths[] = {"[vdso]", "", "/tmp", "/dev/null", "/no/such/file"};
    struct cairn_held held = {0};
    for (uint32_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct cairn_held_mapping mapping = {.pid = NO_SUCH_PID, .path = paths[i]};
        cairn_held_take(&held, i + 1, &mapping);
        assert_int_equal(fd_of(&held, i + 1), -1);
    }
    cairn_held_done(&held);
}

static void our_own_root_is_none_of_the_others(void **state)
{
    (void)state;
    struct cairn_held held = {0};
    uint32_t root = 7;
    assert_false(cairn_held_find_root(&held, NO_SUCH_PID, &root));
    assert_int_equal(root, 7);
    assert_true(cairn_held_find_root(&held, getpid(), &root));
    assert_int_equal(root, 0);
    assert_int_equal(held.n_roots, 0);
    cairn_held_done(&held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_held_when_its_name_is_gone),
        cmocka_unit_test(another_file_of_the_name_is_not_held),
        cmocka_unit_test(what_is_no_file_is_not_held),
        cmocka_unit_test(our_own_root_is_none_of_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
