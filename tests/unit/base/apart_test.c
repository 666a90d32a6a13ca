/* SPDX-License-Identifier: MIT */
#include "base/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign.h"
#include "support/emulated.h"
#include "support/test.h"

enum { SHORT_MS = 50, PATIENCE_MS = 20000 };

static long add_one(uint8_t *io, int fd, int *ret_fd)
{
    (void)fd;
    (void)ret_fd;
    io[64] = (uint8_t)(io[0] + 1);
    return 1;
}

static long say_pid(uint8_t *io, int fd, int *ret_fd)
{
    (void)io;
    (void)fd;
    (void)ret_fd;
    return getpid();
}

static long wait_for_ever(uint8_t *io, int fd, int *ret_fd)
{
    (void)fd;
    (void)ret_fd;
    io[128] = 42;
    for (;;)
        pause();
    return 0;
}

static long give_back(uint8_t *io, int fd, int *ret_fd)
{
    (void)io;
    *ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *ret_fd < 0 ? -errno : 0;
}

static long do_call(cairn_apart_fn fn, unsigned deadline_ms)
{
    const struct cairn_apart_call call = {.fn = fn, .fd = -1, .deadline_ms = deadline_ms};
    return cairn_apart_do(&call);
}

static void test_carries_bytes_both_ways(void **state)
{
    (void)state;
    const uint8_t in = 7;
    uint8_t out = 0;
    const struct cairn_apart_call call = {.fn = add_one,
                                          .fd = -1,
                                          .in = &in,
                                          .in_size = 1,
                                          .out = &out,
                                          .out_off = 64,
                                          .out_size = 1};
    assert_int_equal(cairn_apart_do(&call), 1);
    assert_int_equal(out, 8);
}

static void test_calls_in_another_process_that_stays(void **state)
{
    (void)state;
    long pid = do_call(say_pid, 0);
    assert_int_not_equal(pid, getpid());
    assert_int_equal(do_call(say_pid, 0), pid);
}

