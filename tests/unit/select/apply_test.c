/* SPDX-License-Identifier: MIT */
/* What filters leave of a profile, and what they say that they took. A profile is written as
 * collapsed stacks, which is what a person can read. */
#include <cairn/select.h>

#include "base/alloc.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/test.h"

enum { N_SAMPLES = 6 };

/* Of two processes, three threads, two CPUs; times in seconds from 100. */
static const struct row {
    int pid, tid, cpu;
    const char *process, *thread, *cut;
    double time;
    int64_t n, ns, faults;
} rows[N_SAMPLES] = {
    {10, 10, 0, "server", "main", NULL, 100, 1, 10, 0},
    {10, 11, 1, "server", "io-1", "no rule", 100.5, 2, 20, 0},
    {10, 11, 1, "server", "io-1", NULL, 101, 4, 0, 4},
    {10, 12, 0, "server", "io-2", CAIRN_PROFILE_GAP, 101.5, 8, 80, 0},
    {20, 20, 1, "client", "main", "no rule", 102, 16, 160, 0},
    {20, 20, 0, "client", "main", "no rule", 103, 32, 0, 32},
};
static const char stacks[] = "main;a;f 1\nmain;b;f 1\nmain;a;g 1\nmain;b 1\nmain 1\nmain;c 1\n";

static uint32_t text_of(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

static void add_number(struct cairn_profile *p, struct cairn_profile_label *labels, uint32_t *n,
                       const char *key, int64_t number)
{
    labels[(*n)++] = (struct cairn_profile_label){.key = text_of(p, key), .number = number};
}

static void add_name(struct cairn_profile *p, struct cairn_profile_label *labels, uint32_t *n,
                     const char *key, const char *text)
{
    if (text)
        labels[(*n)++] =
            (struct cairn_profile_label){.key = text_of(p, key), .text = text_of(p, text)};
}

static uint32_t labels_of(struct cairn_profile *p, const struct row *row)
{
    struct cairn_profile_label labels[8] = {0};
    uint32_t n = 0;
    add_number(p, labels, &n, "pid", row->pid);
    add_number(p, labels, &n, "tid", row->tid);
    add_number(p, labels, &n, "cpu", row->cpu);
    add_name(p, labels, &n, "process", row->process);
    add_name(p, labels, &n, "thread", row->thread);
    return cairn_profile_add_label_set(p, labels, n, row->cut ? text_of(p, row->cut) : 0,
                                       (int64_t)(row->time * 1e9));
}

/* The stacks of the text, with the labels and values of the rows; samples are shown first. */
static struct cairn_profile *make(void)
{
    struct cairn_profile *from, *p;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_span_of(stacks), CAIRN_FORMAT_COLLAPSED, &from, &err), err);
    assert_ok(cairn_profile_new(&p, &err), err);
    cairn_profile_add_type(p, "samples", "count");
    cairn_profile_add_type(p, "cpu", "nanoseconds");
    cairn_profile_add_type(p, "page-faults", "count");
    p->default_type = text_of(p, "samples");
    p->duration_ns = 3000000000;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        uint32_t frames[4], stack = 0;
        size_t n = cairn_profile_stack(from, from->samples[i].stack, frames, 4);
        while (n-- > 0) {
            const struct cairn_profile_frame *frame = &from->frames[frames[n]];
            const char *name = cairn_strings_get(
                &from->strings, from->functions[from->lines[frame->lines].function].name);
            const struct cairn_profile_function function = {.name = text_of(p, name),
                                                            .system_name = text_of(p, name)};
            /* Each sample has an address and a line of its own. */
            const struct cairn_profile_line line = {cairn_profile_add_function(p, &function),
                                                    (uint32_t)i + 1};
            const struct cairn_profile_frame named = {.address = 0x1000 + i};
            stack = cairn_profile_add_stack(p, stack, cairn_profile_add_frame(p, &named, &line, 1));
        }
        const int64_t values[] = {rows[i].n, rows[i].ns, rows[i].faults};
        cairn_profile_add_sample(p, stack, labels_of(p, &rows[i]), values);
    }
    cairn_profile_free(from);
    return p;
}

