/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "support/stack_text.h"

static const char text[] =
    "Program terminated with signal SIGSEGV, Segmentation fault.\n"
    "#0  0x0000000000001010 in fill (p=0x0) at /src dir/a.c:48\n"
    "48\t    *p = 1;\n"
    "[Current thread is 2 (Thread 0x7f3a8ae276c0 (LWP 29163))]\n"
    "Thread 2 (Thread 0x7f3a8ae276c0 (LWP 29163) \"wor ker)\"):\n"
    "#0  0x0000000000001010 in fill (p=0x0) at /src dir/a.c:48\n"
    "#1  0x0000000000001021 in F<void (int)>::operator()(int) const (this=0x7ff,\n"
    "    text=0x1 \"he said \\\") at x:1\") at a.c:5\n"
    "#2  operator<< <int> (p=1) at a.c:7\n"
    "        local = 3\n"
    "#3  <signal handler called>\n"
    "#4  spin () at a.c:9\n"
    "#5  0x0000000000001031 in ?? ()\n"
    "#6  0x0000000000001041 in poll () from /lib/x.so\n"
    "\n"
    "Thread 1 (LWP 29160):\n"
    "#0  0x0000000000001050 in (anonymous namespace)::f(int) ()\n"
    "Backtrace stopped: corrupt stack?\n"
    "PID 7 - process\n"
    "TID 8:\n"
    "#0  0x0000000000001060     nap@GLIBC_2.2.5 - /lib/libc.so.6\n"
    "    [93AC]@0x1000+0x60\n"
    "    ../sysdeps/nap.c:48:7\n"
    "#1  0x0000000000001071 - 1 - /bin/th\n"
    "    [8a0c]@0x1000+0x70\n"
    "#2  0x0000000000001081 - 1 leaf - /bin/th\n"
    "#3  0x0000000000001091\n"
    "Nov 29 10:11:12 host systemd-coredump[77]: Process 4813 (paintd) of user 1000 dumped core.\n"
    "        Signal: 11 (SEGV)\n"
    "                Module /bin/paintd with build-id 8a0d\n"
    "                Stack trace of thread 4814:\n"
    "                #0  0x00000000000010a0 poll (libc.so.6 + 0xa0)\n"
    "                #1  0x00000000000010b1 n/a (/bin/paintd + 0xb1)\n"
    "                Stack trace of thread 4813:\n"
    "                #0  0x00000000000010c0 poll (libc.so.6 + 0xc0)\n";

static const struct test_stack_text debugger = {
    .text = text,
    .size = sizeof text - 1,
    .format = CAIRN_FORMAT_DEBUGGER,
    .n_samples = 5,
    .names = "fill F<void (int)>::operator()(int) const operator<< <int> [unknown] poll "
             "<signal handler called> spin (anonymous namespace)::f(int) nap leaf",
};

static int read_sized(const char *from, size_t size, enum cairn_format format,
                      struct cairn_profile **ret_profile, struct cairn_err *err)
{
    return test_read_profile((struct cairn_span){(const uint8_t *)from, size}, format, ret_profile,
                             err);
}

static struct cairn_profile *read_text(void)
{
    return test_stack_text_read(&debugger, CAIRN_FORMAT_AUTO);
}

static void assert_text(const struct cairn_profile *p, size_t sample, const char *key,
                        const char *expected)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    assert_int_equal(label != NULL, expected != NULL);
    if (label)
        assert_string_equal(cairn_strings_get(&p->strings, label->text), expected);
}

static void each_thread_is_a_sample_with_its_labels(void **state)
{
    (void)state;
    static const struct {
        int64_t pid, tid;
        const char *thread, *process, *stack, *report;
    } rows[] = {
        {-1, 29163, "wor ker)", NULL, "crashed", "signal SIGSEGV, Segmentation fault"},
        {-1, 29160, NULL, NULL, NULL, NULL},
        {7, 8, NULL, NULL, NULL, NULL},
        {4813, 4814, NULL, "paintd", "crashed", "Signal: 11 (SEGV)"},
        {4813, 4813, NULL, "paintd", NULL, NULL},
    };
    struct cairn_profile *p = read_text();
    assert_int_equal(p->n_samples, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct cairn_profile_label *pid =
            cairn_profile_find_label(p, p->samples[i].labels, "pid");
        const struct cairn_profile_label *tid =
            cairn_profile_find_label(p, p->samples[i].labels, "tid");
        assert_int_equal(pid ? pid->number : -1, rows[i].pid);
        assert_int_equal(tid ? tid->number : -1, rows[i].tid);
        assert_text(p, i, "thread", rows[i].thread);
        assert_text(p, i, "process", rows[i].process);
        assert_text(p, i, "stack", rows[i].stack);
        assert_text(p, i, "report", rows[i].report);
        assert_string_equal(cairn_profile_cut_of(p, i), i == 1 ? "corrupt stack?" : "");
    }
    cairn_profile_free(p);
}

struct frame_row {
    const char *name, *file, *module, *build_id;
    uint32_t line;
    uint64_t address;
    uint8_t what;
};

