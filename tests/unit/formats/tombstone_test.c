/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "support/stack_text.h"

#define BANNER "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n"
#define NEXT   "--- --- --- --- --- --- --- --- --- --- --- --- --- --- --- ---\n"

static const char text[] =
    "a line of the program\n" BANNER
    "Build fingerprint: 'acme/slate/slate:13/TQ1A/93:user/release-keys'\n"
    "ABI: 'arm64'\n"
    "pid: 48, tid: 49, name: Render thread  >>> org.acme <<<\n"
    "signal 6 (SIGABRT), code -1 (SI_QUEUE), fault addr --------\n"
    "Abort message: 'it's over'\n"
    "    x0  0000000000000000  x1  0000000000000ca5\n"
    "backtrace:\n"
    "      #00 pc 0000000000000100  /lib64/libc.so (abort+164) (BuildId: 0AD5)\n"
    "05-06 07:08:08.000  4813  4830 I other   : a line between\n"
    "      #01 pc 0000000000000200  /data/base.apk!libx.so (offset 0x5000) "
    "(x::B<void (int)>::operator()(int, long) const+8) (BuildId: 4f21)\n"
    "\t#02\tpc 0000000000000300\t/data/base.apk!libx.so (offset 0x5000) (BuildId: 4f21)\n"
    "      #03 pc 0000000000000010  <anonymous:7d8d000000>\n"
    "      #04 pc 0000000000000000  <unknown>\n"
    "memory near x1:\n"
    "    0000007d8da5b1c0 0000007d8da5b1e0 0000000000000000  ....}...........\n" NEXT
    "pid: 48, tid: 48, name: main  >>> org.acme <<<\n"
    "backtrace:\n"
    "      #00 pc 0000000000000100  /lib64/libc.so (poll) (BuildId: 0ad5)\n"
    "--------- tail end of log main\n"
    "F/DEBUG   ( 1301):     #00 pc 00000f10  /lib/old.so (older+1)\n" BANNER
    "F/DEBUG   ( 1301): Build fingerprint: 'acme/slate/slate:10/QP1A/1:user/release-keys'\n"
    "F/DEBUG   ( 1301): pid: 7, tid: 8  >>> /bin/d <<<\n"
    "F/DEBUG   ( 1301):  #00  pc 00000f10  /lib/libd.so\n"
    "F/DEBUG   ( 1301):  #01  pc 00000f20  /memfd:jit-cache (deleted) (a.B.c+4)\n" BANNER
    "D: Build fingerprint: 'acme/slate/slate:7.1.2/N/1:user/release-keys'\n"
    "D: pid: 9, tid: 9, name: e  >>> /bin/e <<<\n"
    "D:     #00 pc 00000f10  /lib/libd.so (offset 0x2000)\n"
    "D:     #01 pc 00000f30  /data/base.apk (offset 0x5000)\n"
    "----- pid 11 at 2023-05-06 07:08:09 -----\n"
    "Cmd line: org.other\n"
    "\"Jit \"thread\"\" sysTid=12\n"
    "    #00 pc 0000000000000400  /lib64/libc.so (syscall+28) (BuildId: 0ad5)\n"
    "----- end 11 -----\n";

static const struct test_stack_text tombstone = {
    .text = text,
    .size = sizeof text - 1,
    .format = CAIRN_FORMAT_TOMBSTONE,
    .n_samples = 5,
    .names = "abort x::B<void (int)>::operator()(int, long) const [null] poll a.B.c syscall",
    .modules =
        "/lib64/libc.so /data/base.apk!/libx.so /lib/libd.so /memfd:jit-cache /data/base.apk",
};

static int read_sized(const char *from, size_t size, enum cairn_format format,
                      struct cairn_profile **ret_profile, struct cairn_err *err)
{
    return test_read_profile((struct cairn_span){(const uint8_t *)from, size}, format, ret_profile,
                             err);
}

static struct cairn_profile *read_text(void)
{
    return test_stack_text_read(&tombstone, CAIRN_FORMAT_AUTO);
}

static const char *label_of(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return label ? cairn_strings_get(&p->strings, label->text) : NULL;
}

static int64_t number_of(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return label ? label->number : -1;
}

static void each_thread_is_a_sample_with_its_labels(void **state)
{
    (void)state;
    static const struct {
        const char *process, *thread, *stack;
        int64_t pid, tid;
    } rows[] = {
        {"org.acme", "Render thread", "crashed", 48, 49},
        {"org.acme", "main", NULL, 48, 48},
        {"/bin/d", NULL, NULL, 7, 8},
        {"/bin/e", "e", NULL, 9, 9},
        {"org.other", "Jit \"thread\"", NULL, 11, 12},
    };
    struct cairn_profile *p = read_text();
    assert_int_equal(p->n_samples, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < p->n_samples; i++) {
        const char *const found[] = {label_of(p, i, "process"), label_of(p, i, "thread"),
                                     label_of(p, i, "stack")};
        const char *const expected[] = {rows[i].process, rows[i].thread, rows[i].stack};
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(found[k] != NULL, expected[k] != NULL);
            if (found[k])
                assert_string_equal(found[k], expected[k]);
        }
        assert_int_equal(number_of(p, i, "pid"), rows[i].pid);
        assert_int_equal(number_of(p, i, "tid"), rows[i].tid);
    }
    assert_string_equal(label_of(p, 0, "report"),
                        "signal 6 (SIGABRT), code -1 (SI_QUEUE), fault addr --------");
    assert_string_equal(label_of(p, 0, "message"), "it's over");
    assert_null(label_of(p, 1, "message"));
    assert_string_equal(cairn_profile_note(p, CAIRN_NOTE_HOST, 0),
                        "acme/slate/slate:13/TQ1A/93:user/release-keys");
    cairn_profile_free(p);
}

