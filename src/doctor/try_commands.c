/* SPDX-License-Identifier: MIT */
/* Tries of what the commands do, by their own rooms: which way they choose, and in their own words
 * why not another. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cairn/sampler.h>
#include <cairn/snapshot.h>

#include "doctor/tries.h"

/* LOOKS_MAX: a thread that runs is not on a CPU at each look, where others want it, too. */
enum { LOOKS_MAX = 200, LOOK_EVERY_US = 1000 };

int cairn_try_refuse(const struct cairn_err *err, struct cairn_doctor_answer *answer)
{
    snprintf(answer->why, sizeof answer->why, "%.*s", CAIRN_TRY_WORDS - 1, err->msg);
    snprintf(answer->fix, sizeof answer->fix, "%.*s", CAIRN_TRY_WORDS - 1, err->hint);
    if (err->os_errno)
        return err->os_errno;
    return err->code == CAIRN_E_ACCESS ? EACCES : EOPNOTSUPP;
}

/* From start to end, so that what a capture reads beside its samples is tried, too. */
static int sample(struct cairn_sampler *sampler, struct cairn_sample_quality *quality,
                  struct cairn_err *err)
{
    struct cairn_profile *profile;
    int code = cairn_sampler_start(sampler, err);
    if (code == CAIRN_OK)
        code = cairn_sampler_finish(sampler, &profile, quality, err);
    if (code == CAIRN_OK)
        cairn_profile_free(profile);
    return code;
}

static int try_sampler(const struct cairn_sampler_opts *opts, struct cairn_doctor_answer *answer)
{
    struct cairn_sampler *sampler;
    struct cairn_sample_quality quality = {.size = sizeof quality};
    struct cairn_err err;
    int code = cairn_sampler_new(opts, &sampler, &err);
    if (code < 0)
        return cairn_try_refuse(&err, answer);
    answer->way = cairn_sampler_method(sampler);
    if (opts->pid)
        code = sample(sampler, &quality, &err);
    answer->has_kernel = quality.has_kernel != 0;
    cairn_sampler_free(sampler);
    return code < 0 ? cairn_try_refuse(&err, answer) : 0;
}

int cairn_try_record_pid(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer)
{
    const struct cairn_sampler_opts opts = {.size = sizeof opts, .pid = subject->pid};
    return try_sampler(&opts, answer);
}

int cairn_try_record_command(const struct cairn_doctor_subject *subject,
                             struct cairn_doctor_answer *answer)
{
    (void)subject;
    char name[] = "/proc/self/exe", *argv[] = {name, NULL};
    const struct cairn_sampler_opts opts = {.size = sizeof opts, .argv = argv};
    return try_sampler(&opts, answer);
}

int cairn_try_record_tables(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer)
{
    const struct cairn_sampler_opts opts = {
        .size = sizeof opts, .pid = subject->pid, .method = CAIRN_SAMPLE_BPF};
    return try_sampler(&opts, answer);
}

int cairn_try_record_all(const struct cairn_doctor_subject *subject,
                         struct cairn_doctor_answer *answer)
{
    (void)subject;
    const struct cairn_sampler_opts opts = {.size = sizeof opts, .all_processes = 1};
    return try_sampler(&opts, answer);
}

int cairn_try_record_cgroup(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer)
{
    (void)subject;
    const struct cairn_sampler_opts opts = {.size = sizeof opts, .cgroup = "/"};
    return try_sampler(&opts, answer);
}

int cairn_try_record_off_cpu(const struct cairn_doctor_subject *subject,
                             struct cairn_doctor_answer *answer)
{
    const struct cairn_sampler_opts opts = {.size = sizeof opts, .pid = subject->pid, .off_cpu = 1};
    return try_sampler(&opts, answer);
}

static int look(struct cairn_snapshot *snapshot, struct cairn_doctor_answer *answer)
{
    struct cairn_snapshot_thread thread = {.size = sizeof thread};
    struct cairn_err err = {0};
    int code = cairn_snapshot_take(snapshot, &err);
    if (code < 0)
        return cairn_try_refuse(&err, answer);
    if (cairn_snapshot_thread(snapshot, 0, &thread) < 0)
        return ESRCH;
    answer->way = thread.way;
    if (thread.way != CAIRN_SNAPSHOT_NONE)
        return 0;
    snprintf(answer->why, sizeof answer->why, "%s", thread.reason);
    return EACCES;
}

static int open_snapshot(const struct cairn_doctor_subject *subject,
                         struct cairn_snapshot **ret_snapshot, struct cairn_doctor_answer *answer)
{
    const struct cairn_snapshot_opts opts = {.size = sizeof opts, .pid = subject->pid};
    struct cairn_err err;
    int code = cairn_snapshot_new(&opts, ret_snapshot, &err);
    return code < 0 ? cairn_try_refuse(&err, answer) : 0;
}

int cairn_try_stack_sleeping(const struct cairn_doctor_subject *subject,
                             struct cairn_doctor_answer *answer)
{
    struct cairn_snapshot *snapshot;
    int os_errno = open_snapshot(subject, &snapshot, answer);
    if (os_errno)
        return os_errno;
    os_errno = look(snapshot, answer);
    cairn_snapshot_free(snapshot);
    return os_errno;
}

/* Caught as one that sleeps: it had no CPU just then. */
static bool had_no_cpu(const struct cairn_doctor_answer *answer)
{
    return answer->way == CAIRN_SNAPSHOT_ITERATOR || answer->way == CAIRN_SNAPSHOT_MEMORY;
}

int cairn_try_stack_running(const struct cairn_doctor_subject *subject,
                            struct cairn_doctor_answer *answer)
{
    struct cairn_snapshot *snapshot;
    int os_errno = open_snapshot(subject, &snapshot, answer);
    if (os_errno)
        return os_errno;
    /* Of one CPU, it is ours when we look. */
    int n_looks = sysconf(_SC_NPROCESSORS_ONLN) == 1 ? 1 : LOOKS_MAX;
    if (write(subject->tell_fd, "r", 1) != 1)
        os_errno = errno;
    for (int i = 0; !os_errno && i < n_looks; i++) {
        (void)usleep(LOOK_EVERY_US);
        os_errno = look(snapshot, answer);
        if (!had_no_cpu(answer))
            break;
    }
    (void)!write(subject->tell_fd, "s", 1);
    cairn_snapshot_free(snapshot);
    return os_errno;
}
