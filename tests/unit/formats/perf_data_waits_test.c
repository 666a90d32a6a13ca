/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_waits.h"

#include "formats/perf_data.h"
#include "support/memory_io.h"
#include "support/perf_data_writer.h"
#include "support/test.h"

static const uint64_t ip[] = {PERF_MARK_USER, 0x401010};

enum { CLOCK = 0, SWITCHES = 3 };

/* A file with the events that its kernel counts, which says when threads come back. */
static struct perf_writer writer(void)
{
    return (struct perf_writer){.n_events = 4, .flags = 1 << 18 | 1 << 26};
}

static void put_switch(struct perf_writer *w, uint32_t tid, bool is_out, uint64_t time)
{
    perf_begin(w, 14, is_out ? 1 << 13 : 0);
    perf_end_at(w, tid, time);
}

static struct cairn_profile *read_file(struct perf_writer *w)
{
    struct cairn_buffer file = perf_file(w);
    struct cairn_profile *p = NULL;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
    cairn_buffer_done(&file);
    perf_done(w);
    return p;
}

/* The sum of a type; -1: there is none of that name. */
static int64_t sum_of(const struct cairn_profile *p, const char *type)
{
    int64_t sum = 0;
    size_t at = 0;
    while (at < p->n_types && strcmp(p->public_types[at].type, type) != 0)
        at++;
    for (size_t i = 0; i < p->n_samples && at < p->n_types; i++)
        sum += p->values[i * p->n_types + at];
    return at < p->n_types ? sum : -1;
}

static const char *shown(const struct cairn_profile *p)
{
    return p->public_types[cairn_profile_default_value(p)].type;
}

static void a_wait_lasts_until_its_thread_is_back(void **state)
{
    (void)state;
    struct perf_writer w = writer();
    perf_sample(&w, 7, 1000, SWITCHES, 1, ip, 2);
    put_switch(&w, 7, true, 1010);
    put_switch(&w, 8, false, 3000);
    put_switch(&w, 7, false, 5000);
    put_switch(&w, 7, false, 6000); /* it was back already */
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(sum_of(p, "off_cpu"), 4000);
    assert_int_equal(sum_of(p, "context-switches"), 1);
    assert_int_equal(sum_of(p, "samples"), 1);
    assert_int_equal(p->n_samples, 1);
    assert_string_equal(shown(p), "off_cpu");
    assert_string_equal(p->public_types[2].unit, "nanoseconds");
    cairn_profile_free(p);
}

static void a_sample_of_the_thread_ends_its_wait_too(void **state)
{
    (void)state;
    struct perf_writer w = writer();
    perf_sample(&w, 7, 1000, SWITCHES, 1, ip, 2);
    perf_sample(&w, 8, 1500, CLOCK, 100, ip, 2);
    perf_sample(&w, 7, 1700, CLOCK, 100, ip, 2);
    perf_sample(&w, 7, 2000, SWITCHES, 1, ip, 2);
    perf_sample(&w, 7, 9000, SWITCHES, 1, ip, 2); /* when it was back in between is unknown */
    put_switch(&w, 7, false, 9001);
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(sum_of(p, "off_cpu"), 701);
    assert_string_equal(shown(p), "cpu-clock");
    cairn_profile_free(p);
}

static void who_exits_waits_no_more_and_others_wait_to_the_end(void **state)
{
    (void)state;
    struct perf_writer w = writer();
    perf_sample(&w, 7, 1000, SWITCHES, 1, ip, 2);
    perf_fork(&w, 4, 8, 8, 1500);
    perf_sample(&w, 8, 2000, SWITCHES, 1, ip, 2); /* the last one of a thread that exits */
    perf_fork(&w, 7, 9, 7, 2500);
    perf_sample(&w, 9, 3000, SWITCHES, 1, ip, 2);
    perf_fork(&w, 4, 9, 9, 3500);
    perf_fork(&w, 7, 8, 7, 4000); /* another one with its number */
    perf_sample(&w, 8, 5000, SWITCHES, 1, ip, 2);
    put_switch(&w, 8, false, 6000);
    perf_sample(&w, 0, 7000, SWITCHES, 1, ip, 2); /* a CPU idles */
    perf_comm(&w, 5, "last", false, 11000);
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(sum_of(p, "off_cpu"), 10000 + 1000);
    cairn_profile_free(p);
}

/* perf record --off-cpu writes sums at the end, at a time that is none. */
static void sums_of_perf_are_times_off_the_cpu(void **state)
{
    (void)state;
    struct perf_writer w = {.n_events = 2};
    perf_begin(&w, 78, 0);
    perf_u64(&w, 2);
    perf_u64(&w, 101);
    perf_text(&w, "offcpu-time");
    perf_end(&w);
    perf_sample(&w, 7, 1000, CLOCK, 100, ip, 2);
    perf_sample(&w, 7, UINT64_MAX << 32, 1, 777, ip, 2);
    perf_sample(&w, 7, 3000, CLOCK, 100, ip, 2);
    struct cairn_profile *p = read_file(&w);
    assert_int_equal(sum_of(p, "off_cpu"), 777);
    assert_int_equal(sum_of(p, "offcpu-time"), -1);
    assert_int_equal(p->duration_ns, 2000);
    assert_string_equal(shown(p), "cpu-clock");
    cairn_profile_free(p);
}

static void states_of_the_kernel_have_the_words_of_recordings(void **state)
{
    (void)state;
    static const struct {
        uint64_t state;
        const char *reason;
        bool ends;
    } rows[] = {
        {0, "preempted", false}, {0x100, "preempted", false}, {1, "sleep", false},
        {2, "blocked", false},   {0x82, "blocked", false},    {0x80, "blocked", false},
        {4, "stopped", false},   {8, "stopped", false},       {0x10, "blocked", true},
        {0x20, "blocked", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool ends;
        assert_string_equal(cairn_perf_data_waits_reason(rows[i].state, &ends), rows[i].reason);
        assert_int_equal(ends, rows[i].ends);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_lasts_until_its_thread_is_back),
        cmocka_unit_test(a_sample_of_the_thread_ends_its_wait_too),
        cmocka_unit_test(who_exits_waits_no_more_and_others_wait_to_the_end),
        cmocka_unit_test(sums_of_perf_are_times_off_the_cpu),
        cmocka_unit_test(states_of_the_kernel_have_the_words_of_recordings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
