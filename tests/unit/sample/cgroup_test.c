/* SPDX-License-Identifier: MIT */
#include "sample/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"

static void the_line_of_version_2_is_found_among_others(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path; /* NULL: none */
    } cases[] = {
        {"0::/user.slice/a.scope\n", "/user.slice/a.scope"},
        {"0::/\n", "/"},
        {"9:name=systemd:/x\n4:memory:/y\n0::/z\n", "/z"},
        {"0::/without an end", "/without an end"},
        {"0::/gone (deleted)\n", "/gone"},
        {"0:: (deleted)\n", " (deleted)"},
        {"0::/a:b::c\n", "/a:b::c"},
        {"10::/x\n", NULL},
        {"4:memory:/y\n", NULL},
        {"0::\n", NULL},
        {"0:", NULL},
        {"\n\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_buffer path = {0};
        assert_int_equal(cairn_cgroup_read(cases[i].text, &path), cases[i].path != NULL);
        assert_string_equal(cairn_buffer_text(&path), cases[i].path ? cases[i].path : "");
        cairn_buffer_done(&path);
    }
}

static void a_process_that_is_gone_is_in_none(void **state)
{
    (void)state;
    struct cairn_buffer path = {0};
    struct cairn_err err = {0};
    assert_int_equal(cairn_cgroup_of(0x3ffffff0, &path, &err), CAIRN_E_MISSING);
    assert_int_equal(path.size, 0);
    cairn_buffer_done(&path);
}

/* Which words it are depends on the machine: there may be no version 2 at all. */
static void what_is_no_cgroup_is_refused_with_a_hint(void **state)
{
    (void)state;
    static const char *const names[] = {"no-such-cgroup-cairn", "/no/such/cgroup-cairn", "/tmp",
                                        "/etc/passwd", "/proc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct cairn_buffer path = {0};
        struct cairn_err err = {0};
        int fd = -1, code = cairn_cgroup_open(names[i], &fd, &path, &err);
        assert_true(code == CAIRN_E_MISSING || code == CAIRN_E_SUPPORT);
        assert_contains(err.msg, names[i]);
        assert_true(*err.hint);
        assert_int_equal(fd, -1);
        assert_int_equal(path.size, 0);
        cairn_buffer_done(&path);
    }
}

static void check_below(int root)
{
    char name[64];
    snprintf(name, sizeof name, "cairn-unit-%d", getpid());
    if (mkdirat(root, name, 0755) < 0) {
        print_message("no cgroup can be made here: one that is not the root was not tried\n");
        return;
    }
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY);
    assert_false(cairn_cgroup_is_root(fd));
    close(fd);
    unlinkat(root, name, AT_REMOVEDIR);
}

static void the_root_is_a_cgroup_by_its_folder_and_by_name(void **state)
{
    (void)state;
    struct cairn_buffer path = {0}, again = {0};
    struct cairn_err err = {0};
    int fd = -1;
    int code = cairn_cgroup_open("/", &fd, &path, &err);
    if (code < 0) {
        assert_contains(err.msg, "no cgroups of version 2 are mounted here");
        print_message("no cgroup of version 2 here: not tried\n");
    } else {
        assert_true(cairn_cgroup_is_root(fd));
        check_below(fd);
        close(fd);
        assert_ok(cairn_cgroup_open(cairn_buffer_text(&path), &fd, &again, &err), err);
        assert_string_equal(cairn_buffer_text(&again), cairn_buffer_text(&path));
        close(fd);
    }
    cairn_buffer_done(&path);
    cairn_buffer_done(&again);
}

struct met {
    int n, sum, until;
};

static bool on_process(void *ctx, int pid)
{
    struct met *met = ctx;
    met->n++;
    met->sum += pid;
    return met->n < met->until;
}

static void write_file(int folder, const char *name, const char *text)
{
    int fd = openat(folder, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void processes_of_a_group_are_those_of_groups_below_it_too(void **state)
{
    (void)state;
    char folder[] = "/tmp/cairn-cgroup.XXXXXX";
    assert_non_null(mkdtemp(folder));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    write_file(fd, "cgroup.procs", "1\n20\n0\n"); /* 0: of another pid namespace */
    assert_int_equal(mkdirat(fd, "below", 0700), 0);
    write_file(fd, "below/cgroup.procs", "300\n");
    assert_int_equal(mkdirat(fd, "empty", 0700), 0);
    assert_int_equal(mkdirat(fd, "below/far", 0700), 0);
    write_file(fd, "below/far/cgroup.procs", "4000\n50000\n");
    assert_int_equal(symlinkat("..", fd, "below/round"), 0);

    struct met all = {.until = 100}, some = {.until = 2};
    assert_true(cairn_cgroup_each(fd, on_process, &all));
    assert_int_equal(all.n, 5);
    assert_int_equal(all.sum, 54321);
    assert_false(cairn_cgroup_each(fd, on_process, &some));
    assert_int_equal(some.n, 2);

    unlinkat(fd, "below/round", 0);
    unlinkat(fd, "below/far/cgroup.procs", 0);
    unlinkat(fd, "below/far", AT_REMOVEDIR);
    unlinkat(fd, "below/cgroup.procs", 0);
    unlinkat(fd, "below", AT_REMOVEDIR);
    unlinkat(fd, "empty", AT_REMOVEDIR);
    unlinkat(fd, "cgroup.procs", 0);
    close(fd);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_of_version_2_is_found_among_others),
        cmocka_unit_test(a_process_that_is_gone_is_in_none),
        cmocka_unit_test(what_is_no_cgroup_is_refused_with_a_hint),
        cmocka_unit_test(the_root_is_a_cgroup_by_its_folder_and_by_name),
        cmocka_unit_test(processes_of_a_group_are_those_of_groups_below_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
