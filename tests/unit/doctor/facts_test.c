/* SPDX-License-Identifier: MIT */
#include "doctor/facts.h"

#include "root.h"

static void a_machine_is_read(void **state)
{
    (void)state;
    struct test_root root;
    struct cairn_doctor_facts f;
    test_root_make(&root);
    test_root_text(&root, "/proc/sys/kernel/osrelease", "6.1.0-47-amd64\n");
    test_root_text(&root, "/proc/sys/kernel/perf_event_paranoid", "3\n");
    test_root_text(&root, "/proc/sys/kernel/kptr_restrict", "0\n");
    test_root_text(&root, "/proc/sys/kernel/yama/ptrace_scope", "1\n");
    test_root_text(&root, "/proc/sys/kernel/core_pattern", "|/usr/lib/systemd-coredump %P\n");
    test_root_text(&root, "/proc/self/status",
                   "Name:\tcairn\nUid:\t1000\t1001\t0\t0\nCapEff:\t0000004000000000\n"
                   "CapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
    test_root_text(&root, "/proc/self/limits",
                   "Limit                     Soft Limit           Hard Limit           Units\n"
                   "Max core file size        0                    unlimited            bytes\n"
                   "Max open files            1024                 1048576              files\n"
                   "Max locked memory         8388608              8388608              bytes\n");
    test_root_link(&root, "/proc/self/ns/pid", "pid:[4026532567]");
    test_root_link(&root, "/proc/self/ns/user", "user:[4026531837]");
    test_root_text(&root, "/.dockerenv", "");
    test_root_text(&root, "/sys/kernel/btf/vmlinux", "x");
    test_root_text(&root, "/boot/config-6.1.0-47-amd64", "CONFIG_KPROBES=y\n");
    cairn_doctor_read_facts(root.path, &f);
    assert_string_equal(f.release, "6.1.0-47-amd64");
    assert_int_equal(f.major, 6);
    assert_int_equal(f.minor, 1);
    assert_true(cairn_facts_before(&f, 6, 2));
    assert_false(cairn_facts_before(&f, 6, 1));
    assert_true(f.settings[CAIRN_SETTING_PARANOID].is_there);
    assert_int_equal(f.settings[CAIRN_SETTING_PARANOID].value, 3);
    assert_true(f.settings[CAIRN_SETTING_KPTR].is_there);
    assert_int_equal(f.settings[CAIRN_SETTING_YAMA].value, 1);
    assert_false(f.settings[CAIRN_SETTING_MLOCK_KB].is_there);
    assert_string_equal(f.core_pattern, "|/usr/lib/systemd-coredump %P");
    assert_int_equal(f.euid, 1001);
    assert_int_equal(f.caps, CAIRN_CAP_BIT(CAIRN_CAP_PERFMON));
    assert_int_equal(f.caps_bounding, UINT64_C(0x1ffffffffff));
    assert_int_equal(f.seccomp, 2);
    assert_true(f.no_new_privs);
    assert_true(f.in_pid_ns);
    assert_false(f.in_user_ns);
    assert_string_equal(f.container, "docker");
    assert_true(f.core.is_known && f.core.soft == 0 && f.core.hard == UINT64_MAX);
    assert_true(f.nofile.is_known && f.nofile.soft == 1024 && f.nofile.hard == 1048576);
    assert_true(f.memlock.is_known && f.memlock.soft == 8388608);
    assert_true(f.has_btf);
    assert_false(f.has_tracefs);
    assert_int_equal(f.config.values[CAIRN_OPTION_KPROBES], 'y');
    test_root_drop(&root);
}

/* The image of a virtual machine may have been made out of a container's. */
static void a_mark_without_namespaces_is_no_container(void **state)
{
    (void)state;
    struct test_root root;
    struct cairn_doctor_facts f;
    test_root_make(&root);
    test_root_text(&root, "/.dockerenv", "");
    test_root_link(&root, "/proc/self/ns/pid", "pid:[4026531836]");
    cairn_doctor_read_facts(root.path, &f);
    assert_string_equal(f.container, "");
    test_root_link(&root, "/proc/self/ns/uts", "uts:[4026539999]"); /* --pid=host */
    cairn_doctor_read_facts(root.path, &f);
    assert_string_equal(f.container, "docker");
    test_root_drop(&root);
}

static void what_is_not_there_is_not_known(void **state)
{
    (void)state;
    struct cairn_doctor_facts f;
    cairn_doctor_read_facts("/nonexistent-cairn", &f);
    assert_string_equal(f.release, "");
    assert_int_equal(f.major, 0);
    assert_false(cairn_facts_before(&f, 5, 8)); /* not known is not old */
    assert_int_equal(f.seccomp, -1);
    assert_false(f.nofile.is_known);
    assert_false(f.settings[CAIRN_SETTING_PARANOID].is_there);
    assert_int_equal(f.config.values[CAIRN_OPTION_KPROBES], '?');
}

static void garbage_is_read_and_not_believed(void **state)
{
    (void)state;
    static const char *const paths[] = {"/proc/sys/kernel/osrelease",
                                        "/proc/sys/kernel/perf_event_paranoid",
                                        "/proc/self/status",
                                        "/proc/self/limits",
                                        "/proc/config.gz",
                                        "/run/systemd/container",
                                        "/sys/kernel/security/lockdown"};
    struct test_root root;
    struct cairn_doctor_facts f;
    char bytes[4096];
    test_root_make(&root);
    test_root_link(&root, "/proc/self/ns/pid", "x");
    for (unsigned seed = 0; seed < 64; seed++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = seed & 1 ? (char)(i * (seed + 7) * 2654435761u >> 13)
                                : "Seccomp:\t9\nMax open files x\nUid:\t-\n9.."[(i + seed) % 38];
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
            test_root_put(&root, paths[i], bytes, sizeof bytes);
        cairn_doctor_read_facts(root.path, &f);
        assert_in_range(f.seccomp + 1, 0, 3);
        assert_true(strlen(f.release) < CAIRN_FACT_TEXT && strlen(f.container) < CAIRN_FACT_TEXT);
    }
    test_root_drop(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_read),
        cmocka_unit_test(a_mark_without_namespaces_is_no_container),
        cmocka_unit_test(what_is_not_there_is_not_known),
        cmocka_unit_test(garbage_is_read_and_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
