/* SPDX-License-Identifier: MIT */
#include "base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "support/test.h"

enum { PAGES = 4 };

static size_t page_bytes;

/* An unnamed file of PAGES pages full of 'x'. */
static int make_file(void)
{
    char path[] = "/tmp/cairn-guard-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    char *page = malloc(page_bytes);
    assert_non_null(page);
    memset(page, 'x', page_bytes);
    for (int i = 0; i < PAGES; i++)
        assert_int_equal(write(fd, page, page_bytes), page_bytes);
    free(page);
    return fd;
}

static int set_up(void **state)
{
    (void)state;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    return 0;
}

static void hold_that_cut_pages_are_zeros(void)
{
    int fd = make_file();
    struct cairn_file file, other;
    struct cairn_err err;
    assert_ok(cairn_file_open_fd(fd, "cut", &file, &err), err);
    assert_ok(cairn_file_open_fd(fd, "other", &other, &err), err);
    assert_int_equal(ftruncate(fd, (off_t)page_bytes), 0);
    const volatile uint8_t *bytes = file.bytes.data;
    assert_int_equal(bytes[page_bytes - 1], 'x');
    assert_false(cairn_file_was_cut(&file));
    errno = EXDEV;
    assert_int_equal(bytes[page_bytes], 0);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(bytes[PAGES * page_bytes - 1], 0);
    assert_true(cairn_file_was_cut(&file));
    assert_false(cairn_file_was_cut(&other)); /* not touched yet */
    cairn_file_close(&file);
    cairn_file_close(&other);
    close(fd);
}

/* More than one block of the registry holds. */
static void hold_that_many_files_are_guarded(void)
{
    enum { N = 200 };
    struct cairn_err err;
    int fd = make_file();
    static struct cairn_file files[N];
    for (int i = 0; i < N; i++)
        assert_ok(cairn_file_open_fd(fd, "cut", &files[i], &err), err);
    assert_int_equal(ftruncate(fd, 0), 0);
    for (int i = 0; i < N; i += 3) {
        const volatile uint8_t *bytes = files[i].bytes.data;
        assert_int_equal(bytes[0], 0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(cairn_file_was_cut(&files[i]), i % 3 == 0);
        cairn_file_close(&files[i]);
    }
    close(fd);
}

/* One test, for cmocka sets its own SIGBUS handler before each, and the guard goes in only once. */
static void files_that_someone_else_cuts_read_as_zeros(void **state)
{
    (void)state;
    struct cairn_err err;
    assert_ok(cairn_file_guard(&err), err);
    assert_ok(cairn_file_guard(&err), err); /* twice is fine */
    hold_that_cut_pages_are_zeros();
    hold_that_many_files_are_guarded();
}

static void without_memory_for_the_registry_nothing_is_mapped(void **state)
{
    (void)state;
    enum { N = 1000 };
    int fd = make_file();
    static struct cairn_file files[N];
    struct cairn_err err;
    int n = 0, code;
    cairn_alloc_fail_after(0);
    while ((code = cairn_file_open_fd(fd, "f", &files[n], &err)) == CAIRN_OK && n < N)
        n++;
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, CAIRN_E_NOMEM);
    assert_int_equal(files[n].bytes.size, 0);
    for (int i = 0; i < n; i++)
        cairn_file_close(&files[i]);
    close(fd);
}

/* Runs `fn` in a child and gives what waitpid() says of it. */
static int status_of(void (*fn)(void))
{
    pid_t child = fork();
    if (child == 0) {
        fn();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void be_default(void)
{
    signal(SIGBUS, SIG_DFL); /* a sanitizer may have one of its own */
}

/* A mapping of ours that the guard knows nothing of, beyond the end of its file. */
static void touch_a_foreign_mapping(void)
{
    int fd = make_file();
    const volatile char *bytes = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (ftruncate(fd, 0) == 0 && bytes[0] == 0)
        _exit(7);
}

static void die_of_a_foreign_fault(void)
{
    be_default();
    cairn_file_guard(NULL);
    touch_a_foreign_mapping();
}

static void die_of_a_fault_that_is_ignored(void)
{
    signal(SIGBUS, SIG_IGN);
    cairn_file_guard(NULL);
    raise(SIGBUS); /* ignored as before */
    touch_a_foreign_mapping();
}

static void die_of_a_signal_that_was_sent(void)
{
    be_default();
    cairn_file_guard(NULL);
    raise(SIGBUS);
    _exit(8);
}

static void exit_33(int number)
{
    (void)number;
    _exit(33);
}

static void exit_34(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    _exit(info->si_code == BUS_ADRERR && info->si_addr ? 34 : 35);
}

static void ask_a_plain_handler(void)
{
    signal(SIGBUS, exit_33);
    cairn_file_guard(NULL);
    touch_a_foreign_mapping();
}

static void ask_a_handler_that_wants_to_know_all(void)
{
    struct sigaction action = {.sa_sigaction = exit_34, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    cairn_file_guard(NULL);
    touch_a_foreign_mapping();
}

/* First in main(): the guard goes in once per process, and each child wants it fresh. */
static void any_other_fault_goes_to_whoever_handled_it_before(void **state)
{
    (void)state;
    int status = status_of(die_of_a_foreign_fault);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = status_of(die_of_a_fault_that_is_ignored);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = status_of(die_of_a_signal_that_was_sent);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = status_of(ask_a_plain_handler);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 33);
    status = status_of(ask_a_handler_that_wants_to_know_all);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 34);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_other_fault_goes_to_whoever_handled_it_before),
        cmocka_unit_test(files_that_someone_else_cuts_read_as_zeros),
        cmocka_unit_test(without_memory_for_the_registry_nothing_is_mapped),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
