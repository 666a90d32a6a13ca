/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/sampler.h>

#include "proc/child.h"
#include "sample/settings.h"
#include "tests/support/test.h"

static void a_child_waits_until_it_is_released(void **state)
{
    (void)state;
    char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)"exit 5", NULL};
    struct cairn_child child;
    struct cairn_err err = {0};
    int status;
    assert_ok(cairn_child_start(argv, NULL, &child, &err), err);
    assert_int_equal(waitpid(child.pid, &status, WNOHANG), 0);
    assert_ok(cairn_child_release(&child, argv[0], NULL, NULL, &err), err);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_int_equal(WEXITSTATUS(status), 5);
    cairn_child_drop(&child);
}

static void a_child_that_is_dropped_unreleased_is_gone(void **state)
{
    (void)state;
    char *const argv[] = {(char *)"/bin/true", NULL};
    struct cairn_child child;
    struct cairn_err err = {0};
    assert_ok(cairn_child_start(argv, NULL, &child, &err), err);
    int pid = child.pid;
    cairn_child_drop(&child);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void a_program_that_is_not_there_is_said_to_be_missing(void **state)
{
    (void)state;
    char *const argv[] = {(char *)"no-such-program-cairn", NULL};
    struct cairn_child child;
    struct cairn_err err = {0};
    assert_ok(cairn_child_start(argv, NULL, &child, &err), err);
    assert_fails(cairn_child_release(&child, argv[0], NULL, NULL, &err), CAIRN_E_MISSING, err,
                 "no-such-program-cairn: cannot be started");
    cairn_child_drop(&child);
    waitpid(-1, NULL, 0);
}

static void refusals_name_the_setting_and_the_command(void **state)
{
    (void)state;
    struct cairn_err err = {0};
    assert_fails(cairn_fail_perf(&err, EACCES, getpid()), CAIRN_E_ACCESS, err,
                 "kernel.perf_event_paranoid is");
    assert_contains(err.hint, "kernel.perf_event_paranoid=1");
    assert_int_equal(err.os_errno, EACCES);
    assert_fails(cairn_fail_perf(&err, ESRCH, 77), CAIRN_E_MISSING, err, "no such process");
    assert_fails(cairn_fail_perf(&err, ENOSYS, 77), CAIRN_E_SUPPORT, err, "ENOSYS");
    assert_contains(err.hint, "--cap-add PERFMON");
    assert_fails(cairn_fail_perf(&err, EMFILE, 77), CAIRN_E_LIMIT, err, "too many open files");
    assert_contains(err.hint, "ulimit -n");
    assert_fails(cairn_fail_perf(&err, EOVERFLOW, 77), CAIRN_E_LIMIT, err, "frames a stack");
    assert_contains(err.hint, "perf_event_max_stack");
    assert_fails(cairn_fail_perf(&err, EIO, 77), CAIRN_E_IO, err, "perf_event_open");
    assert_fails(cairn_fail_perf(&err, EACCES, -1), CAIRN_E_ACCESS, err,
                 "cannot sample whole CPUs: kernel.perf_event_paranoid is");
    assert_contains(err.hint, "kernel.perf_event_paranoid=0");
    assert_contains(err.hint, "cap_perfmon");
    assert_int_equal(err.os_errno, EACCES);
}

static void a_setting_that_is_not_there_has_its_default(void **state)
{
    (void)state;
    assert_int_equal(cairn_setting("no-such-setting", -7), -7);
}

static int try_opts(const struct cairn_sampler_opts *opts, struct cairn_err *err)
{
    struct cairn_sampler *sampler = NULL;
    int code = cairn_sampler_new(opts, &sampler, err);
    assert_null(sampler);
    return code;
}

static void options_that_cannot_be_meant_are_refused(void **state)
{
    (void)state;
    char *argv[] = {(char *)"true", NULL};
    struct cairn_err err = {0};
    struct cairn_sampler_opts opts = {.size = sizeof opts};
    assert_fails(try_opts(NULL, &err), CAIRN_E_ARG, err, "size");
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "either processes, a command");
    opts.pid = 1;
    opts.argv = argv;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "either processes, a command");
    opts.pid = 0;
    opts.all_processes = 1;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "either processes, a command");
    opts.argv = NULL;
    opts.cgroup = "x";
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "either processes, a command");
    opts.cgroup = NULL;
    opts.no_inherit = 1;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "children can be left out");
    opts.all_processes = opts.no_inherit = 0;
    opts.n_pids = 1;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "either processes, a command");
    opts.n_pids = 0;
    opts.all_processes = 1;
    opts.method = CAIRN_SAMPLE_PTRACE;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "ptrace");
    opts.all_processes = 0;
    opts.pid = 1;
    opts.method = CAIRN_SAMPLE_AUTO;
    opts.frequency_hz = -1;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "samples a second");
    opts.frequency_hz = 99;
    opts.ring_pages = 3;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "power of two");
    opts.ring_pages = 0;
    opts.max_frames = 5000;
    assert_fails(try_opts(&opts, &err), CAIRN_E_ARG, err, "5000 frames");
}

static void the_quality_line_counts_and_says_why(void **state)
{
    (void)state;
    struct cairn_profile *profile;
    struct cairn_err err = {0};
    char line[200];
    struct cairn_sample_quality quality = {.size = sizeof quality,
                                           .n_samples = 1234,
                                           .n_whole = 1200,
                                           .n_cut = 34,
                                           .n_lost = 5,
                                           .n_throttled = 1,
                                           .duration_ns = 5040000000,
                                           .method = CAIRN_SAMPLE_PTRACE};
    assert_ok(cairn_profile_new(&profile, &err), err);
    int length = cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_string_equal(line, "1234 samples in 5.0 s by ptrace, 1200 whole (97.2 %), 34 cut; 5 "
                              "lost, throttled 1 time");
    assert_int_equal(length, strlen(line));
    quality = (struct cairn_sample_quality){.size = sizeof quality, .method = CAIRN_SAMPLE_PERF};
    cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_string_equal(line, "0 samples in 0.0 s, 0 whole (0.0 %), 0 cut; 0 lost");
    cairn_profile_free(profile);
}

