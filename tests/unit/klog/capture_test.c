/* SPDX-License-Identifier: MIT */
#include "klog/capture.h"

#include <cairn/klog.h>

#include "support/test.h"

static struct cairn_klog_capture read_line(const char *text)
{
    struct cairn_klog_capture line;
    cairn_klog_capture_read((struct cairn_span){(const uint8_t *)text, strlen(text)}, &line);
    return line;
}

static void assert_text(struct cairn_span got, const char *expected, const char *line)
{
    if (got.size != strlen(expected) || (got.size && memcmp(got.data, expected, got.size) != 0))
        fail_msg("%s: \"%.*s\", expected \"%s\"", line, (int)got.size, (const char *)got.data,
                 expected);
}

static void each_line_of_a_dump_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum cairn_klog_form form;
        const char *tag, *text; /* of a head: the comm */
        uint32_t index;
        uint64_t va, printed;
        bool is_cut;
    } rows[] = {
        {"binder_open: pid=110 comm=u_cxx", CAIRN_KLOG_HEAD, "binder_open", "u_cxx", 0, 0, 0, 0},
        {"pid=110 comm=a [b] c=d", CAIRN_KLOG_HEAD, "", "a [b] c=d", 0, 0, 0, 0},
        {"t: pid=110 comm=x tgid=9 cpu=1 #17", CAIRN_KLOG_HEAD, "t", "x", 0, 0, 17, 0},
        {"t: kernel backtrace:", CAIRN_KLOG_KERNEL_HEAD, "t", "", 0, 0, 0, 0},
        {"kernel backtrace: #3", CAIRN_KLOG_KERNEL_HEAD, "", "", 0, 0, 3, 0},
        {"t:   [k02] misc_open+0xc4/0x180", CAIRN_KLOG_KERNEL_FRAME, "t", "misc_open+0xc4/0x180", 2,
         0, 0, 0},
        {"  [k00] f+0x1/0x2 [mod] #4", CAIRN_KLOG_KERNEL_FRAME, "", "f+0x1/0x2 [mod]", 0, 0, 4, 0},
        {"t:   [k00] f+0x5/0x9 [mod] (probe) #4", CAIRN_KLOG_KERNEL_FRAME, "t", "f+0x5/0x9 [mod]",
         0, 0, 4, 0},
        {"t:   [u00] 0x0000000000401136 (probe)", CAIRN_KLOG_USER_FRAME, "t", "(probe)", 0,
         0x401136, 0, 0},
        {"t:   [k03] 0xffffffffc05f90c8", CAIRN_KLOG_KERNEL_FRAME, "t", "", 3,
         UINT64_C(0xffffffffc05f90c8), 0, 0},
        {"t:   [k03] do_sys", CAIRN_KLOG_KERNEL_FRAME, "t", "do_sys", 3, 0, 0, 1},
        {"t: user backtrace (raw user PCs):", CAIRN_KLOG_USER_HEAD, "t", "", 0, 0, 0, 0},
        {"t:   [u04] 0x00007f592a8da5b9", CAIRN_KLOG_USER_FRAME, "t", "", 4,
         UINT64_C(0x7f592a8da5b9), 0, 0},
        {"t:   [u04] 0x00007f592a8da5b9 lib/libx.so+0x5b9 #17", CAIRN_KLOG_USER_FRAME, "t",
         "lib/libx.so+0x5b9", 4, UINT64_C(0x7f592a8da5b9), 17, 0},
        {"t:   [u04] 0x00007f592a8d", CAIRN_KLOG_USER_FRAME, "t", "", 4, 0, 0, 1},
        {"t:   [u04] 0x", CAIRN_KLOG_USER_FRAME, "t", "0x", 4, 0, 0, 1},
        {"t:   [u04] 0x0123456789012345678901234567890123456789", CAIRN_KLOG_USER_FRAME, "t", "", 4,
         0, 0, 1},
        {"t:   [u04] 0x123", CAIRN_KLOG_USER_FRAME, "t", "", 4, 0x123, 0, 0},
        {"t: user stack trace not supported (CONFIG_USER_STACKTRACE_SUPPORT is disabled)",
         CAIRN_KLOG_NO_USER, "t", "", 0, 0, 0, 0},
        {"t: same as #12 #17", CAIRN_KLOG_SAME, "t", "", 0, 0, 17, 0},
        {"t: same as #12", CAIRN_KLOG_SAME, "t", "", 0, 0, 0, 0},
        {"t: same as #", CAIRN_KLOG_NONE, "", "", 0, 0, 0, 0},
        {"t: no user backtrace: a kernel thread #17", CAIRN_KLOG_NO_USER, "t", "a kernel thread", 0,
         0, 17, 0},
        {"t: 7 dumps before #18 were not printed", CAIRN_KLOG_UNPRINTED, "t", "", 0, 0, 0, 0},
        {"7 dumps before #18 were not printed", CAIRN_KLOG_NONE, "", "", 0, 0, 0, 0},
        {"t: dumps before #18 were not printed", CAIRN_KLOG_NONE, "", "", 0, 0, 0, 0},
        {"t: 7 dumps before ", CAIRN_KLOG_NONE, "", "", 0, 0, 0, 0},
        {"t: 99999999999999999999 dumps before #1 were not printed", CAIRN_KLOG_NONE, "", "", 0, 0,
         0, 0},
        {"t:   [u05] 0x485300656d616e74 no code #17", CAIRN_KLOG_USER_FRAME, "t", "", 5,
         UINT64_C(0x485300656d616e74), 17, 0},
        {"t:   [u04] 0x00007f592a8da5b9 /tmp/a b (deleted)+0x5b9 #17", CAIRN_KLOG_USER_FRAME, "t",
         "/tmp/a b (deleted)+0x5b9", 4, UINT64_C(0x7f592a8da5b9), 17, 0},
        {"who: knows: t:   [k00] f+0x1/0x2", CAIRN_KLOG_KERNEL_FRAME, "t", "f+0x1/0x2", 0, 0, 0, 0},
        {"usb 1-1: new device [k9", CAIRN_KLOG_NONE, "", "", 0, 0, 0, 0},
        {"a pid=x comm=y", CAIRN_KLOG_NONE, "", "", 0, 0, 0, 0},
        {"t: pid=99999999999 comm=y", CAIRN_KLOG_NONE, "", "", 0, 0, 0, 0},
        {"", CAIRN_KLOG_NONE, "", "", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_klog_capture line = read_line(rows[i].line);
        if (line.form != rows[i].form)
            fail_msg("%s: form %d, expected %d", rows[i].line, line.form, rows[i].form);
        assert_text(line.tag, rows[i].tag, rows[i].line);
        assert_text(line.form == CAIRN_KLOG_HEAD ? line.comm : line.text, rows[i].text,
                    rows[i].line);
        assert_int_equal(line.index, rows[i].index);
        assert_int_equal(line.printed, rows[i].printed);
        if (line.va != rows[i].va || line.is_cut != rows[i].is_cut)
            fail_msg("%s: va %#llx, cut %d", rows[i].line, (unsigned long long)line.va,
                     line.is_cut);
    }
    assert_int_equal(read_line("t: pid=110 comm=x tgid=9 cpu=1 #17").tgid, 9);
    assert_int_equal(read_line("t: pid=110 comm=x tgid=9 cpu=1 #17").cpu, 1);
    assert_int_equal(read_line("t: same as #12 #17").same_as, 12);
    assert_int_equal(read_line("t: cairn: 7 dumps before #18 were not printed").unprinted, 7);
    assert_true(read_line("t:   [k00] f+0x5/0x9 (probe) #4").is_probe);
    assert_false(read_line("t:   [k00] f+0x5/0x9 #4").is_probe);
    assert_true(read_line("t:   [u05] 0x485300656d616e74 no code #17").is_no_code);
    assert_false(read_line("t:   [u05] 0x485300656d616e74 no code+0x1 #17").is_no_code);
}

