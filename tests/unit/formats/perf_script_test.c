/* SPDX-License-Identifier: MIT */
#include "formats/format.h"
#include "formats/perf_script_line.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/no_memory.h"
#include "support/test.h"

static void assert_span(struct cairn_span span, const char *expected, const char *line)
{
    if (span.size != strlen(expected) || (span.size && memcmp(span.data, expected, span.size) != 0))
        fail_msg("%s: \"%.*s\", expected \"%s\"", line, (int)span.size, (const char *)span.data,
                 expected);
}

static void each_form_of_a_head_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *line, *comm;
        int64_t pid, tid;
        int64_t time_ns, period; /* -1: not said */
        const char *event, *rest;
    } rows[] = {
        {"w 12 cpu-clock: ", "w", -1, 12, -1, -1, "cpu-clock", ""},
        {"w x  4813  6049.323385:     250000 cpu-clock:ppp: ", "w x", -1, 4813, 6049323385000,
         250000, "cpu-clock:ppp", ""},
        {"w\t7/8\t[001] 12.000001: cpu-clock: ", "w", 7, 8, 12000001000, -1, "cpu-clock", ""},
        {"     swapper     0/0     [003]  1.123456789: cycles:", "swapper", 0, 0, 1123456789, -1,
         "cycles", ""},
        {":-1 -1/-1 1.5: cycles: ", ":-1", -1, -1, 1500000000, -1, "cycles", ""},
        {"a 12 b: 99 1.0: cycles: x", "a 12 b:", -1, 99, 1000000000, -1, "cycles", "x"},
        {"a 1 [0] 2 3.0: ev: ", "a 1 [0]", -1, 2, 3000000000, -1, "ev", ""},
        {"kworker/0:1-ev  33 [000] 5.1: sched:sched_switch: prev_comm=a ==> next_comm=b 1 c: ",
         "kworker/0:1-ev", -1, 33, 5100000000, -1, "sched:sched_switch",
         "prev_comm=a ==> next_comm=b 1 c:"},
        {"w 1 2.5:", "w", -1, 1, 2500000000, -1, "", ""},
        {"w 1 2.5: cpu/event=0x3c,umask=0x0/u: ", "w", -1, 1, 2500000000, -1,
         "cpu/event=0x3c,umask=0x0/u", ""},
        {"w 1 cycles:  7f12 f (x)", "w", -1, 1, -1, -1, "cycles", "7f12 f (x)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_perf_head head;
        if (!cairn_perf_head_parse(cairn_span_of(rows[i].line), &head))
            fail_msg("%s: no head", rows[i].line);
        assert_span(head.comm, rows[i].comm, rows[i].line);
        assert_span(head.event, rows[i].event, rows[i].line);
        assert_span(head.rest, rows[i].rest, rows[i].line);
        assert_int_equal(head.pid, rows[i].pid);
        assert_int_equal(head.tid, rows[i].tid);
        assert_int_equal(head.has_time ? (int64_t)head.time_ns : -1, rows[i].time_ns);
        assert_int_equal(head.has_period ? (int64_t)head.period : -1, rows[i].period);
    }
}

static void what_is_no_head_is_none(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        " ",
                                        "w",
                                        "w 12",
                                        "12 cpu-clock:",
                                        "main;f 12",
                                        "w 1 2",
                                        "# w 1 2.0: c:",
                                        "w 1 2.:",
                                        "w 1 2.0 c",
                                        "w 1x 2.0: c:",
                                        "  server.c:12",
                                        "w 1 c:d",
                                        "w 99999999999 1.0: c:",
                                        "w 1 99999999999999999999.0: ",
                                        "w 1 1.1234567890: "};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct cairn_perf_head head;
        if (cairn_perf_head_parse(cairn_span_of(lines[i]), &head))
            fail_msg("\"%s\" is a head", lines[i]);
    }
}

