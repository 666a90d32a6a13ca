/* SPDX-License-Identifier: MIT */
#include "sample/targets.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

static int start_child(void)
{
    int pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void end_child(int pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void each_process_is_named_once_and_the_last_one_counts(void **state)
{
    (void)state;
    const int pids[] = {start_child(), start_child()}, named[] = {pids[0], pids[1], pids[0]};
    const struct cairn_sampler_opts opts = {.size = sizeof opts, .pids = named, .n_pids = 3};
    struct cairn_targets targets = {0};
    struct cairn_buffer text = {0};
    struct cairn_err err = {0};
    char wanted[64];
    assert_ok(cairn_targets_open(&opts, &targets, &err), err);
    assert_int_equal(targets.n, 2);
    assert_false(cairn_targets_are_cpus(&targets));
    cairn_targets_text(&targets, &text);
    snprintf(wanted, sizeof wanted, "2 processes: %d, %d", pids[0], pids[1]);
    assert_string_equal(cairn_buffer_text(&text), wanted);
    int fd = cairn_targets_fd(&targets);
    assert_true(cairn_targets_live(&targets));
    end_child(pids[0]);
    assert_true(cairn_targets_live(&targets));
    assert_true(fd < 0 || cairn_targets_fd(&targets) != fd);
    end_child(pids[1]);
    assert_false(cairn_targets_live(&targets));
    assert_int_equal(cairn_targets_fd(&targets), -1);
    cairn_buffer_done(&text);
    cairn_targets_close(&targets);
}

static void who_is_not_there_is_left_out_or_told(void **state)
{
    (void)state;
    const int gone[] = {getpid(), 0x3ffffff0}, none[] = {0};
    struct cairn_sampler_opts opts = {.size = sizeof opts, .pids = gone, .n_pids = 2};
    struct cairn_targets targets = {0};
    struct cairn_err err = {0};
    assert_ok(cairn_targets_open(&opts, &targets, &err), err); /* of several, it is left out */
    assert_int_equal(targets.n, 1);
    assert_int_equal(targets.items[0].pid, getpid());
    cairn_targets_close(&targets);
    opts.pids = gone + 1;
    opts.n_pids = 1;
    assert_fails(cairn_targets_open(&opts, &targets, &err), CAIRN_E_MISSING, err,
                 "pid 1073741808: no such process");
    cairn_targets_close(&targets);
    opts.pids = none;
    opts.n_pids = 1;
    assert_fails(cairn_targets_open(&opts, &targets, &err), CAIRN_E_ARG, err, "0 is no process");
    cairn_targets_close(&targets);
    opts = (struct cairn_sampler_opts){.size = sizeof opts, .cgroup = "/etc"};
    assert_true(cairn_targets_open(&opts, &targets, &err) < 0);
    assert_false(targets.is_cgroup);
    cairn_targets_close(&targets);
}

struct search {
    int pid;
    unsigned n, n_found;
};

static bool look_for(void *ctx, int pid)
{
    struct search *search = ctx;
    search->n++;
    search->n_found += pid == search->pid;
    return search->n < 3 || search->pid;
}

static void whole_cpus_may_run_every_process_and_never_end(void **state)
{
    (void)state;
    const struct cairn_sampler_opts opts = {.size = sizeof opts, .all_processes = 1};
    struct cairn_targets targets = {0};
    struct cairn_buffer text = {0};
    struct cairn_err err = {0};
    struct search search = {.pid = getpid()};
    assert_ok(cairn_targets_open(&opts, &targets, &err), err);
    assert_true(cairn_targets_are_cpus(&targets));
    assert_true(cairn_targets_live(&targets));
    assert_int_equal(cairn_targets_fd(&targets), -1);
    cairn_targets_text(&targets, &text);
    assert_string_equal(cairn_buffer_text(&text), "all processes");
    cairn_targets_each(&targets, look_for, &search);
    assert_int_equal(search.n_found, 1);
    if (search.n >= 3) {
        struct search three = {0};
        cairn_targets_each(&targets, look_for, &three);
        assert_int_equal(three.n, 3);
    }
    cairn_buffer_done(&text);
    cairn_targets_close(&targets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_process_is_named_once_and_the_last_one_counts),
        cmocka_unit_test(who_is_not_there_is_left_out_or_told),
        cmocka_unit_test(whole_cpus_may_run_every_process_and_never_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