static void a_head_says_what_it_is_of(void **state)
{
    (void)state;
    struct cairn_klog_capture line = read_line("t: pid=7 comm=a tgid=1 #2 tgid=5 cpu=3 bits=32 #9");
    assert_text(line.comm, "a tgid=1 #2", "comm");
    assert_int_equal(line.tgid, 5);
    assert_int_equal(line.cpu, 3);
    assert_int_equal(line.printed, 9);
    assert_true(line.is_32_bit);
    assert_false(read_line("t: pid=7 comm=a tgid=5 cpu=3 #9").is_32_bit);
    assert_false(read_line("t: pid=7 comm=a bits=64 #9").is_32_bit);
}

static void a_symbol_has_its_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *module, *build_id;
        uint64_t off, size;
        size_t taken;
    } rows[] = {
        {"f+0x1a/0x40", "f", "", "", 0x1a, 0x40, 11},
        {"? f.cold+0x1a/0x40 [mod]", "f.cold", "mod", "", 0x1a, 0x40, 24},
        {"f+0x1/0x2 [mod 0123456789abcdef0123456789abcdef01234567]", "f", "mod",
         "0123456789abcdef0123456789abcdef01234567", 1, 2, 56},
        {"f+0x1/0x2 (P)", "f", "", "", 1, 2, 9},
        {"f+0x1/0x2 [not a module]", "f", "", "", 1, 2, 9},
        {"0x12", "", "", "", 0, 0, 0},
        {"+0x12/0x3", "", "", "", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_klog_symbol s;
        size_t taken = cairn_klog_symbol(rows[i].text, strlen(rows[i].text), &s);
        if (taken != rows[i].taken)
            fail_msg("%s: %zu bytes", rows[i].text, taken);
        if (!taken)
            continue;
        assert_text((struct cairn_span){(const uint8_t *)s.name, s.name_size}, rows[i].name,
                    rows[i].text);
        assert_text((struct cairn_span){(const uint8_t *)s.module, s.module_size}, rows[i].module,
                    rows[i].text);
        assert_text((struct cairn_span){(const uint8_t *)s.build_id, s.build_id_size},
                    rows[i].build_id, rows[i].text);
        assert_int_equal(s.off, rows[i].off);
        assert_int_equal(s.function_size, rows[i].size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_of_a_dump_is_read),
        cmocka_unit_test(a_head_says_what_it_is_of),
        cmocka_unit_test(a_symbol_has_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