static void each_form_of_a_frame_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t address;
        const char *name, *module;
        bool is_inlined;
    } rows[] = {
        {"\t 7f12 f+0x1a (/x)", 0x7f12, "f", "/x", false},
        {"\t 7f12 f (inlined)", 0x7f12, "f", "", true},
        {"\t 7f12 [unknown] ([unknown])", 0x7f12, "", "", false},
        {"7f12 [unknown] (/a (b) c (deleted))", 0x7f12, "", "/a (b) c", false},
        {" 7f12 operator()(int) const+0x0 (/x)", 0x7f12, "operator()(int) const", "/x", false},
        {" 7f12 a::(anonymous namespace)::f(int) ([vdso])", 0x7f12,
         "a::(anonymous namespace)::f(int)", "[vdso]", false},
        {"\tffffffff81752b6a do_it.isra.0+0x28a ([kernel.kallsyms])", 0xffffffff81752b6a,
         "do_it.isra.0", "[kernel.kallsyms]", false},
        {" 7f12 f+0x1a", 0x7f12, "f", "", false},
        {" 7f12", 0x7f12, "", "", false},
        {" 7f12 (/x)", 0x7f12, "", "/x", false},
        {" 7f12 f(int)", 0x7f12, "f(int)", "", false},
        {" 7f12 f (/odd)name)", 0x7f12, "f", "/odd)name", false},
        {" 7f12 a+b+0x1 (/x)", 0x7f12, "a+b", "/x", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_perf_frame frame;
        if (!cairn_perf_frame_parse(cairn_span_of(rows[i].line), &frame))
            fail_msg("%s: no frame", rows[i].line);
        assert_int_equal(frame.address, rows[i].address);
        assert_span(frame.name, rows[i].name, rows[i].line);
        assert_span(frame.module, rows[i].module, rows[i].line);
        assert_int_equal(frame.is_inlined, rows[i].is_inlined);
    }
    static const char *const no_frames[] = {
        "", " ", " x", " 7f12f7f12f7f12f7f12f f (x)", "  libc.so.6[27000]", " 12g f (x)"};
    for (size_t i = 0; i < sizeof no_frames / sizeof *no_frames; i++) {
        struct cairn_perf_frame frame;
        assert_false(cairn_perf_frame_parse(cairn_span_of(no_frames[i]), &frame));
    }
}

static void modifiers_are_no_part_of_an_event(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"cycles:ppp", "cycles"},
                                          {"cycles", "cycles"},
                                          {"sched:sched_switch", "sched:sched_switch"},
                                          {"cpu-clock:u", "cpu-clock"},
                                          {":u", ":u"},
                                          {"", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_span(cairn_perf_event_name(cairn_span_of(rows[i][0])), rows[i][1], rows[i][0]);
}

static const char text[] = "# cmdline : perf record\n"
                           "w x 12/13 1.500000: 100 cpu-clock:ppp: \n"
                           "\tffffffff81000010 k+0x1 ([kernel.kallsyms])\n"
                           "\t7f10 inner (inlined)\n"
                           "\t7f10 outer+0x2 (/bin/w)\n"
                           "  w.c:12\n"
                           "\t7f20 main (/bin/w)\n"
                           "\n"
                           "w x 12/13 3.500000: 300 cpu-clock:ppp: \n"
                           "\tffffffff81000010 k+0x1 ([kernel.kallsyms])\n"
                           "\t7f10 inner (inlined)\n"
                           "\t7f10 outer+0x2 (/bin/w)\n"
                           "  w.c:12\n"
                           "\t7f20 main (/bin/w)\n"
                           "\n"
                           "w x 12/14 2.0: 5 page-faults: \n"
                           "\t7f20 main (/bin/w)\n";

static struct cairn_profile *read_in_pieces(const char *from, size_t piece)
{
    struct test_input input = {cairn_span_of(from), piece};
    struct cairn_profile *profile;
    struct cairn_err err;
    assert_ok(cairn_profile_read(test_read, &input, CAIRN_FORMAT_AUTO, &profile, &err), err);
    return profile;
}

