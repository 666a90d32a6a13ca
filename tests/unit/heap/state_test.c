/* SPDX-License-Identifier: MIT */
#include "heap/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rt/seal.h"
#include "unit/heap/temporary.h"

static struct cairn_tracked_state made;

static int make(void **state)
{
    (void)state;
    memset(&made, 0, sizeof(made));
    return cairn_heap_state_make(&made, temporary_settings.dir, temporary_settings.max_bytes) ? 0
                                                                                              : -1;
}

/* As on a kernel before 5.14. */
static int make_with_fd(void **state)
{
    cairn_heap_state_keeps_fd = true;
    return make(state);
}

static int leave(void **state)
{
    (void)state;
    cairn_heap_state_keeps_fd = false;
    cairn_heap_state_remove(&made);
    cairn_heap_state_leave(&made);
    return 0;
}

static void the_file_is_private_and_named_after_the_process(void **state)
{
    (void)state;
    char path[CAIRN_HEAP_PATH];
    struct stat found;
    assert_true(cairn_heap_file_name(path, temporary_settings.dir,
                                     cairn_heap_file_start_ticks("/proc/self/stat"), 0));
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0600);
    assert_true(found.st_size >= CAIRN_HEAP_CHUNK);
    assert_in_range(found.st_blocks * 512, CAIRN_HEAP_CHUNK, 2 * CAIRN_HEAP_CHUNK);
    assert_int_equal(made.header->pid, getpid());
    assert_int_equal(made.header->n_chunks, 1);
}

static void a_program_after_exec_gets_a_name_of_its_own(void **state)
{
    (void)state;
    struct cairn_tracked_state second = {0};
    assert_true(cairn_heap_state_make(&second, temporary_settings.dir, 1 << 20));
    assert_non_null(strstr(second.file.path, ".1.heap"));
    assert_false(made.header->flags & CAIRN_HEAP_EXECED); /* it is no state yet */
    memcpy(made.header->magic, CAIRN_HEAP_MAGIC, sizeof(made.header->magic));
    cairn_heap_state_remove(&second);
    cairn_heap_state_leave(&second);
    assert_true(cairn_heap_state_make(&second, temporary_settings.dir, 1 << 20));
    assert_true(made.header->flags & CAIRN_HEAP_EXECED);
    cairn_heap_state_remove(&second);
    cairn_heap_state_leave(&second);
}

static void chunks_are_allocated_zero_and_in_a_row(void **state)
{
    (void)state;
    uint8_t *three = cairn_heap_state_take(&made, CAIRN_HEAP_DELTAS, 3, 0, 7);
    assert_non_null(three);
    for (size_t i = 0; i < 3 * CAIRN_HEAP_CHUNK; i++)
        assert_int_equal(three[i], 0);
    const struct cairn_heap_row *rows =
        (const struct cairn_heap_row *)(const void *)((const char *)made.header +
                                                      CAIRN_HEAP_HEADER_BYTES);
    assert_int_equal(rows[1].kind, CAIRN_HEAP_DELTAS);
    assert_int_equal(rows[1].n, 3);
    assert_int_equal(rows[1].arg, 7);
    assert_int_equal(rows[2].kind, CAIRN_HEAP_REST);
    assert_int_equal(made.header->n_chunks, 4);
}

static void what_is_given_back_is_handed_out_again_as_zeros(void **state)
{
    (void)state;
    uint8_t *chunk = cairn_heap_state_take(&made, CAIRN_HEAP_LOG, 1, 0, 0);
    memset(chunk, 1, CAIRN_HEAP_CHUNK);
    cairn_heap_state_give(&made, chunk, 1);
    assert_ptr_equal(cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0), chunk);
    for (size_t i = 0; i < CAIRN_HEAP_CHUNK; i++)
        assert_int_equal(chunk[i], 0);
}

