/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_write.h"

#include <stdio.h>

#include <cairn/log.h>

#include "base/alloc.h"
#include "formats/format.h"
#include "profile/label_list.h"
#include "support/no_memory.h"
#include "support/test.h"

static const int64_t start_ns = 1700000000000000000;

static uint32_t add_text(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

static struct cairn_profile *new_profile(const char *value, const char *unit)
{
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, "samples", "count");
    if (value)
        cairn_profile_add_type(p, value, unit);
    return p;
}

static uint32_t add_module(struct cairn_profile *p, const char *path, uint64_t start, uint64_t off,
                           const char *build_id)
{
    const struct cairn_profile_module module = {.start = start,
                                                .end = start + 0x10000,
                                                .off = off,
                                                .path = add_text(p, path),
                                                .build_id = add_text(p, build_id)};
    return cairn_profile_add_module(p, &module);
}

static uint32_t push(struct cairn_profile *p, uint32_t parent, uint32_t module, uint64_t address,
                     enum cairn_frame_what what)
{
    const struct cairn_profile_frame frame = {
        .address = address, .module = module, .what = (uint8_t)what, .how = CAIRN_HOW_TEXT};
    return cairn_profile_add_stack(p, parent, cairn_profile_add_frame(p, &frame, NULL, 0));
}

static uint32_t add_thread(struct cairn_profile *p, int pid, int tid, const char *process,
                           const char *thread, int64_t time_ns)
{
    struct cairn_label_list list = {.profile = p};
    cairn_label_list_number(&list, "pid", pid);
    cairn_label_list_number(&list, "tid", tid);
    cairn_label_list_string(&list, "process", add_text(p, process));
    cairn_label_list_string(&list, "thread", add_text(p, thread));
    return cairn_label_list_add(&list, 0, time_ns);
}

static struct cairn_profile *again(struct cairn_profile *p, unsigned keeps)
{
    struct cairn_buffer out = {0};
    struct cairn_profile *read = NULL;
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_PERF_DATA, test_write, &out, &err), err);
    struct test_input from = {.left = cairn_buffer_span(&out)};
    const struct cairn_format_input input = {.read = test_read, .ctx = &from, .keeps = keeps};
    assert_ok(cairn_format_read(&input, CAIRN_FORMAT_AUTO, &read, &err), err);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
    return read;
}

/* "path+off path+off ...", the leaf first. */
static void assert_stack(const struct cairn_profile *p, size_t sample, const char *expected)
{
    struct cairn_buffer text = {0};
    for (uint32_t at = p->samples[sample].stack; at; at = p->stacks[at].parent) {
        const struct cairn_profile_frame *frame = &p->frames[p->stacks[at].frame];
        const struct cairn_profile_module *m = &p->modules[frame->module];
        cairn_buffer_printf(&text, "%s%s+%llx", text.size ? " " : "",
                            cairn_strings_get(&p->strings, m->path),
                            (unsigned long long)(frame->address - m->start + m->off));
    }
    assert_string_equal(cairn_buffer_text(&text), expected);
    cairn_buffer_done(&text);
}

static const char *label(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *found =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return found ? cairn_strings_get(&p->strings, found->text) : "";
}

static void threads_times_values_and_both_sides_of_stacks_come_back(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu", "nanoseconds");
    const uint32_t program = add_module(p, "/bin/program", 0x400000, 0x1000, "0102030405");
    const uint32_t kernel = cairn_profile_add_kernel(p, 0xffffffff81000000, "aabbcc");
    uint32_t stack = push(p, 0, program, 0x400fff, CAIRN_WHAT_NATIVE);
    stack = push(p, stack, program, 0x401234, CAIRN_WHAT_NATIVE);
    const uint32_t in_kernel = push(p, stack, kernel, 0xffffffff81000010, CAIRN_WHAT_KERNEL);
    p->time_ns = start_ns;
    cairn_profile_add_note(p, CAIRN_NOTE_CLOCK, "1600000000000000000 ns");
    cairn_profile_add_note(p, CAIRN_NOTE_COMMAND, "cairn record -p 7");
    cairn_profile_add_note(p, CAIRN_NOTE_HOST, "there");
    cairn_profile_add_sample(p, in_kernel, add_thread(p, 7, 8, "prog", "worker", start_ns + 5),
                             (int64_t[]){1, 300});
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 7, "prog", "prog", start_ns),
                             (int64_t[]){1, 500});
    p = again(p, CAIRN_STREAM_TIMES);
    assert_int_equal(p->n_samples, 2);
    assert_stack(p, 0, "/bin/program+2234 /bin/program+1fff");
    assert_stack(p, 1, "[kernel.kallsyms]+7fffffff02000010 /bin/program+2234 /bin/program+1fff");
    assert_string_equal(label(p, 1, "thread"), "worker");
    assert_string_equal(label(p, 1, "process"), "prog");
    assert_int_equal(p->values[1], 500);
    assert_int_equal(p->values[3], 300);
    assert_int_equal(cairn_profile_time_of(p, 0), start_ns);
    assert_int_equal(cairn_profile_time_of(p, 1), start_ns + 5);
    assert_string_equal(cairn_profile_note(p, CAIRN_NOTE_CLOCK, 0), "1600000000000000000 ns");
    assert_string_equal(cairn_profile_note(p, CAIRN_NOTE_COMMAND, 0), "cairn record -p 7");
    assert_string_equal(cairn_profile_note(p, CAIRN_NOTE_HOST, 0), "there");
    assert_string_equal(cairn_strings_get(&p->strings, p->modules[1].build_id), "0102030405");
    cairn_profile_free(p);
}

