/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/agent.h>

#include "support/emulated.h"
#include "tests/support/test.h"

static const int64_t T0 = INT64_C(1796099400000000000);
static const uint64_t SECOND = 1000000000;

static char root[] = "/tmp/cairn-spool-XXXXXX", folder[64];
static int n_folders;

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[80];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static struct cairn_spool *open_new(void)
{
    struct cairn_spool *s;
    struct cairn_err err = {0};
    if (is_emulated("/ is the folder of its libraries"))
        skip();
    snprintf(folder, sizeof folder, "%s/%d", root, n_folders++);
    assert_ok(cairn_spool_open(folder, 1, &s, &err), err);
    return s;
}

static struct cairn_spool *open_again(int writes)
{
    struct cairn_spool *s;
    struct cairn_err err = {0};
    assert_ok(cairn_spool_open(folder, writes, &s, &err), err);
    return s;
}

static int try_add(struct cairn_spool *s, int second, const char *bytes, struct cairn_err *err)
{
    struct cairn_window w = {.start_ns = T0 + (int64_t)SECOND * second,
                             .length_ns = SECOND,
                             .bytes = strlen(bytes),
                             .state = CAIRN_WINDOW_NEW};
    return cairn_spool_add(s, &w, bytes, err);
}

static void add(struct cairn_spool *s, int second, const char *bytes)
{
    struct cairn_err err = {0};
    assert_ok(try_add(s, second, bytes, &err), err);
}

static size_t list(struct cairn_spool *s, const struct cairn_window **ret_windows)
{
    struct cairn_err err = {0};
    size_t n;
    assert_ok(cairn_spool_list(s, ret_windows, &n, &err), err);
    return n;
}

