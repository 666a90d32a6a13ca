/* SPDX-License-Identifier: MIT */
#include "heap/tidy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "heap/file.h"
#include "unit/heap/temporary.h"

enum { NAME = 64 };
static const uint64_t NO_BOUND = UINT64_C(1) << 40;

static char *path_of(const char *name)
{
    static char path[CAIRN_HEAP_PATH + NAME];
    snprintf(path, sizeof(path), "%s/%s", temporary_settings.dir, name);
    return path;
}

static bool is_there(const char *name)
{
    struct stat st;
    return lstat(path_of(name), &st) == 0;
}

/* Last written to in second `at`, of a page on the disk. */
static void put(const char *name, uint64_t space, int at)
{
    uint8_t page[4096] = {0};
    struct cairn_heap_header header = {.pid_space = space};
    memcpy(page, &header, sizeof(header));
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
    const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static int ended_pid(void)
{
    int pid = fork(), status;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return pid;
}

/* Number 0 is the oldest. */
static char *ended_name(int pid, int number)
{
    static char name[NAME];
    snprintf(name, sizeof(name), number ? "%d-7.%d.heap" : "%d-7.heap", pid, number);
    return name;
}

static int put_ended(int n)
{
    int pid = ended_pid();
    for (int i = 0; i < n; i++)
        put(ended_name(pid, i), cairn_heap_tidy_space(), 1000 + i);
    return pid;
}

static int count_ended(int pid, int n)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        found += is_there(ended_name(pid, i));
    return found;
}

static int empty(void **state)
{
    DIR *dir = opendir(temporary_settings.dir);
    (void)state;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    return closedir(dir);
}

static void the_oldest_of_too_many_go(void **state)
{
    (void)state;
    int pid = put_ended(CAIRN_HEAP_TIDY_KEPT + 4);
    cairn_heap_tidy(temporary_settings.dir, NO_BOUND);
    assert_int_equal(count_ended(pid, CAIRN_HEAP_TIDY_KEPT + 4), CAIRN_HEAP_TIDY_KEPT);
    for (int i = 0; i < 4; i++)
        assert_false(is_there(ended_name(pid, i)));
}

static void the_oldest_of_too_much_go_but_the_last_stays(void **state)
{
    (void)state;
    int pid = put_ended(5);
    cairn_heap_tidy(temporary_settings.dir, 3 * 4096);
    assert_int_equal(count_ended(pid, 5), 3);
    cairn_heap_tidy(temporary_settings.dir, 0);
    assert_int_equal(count_ended(pid, 5), 1);
    assert_true(is_there(ended_name(pid, 4)));
}

/* Bounds are for the ended; of who lives, or may, nothing goes. */
static void what_may_live_stays(void **state)
{
    (void)state;
    char mine[NAME], reused[NAME], elsewhere[NAME], unsaid[NAME];
    uint64_t ticks = cairn_heap_file_start_ticks("/proc/self/stat"), here = cairn_heap_tidy_space();
    assert_int_not_equal(here, 0);
    int pid = put_ended(1);
    snprintf(mine, sizeof(mine), "%d-%llu.heap", getpid(), (unsigned long long)ticks);
    snprintf(reused, sizeof(reused), "%d-%llu.heap", getpid(), (unsigned long long)ticks - 1);
    snprintf(elsewhere, sizeof(elsewhere), "%d-8.heap", pid);
    snprintf(unsaid, sizeof(unsaid), "%d-9.heap", pid);
    put(mine, here, 1);
    put(reused, here, 2);
    put(elsewhere, here + 1, 3);
    put(unsaid, 0, 4);
    cairn_heap_tidy(temporary_settings.dir, 0);
    assert_true(is_there(mine));
    assert_false(is_there(reused));
    assert_true(is_there(elsewhere));
    assert_true(is_there(unsaid));
    assert_int_equal(count_ended(pid, 1), 1);
}

static void other_names_and_links_stay(void **state)
{
    static const char *const names[] = {
        "notes.heap",   "1-2.heap.old", "-2-3.heap",
        "1-.heap",      "1-2..heap",    "0-2.heap",
        "1-2.3.4.heap", "1-2.heap\n",   "99999999999999999999999-1.heap"};
    (void)state;
    enum { N = sizeof(names) / sizeof(*names) };
    int pid = put_ended(1);
    for (int i = 0; i < N; i++)
        put(names[i], cairn_heap_tidy_space(), i);
    assert_int_equal(symlink(names[0], path_of(ended_name(pid, 1))), 0);
    cairn_heap_tidy(temporary_settings.dir, 0);
    for (int i = 0; i < N; i++)
        assert_true(is_there(names[i]));
    assert_int_equal(count_ended(pid, 2), 2);
}

static void a_folder_that_others_may_use_is_left_alone(void **state)
{
    (void)state;
    int pid = put_ended(3);
    assert_int_equal(chmod(temporary_settings.dir, 0750), 0);
    cairn_heap_tidy(temporary_settings.dir, 0);
    assert_int_equal(chmod(temporary_settings.dir, 0700), 0);
    assert_int_equal(count_ended(pid, 3), 3);
    assert_int_equal(symlink(temporary_settings.dir, path_of("link")), 0);
    cairn_heap_tidy(path_of("link"), 0);
    assert_int_equal(count_ended(pid, 3), 3);
    cairn_heap_tidy("/nowhere/at/all", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_oldest_of_too_many_go, empty),
        cmocka_unit_test_teardown(the_oldest_of_too_much_go_but_the_last_stays, empty),
        cmocka_unit_test_teardown(what_may_live_stays, empty),
        cmocka_unit_test_teardown(other_names_and_links_stay, empty),
        cmocka_unit_test_teardown(a_folder_that_others_may_use_is_left_alone, empty),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