static struct cairn_select *one(enum cairn_select_kind kind, int excludes, const char *text)
{
    struct cairn_select *select;
    struct cairn_err err;
    assert_ok(cairn_select_new(&select, &err), err);
    assert_ok(cairn_select_add(select, kind, excludes, text, &err), err);
    return select;
}

static int64_t sum_of(const struct cairn_profile *p, size_t type)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        sum += p->values[i * p->n_types + type];
    return sum;
}

/* The kept samples as bits: each row counts a bit of its own. */
static void assert_kept(struct cairn_select *select, int64_t kept)
{
    struct cairn_select_step step = {.size = sizeof step};
    struct cairn_profile *p = make();
    struct cairn_err err;
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_int_equal(sum_of(p, 0), kept);
    uint64_t n_dropped = 0;
    for (size_t i = 0; cairn_select_step(select, i, &step) == CAIRN_OK; i++)
        n_dropped += step.changes ? 0 : step.n_samples;
    assert_int_equal(n_dropped, 63 - kept);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void each_kind_keeps_what_matches(void **state)
{
    (void)state;
    static const struct {
        enum cairn_select_kind kind;
        const char *text;
        int64_t kept;
    } cases[] = {
        {CAIRN_SELECT_PID, "10", 15},
        {CAIRN_SELECT_PID, "1,20", 48},
        {CAIRN_SELECT_TID, "11-12", 14},
        {CAIRN_SELECT_PROCESS, "^cl", 48},
        {CAIRN_SELECT_THREAD, "^io-", 14},
        {CAIRN_SELECT_THREAD, "nothing", 0},
        {CAIRN_SELECT_CPU, "1", 22},
        {CAIRN_SELECT_EVENT, "cpu", 27},
        {CAIRN_SELECT_EVENT, "page-faults", 36},
        {CAIRN_SELECT_TIME, "0.5-1.5", 6},
        {CAIRN_SELECT_TIME, "-1", 3},
        {CAIRN_SELECT_TIME, "2-", 48},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_kept(one(cases[i].kind, 0, cases[i].text), cases[i].kept);
        assert_kept(one(cases[i].kind, 1, cases[i].text), 63 - cases[i].kept);
    }
}

static void kinds_combine_and_one_kind_offers_alternatives(void **state)
{
    (void)state;
    struct cairn_select *select = one(CAIRN_SELECT_THREAD, 0, "main");
    struct cairn_err err;
    assert_ok(cairn_select_add(select, CAIRN_SELECT_THREAD, 0, "io-2", &err), err);
    assert_ok(cairn_select_add(select, CAIRN_SELECT_CPU, 0, "0", &err), err);
    assert_ok(cairn_select_add(select, CAIRN_SELECT_TIME, 1, "0-1", &err), err);
    assert_kept(select, 8 + 32);
}

static void steps_count_what_each_took_of_what_was_left(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_PID, 0, "20");
    struct cairn_select_step step = {.size = sizeof step};
    struct cairn_err err;
    assert_ok(cairn_select_add(select, CAIRN_SELECT_CPU, 1, "1", &err), err);
    assert_ok(cairn_select_apply(select, p, "cpu", &err), err);
    assert_int_equal(cairn_select_step(select, 0, &step), CAIRN_OK);
    assert_string_equal(step.name, "pid");
    assert_int_equal(step.n_before, 63);
    assert_int_equal(step.n_samples, 15);
    assert_int_equal(step.value, 110);
    assert_string_equal(step.type, "cpu");
    assert_string_equal(step.unit, "nanoseconds");
    assert_int_equal(cairn_select_step(select, 1, &step), CAIRN_OK);
    assert_string_equal(step.name, "exclude-cpu");
    assert_int_equal(step.n_before, 48);
    assert_int_equal(step.n_samples, 16);
    assert_int_equal(step.value, 160);
    assert_int_equal(cairn_select_step(select, 2, &step), CAIRN_E_ARG);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void one_event_is_shown_first_and_time_shortens_the_profile(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_EVENT, 0, "page-faults");
    struct cairn_err err;
    assert_ok(cairn_select_add(select, CAIRN_SELECT_TIME, 0, "0.5-2", &err), err);
    assert_ok(cairn_select_add(select, CAIRN_SELECT_TIME, 0, "1-2.5", &err), err);
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_int_equal(cairn_profile_default_value(p), 2);
    assert_int_equal(p->duration_ns, 2000000000);
    assert_int_equal(sum_of(p, 0), 4);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void assert_lasts(int64_t ns, const char *in, const char *out, const char *also_out)
{
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_TIME, 1, out);
    struct cairn_err err;
    assert_ok(cairn_select_add(select, CAIRN_SELECT_TIME, 1, also_out, &err), err);
    if (in)
        assert_ok(cairn_select_add(select, CAIRN_SELECT_TIME, 0, in, &err), err);
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_int_equal(p->duration_ns, ns);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void excluded_time_does_not_count(void **state)
{
    (void)state;
    assert_lasts(2000000000, NULL, "1-2", "1.5-2"); /* of 3 s */
    assert_lasts(750000000, "0.25-1.5", "-0.5", "1.25-");
    assert_lasts(0, "0-1", "0-0.5", "0.5-2");
    assert_lasts(3000000000, NULL, "3-4", "7-");
}

static void cut_stacks_leave_and_gaps_stay(void **state)
{
    (void)state;
    assert_kept(one(CAIRN_SELECT_CUT, 0, ""), 1 + 4 + 8);
    /* One row of io-1 counts two samples, the run of the client's 48. */
    assert_kept(one(CAIRN_SELECT_CUT, 0, "2"), 63 - 2);
    assert_kept(one(CAIRN_SELECT_CUT, 0, "1"), 63);
    assert_kept(one(CAIRN_SELECT_CUT, 0, "48"), 1 + 4 + 8);
}

static void a_filter_file_asks_by_thread(void **state)
{
    (void)state;
    assert_kept(one(CAIRN_SELECT_TIME_FILE, 0,
                    "THREAD_BEGIN 11 100900000000\nTHREAD_END 11 102000000000\n"
                    "THREAD_BEGIN 20 102500000000\n"),
                4 + 32);
    assert_kept(one(CAIRN_SELECT_TIME_FILE, 0,
                    "GLOBAL_BEGIN 101000000000\nPROCESS_BEGIN 10 1\nGLOBAL_END 103000000000\n"),
                4 + 8);
}

static void assert_refused(enum cairn_select_kind kind, const char *text, struct cairn_profile *p,
                           const char *part)
{
    struct cairn_select *select = one(kind, 0, text);
    size_t n = p->n_samples;
    struct cairn_err err = {0};
    assert_int_equal(cairn_select_apply(select, p, NULL, &err), CAIRN_E_ARG);
    if (!strstr(err.msg, part))
        fail_msg("\"%s\" lacks \"%s\"", err.msg, part);
    assert_int_equal(p->n_samples, n);
    cairn_select_free(select);
}

static void what_no_sample_says_is_refused(void **state)
{
    (void)state;
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_span_of(stacks), CAIRN_FORMAT_COLLAPSED, &p, &err), err);
    assert_refused(CAIRN_SELECT_PID, "1", p, "--pid: no sample says of which process");
    assert_refused(CAIRN_SELECT_PROCESS, "x", p, "--process: no sample has the name");
    assert_refused(CAIRN_SELECT_THREAD, "x", p, "--thread: no sample has the name");
    assert_refused(CAIRN_SELECT_CPU, "1", p, "--cpu: no sample says on which CPU");
    assert_refused(CAIRN_SELECT_TIME, "0-1", p, "--time: no sample says when");
    assert_refused(CAIRN_SELECT_TIME_FILE, "GLOBAL_BEGIN 1", p, "--time-file: no sample says when");
    assert_refused(CAIRN_SELECT_CUT, "3", p, "--drop-cut: no sample says when");
    assert_refused(CAIRN_SELECT_MERGE_THREADS, "x", p, "--merge-threads: no sample");
    assert_refused(CAIRN_SELECT_PER_CPU, "", p, "--per-cpu: no sample says on which CPU");
    assert_refused(CAIRN_SELECT_EVENT, "cycles", p, "no event is called \"cycles\"");
    cairn_profile_free(p);
    p = make();
    assert_refused(CAIRN_SELECT_TIME, "12:00-12:01", p, "--time: the samples' times are not clock");
    assert_refused(CAIRN_SELECT_TIME_FILE, "CLOCK realtime\nGLOBAL_BEGIN 1", p, "clock realtime");
    cairn_profile_free(p);
}