/* A row of several samples is as many records, which share its value. */
static void sums_become_samples_again(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("alloc_space", "bytes");
    const uint32_t stack =
        push(p, 0, add_module(p, "/bin/program", 0x400000, 0, ""), 0x400010, CAIRN_WHAT_NATIVE);
    cairn_profile_add_sample(p, stack, 0, (int64_t[]){3, 100});
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 7, "a", "a", 0), (int64_t[]){2, 0});
    p->duration_ns = 4000;
    p = again(p, CAIRN_STREAM_TIMES);
    assert_int_equal(p->n_samples, 5);
    assert_int_equal(p->duration_ns, 4000);
    assert_string_equal(cairn_strings_get(&p->strings, p->types[1].unit), "bytes");
    assert_int_equal(p->values[1] + p->values[3] + p->values[5], 100);
    assert_int_equal(p->values[7] + p->values[9], 0);
    p = again(p, 0);
    assert_int_equal(p->n_samples, 2);
    assert_int_equal(p->values[0], 3);
    assert_int_equal(p->values[1], 100);
    assert_int_equal(p->values[2], 2);
    cairn_profile_free(p);
}

static void modules_of_different_processes_at_one_place_stay_apart(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile(NULL, NULL);
    const uint32_t one = add_module(p, "/lib/one.so", 0x400000, 0, "01");
    const uint32_t two = add_module(p, "/lib/two.so", 0x408000, 0x8000, "02");
    const uint32_t far = add_module(p, "/lib/far.so", UINT64_C(1) << 32, 0, "03");
    uint32_t stack = push(p, 0, one, 0x409000, CAIRN_WHAT_NATIVE);
    stack = push(p, stack, far, (UINT64_C(1) << 32) + 0x10, CAIRN_WHAT_NATIVE);
    stack = push(p, stack, two, 0x409000, CAIRN_WHAT_NATIVE);
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 7, "a", "a", 0), (int64_t[]){1});
    p = again(p, 0);
    assert_stack(p, 0, "/lib/two.so+9000 /lib/far.so+10 /lib/one.so+9000");
    assert_string_equal(cairn_strings_get(&p->strings, p->types[1].type), "stacks");
    cairn_profile_free(p);
}

static char logged[1024];

static void keep_log(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    if (level <= CAIRN_LOG_WARNING)
        snprintf(logged, sizeof logged, "%s", text);
}

static void what_has_no_address_is_left_out_with_a_word(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu", "nanoseconds");
    uint32_t stack =
        push(p, 0, add_module(p, "/bin/program", 0x400000, 0, ""), 0x400010, CAIRN_WHAT_NATIVE);
    stack = push(p, stack, 0, 0, CAIRN_WHAT_INTERPRETED);
    stack = push(p, stack, 0, 0x400010, CAIRN_WHAT_INLINED);
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 7, "a", "a", start_ns), (int64_t[]){1, 10});
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 7, "a", "a", start_ns),
                             (int64_t[]){1, -10});
    cairn_log_set(keep_log, NULL, CAIRN_LOG_WARNING);
    p = again(p, 0);
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    assert_string_equal(logged, "perf.data has no place for 1 frames of interpreters, 1 inlined "
                                "calls, 1 values below zero: left out");
    assert_int_equal(p->n_samples, 1);
    assert_stack(p, 0, "/bin/program+10");
    cairn_profile_free(p);
}

static void a_profile_without_addresses_is_refused(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu", "nanoseconds");
    struct cairn_buffer out = {0};
    struct cairn_err err;
    cairn_profile_add_sample(p, push(p, 0, 0, 0, CAIRN_WHAT_INTERPRETED), 0, (int64_t[]){1, 1});
    assert_int_equal(cairn_profile_write(p, CAIRN_FORMAT_PERF_DATA, test_write, &out, &err),
                     CAIRN_E_ARG);
    assert_string_equal(err.msg, "no frame has an address, and perf.data holds addresses alone");
    assert_int_equal(out.size, 0);
    cairn_buffer_done(&out);
    cairn_profile_free(p);
}