static void the_bound_ends_it(void **state)
{
    (void)state;
    uint32_t n = 1, bound = made.header->max_chunks;
    while (cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0))
        n++;
    assert_int_equal(n, bound);
    assert_true(cairn_heap_state_has(&made, CAIRN_HEAP_FULL));
}

/* The program closes all that it does not know, and opens a file of its own there. */
static void a_closed_descriptor_is_opened_anew_and_a_foreign_one_left_alone(void **state)
{
    (void)state;
    char path[CAIRN_HEAP_PATH + 8];
    int fd = made.file.fd;
    assert_int_equal(close(fd), 0);
    assert_non_null(cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0));
    snprintf(path, sizeof(path), "%s/other", temporary_settings.dir);
    int other = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(dup2(other, made.file.fd), made.file.fd);
    int foreign = made.file.fd;
    assert_non_null(cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0));
    assert_int_not_equal(made.file.fd, foreign);
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_size, 0);
    close(foreign);
    close(other);
    unlink(path);
}

static void a_vanished_file_ends_it_without_harm(void **state)
{
    (void)state;
    close(made.file.fd);
    cairn_heap_state_remove(&made);
    assert_null(cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0));
    assert_true(cairn_heap_state_has(&made, CAIRN_HEAP_FULL));
}

/* A program that has lost its rights, or the folder, goes on to be recorded. */
static void no_descriptor_and_no_path_are_needed_to_grow(void **state)
{
    (void)state;
    if (!made.by_pages) {
        print_message("skipped: the kernel, older than 5.14, allocates no pages of a mapping\n");
        skip();
    }
    assert_int_equal(made.file.fd, -1);
    cairn_heap_state_remove(&made);
    char *chunk = cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0);
    assert_non_null(chunk);
    chunk[CAIRN_HEAP_CHUNK - 1] = 1;
    uint32_t number = cairn_heap_state_chunk(&made, chunk);
    chunk[CAIRN_HEAP_CHUNK - 1] = 0;
    assert_true(cairn_heap_state_give_room(&made, number));
    assert_ptr_equal(cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0), chunk);
}

/* By the call, for ASan makes nothing of mlock(3). What mlockall(2) locks has the same pages. */
static void a_lock_allocates_no_chunks_that_were_not_handed_out(void **state)
{
    (void)state;
    enum { CHUNKS_AT_MOST = 32 };
    char path[CAIRN_HEAP_PATH];
    struct stat found;
    assert_true(cairn_heap_file_name(path, temporary_settings.dir,
                                     cairn_heap_file_start_ticks("/proc/self/stat"), 0));
    assert_true(made.reserved_bytes > CHUNKS_AT_MOST * CAIRN_HEAP_CHUNK);
    int locked = (int)syscall(SYS_mlock, made.header, made.reserved_bytes), os_errno = errno;
    if (locked < 0 && os_errno == EPERM) {
        print_message("skipped: RLIMIT_MEMLOCK forbids mlock(2)\n");
        skip();
    }
    assert_int_equal(stat(path, &found), 0);
    assert_in_range(found.st_blocks * 512, CAIRN_HEAP_CHUNK, CHUNKS_AT_MOST * CAIRN_HEAP_CHUNK);
    uint8_t *chunk = NULL;
    for (int i = 0; i < CHUNKS_AT_MOST; i++) {
        chunk = cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0);
        assert_non_null(chunk);
        chunk[CAIRN_HEAP_CHUNK - 1] = 1;
    }
    /* MADV_REMOVE refuses locked pages: then the chunk stays as it is. */
    chunk[CAIRN_HEAP_CHUNK - 1] = 0;
    uint32_t number = cairn_heap_state_chunk(&made, chunk);
    if (!cairn_heap_state_give_room(&made, number))
        assert_int_equal(cairn_heap_state_row(&made, number)->kind, CAIRN_HEAP_LEAF);
}