static void test_passes_descriptors_both_ways(void **state)
{
    (void)state;
    int pipe_fds[2], back = -1;
    char byte = 0;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    const struct cairn_apart_call call = {.fn = give_back, .fd = pipe_fds[1], .ret_fd = &back};
    assert_int_equal(cairn_apart_do(&call), 0);
    assert_int_equal(write(back, "x", 1), 1);
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    assert_int_equal(byte, 'x');
    close(back);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void test_leaves_a_call_behind_at_its_deadline(void **state)
{
    (void)state;
    uint8_t noted = 0;
    const struct cairn_apart_call call = {.fn = wait_for_ever,
                                          .fd = -1,
                                          .deadline_ms = SHORT_MS,
                                          .noted = &noted,
                                          .note_off = 128,
                                          .note_size = 1};
    long pid = do_call(say_pid, 0);
    uint64_t began_ns = cairn_now_ns();
    assert_int_equal(cairn_apart_do(&call), -ETIMEDOUT);
    assert_in_range((cairn_now_ns() - began_ns) / CAIRN_NS_PER_MS, SHORT_MS, PATIENCE_MS);
    assert_int_equal(noted, 42);
    assert_int_not_equal(do_call(say_pid, 0), pid);
}

static void test_outlives_a_helper_that_was_killed(void **state)
{
    (void)state;
    long pid = do_call(say_pid, 0);
    kill((pid_t)pid, SIGKILL);
    long next = do_call(say_pid, 0);
    assert_true(next > 0 && next != getpid());
}

static void test_has_no_descriptor_of_the_caller(void **state)
{
    (void)state;
    int pipe_fds[2];
    char byte;
    do_call(wait_for_ever, SHORT_MS); /* the next helper starts with the pipe open */
    assert_int_equal(pipe2(pipe_fds, 0), 0);
    assert_true(do_call(say_pid, 0) > 0);
    close(pipe_fds[1]);
    assert_int_equal(read(pipe_fds[0], &byte, 1), 0); /* the end: nobody else has it open */
    close(pipe_fds[0]);
}

static void test_opens_regular_files_alone(void **state)
{
    (void)state;
    struct cairn_err err;
    int fd;
    struct cairn_foreign_wish wish = {.path = "/dev/null", .folder = -1};
    assert_int_equal(cairn_foreign_open(&wish, &fd, &err), CAIRN_E_FORMAT);
    wish.path = "/proc/self/nothing";
    assert_int_equal(cairn_foreign_open(&wish, &fd, &err), CAIRN_E_MISSING);
    wish.path = "/proc/self/exe";
    assert_int_equal(cairn_foreign_open(&wish, &fd, &err), CAIRN_OK);
    close(fd);
    wish.inode = 1;
    assert_int_equal(cairn_foreign_open(&wish, &fd, &err), CAIRN_E_FORMAT);
}

/* Looks for NAME in tmp/ of `folder`, as for a perf map. */
static int find_strictly(int folder, const char *path, struct cairn_err *err)
{
    struct stat st;
    const struct cairn_foreign_wish wish = {.path = path, .folder = folder, .is_strict = true};
    int fd = -1, result = cairn_foreign_stat_of(&wish, &st, NULL);
    int code = cairn_foreign_open(&wish, &fd, err);
    assert_int_equal(code == CAIRN_OK, result == 0);
    if (code == CAIRN_OK)
        close(fd);
    return result;
}

static void test_a_strict_wish_follows_no_link(void **state)
{
    (void)state;
    char work[] = "/tmp/cairn-apart-XXXXXX";
    struct cairn_err err;
    assert_non_null(mkdtemp(work));
    int folder = open(work, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    assert_int_equal(mkdirat(folder, "tmp", 0700), 0);
    int file = openat(folder, "tmp/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(symlinkat("file", folder, "tmp/link"), 0);
    assert_int_equal(symlinkat("tmp", folder, "way"), 0);
    assert_int_equal(find_strictly(folder, "tmp/file", &err), 0);
    assert_int_equal(find_strictly(folder, "tmp/none", &err), -ENOENT);
    assert_int_equal(find_strictly(folder, "tmp/link", &err), -ELOOP);
    assert_int_equal(find_strictly(folder, "way/file", &err), -ELOOP);
    const char *const made[] = {"way", "tmp/link", "tmp/file"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        assert_int_equal(unlinkat(folder, made[i], 0), 0);
    assert_int_equal(unlinkat(folder, "tmp", AT_REMOVEDIR), 0);
    close(folder);
    rmdir(work);
}

/* Copies of FUSE files are sealed, which no file of a disk is. */
static void test_a_copy_in_memory_is_known(void **state)
{
    (void)state;
    int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_false(cairn_foreign_is_copy(fd));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
    assert_true(cairn_foreign_is_copy(fd));
    close(fd);
    fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_false(cairn_foreign_is_copy(fd));
    close(fd);
    assert_false(cairn_foreign_is_copy(-1));
}

/* Read in pieces, of which the first is small: none is lost where one ends. */
static void test_reads_files_of_all_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 32767, 32768, 32769, 1 << 20, (1 << 20) + 32768, 3 << 20};
    static uint32_t words[(3 << 20) / sizeof(uint32_t)];
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = i;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char path[64];
        int fd = memfd_create("sizes", MFD_CLOEXEC);
        assert_int_equal(pwrite(fd, words, sizes[i], 0), (ssize_t)sizes[i]);
        snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), fd);
        struct cairn_buffer bytes = {0};
        assert_int_equal(cairn_foreign_slurp(path, 4 << 20, &bytes, NULL), CAIRN_OK);
        assert_int_equal(bytes.size, sizes[i]);
        assert_memory_equal(bytes.data, words, sizes[i]);
        cairn_buffer_done(&bytes);
        close(fd);
    }
}

int main(void)
{
    if (is_emulated("a helper process is no other process"))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_carries_bytes_both_ways),
        cmocka_unit_test(test_calls_in_another_process_that_stays),
        cmocka_unit_test(test_passes_descriptors_both_ways),
        cmocka_unit_test(test_leaves_a_call_behind_at_its_deadline),
        cmocka_unit_test(test_outlives_a_helper_that_was_killed),
        cmocka_unit_test(test_has_no_descriptor_of_the_caller),
        cmocka_unit_test(test_opens_regular_files_alone),
        cmocka_unit_test(test_a_strict_wish_follows_no_link),
        cmocka_unit_test(test_a_copy_in_memory_is_known),
        cmocka_unit_test(test_reads_files_of_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