struct frame_row {
    const char *name, *module, *build_id;
    uint64_t address, end, off;
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
        assert_string_equal(cairn_strings_get(&p->strings, module->path), rows[i].module);
        assert_string_equal(cairn_strings_get(&p->strings, module->build_id), rows[i].build_id);
        assert_int_equal(module->start, 0);
        assert_int_equal(module->end, rows[i].end);
        assert_int_equal(module->off, rows[i].off);
        if (rows[i].name)
            assert_string_equal(
                cairn_strings_get(&p->strings, p->functions[p->lines[frame->lines].function].name),
                rows[i].name);
    }
    assert_int_equal(at, 0);
}

static void frames_count_from_what_the_version_says(void **state)
{
    (void)state;
    static const struct frame_row new[] = {
        {"abort", "/lib64/libc.so", "0ad5", 0x100, 0, 0},
        {"x::B<void (int)>::operator()(int, long) const", "/data/base.apk!/libx.so", "4f21", 0x200,
         0, 0},
        {NULL, "/data/base.apk!/libx.so", "4f21", 0x300, 0, 0},
        {NULL, "", "", 0x7d8d000010, 0, 0},
        {"[null]", "", "", 0, 0, 0},
    };
    static const struct frame_row ten[] = {
        {NULL, "/lib/libd.so", "", 0xf10, UINT64_MAX, 0},
        {"a.B.c", "/memfd:jit-cache", "", 0xf20, UINT64_MAX, 0},
    };
    static const struct frame_row seven[] = {
        {NULL, "/lib/libd.so", "", 0xf10, UINT64_MAX, 0x2000},
        {NULL, "/data/base.apk", "", 0xf30, UINT64_MAX, 0x5000},
    };
    struct cairn_profile *p = read_text();
    assert_frames(p, 0, new, sizeof new / sizeof *new);
    assert_frames(p, 2, ten, sizeof ten / sizeof *ten);
    assert_frames(p, 3, seven, sizeof seven / sizeof *seven);
    cairn_profile_free(p);
}

static void a_text_that_is_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    assert_int_equal(test_stack_text_cuts(&tombstone), 5);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    test_stack_text_odd_bytes(&tombstone, 2, 2);
}

static void odd_numbers_and_long_lines_lose_nothing_else(void **state)
{
    (void)state;
    enum { LONG = 1 << 20 };
    static char from[LONG + 512];
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    int n = snprintf(from, sizeof from,
                     "#0 pc 10 /a (f+1)\n#0 pc 10 /a (f+1)\n#9223372036854775807 pc 20 /a (g+1)\n"
                     "#99999999999999999999 pc 30 /a (h+1)\n#1 pc 11112222333344445 /a (i+1)\n");
    memset(from + n, '#', LONG);
    n += LONG;
    n += snprintf(from + n, sizeof from - (size_t)n, " pc 40 /a (j+1)\n#3 pc 50 /a (k+1)\n");
    assert_ok(read_sized(from, (size_t)n, CAIRN_FORMAT_AUTO, &p, &err), err);
    assert_int_equal(p->n_samples, 3); /* f, then f and g, then k */
    assert_int_equal(p->n_functions, 4);
    cairn_profile_free(p);
}

static void text_without_a_stack_is_an_error_with_a_hint(void **state)
{
    (void)state;
    test_stack_text_fails(BANNER "pid: 1, tid: 1, name: init  >>> /init <<<\n",
                          "a tombstone without a stack", "/data/tombstones");
}

static void a_log_of_two_kinds_is_an_error_that_names_both(void **state)
{
    (void)state;
    static const char from[] = "#0 pc 10 /a (f+1)\n==9== Memcheck, a memory error detector\n";
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_fails(read_sized(from, sizeof from - 1, CAIRN_FORMAT_AUTO, &p, &err), CAIRN_E_FORMAT,
                 err, "it holds reports of two kinds, valgrind and tombstone");
    assert_ok(read_sized(from, sizeof from - 1, CAIRN_FORMAT_TOMBSTONE, &p, &err), err);
    cairn_profile_free(p);
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_stack_text_no_memory(&tombstone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_is_a_sample_with_its_labels),
        cmocka_unit_test(frames_count_from_what_the_version_says),
        cmocka_unit_test(a_text_that_is_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(odd_numbers_and_long_lines_lose_nothing_else),
        cmocka_unit_test(text_without_a_stack_is_an_error_with_a_hint),
        cmocka_unit_test(a_log_of_two_kinds_is_an_error_that_names_both),
        cmocka_unit_test(lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
