/* SPDX-License-Identifier: MIT */
#include "klog/prefix.h"

#include "support/test.h"

static struct cairn_span span(const char *text)
{
    return (struct cairn_span){(const uint8_t *)text, strlen(text)};
}

static void each_prefix_is_taken_off(void **state)
{
    (void)state;
    static const uint64_t none = UINT64_MAX, date = UINT64_C(1795896706) * 1000000;
    static const struct {
        const char *line;
        const char *body;
        uint64_t time_us;
        char caller;
        uint32_t id;
    } rows[] = {
        {"[    4.685815] text", "text", 4685815, 0, 0},
        {"[123456.685815] text", "text", UINT64_C(123456685815), 0, 0},
        {"[    4.685815]  f+0x1/0x2", " f+0x1/0x2", 4685815, 0, 0},
        {"<6>[    5.500669] text", "text", 5500669, 0, 0},
        {"<14>text", "text", none, 0, 0},
        {"[  114.200000][ T4398] text", "text", 114200000, 'T', 4398},
        {"[ 1175.600000][T23686] text", "text", 1175600000, 'T', 23686},
        {"[  114.200000][    C1] text", "text", 114200000, 'C', 1},
        {"[  114.200000] [ T4398]", "[ T4398]", 114200000, 0, 0},
        {"6,339,514090,-;text", "text", 514090, 0, 0},
        {"6,339,514090,-,caller=T17;text", "text", 514090, 'T', 17},
        {"4,1,2,c,caller=C3;text", "text", 2, 'C', 3},
        {"[Sat Nov 28 20:11:46 2026] text", "text", date, 0, 0},
        {"Nov 28 20:11:46 host kernel: text", "text", none, 0, 0},
        {"Nov  8 20:11:46 host kernel: [    4.685815] text", "text", 4685815, 0, 0},
        {"2026-11-28T20:11:46+00:00 host kernel: text", "text", date, 0, 0},
        {"2026-11-28T20:11:46.000000Z host kernel: text", "text", date, 0, 0},
        {"[2026-11-28 20:11:46] [    4.685815] text", "text", 4685815, 0, 0},
        {"11-28 20:11:46.123     0     0 I kernel  : text", "text", none, 0, 0},
        {"11-28 20:11:46.123   412   430 W binder: [    4.685815] text", "text", 4685815, 0, 0},
        {"I/kernel(  123): text", "text", none, 0, 0},
        {"kern  :info  : [    4.685815] text", "text", 4685815, 0, 0},
        {"kern  :warn  : text", "text", none, 0, 0},
        {"[    4.685815] host kernel: text", "text", 4685815, 0, 0},
        {"20:11:46.123 [    4.685815] text", "text", 4685815, 0, 0},
        {"[12.345678 0.000001] [    4.685815] text", "text", 4685815, 0, 0},
        {"kernel: text", "text", none, 0, 0},
        {"binder_open: pid=1 comm=x", "binder_open: pid=1 comm=x", none, 0, 0},
        {"  [k00] f+0x1/0x2", "  [k00] f+0x1/0x2", none, 0, 0},
        {"[<ffffffff81002f6a>] f", "[<ffffffff81002f6a>] f", none, 0, 0},
        {"", "", none, 0, 0},
        {"[", "[", none, 0, 0},
        {"[    4.", "[    4.", none, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_klog_prefix prefix;
        size_t at = cairn_klog_prefix_read(span(rows[i].line), &prefix);
        if (strcmp(rows[i].line + at, rows[i].body) != 0)
            fail_msg("%s: \"%s\", expected \"%s\"", rows[i].line, rows[i].line + at, rows[i].body);
        if (prefix.time_us != rows[i].time_us || prefix.caller != rows[i].caller ||
            prefix.caller_id != rows[i].id)
            fail_msg("%s: time %llu, caller %c %u", rows[i].line,
                     (unsigned long long)prefix.time_us, prefix.caller ? prefix.caller : '-',
                     prefix.caller_id);
        assert_int_equal(prefix.is_date, rows[i].time_us == date);
    }
}

static void a_glued_record_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int at; /* -1: none */
    } rows[] = {
        {"[    4.1] t: [k03] do_sys[    4.200000] t: [k04] f", 25},
        {"[    4.1] t: [k03] do_sys<6>[    4.200000] t", 25},
        {"[    4.100000] t:   [k02] f+0x1/0x2 [mod]", -1},
        {"[    4.100000] a [1] b [ 2 ] c [3.] [4.5", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = strlen(rows[i].line),
               at = cairn_klog_prefix_find_glued(span(rows[i].line), 1);
        if (at != (rows[i].at < 0 ? size : (size_t)rows[i].at))
            fail_msg("%s: at %zu", rows[i].line, at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_prefix_is_taken_off),
        cmocka_unit_test(a_glued_record_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