static void samples_without_the_label_are_counted(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_CPU, 0, "0-9");
    struct cairn_select_step step = {.size = sizeof step};
    struct cairn_err err;
    p->samples[5].labels = 0;
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_int_equal(cairn_select_step(select, 0, &step), CAIRN_OK);
    assert_int_equal(step.n_samples, 32);
    assert_int_equal(step.n_without, 32);
    assert_int_equal(p->n_samples, 5);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void drop_times(struct cairn_profile *p)
{
    for (size_t i = 0; i < p->n_label_sets; i++)
        p->label_sets[i].time_ns = 0;
}

static const char *label_of(const struct cairn_profile *p, size_t sample, const char *key)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, key);
    return label ? cairn_strings_get(&p->strings, label->text) : NULL;
}

static void threads_are_merged_by_name(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_MERGE_THREADS, 0, "^io");
    struct cairn_select_step step = {.size = sizeof step};
    struct cairn_err err;
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_int_equal(p->n_samples, N_SAMPLES); /* their times differ */
    assert_string_equal(label_of(p, 1, "thread"), "^io");
    assert_string_equal(label_of(p, 3, "thread"), "^io");
    assert_null(label_of(p, 3, "tid"));
    assert_string_equal(label_of(p, 4, "thread"), "main");
    assert_int_equal(cairn_select_step(select, 0, &step), CAIRN_OK);
    assert_true(step.changes);
    assert_int_equal(step.n_samples, 14);
    assert_int_equal(sum_of(p, 0), 63);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void cpus_take_the_place_of_threads(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_PER_CPU, 0, "");
    struct cairn_err err;
    drop_times(p);
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_string_equal(label_of(p, 0, "thread"), "CPU 0");
    assert_string_equal(label_of(p, 1, "thread"), "CPU 1");
    assert_null(label_of(p, 0, "pid"));
    assert_null(label_of(p, 0, "process"));
    assert_int_equal(sum_of(p, 0), 63);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void what_no_kept_sample_says_is_no_failure(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_PER_CPU, 0, "");
    struct cairn_err err;
    p->samples[5].labels = 0; /* alone says nothing of its CPU, and is alone kept */
    assert_ok(cairn_select_add(select, CAIRN_SELECT_PID, 1, "10-20", &err), err);
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_int_equal(sum_of(p, 0), 32);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void assert_stacks(const struct cairn_profile *p, const char *expected)
{
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(p, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
}

static void hidden_frames_leave_their_callees_to_their_callers(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_HIDE, 0, "^[ab]$");
    struct cairn_select_step step = {.size = sizeof step};
    struct cairn_err err;
    assert_ok(cairn_select_add(select, CAIRN_SELECT_HIDE, 0, "c", &err), err);
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_stacks(p, "main;f 3\nmain;g 4\nmain 56\n");
    assert_int_equal(cairn_select_step(select, 0, &step), CAIRN_OK);
    assert_int_equal(step.n_samples, 63 - 16);
    cairn_profile_free(p);
    cairn_select_free(select);
}

