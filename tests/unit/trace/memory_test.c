/* SPDX-License-Identifier: MIT */
#include "trace/memory.h"

#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cairn/error.h>

#include "base/alloc.h"
#include "bpf/memory.h"
#include "support/test.h"

static long watched[4];

static int parse(const char *text, char copy[128], struct cairn_memory_spec *ret_spec,
                 struct cairn_err *err)
{
    snprintf(copy, 128, "%s", text);
    return cairn_memory_parse("mem:EVENT", copy, ret_spec, err);
}

static void events_are_cut_into_their_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *file, *symbol;
        uint64_t address, off, bytes;
        uint32_t type;
    } rows[] = {
        {"counter:w", NULL, "counter", 0, 0, 0, HW_BREAKPOINT_W},
        {"counter/4:rw", NULL, "counter", 0, 0, 4, HW_BREAKPOINT_RW},
        {"counter+0x10/8:w", NULL, "counter", 0, 16, 8, HW_BREAKPOINT_W},
        {"main+4:x", NULL, "main", 0, 4, 0, HW_BREAKPOINT_X},
        {"libc.so.6:environ:w", "libc.so.6", "environ", 0, 0, 0, HW_BREAKPOINT_W},
        {"/usr/lib/libx.so:state+8/2:w", "/usr/lib/libx.so", "state", 0, 8, 2, HW_BREAKPOINT_W},
        {"app::Counter::total:w", NULL, "app::Counter::total", 0, 0, 0, HW_BREAKPOINT_W},
        {"libx.so:app::total/8:w", "libx.so", "app::total", 0, 0, 8, HW_BREAKPOINT_W},
        {"0x404040/4:w", NULL, NULL, 0x404040, 0, 4, HW_BREAKPOINT_W},
        {"libx.so:0x4040:rw", "libx.so", NULL, 0x4040, 0, 0, HW_BREAKPOINT_RW},
        {"0xffffffff82400000+0x20:w", NULL, NULL, 0xffffffff82400000, 32, 0, HW_BREAKPOINT_W},
        {"app::operator+:x", NULL, "app::operator+", 0, 0, 0, HW_BREAKPOINT_X},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_memory_spec spec = {0};
        struct cairn_err err = {0};
        char copy[128];
        assert_ok(parse(rows[i].text, copy, &spec, &err), err);
        if (rows[i].file)
            assert_string_equal(spec.file, rows[i].file);
        else
            assert_null(spec.file);
        if (rows[i].symbol)
            assert_string_equal(spec.symbol, rows[i].symbol);
        else
            assert_null(spec.symbol);
        assert_true(spec.address == rows[i].address);
        assert_true(spec.off == rows[i].off);
        assert_true(spec.bytes == rows[i].bytes);
        assert_int_equal(spec.type, rows[i].type);
    }
}