/* A record has 64 KiB: of a deeper stack the innermost frames are there. */
static void a_stack_too_deep_for_a_record_loses_its_outermost_frames(void **state)
{
    enum { DEPTH = 20000 };
    (void)state;
    struct cairn_profile *p = new_profile("cpu", "nanoseconds");
    const uint32_t module = add_module(p, "/bin/program", 0x400000, 0, "");
    uint32_t stack = 0;
    for (size_t i = 0; i < DEPTH; i++)
        stack = push(p, stack, module, 0x400001 + i, CAIRN_WHAT_NATIVE);
    cairn_profile_add_sample(p, stack, 0, (int64_t[]){1, 1});
    p = again(p, 0);
    size_t n = 0;
    for (uint32_t at = p->samples[0].stack; at; at = p->stacks[at].parent)
        n++;
    assert_int_equal(n, CAIRN_PERF_DATA_WRITE_FRAMES);
    cairn_profile_free(p);
}

/* Marks of the sides take room, too. */
static void a_stack_that_often_changes_sides_fits_its_record(void **state)
{
    enum { DEPTH = 10000 };
    (void)state;
    struct cairn_profile *p = new_profile("cpu", "nanoseconds");
    const uint32_t module = add_module(p, "/bin/program", 0x400000, 0, "");
    uint32_t stack = 0;
    for (uint64_t i = 0; i < DEPTH; i++)
        stack = i % 2 ? push(p, stack, 0, 0xffffffff81000001 + i, CAIRN_WHAT_KERNEL)
                      : push(p, stack, module, 0x400001 + i, CAIRN_WHAT_NATIVE);
    cairn_profile_add_sample(p, stack, 0, (int64_t[]){1, 1});
    cairn_profile_add_sample(p, push(p, 0, module, 0x400010, CAIRN_WHAT_NATIVE), 0,
                             (int64_t[]){1, 7});
    p = again(p, 0);
    assert_int_equal(p->n_samples, 2);
    assert_int_equal(p->values[1] + p->values[3], 8);
    cairn_profile_free(p);
}

static void texts_too_long_for_a_record_are_cut(void **state)
{
    enum { LONG = 70000 };
    (void)state;
    static char text[LONG + 1];
    struct cairn_profile *p = new_profile("cpu", "nanoseconds");
    memset(text, 'x', LONG);
    *text = '/';
    p->types[1].unit = add_text(p, text);
    const uint32_t stack =
        push(p, 0, add_module(p, text, 0x400000, 0, "01"), 0x400010, CAIRN_WHAT_NATIVE);
    cairn_profile_add_sample(p, stack, add_thread(p, 7, 8, text, text, 0), (int64_t[]){1, 7});
    p = again(p, 0);
    assert_int_equal(p->n_samples, 1);
    assert_int_equal(strlen(label(p, 0, "process")), CAIRN_PERF_DATA_WRITE_TEXT - 1);
    assert_int_equal(strlen(cairn_strings_get(&p->strings, p->modules[1].path)),
                     CAIRN_PERF_DATA_WRITE_TEXT - 1);
    cairn_profile_free(p);
}

static void a_kernel_whose_offset_is_no_address_lies_where_its_frames_are(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu", "nanoseconds");
    const uint32_t kernel = add_module(p, "[kernel.kallsyms]", 0xffffffff81000000, 0, "");
    const uint32_t program = add_module(p, "/bin/program", 0x400000, 0, "");
    uint32_t stack = push(p, 0, program, 0x400010, CAIRN_WHAT_NATIVE);
    stack = push(p, stack, kernel, 0xffffffff81002010, CAIRN_WHAT_KERNEL);
    cairn_profile_add_sample(p, stack, 0, (int64_t[]){1, 7});
    struct cairn_perf_data_place *places = cairn_perf_data_places(p);
    assert_int_equal(places[kernel].start, 0xffffffff81002000);
    assert_int_equal(places[kernel].end, 0xffffffff81003000);
    cairn_free(places);
    cairn_profile_free(p);
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile("cpu", "nanoseconds");
    const uint32_t module = add_module(p, "/bin/program", 0x400000, 0, "0102");
    cairn_profile_add_sample(p, push(p, 0, module, 0x400010, CAIRN_WHAT_NATIVE),
                             add_thread(p, 7, 8, "a", "b", start_ns), (int64_t[]){1, 1});
    test_write_without_memory(p, CAIRN_FORMAT_PERF_DATA, 5);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_times_values_and_both_sides_of_stacks_come_back),
        cmocka_unit_test(sums_become_samples_again),
        cmocka_unit_test(modules_of_different_processes_at_one_place_stay_apart),
        cmocka_unit_test(what_has_no_address_is_left_out_with_a_word),
        cmocka_unit_test(a_profile_without_addresses_is_refused),
        cmocka_unit_test(a_stack_too_deep_for_a_record_loses_its_outermost_frames),
        cmocka_unit_test(a_stack_that_often_changes_sides_fits_its_record),
        cmocka_unit_test(texts_too_long_for_a_record_are_cut),
        cmocka_unit_test(a_kernel_whose_offset_is_no_address_lies_where_its_frames_are),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
