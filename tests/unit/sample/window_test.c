/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/sampler.h>

#include "base/clock.h"
#include "profile/profile.h"
#include "tests/support/test.h"

static const uint64_t WINDOW_NS = 300000000;

static pid_t start_spinner(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned n = 0;; n++)
            continue;
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* NULL: not allowed here. */
static struct cairn_sampler *start(pid_t pid, enum cairn_sample_method method)
{
    const struct cairn_sampler_opts opts = {
        .size = sizeof opts, .pid = pid, .frequency_hz = 200, .method = method};
    struct cairn_sampler *s;
    struct cairn_err err = {0};
    int code = cairn_sampler_new(&opts, &s, &err);
    if (code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT)
        return NULL;
    assert_ok(code, err);
    assert_ok(cairn_sampler_start(s, &err), err);
    return s;
}

static void poll_for(struct cairn_sampler *s, uint64_t ns)
{
    struct cairn_err err = {0};
    const uint64_t end_ns = cairn_now_ns() + ns;
    while (cairn_now_ns() < end_ns)
        assert_true(cairn_sampler_poll(s, 20, &err) >= 0);
}

static int64_t sum(const struct cairn_profile *p, size_t type)
{
    int64_t all = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        all += p->values[i * p->n_types + type];
    return all;
}

/* Each sample is in one window; the last one is what cairn_sampler_finish() hands out. */
static void windows_by(enum cairn_sample_method method)
{
    pid_t pid = start_spinner();
    struct cairn_sampler *s = start(pid, method);
    struct cairn_profile *window;
    struct cairn_err err = {0};
    struct cairn_sample_quality quality = {.size = sizeof quality};
    uint64_t n_all = 0;
    const int *files;
    if (!s) {
        end(pid);
        skip();
    }
    for (int i = 0; i < 3; i++) {
        poll_for(s, WINDOW_NS);
        assert_ok(cairn_sampler_window(s, &window, &quality, &err), err);
        assert_true(quality.n_samples > 0);
        assert_int_equal(sum(window, 0), quality.n_samples);
        assert_int_equal(sum(window, 1), quality.n_samples * 5000000);
        assert_int_equal(window->period, 5000000);
        assert_true(quality.duration_ns >= WINDOW_NS && quality.duration_ns < 20 * WINDOW_NS);
        assert_int_equal(quality.duration_ns, window->duration_ns);
        assert_non_null(cairn_profile_note(window, CAIRN_NOTE_QUALITY, 0));
        assert_null(cairn_profile_note(window, CAIRN_NOTE_QUALITY, 1));
        assert_int_equal(cairn_sampler_files(s, &files), window->n_modules);
        n_all += quality.n_samples;
        assert_int_equal(n_all, cairn_sampler_count(s));
        cairn_profile_free(window);
    }
    cairn_sampler_free(s);
    end(pid);
}

static void windows_of_stacks_walked_in_the_kernel(void **state)
{
    (void)state;
    windows_by(CAIRN_SAMPLE_BPF);
}

static void windows_of_stacks_by_frame_pointers(void **state)
{
    (void)state;
    windows_by(CAIRN_SAMPLE_PERF);
}

static void another_rate_is_that_of_the_windows_that_follow(void **state)
{
    (void)state;
    pid_t pid = start_spinner();
    struct cairn_sampler *s = start(pid, CAIRN_SAMPLE_AUTO);
    struct cairn_profile *window;
    struct cairn_err err = {0};
    struct cairn_sample_quality quality = {.size = sizeof quality};
    if (!s) {
        end(pid);
        skip();
    }
    poll_for(s, WINDOW_NS);
    assert_ok(cairn_sampler_window(s, &window, NULL, &err), err);
    cairn_profile_free(window);
    assert_fails(cairn_sampler_set_frequency(s, 0, &err), CAIRN_E_ARG, err, "0 samples a second");
    assert_ok(cairn_sampler_set_frequency(s, 20, &err), err);
    /* What was sampled while the rate changed is in the window that ends first. */
    poll_for(s, WINDOW_NS);
    assert_ok(cairn_sampler_window(s, &window, NULL, &err), err);
    assert_int_equal(window->period, 50000000);
    cairn_profile_free(window);
    poll_for(s, 2 * WINDOW_NS);
    assert_ok(cairn_sampler_window(s, &window, &quality, &err), err);
    assert_int_equal(window->period, 50000000);
    assert_int_equal(quality.period_ns, 50000000);
    /* At 200 Hz they would be more than twice as many, were the CPU ours alone. */
    assert_true(quality.n_samples <= quality.duration_ns / 50000000 + 12);
    cairn_profile_free(window);
    cairn_sampler_free(s);
    end(pid);
}

static void what_keeps_its_samples_has_no_windows(void **state)
{
    (void)state;
    const struct cairn_sampler_opts opts = {.size = sizeof opts, .pid = getpid(), .timeline = 1};
    struct cairn_sampler *s;
    struct cairn_profile *window;
    struct cairn_err err = {0};
    if (cairn_sampler_new(&opts, &s, &err) < 0)
        skip();
    assert_fails(cairn_sampler_window(s, &window, NULL, &err), CAIRN_E_ARG, err, "does not run");
    assert_ok(cairn_sampler_start(s, &err), err);
    assert_fails(cairn_sampler_window(s, &window, NULL, &err), CAIRN_E_SUPPORT, err, "windows");
    cairn_sampler_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_stacks_walked_in_the_kernel),
        cmocka_unit_test(windows_of_stacks_by_frame_pointers),
        cmocka_unit_test(another_rate_is_that_of_the_windows_that_follow),
        cmocka_unit_test(what_keeps_its_samples_has_no_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