static void what_is_no_access_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "expected mem:"},
        {"counter", "expected mem:"},
        {":w", "expected mem:"},
        {"counter:", "expected mem:"},
        {"counter:wr", "expected mem:"},
        {"counter:r", "expected :rw"},
        {"app::counter", "expected mem:"},
        {":counter:w", "expected mem:"},
        {"/8:w", "expected mem:"},
        {"counter/0:w", "0 bytes"},
        {"counter/4x:w", "is no number"},
        {"counter+9z:w", "is no number"},
        {"0x12zz:w", "is no number"},
        {"99999999999999999999:w", "is no number"},
        {"main/4:x", "an instruction has no number of bytes"},
        {"0xffffffffffffffff+1:w", "beyond all addresses"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_memory_spec spec;
        struct cairn_err err = {0};
        char copy[128];
        assert_int_equal(parse(rows[i].text, copy, &spec, &err), CAIRN_E_ARG);
        if (!strstr(err.msg, rows[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, err.msg, rows[i].says);
    }
}

static void ranges_are_split_as_the_cpu_takes_them(void **state)
{
    (void)state;
    static const struct {
        uint64_t va, bytes;
        uint32_t n, each; /* 0: refused */
    } rows[] = {
        {0x1001, 1, 1, 1},  {0x1002, 2, 1, 2},  {0x1004, 4, 1, 4},  {0x1008, 8, 1, 8},
        {0x1008, 16, 2, 8}, {0x1008, 24, 3, 8}, {0x1008, 32, 4, 8}, {0x1008, 40, 0, 0},
        {0x1001, 2, 0, 0},  {0x1002, 4, 0, 0},  {0x1004, 8, 0, 0},  {0x1004, 16, 0, 0},
        {0x1000, 3, 0, 0},  {0x1000, 12, 0, 0}, {0x1000, 64, 0, 0}, {0x1000, UINT64_MAX, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t n = 0, each = 0;
        struct cairn_err err = {0};
        const int code = cairn_memory_split("mem:x:w", rows[i].va, rows[i].bytes, &n, &each, &err);
        assert_int_equal(code, rows[i].n ? CAIRN_OK : CAIRN_E_ARG);
        assert_int_equal(n, rows[i].n);
        assert_int_equal(each, rows[i].each);
        assert_int_equal(err.hint[0] != '\0', !rows[i].n);
    }
}

static void variables_of_a_process_are_found(void **state)
{
    (void)state;
    if (sizeof(void *) < sizeof(uint64_t)) {
        print_message("skipped: 32-bit programs are not watched\n");
        skip();
    }
    const int self = getpid();
    struct cairn_probes probes = {.pids = &self, .n_pids = 1};
    struct cairn_err err = {0};
    assert_ok(cairn_probes_add(&probes, "mem:watched/32:w", &err), err);
    assert_int_equal(probes.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(probes.items[i].at.memory.va == (uint64_t)(uintptr_t)&watched[i]);
        assert_int_equal(probes.items[i].at.memory.bytes, 8);
        assert_int_equal(probes.items[i].at.memory.pid, self);
        assert_true(probes.items[i].at.memory.stack_start != 0);
        assert_string_equal(cairn_probe_kind(&probes.items[i]), "mem");
    }
    assert_string_equal(probes.items[1].name, "watched+0x8");
    assert_int_equal(cairn_probes_add(&probes, "mem:watchd:w", &err), CAIRN_E_MISSING);
    assert_non_null(strstr(err.hint, "watched"));
    assert_int_equal(cairn_probes_add(&probes, "mem:main/8:w", &err), CAIRN_E_ARG);
    assert_int_equal(cairn_probes_add(&probes, "mem:0x10/8:w", &err), CAIRN_E_MISSING);
    cairn_probes_done(&probes);
    watched[0] = 1;
}

static void an_address_needs_a_process_or_the_kernel(void **state)
{
    (void)state;
    struct cairn_probes probes = {0};
    struct cairn_err err = {0};
    assert_int_equal(cairn_probes_add(&probes, "mem:counter:w", &err), CAIRN_E_ARG);
    assert_non_null(strstr(err.hint, "--pid"));
    assert_ok(cairn_probes_add(&probes, "mem:0xffffffff82400000:w", &err), err);
    assert_int_equal(probes.items[0].at.memory.pid, 0);
    cairn_probes_done(&probes);
}

static void values_are_as_wide_as_the_variable(void **state)
{
    (void)state;
    static char label[] = "counter";
    const uint64_t known = 15;
    static const struct {
        uint32_t bytes;
        uint64_t value;
        const char *text;
    } rows[] = {{1, UINT64_MAX, "0xff (-1)"},
                {2, 42, "0x002a (42)"},
                {4, UINT64_MAX - 1, "0xfffffffe (-2)"},
                {8, 1, "0x0000000000000001 (1)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct cairn_probe probe = {.name = label, .at.memory.bytes = rows[i].bytes};
        const uint64_t args[] = {0x404040, 0, rows[i].value, 0, known & ~8u};
        struct cairn_buffer out = {0};
        cairn_memory_put(&out, &probe, args, CAIRN_MEMORY_VALUE);
        assert_string_equal(cairn_buffer_text(&out), rows[i].text);
        cairn_buffer_clear(&out);
        cairn_memory_put(&out, &probe, args, CAIRN_MEMORY_PREVIOUS);
        cairn_memory_put(&out, &probe, args, CAIRN_MEMORY_SYMBOL);
        cairn_memory_put(&out, &probe, args, CAIRN_MEMORY_ADDRESS);
        assert_string_equal(cairn_buffer_text(&out), "?counter0x404040");
        cairn_buffer_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_cut_into_their_parts),
        cmocka_unit_test(what_is_no_access_is_refused),
        cmocka_unit_test(ranges_are_split_as_the_cpu_takes_them),
        cmocka_unit_test(variables_of_a_process_are_found),
        cmocka_unit_test(an_address_needs_a_process_or_the_kernel),
        cmocka_unit_test(values_are_as_wide_as_the_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