static void the_quality_line_says_what_it_took(void **state)
{
    (void)state;
    struct cairn_profile *profile;
    struct cairn_err err = {0};
    char line[300];
    const struct cairn_sample_quality quality = {.size = sizeof quality,
                                                 .n_samples = 100000,
                                                 .n_whole = 100000,
                                                 .n_unkept = 7,
                                                 .duration_ns = 10000000000,
                                                 .own_ns = 250000000,
                                                 .walk_ns = 1500};
    assert_ok(cairn_profile_new(&profile, &err), err);
    cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_string_equal(line, "100000 samples in 10.0 s, 100000 whole (100.0 %), 0 cut; 0 lost, 7 "
                              "not kept: no memory for more samples; recorder 0.25 s of CPU, and "
                              "0.15 s in the kernel, 1.5 us a sample");
    cairn_profile_free(profile);
}

static void the_quality_line_says_what_was_counted(void **state)
{
    (void)state;
    struct cairn_profile *profile;
    struct cairn_err err = {0};
    char line[200];
    struct cairn_sample_quality quality = {.size = sizeof quality,
                                           .n_samples = 3,
                                           .n_whole = 3,
                                           .duration_ns = 5000000000,
                                           .value = 1250000000,
                                           .off_cpu = 1};
    assert_ok(cairn_profile_new(&profile, &err), err);
    cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_string_equal(
        line, "3 times off the CPU, 1.25 s together, in 5.0 s, 3 whole (100.0 %), 0 cut; 0 lost");
    quality.off_cpu = 0;
    quality.value = 777;
    cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_string_equal(line, "3 samples of 777 events in 5.0 s, 3 whole (100.0 %), 0 cut; 0 lost");
    quality.event = CAIRN_EVENT_PAGE_FAULTS;
    quality.event_period = 259;
    cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_string_equal(line,
                        "3 samples of 777 page-faults (1 in 259) in 5.0 s, 3 whole (100.0 %), "
                        "0 cut; 0 lost");
    quality.event_period = 1;
    cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_non_null(strstr(line, "of 777 page-faults (each) in"));
    quality.n_folded = 1;
    cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_non_null(strstr(line, "; 0 lost; 1 ended thread told by name alone"));
    quality.n_folded = 0;
    quality.event = CAIRN_EVENT_CYCLES;
    quality.event_period = 0;
    quality.frequency_hz = 99;
    cairn_sample_quality_text(&quality, profile, line, sizeof line);
    assert_non_null(strstr(line, "of 777 cycles (up to 99 a second) in"));
    cairn_profile_free(profile);
}

static void the_quality_line_says_how_many_were_missed(void **state)
{
    (void)state;
    static const struct {
        uint64_t n_samples, cpu_ns;
        int has_kernel;
        int hardware;
        bool told, are_few;
    } cases[] = {
        {100, 1000000000, 1, 0, false, false}, {96, 1000000000, 1, 0, false, false},
        {95, 1000000000, 1, 0, true, false},   {95, 1000000000, 1, 1, false, false},
        {40, 1000000000, 1, 0, true, true},    {40, 1000000000, 1, 1, true, true},
        {0, 100000000, 1, 0, false, false},    {40, 1000000000, 0, 0, false, false},
        {5, 1000000000, 0, 0, true, true},     {0, 0, 1, 0, false, false},
    };
    struct cairn_profile *profile;
    struct cairn_err err = {0};
    char line[300];
    assert_ok(cairn_profile_new(&profile, &err), err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cairn_sample_quality quality = {.size = sizeof quality,
                                                     .n_samples = cases[i].n_samples,
                                                     .n_cut = cases[i].n_samples,
                                                     .method = CAIRN_SAMPLE_PERF,
                                                     .has_kernel = cases[i].has_kernel,
                                                     .hardware_event = cases[i].hardware,
                                                     .cpu_ns = cases[i].cpu_ns,
                                                     .period_ns = 10000000};
        cairn_sample_quality_text(&quality, profile, line, sizeof line);
        assert_int_equal(strstr(line, " missed (1.0 s of CPU time were used)") != NULL,
                         cases[i].told);
        assert_int_equal(strstr(line, "threads that use less than 10 ms of it") != NULL,
                         cases[i].are_few);
        assert_int_equal(strstr(line, "used): time in the kernel is not sampled, and") != NULL,
                         cases[i].are_few && !cases[i].has_kernel);
    }
    cairn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_waits_until_it_is_released),
        cmocka_unit_test(a_child_that_is_dropped_unreleased_is_gone),
        cmocka_unit_test(a_program_that_is_not_there_is_said_to_be_missing),
        cmocka_unit_test(refusals_name_the_setting_and_the_command),
        cmocka_unit_test(a_setting_that_is_not_there_has_its_default),
        cmocka_unit_test(options_that_cannot_be_meant_are_refused),
        cmocka_unit_test(the_quality_line_counts_and_says_why),
        cmocka_unit_test(the_quality_line_says_what_it_took),
        cmocka_unit_test(the_quality_line_says_what_was_counted),
        cmocka_unit_test(the_quality_line_says_how_many_were_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