/* Of the thread and with the stack that a sample has. */
static void add_marker(struct cairn_profile *p, size_t sample)
{
    const struct cairn_profile_marker marker = {.name = text_of(p, "open"),
                                                .stack = p->samples[sample].stack,
                                                .labels = p->samples[sample].labels};
    assert_int_not_equal(cairn_profile_add_marker(p, &marker), UINT32_MAX);
}

static void hidden_frames_leave_the_stacks_of_markers(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_HIDE, 0, "^[abc]$");
    struct cairn_select_step step = {.size = sizeof step};
    struct cairn_err err;
    add_marker(p, 2);
    add_marker(p, 5);
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_int_equal(p->markers[0].stack, p->samples[2].stack);
    assert_int_equal(p->markers[1].stack, p->samples[5].stack);
    assert_int_equal(cairn_select_step(select, 0, &step), CAIRN_OK);
    assert_int_equal(step.n_samples, 63 - 16); /* markers are not counted */
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void markers_are_filtered_without_samples_too(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_THREAD, 0, "^io-1$");
    struct cairn_select_step step = {.size = sizeof step};
    struct cairn_err err;
    add_marker(p, 1);
    add_marker(p, 4);
    p->n_samples = 0;
    assert_ok(cairn_select_add(select, CAIRN_SELECT_MERGE_THREADS, 0, "io", &err), err);
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_int_equal(p->n_markers, 1);
    const struct cairn_profile_label *thread =
        cairn_profile_find_label(p, p->markers[0].labels, "thread");
    assert_string_equal(cairn_strings_get(&p->strings, thread->text), "io");
    assert_int_equal(cairn_select_step(select, 0, &step), CAIRN_OK);
    assert_int_equal(step.n_before, 0);
    p->markers[0].labels = 0;
    assert_refused(CAIRN_SELECT_CPU, "1", p, "--cpu: no sample says on which CPU");
    assert_int_equal(p->n_markers, 1);
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void frames_of_a_function_become_one(void **state)
{
    (void)state;
    struct cairn_profile *p = make();
    struct cairn_select *select = one(CAIRN_SELECT_BY_FUNCTION, 0, "");
    struct cairn_profile_reach reach;
    struct cairn_err err;
    size_t n = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        p->samples[i].labels = 0;
    assert_ok(cairn_select_apply(select, p, NULL, &err), err);
    assert_true(cairn_profile_reach(p, &reach));
    for (size_t i = 1; i < p->n_frames; i++) {
        n += reach.frames[i];
        if (reach.frames[i])
            assert_int_equal(p->frames[i].address, 0);
    }
    assert_int_equal(n, 6); /* main a b c f g */
    cairn_profile_reach_done(&reach);
    assert_stacks(p, "main;a;f 1\nmain;b;f 2\nmain;a;g 4\nmain;b 8\nmain 16\nmain;c 32\n");
    cairn_profile_free(p);
    cairn_select_free(select);
}