static void put(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool is_there(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void windows_are_listed_by_number(void **state)
{
    (void)state;
    struct cairn_spool *s = open_new();
    const struct cairn_window *windows;
    char path[200], bytes[8] = "";
    struct stat st;
    for (int i = 0; i < 12; i++)
        add(s, -i, "bytes"); /* the clock goes back */
    assert_int_equal(list(s, &windows), 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(windows[i].number, i);
        assert_int_equal(windows[i].bytes, 5);
        assert_int_equal(windows[i].state, CAIRN_WINDOW_NEW);
    }
    cairn_spool_path(s, &windows[3], path, sizeof path);
    assert_int_equal(stat(path, &st), 0);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, sizeof bytes), 5);
    assert_string_equal(bytes, "bytes");
    close(fd);
    cairn_spool_close(s);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

static void the_next_writer_goes_on_with_the_numbers(void **state)
{
    (void)state;
    struct cairn_spool *s = open_new();
    const struct cairn_window *windows;
    add(s, 0, "a");
    add(s, 1, "b");
    cairn_spool_close(s);
    s = open_again(1);
    assert_false(cairn_spool_was_cut(s));
    add(s, 2, "c");
    assert_int_equal(list(s, &windows), 3);
    assert_int_equal(windows[2].number, 2);
    cairn_spool_close(s);
}

static void one_process_writes_and_others_read(void **state)
{
    (void)state;
    struct cairn_spool *s = open_new(), *second = NULL;
    const struct cairn_window *windows;
    struct cairn_err err = {0};
    add(s, 0, "a");
    assert_fails(cairn_spool_open(folder, 1, &second, &err), CAIRN_E_ACCESS, err,
                 "writes there already");
    struct cairn_spool *reader = open_again(0);
    assert_int_equal(cairn_spool_writer(reader), getpid());
    assert_int_equal(list(reader, &windows), 1);
    cairn_spool_close(reader);
    cairn_spool_close(s);
    reader = open_again(0);
    assert_int_equal(cairn_spool_writer(reader), 0);
    cairn_spool_close(reader);
}

static void a_killed_writer_leaves_all_but_half_a_window(void **state)
{
    (void)state;
    struct cairn_spool *s = open_new();
    const struct cairn_window *windows;
    struct cairn_err err = {0};
    cairn_spool_close(s);
    pid_t pid = fork();
    if (pid == 0) {
        if (cairn_spool_open(folder, 1, &s, NULL) < 0)
            _exit(1);
        struct cairn_window w = {.start_ns = T0, .length_ns = SECOND, .bytes = 1};
        w.state = CAIRN_WINDOW_NEW;
        if (cairn_spool_add(s, &w, "a", NULL) < 0 || cairn_spool_add(s, &w, "b", NULL) < 0 ||
            cairn_spool_mark(s, &w, CAIRN_WINDOW_SENDING, NULL) < 0)
            _exit(1);
        raise(SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    put(".0000000002-20261201T043000.000Z-10000.new.pb.gz.cairn-aaaaaa", "half");
    put("notes.txt", "somebody's");
    s = open_again(1);
    assert_true(cairn_spool_was_cut(s));
    assert_int_equal(list(s, &windows), 2);
    assert_int_equal(windows[0].state, CAIRN_WINDOW_NEW);
    assert_int_equal(windows[1].state, CAIRN_WINDOW_DOUBT); /* never sent twice */
    assert_false(is_there(".0000000002-20261201T043000.000Z-10000.new.pb.gz.cairn-aaaaaa"));
    assert_true(is_there("notes.txt"));
    struct cairn_window w = windows[0];
    assert_ok(cairn_spool_mark(s, &w, CAIRN_WINDOW_SENDING, &err), err);
    w.state = CAIRN_WINDOW_NEW;
    assert_int_equal(cairn_spool_mark(s, &w, CAIRN_WINDOW_SENDING, &err), CAIRN_E_MISSING);
    cairn_spool_close(s);
    s = open_again(1);
    assert_false(cairn_spool_was_cut(s));
    cairn_spool_close(s);
}

static void a_full_disk_loses_nothing_that_is_there(void **state)
{
    (void)state;
    struct cairn_spool *s = open_new();
    const struct cairn_window *windows;
    struct cairn_err err = {0};
    const struct rlimit small = {16, RLIM_INFINITY};
    struct rlimit old;
    char bytes[1000];
    memset(bytes, 'x', sizeof bytes - 1);
    bytes[sizeof bytes - 1] = 0;
    add(s, 0, "first");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_true(try_add(s, 1, bytes, &err) < 0);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){old.rlim_cur, old.rlim_max});
    assert_int_equal(list(s, &windows), 1);
    add(s, 1, bytes); /* again, with space */
    assert_int_equal(list(s, &windows), 2);
    assert_int_equal(windows[1].number, 1);
    cairn_spool_close(s);
}

static void trimming_takes_the_oldest_and_counts_what_was_not_sent(void **state)
{
    (void)state;
    struct cairn_spool *s = open_new();
    const struct cairn_window *windows;
    struct cairn_spool_trimmed trimmed;
    struct cairn_err err = {0};
    for (int i = 0; i < 10; i++)
        add(s, i, "0123456789");
    list(s, &windows);
    struct cairn_window first = windows[0];
    assert_ok(cairn_spool_mark(s, &first, CAIRN_WINDOW_KEPT, &err), err);
    const int64_t now = T0 + 10 * (int64_t)SECOND;
    assert_ok(cairn_spool_trim(s, now, 7 * SECOND, 0, &trimmed, &err), err);
    assert_int_equal(trimmed.n, 2); /* ended 9 and 8 s ago */
    assert_int_equal(trimmed.n_unsent, 1);
    assert_ok(cairn_spool_trim(s, now, 0, 55, &trimmed, &err), err);
    assert_int_equal(trimmed.n, 3);
    assert_int_equal(list(s, &windows), 5);
    assert_int_equal(windows[0].number, 5);
    assert_ok(cairn_spool_trim(s, now - 3600 * (int64_t)SECOND, SECOND, 0, &trimmed, &err), err);
    assert_int_equal(trimmed.n, 0); /* the clock went back: they are of the future */
    assert_ok(cairn_spool_trim(s, now, 0, 1, &trimmed, &err), err);
    assert_int_equal(list(s, &windows), 1); /* the newest one stays */
    cairn_spool_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_listed_by_number),
        cmocka_unit_test(the_next_writer_goes_on_with_the_numbers),
        cmocka_unit_test(one_process_writes_and_others_read),
        cmocka_unit_test(a_killed_writer_leaves_all_but_half_a_window),
        cmocka_unit_test(a_full_disk_loses_nothing_that_is_there),
        cmocka_unit_test(trimming_takes_the_oldest_and_counts_what_was_not_sent),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
