/* SPDX-License-Identifier: MIT */
#include "sample/event.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/profile.h"
#include "tests/support/test.h"

enum { PAGES = 2000, PAGE_BYTES = 4096 };

static void every_event_has_a_value_type_of_its_own(void **state)
{
    (void)state;
    for (int i = CAIRN_EVENT_CPU; i <= CAIRN_EVENT_CONTEXT_SWITCHES; i++) {
        const struct cairn_event *event = cairn_event_get((enum cairn_sample_event)i);
        assert_non_null(event);
        assert_true(event->name && event->type && event->unit);
        assert_string_equal(event->unit, event->is_time ? "nanoseconds" : "count");
    }
    assert_null(cairn_event_get((enum cairn_sample_event)(CAIRN_EVENT_CONTEXT_SWITCHES + 1)));
    assert_null(cairn_event_get((enum cairn_sample_event) - 1));
}

static void a_counter_that_is_not_there_is_said_so(void **state)
{
    (void)state;
    struct cairn_err err = {0};
    assert_fails(cairn_fail_event(&err, cairn_event_get(CAIRN_EVENT_INSTRUCTIONS), 2),
                 CAIRN_E_SUPPORT, err, "instructions: the CPU's counters are not there");
    assert_contains(err.hint, "page-faults");
    assert_int_equal(err.os_errno, 2);
}

static int try_opts(const struct cairn_sampler_opts *opts, struct cairn_err *err)
{
    struct cairn_sampler *sampler = NULL;
    int code = cairn_sampler_new(opts, &sampler, err);
    assert_null(sampler);
    return code;
}

static void what_an_event_cannot_do_is_refused(void **state)
{
    (void)state;
    char *argv[] = {(char *)"true", NULL};
    struct cairn_err err = {0};
    struct cairn_sampler_opts opts = {.size = sizeof opts, .argv = argv, .event_period = 5};
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "by frequency");
    opts.event = CAIRN_EVENT_CONTEXT_SWITCHES;
    opts.user_only = 1;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "happen in the kernel");
    opts.event = CAIRN_EVENT_PAGE_FAULTS;
    opts.method = CAIRN_SAMPLE_PTRACE;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "ptrace samples CPU time");
    opts.event = (enum cairn_sample_event)99;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "no event 99");
}

/* A child that waits for a byte, then writes to so many fresh pages. */
static pid_t start_faulting(int *ret_go)
{
    int pipes[2];
    char byte;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(pipes[1]);
        if (read(pipes[0], &byte, 1) != 1)
            _exit(1);
        char *at = mmap(NULL, (size_t)PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(at, (size_t)PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < PAGES; i++)
            ((volatile char *)at)[i * PAGE_BYTES] = 1;
        _exit(0);
    }
    close(pipes[0]);
    *ret_go = pipes[1];
    return pid;
}

static void count_faults(enum cairn_sample_method method)
{
    struct cairn_sampler *sampler;
    struct cairn_profile *profile;
    struct cairn_err err = {0};
    int go, status;
    pid_t pid = start_faulting(&go);
    const struct cairn_sampler_opts opts = {.size = sizeof opts,
                                            .pid = pid,
                                            .method = method,
                                            .event = CAIRN_EVENT_PAGE_FAULTS,
                                            .event_period = 1};
    int code = cairn_sampler_new(&opts, &sampler, &err);
    if (code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT) {
        print_message("skipped: %s\n", err.msg);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        skip();
    }
    assert_ok(code, err);
    assert_ok(cairn_sampler_start(sampler, &err), err);
    assert_int_equal(write(go, "x", 1), 1);
    while (cairn_sampler_poll(sampler, 50, &err) > 0)
        waitpid(pid, &status, WNOHANG);
    struct cairn_sample_quality quality = {.size = sizeof quality};
    assert_ok(cairn_sampler_finish(sampler, &profile, &quality, &err), err);
    assert_string_equal(cairn_strings_get(&profile->strings, profile->types[1].type),
                        "page_faults");
    int64_t sum = 0;
    for (size_t i = 0; i < profile->n_samples; i++)
        sum += profile->values[2 * i + 1];
    print_message("%lld page faults in %llu samples, %llu throttled\n", (long long)sum,
                  (unsigned long long)quality.n_samples, (unsigned long long)quality.n_throttled);
    assert_int_equal(quality.period_ns, 0);
    assert_int_equal(profile->period, 1);
    assert_true(sum >= PAGES || quality.n_throttled || quality.n_lost);
    assert_true(sum < 10 * PAGES);
    close(go);
    cairn_profile_free(profile);
    cairn_sampler_free(sampler);
}

static void page_faults_are_counted_one_by_one_by_perf(void **state)
{
    (void)state;
    count_faults(CAIRN_SAMPLE_PERF);
}

static void page_faults_are_counted_one_by_one_in_the_kernel(void **state)
{
    (void)state;
    count_faults(CAIRN_SAMPLE_BPF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_has_a_value_type_of_its_own),
        cmocka_unit_test(a_counter_that_is_not_there_is_said_so),
        cmocka_unit_test(what_an_event_cannot_do_is_refused),
        cmocka_unit_test(page_faults_are_counted_one_by_one_by_perf),
        cmocka_unit_test(page_faults_are_counted_one_by_one_in_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