static void assert_frames(const struct cairn_profile *p, size_t sample,
                          const struct frame_row *rows, size_t n)
{
    uint32_t at = p->samples[sample].stack;
    for (size_t i = 0; i < n; i++, at = p->stacks[at].parent) {
        const struct cairn_profile_frame *frame = &p->frames[p->stacks[at].frame];
        const struct cairn_profile_module *module = &p->modules[frame->module];
        assert_int_equal(frame->n_lines, rows[i].name != NULL);
        assert_int_equal(frame->address, rows[i].address);
        assert_int_equal(frame->what, rows[i].what);
        assert_string_equal(cairn_strings_get(&p->strings, module->path), rows[i].module);
        assert_string_equal(cairn_strings_get(&p->strings, module->build_id), rows[i].build_id);
        if (!rows[i].name)
            continue;
        const struct cairn_profile_line *line = &p->lines[frame->lines];
        const struct cairn_profile_function *function = &p->functions[line->function];
        assert_int_equal(line->line, rows[i].line);
        assert_string_equal(cairn_strings_get(&p->strings, function->name), rows[i].name);
        assert_string_equal(cairn_strings_get(&p->strings, function->file), rows[i].file);
    }
    assert_int_equal(at, 0);
}

static void frames_have_what_the_text_says(void **state)
{
    (void)state;
    enum { NATIVE = CAIRN_WHAT_NATIVE };
    static const struct frame_row gdb[] = {
        {"fill", "/src dir/a.c", "", "", 48, 0, NATIVE},
        {"F<void (int)>::operator()(int) const", "a.c", "", "", 5, 0, CAIRN_WHAT_INLINED},
        {"operator<< <int>", "a.c", "", "", 7, 0, NATIVE},
        {"<signal handler called>", "", "", "", 0, 0, NATIVE},
        {"spin", "a.c", "", "", 9, 0, NATIVE},
        {NULL, "", "", "", 0, 0x1030, NATIVE},
        {"poll", "", "/lib/x.so", "", 0, 0, NATIVE},
    };
    static const struct frame_row plain[] = {
        {"(anonymous namespace)::f(int)", "", "", "", 0, 0, NATIVE}};
    static const struct frame_row eu[] = {
        {"nap", "../sysdeps/nap.c", "/lib/libc.so.6", "93ac", 48, 0x60, NATIVE},
        {NULL, "", "/bin/th", "8a0c", 0, 0x70, NATIVE},
        {"leaf", "", "/bin/th", "", 0, 0, NATIVE},
        {NULL, "", "", "", 0, 0x1090, NATIVE},
    };
    static const struct frame_row systemd[] = {
        {"poll", "", "libc.so.6", "", 0, 0xa0, NATIVE},
        {NULL, "", "/bin/paintd", "8a0d", 0, 0xb0, NATIVE},
    };
    struct cairn_profile *p = read_text();
    assert_frames(p, 0, gdb, sizeof gdb / sizeof *gdb);
    assert_frames(p, 1, plain, sizeof plain / sizeof *plain);
    assert_frames(p, 2, eu, sizeof eu / sizeof *eu);
    assert_frames(p, 3, systemd, sizeof systemd / sizeof *systemd);
    cairn_profile_free(p);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    assert_int_equal(test_stack_text_cuts(&debugger), 5);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    test_stack_text_odd_bytes(&debugger, 1, 3);
}

static void long_lines_and_odd_numbers_lose_nothing_else(void **state)
{
    (void)state;
    enum { LONG = 1 << 20 };
    static char from[2 * LONG + 512];
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    int n = snprintf(from, sizeof from, "#0  f () at a.c:1\n#7  g (x=1,\n");
    for (int i = 0; i < LONG / 8; i++, n += 8)
        memcpy(from + n, "    y=(\n", 8);
    n += snprintf(from + n, sizeof from - (size_t)n, "    z=3) at b.c:2\n#0  0x");
    memset(from + n, '#', LONG);
    n += LONG;
    n += snprintf(from + n, sizeof from - (size_t)n,
                  "\n#99999999999999999999  h () at c.c:3\n#8  k () at d.c:4\n");
    assert_ok(read_sized(from, (size_t)n, CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_int_equal(p->n_samples, 1);
    uint32_t frame = p->stacks[p->samples[0].stack].frame;
    assert_string_equal(
        cairn_strings_get(&p->strings,
                          p->functions[p->lines[p->frames[frame].lines].function].name),
        "f");
    assert_int_equal(p->n_functions, 4);
    cairn_profile_free(p);
}

/* From each '#' on the line would be read to its end: minutes, where it is read once in no time. */
static void a_line_of_nothing_but_heads_of_frames_is_read_once(void **state)
{
    (void)state;
    enum { SIZE = 16 << 20 };
    static const char head[] = "#0 0x1 in {", frame[] = "\n#0  f () at a.c:1\n";
    char *from = malloc(SIZE + sizeof frame);
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_non_null(from);
    for (size_t i = 0; i < SIZE; i++)
        from[i] = head[i % (sizeof head - 1)];
    memcpy(from + SIZE, frame, sizeof frame);
    assert_ok(read_sized(from, SIZE + sizeof frame - 1, CAIRN_FORMAT_DEBUGGER, &p, &err), err);
    assert_int_equal(p->n_samples, 1);
    cairn_profile_free(p);
    free(from);
}

static void other_frames_with_numbers_are_not_recognised(void **state)
{
    (void)state;
    static const char *const others[] = {
        "    #0 0x55d1 in main (/bin/a+0xa31e) (BuildId: 6214ba)\n",
        "#0 of 3\n",
        "main;f 3\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_not_equal(cairn_format_of_bytes(others[i], strlen(others[i])),
                             CAIRN_FORMAT_DEBUGGER);
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    test_stack_text_fails("Thread 1 (LWP 29160):\n", "a debugger's text without a stack",
                          "thread apply all bt");
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_stack_text_no_memory(&debugger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_is_a_sample_with_its_labels),
        cmocka_unit_test(frames_have_what_the_text_says),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(long_lines_and_odd_numbers_lose_nothing_else),
        cmocka_unit_test(a_line_of_nothing_but_heads_of_frames_is_read_once),
        cmocka_unit_test(other_frames_with_numbers_are_not_recognised),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
