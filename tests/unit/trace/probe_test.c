/* SPDX-License-Identifier: MIT */
#include "trace/probe.h"

#include <string.h>

#include <cairn/error.h>

#include "support/test.h"

static void kinds_are_told_by_their_beginning(void **state)
{
    (void)state;
    assert_true(cairn_probe_is("uprobe:libc.so.6:fopen"));
    assert_true(cairn_probe_is("tracepoint:sched:sched_switch"));
    assert_true(cairn_probe_is("usdt:libc.so.6:libc:setjmp"));
    assert_false(cairn_probe_is("syscall:open"));
    assert_false(cairn_probe_is("uprob:libc.so.6:fopen"));
    assert_false(cairn_probe_is(""));
}

static void what_is_no_place_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        int code;
    } rows[] = {
        {"uprobe:", "expected FILE:FUNCTION", CAIRN_E_ARG},
        {"uprobe:libc.so.6", "expected FILE:FUNCTION", CAIRN_E_ARG},
        {"uprobe::malloc", "expected FILE:FUNCTION", CAIRN_E_ARG},
        {"uprobe:libc.so.6:", "expected FILE:FUNCTION", CAIRN_E_ARG},
        {"uprobe:/no/such/file:main", "there is no such file", CAIRN_E_MISSING},
        {"uprobe:no-such-library.so.9:main", "there is no such file", CAIRN_E_MISSING},
        {"uprobe:/etc/passwd:main", "passwd", CAIRN_E_FORMAT},
        {"uprobe:/bin/sh:no_such_function_here", "no_such_function_here", CAIRN_E_MISSING},
        {"uprobe:/bin/sh:main+0x", "is no offset", CAIRN_E_ARG},
        {"uprobe:/bin/sh:0x12zz", "is no address", CAIRN_E_ARG},
        {"uprobe:/bin/sh:0xffffffffffffffff", "no code of this file", CAIRN_E_MISSING},
        {"uretprobe:/bin/sh:main+4", "returns from no offset", CAIRN_E_ARG},
        {"uprobe+uretprobe:/bin/sh:main+4", "returns from no offset", CAIRN_E_ARG},
        {"uprobe+uretprobe:/bin/sh", "expected FILE:FUNCTION", CAIRN_E_ARG},
        {"uprobe+uretprobe:/bin/sh:main.c:4", "a line does not return", CAIRN_E_ARG},
        {"kprobe+kretprobe:vfs_read+4", "returns from no offset", CAIRN_E_ARG},
        {"kprobe:", "expected the name of a function", CAIRN_E_ARG},
        {"kprobe:vfs_read+9x", "is no offset", CAIRN_E_ARG},
        {"tracepoint:sched", "expected tracepoint:GROUP:NAME", CAIRN_E_ARG},
        {"tracepoint:no_such_group:x", "no such tracepoint", CAIRN_E_MISSING},
        {"usdt:", "expected usdt:FILE:PROVIDER:NAME", CAIRN_E_ARG},
        {"usdt:name", "expected usdt:FILE:PROVIDER:NAME", CAIRN_E_ARG},
        {"usdt:a:", "expected usdt:FILE:PROVIDER:NAME", CAIRN_E_ARG},
        {"usdt:a::c", "expected usdt:FILE:PROVIDER:NAME", CAIRN_E_ARG},
        {"usdt:a:b:c:d", "expected usdt:FILE:PROVIDER:NAME", CAIRN_E_ARG},
        {"usdt:own:start", "in which file", CAIRN_E_ARG},
        {"usdt:/no/such/file:own:start", "there is no such file", CAIRN_E_MISSING},
        {"usdt:/etc/passwd:own:start", "no ELF file", CAIRN_E_FORMAT},
        {"usdt:/bin/true:own:start", "has no static probes", CAIRN_E_MISSING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_probes probes = {0};
        struct cairn_err err = {0};
        assert_int_equal(cairn_probes_add(&probes, rows[i].text, &err), rows[i].code);
        if (!strstr(err.msg, rows[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, err.msg, rows[i].says);
        cairn_probes_done(&probes);
    }
}

static void a_function_of_the_kernel_needs_no_file(void **state)
{
    (void)state;
    struct cairn_probes probes = {0};
    assert_int_equal(cairn_probes_add(&probes, "kretprobe:vfs_read", NULL), CAIRN_OK);
    assert_int_equal(cairn_probes_add(&probes, "kprobe:vfs_read+0x10", NULL), CAIRN_OK);
    assert_int_equal(cairn_probes_add(&probes, "kprobe+kretprobe:vfs_read", NULL), CAIRN_OK);
    assert_int_equal(probes.n, 3);
    assert_string_equal(cairn_probe_kind(&probes.items[2]), "kprobe+kretprobe");
    assert_true(cairn_trace_is_pair(probes.items[2].at.place));
    assert_string_equal(cairn_probe_kind(&probes.items[0]), "kretprobe");
    assert_true(probes.items[0].at.at_return);
    assert_string_equal(probes.items[1].at.name, "vfs_read");
    assert_int_equal(probes.items[1].at.off, 16);
    cairn_probes_done(&probes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_told_by_their_beginning),
        cmocka_unit_test(what_is_no_place_is_refused),
        cmocka_unit_test(a_function_of_the_kernel_needs_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