static void memory_that_ends_leaves_the_samples(void **state)
{
    (void)state;
    for (long countdown = 0;; countdown++) {
        struct cairn_profile *p = make();
        struct cairn_select *select = one(CAIRN_SELECT_THREAD, 0, "io");
        struct cairn_err err;
        assert_ok(cairn_select_add(select, CAIRN_SELECT_TIME, 0, "0-9", &err), err);
        assert_ok(cairn_select_add(select, CAIRN_SELECT_MERGE_THREADS, 0, "io", &err), err);
        assert_ok(cairn_select_add(select, CAIRN_SELECT_HIDE, 0, "a", &err), err);
        cairn_alloc_fail_after(countdown);
        int code = cairn_select_apply(select, p, NULL, &err);
        cairn_alloc_fail_after(-1);
        int64_t sum = sum_of(p, 0);
        cairn_profile_free(p);
        cairn_select_free(select);
        if (code == CAIRN_OK) {
            assert_int_equal(sum, 14);
            break;
        }
        assert_int_equal(code, CAIRN_E_NOMEM);
        assert_true(sum == 63 || sum == 14);
        assert_true(countdown < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_keeps_what_matches),
        cmocka_unit_test(kinds_combine_and_one_kind_offers_alternatives),
        cmocka_unit_test(steps_count_what_each_took_of_what_was_left),
        cmocka_unit_test(one_event_is_shown_first_and_time_shortens_the_profile),
        cmocka_unit_test(excluded_time_does_not_count),
        cmocka_unit_test(cut_stacks_leave_and_gaps_stay),
        cmocka_unit_test(a_filter_file_asks_by_thread),
        cmocka_unit_test(what_no_sample_says_is_refused),
        cmocka_unit_test(samples_without_the_label_are_counted),
        cmocka_unit_test(threads_are_merged_by_name),
        cmocka_unit_test(cpus_take_the_place_of_threads),
        cmocka_unit_test(what_no_kept_sample_says_is_no_failure),
        cmocka_unit_test(hidden_frames_leave_their_callees_to_their_callers),
        cmocka_unit_test(hidden_frames_leave_the_stacks_of_markers),
        cmocka_unit_test(markers_are_filtered_without_samples_too),
        cmocka_unit_test(frames_of_a_function_become_one),
        cmocka_unit_test(memory_that_ends_leaves_the_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