static void equal_samples_are_one_with_the_sums(void **state)
{
    (void)state;
    for (size_t piece = 0; piece < 40; piece++) {
        struct cairn_profile *p = read_in_pieces(text, piece);
        assert_int_equal(p->n_types, 3);
        assert_string_equal(p->public_types ? p->public_types[1].type : "cpu-clock", "cpu-clock");
        assert_int_equal(cairn_profile_default_value(p), 1);
        assert_int_equal(p->n_samples, 2);
        assert_int_equal(p->duration_ns, 2000000000);
        const int64_t values[] = {2, 400, 0, 1, 0, 5};
        assert_memory_equal(p->values, values, sizeof values);
        assert_string_equal(
            cairn_strings_get(&p->strings,
                              cairn_profile_find_label(p, p->samples[0].labels, "thread")->text),
            "w x");
        assert_int_equal(cairn_profile_find_label(p, p->samples[1].labels, "tid")->number, 14);
        assert_int_equal(p->n_notes, 1);
        cairn_profile_free(p);
    }
}

static int64_t number_of(const struct cairn_profile *p, size_t row, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[row].labels, key);
    return label ? label->number : -1;
}

static void times_and_cpus_are_kept_where_they_are_asked_for(void **state)
{
    (void)state;
    static const char heads[] = "a 1/2 [003] 1.5: cycles: \n\t7f20 main (/a)\n\n"
                                "a 1/2 [003] 2.5: cycles: \n\t7f20 main (/a)\n\n"
                                "a 1/2 2.75: cycles: \n\t7f20 main (/a)\n";
    struct test_input input = {.left = cairn_span_of(heads)};
    const struct cairn_format_input from = {
        .read = test_read, .ctx = &input, .keeps = CAIRN_STREAM_TIMES | CAIRN_STREAM_CPUS};
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(cairn_format_read(&from, CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_int_equal(p->n_samples, 3);
    assert_int_equal(cairn_profile_time_of(p, 0), 1500000000);
    assert_int_equal(cairn_profile_time_of(p, 1), 2500000000);
    assert_int_equal(cairn_profile_time_of(p, 2), 2750000000);
    assert_int_equal(number_of(p, 1, "cpu"), 3);
    assert_int_equal(number_of(p, 2, "cpu"), -1);
    assert_int_equal(number_of(p, 2, "tid"), 2);
    cairn_profile_free(p);
    p = read_in_pieces(heads, 0);
    assert_int_equal(p->n_samples, 1);
    cairn_profile_free(p);
}

static void frames_have_what_the_text_says(void **state)
{
    (void)state;
    struct cairn_profile *p = read_in_pieces(text, 0);
    const struct cairn_profile_stack *leaf = &p->stacks[p->samples[0].stack],
                                     *middle = &p->stacks[leaf->parent];
    const struct cairn_profile_frame *kernel = &p->frames[leaf->frame],
                                     *outer = &p->frames[middle->frame],
                                     *root = &p->frames[p->stacks[middle->parent].frame];
    assert_int_equal(kernel->what, CAIRN_WHAT_KERNEL);
    assert_int_equal(kernel->how, CAIRN_HOW_TEXT);
    assert_int_equal(kernel->address, 0xffffffff81000010);
    assert_int_equal(outer->address, 0x7f10); /* where the kernel was entered */
    assert_int_equal(outer->n_lines, 2);
    assert_int_equal(p->lines[outer->lines + 1].line, 12);
    assert_int_equal(root->address, 0x7f1f); /* a return address: within the call */
    assert_string_equal(cairn_profile_module_name(p, root->module), "w");
    cairn_profile_free(p);
}

static void frames_that_lost_their_tab_are_frames(void **state)
{
    (void)state;
    struct cairn_profile *p = read_in_pieces("java 19 cycles:\n"
                                             "ffffffff81000010 k ([kernel.kallsyms])\n"
                                             "59fef5 copy (/lib/modules/4.3/build/vmlinux)\n"
                                             "12 m (/lib/modules/4.3/x.ko)\n"
                                             "7f10 Ljava/lang/X;::run (/tmp/perf-19.map)\n"
                                             "7f20 x.kona (/lib/x.kona)\n"
                                             "\n"
                                             "cafe 12 cycles:\n"
                                             "7f10 f (/x)\n",
                                             0);
    static const uint8_t whats[] = {CAIRN_WHAT_KERNEL, CAIRN_WHAT_KERNEL, CAIRN_WHAT_KERNEL,
                                    CAIRN_WHAT_JIT, CAIRN_WHAT_NATIVE};
    assert_int_equal(p->n_samples, 2);
    uint32_t at = p->samples[0].stack;
    for (size_t i = 0; i < sizeof whats; i++, at = p->stacks[at].parent)
        assert_int_equal(p->frames[p->stacks[at].frame].what, whats[i]);
    assert_int_equal(at, 0);
    cairn_profile_free(p);
}

static void a_frame_in_the_head_s_line_is_the_stack_unless_others_follow(void **state)
{
    (void)state;
    struct cairn_profile *p = read_in_pieces("  w 1 1.0: 1 c:  7f1010 f (/x)\n"
                                             "  x.c:12\n"
                                             "  w 1 2.0: 1 s:t: 7f1010 g (/x)\n"
                                             "\t7f20 h (/x)\n",
                                             0);
    assert_int_equal(p->n_samples, 2);
    const struct cairn_profile_frame *f = &p->frames[p->stacks[p->samples[0].stack].frame],
                                     *h = &p->frames[p->stacks[p->samples[1].stack].frame];
    assert_int_equal(f->address, 0x7f1010);
    assert_int_equal(p->lines[f->lines].line, 12);
    assert_int_equal(h->address, 0x7f20);
    assert_int_equal(p->stacks[p->samples[1].stack].parent, 0);
    cairn_profile_free(p);
}

static void assert_refused(const char *from, enum cairn_code code, const char *part)
{
    struct cairn_profile *profile = NULL;
    struct cairn_err err;
    assert_fails(test_read_profile(cairn_span_of(from), CAIRN_FORMAT_PERF_SCRIPT, &profile, &err),
                 code, err, part);
    assert_null(profile);
}

static void what_cannot_be_told_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_refused("w\n\t12 f (x)\n", CAIRN_E_FORMAT, "line 1: neither the head");
    assert_refused("w 1 2.0: c: \n\t12 f (x)\n\n\t13 g (x)\n", CAIRN_E_FORMAT,
                   "line 4: neither the head");
    struct cairn_buffer many = {0};
    for (int i = 0; i < 65; i++)
        cairn_buffer_printf(&many, "w 1 2.0: event-%d: \n\n", i);
    assert_refused(cairn_buffer_text(&many), CAIRN_E_LIMIT, "more than 64 events");
    cairn_buffer_clear(&many);
    cairn_buffer_str(&many, "w 1 2.0: c: \n");
    for (int i = 0; i <= CAIRN_PROFILE_DEPTH_MAX; i++)
        cairn_buffer_str(&many, "\t12 f (x)\n");
    assert_refused(cairn_buffer_text(&many), CAIRN_E_LIMIT, "more than 2097152 frames");
    cairn_buffer_done(&many);
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_read_without_memory(cairn_span_of(text), CAIRN_FORMAT_PERF_SCRIPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_of_a_head_is_told),
        cmocka_unit_test(what_is_no_head_is_none),
        cmocka_unit_test(each_form_of_a_frame_is_told),
        cmocka_unit_test(modifiers_are_no_part_of_an_event),
        cmocka_unit_test(equal_samples_are_one_with_the_sums),
        cmocka_unit_test(times_and_cpus_are_kept_where_they_are_asked_for),
        cmocka_unit_test(frames_have_what_the_text_says),
        cmocka_unit_test(frames_that_lost_their_tab_are_frames),
        cmocka_unit_test(a_frame_in_the_head_s_line_is_the_stack_unless_others_follow),
        cmocka_unit_test(what_cannot_be_told_is_refused_with_its_line),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