/* In a child, for a seal stays. */
static void behind_a_seal_there_are_the_reserved_chunks(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        cairn_heap_state_reserve(&made);
        atomic_store(&cairn_seal, CAIRN_SEAL_STRICT);
        uint32_t left = made.header->max_chunks - 1, n = 0;
        while (cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0))
            n++;
        _exit(n == (left < CAIRN_HEAP_RESERVED_CHUNKS ? left : CAIRN_HEAP_RESERVED_CHUNKS) &&
                      cairn_heap_state_has(&made, CAIRN_HEAP_FULL)
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* In a child, for a limit cannot be raised again. */
static void a_limit_of_file_sizes_is_kept_without_its_signal(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_DFL);
        struct rlimit limit = {3 * CAIRN_HEAP_CHUNK, 3 * CAIRN_HEAP_CHUNK};
        bool right = setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                     cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 2, 4, 0) &&
                     !cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_folder_that_others_may_write_to_is_refused(void **state)
{
    (void)state;
    struct cairn_tracked_state other = {0};
    assert_int_equal(chmod(temporary_settings.dir, 0755), 0);
    assert_false(cairn_heap_state_make(&other, temporary_settings.dir, 1 << 20));
    assert_int_equal(chmod(temporary_settings.dir, 0700), 0);
    assert_false(cairn_heap_state_make(&other, "/nowhere/at/all", 1 << 20));
    char link[CAIRN_HEAP_PATH];
    snprintf(link, sizeof(link), "/tmp/cairn-test-link-%d", getpid());
    assert_int_equal(symlink(temporary_settings.dir, link), 0);
    assert_false(cairn_heap_state_make(&other, link, 1 << 20));
    unlink(link);
}

static void errno_stays(void **state)
{
    (void)state;
    errno = 77;
    assert_non_null(cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0));
    assert_int_equal(errno, 77);
    if (made.file.fd >= 0)
        assert_int_equal(close(made.file.fd), 0);
    errno = 77;
    char *chunk = cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0);
    assert_non_null(chunk);
    assert_int_equal(errno, 77);
    cairn_heap_state_give_room(&made, cairn_heap_state_chunk(&made, chunk));
    assert_int_equal(errno, 77);
    while (cairn_heap_state_take(&made, CAIRN_HEAP_LEAF, 1, 4, 0))
        assert_int_equal(errno, 77);
    assert_int_equal(errno, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_file_is_private_and_named_after_the_process, make,
                                        leave),
        cmocka_unit_test_setup_teardown(a_program_after_exec_gets_a_name_of_its_own, make, leave),
        cmocka_unit_test_setup_teardown(chunks_are_allocated_zero_and_in_a_row, make, leave),
        cmocka_unit_test_setup_teardown(what_is_given_back_is_handed_out_again_as_zeros, make,
                                        leave),
        cmocka_unit_test_setup_teardown(the_bound_ends_it, make, leave),
        cmocka_unit_test_setup_teardown(
            a_closed_descriptor_is_opened_anew_and_a_foreign_one_left_alone, make_with_fd, leave),
        cmocka_unit_test_setup_teardown(a_vanished_file_ends_it_without_harm, make_with_fd, leave),
        cmocka_unit_test_setup_teardown(a_limit_of_file_sizes_is_kept_without_its_signal,
                                        make_with_fd, leave),
        cmocka_unit_test(a_folder_that_others_may_write_to_is_refused),
        cmocka_unit_test_setup_teardown(errno_stays, make, leave),
        cmocka_unit_test_setup_teardown(errno_stays, make_with_fd, leave),
        cmocka_unit_test_setup_teardown(the_bound_ends_it, make_with_fd, leave),
        cmocka_unit_test_setup_teardown(no_descriptor_and_no_path_are_needed_to_grow, make, leave),
        cmocka_unit_test_setup_teardown(a_lock_allocates_no_chunks_that_were_not_handed_out, make,
                                        leave),
        cmocka_unit_test_setup_teardown(behind_a_seal_there_are_the_reserved_chunks, make, leave),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
