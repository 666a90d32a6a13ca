/* SPDX-License-Identifier: MIT */
#include "sample/cgroup.h"

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
        close(fd);
        assert_ok(cairn_cgroup_open(cairn_buffer_text(&path), &fd, &again, &err), err);
        assert_string_equal(cairn_buffer_text(&again), cairn_buffer_text(&path));
        close(fd);
    }
    cairn_buffer_done(&path);
    cairn_buffer_done(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_of_version_2_is_found_among_others),
        cmocka_unit_test(a_process_that_is_gone_is_in_none),
        cmocka_unit_test(what_is_no_cgroup_is_refused_with_a_hint),
        cmocka_unit_test(the_root_is_a_cgroup_by_its_folder_and_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
