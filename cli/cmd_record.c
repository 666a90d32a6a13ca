/* SPDX-License-Identifier: MIT */
/*
 * cairn record: catches stacks of processes, of a command, or of all that runs.
 *
 *     sampler ──► raw profile ─┬───────────────► pprof (.pb.gz)
 *                              └─► resolver ─┬─► picture (.html, .svg)
 *                                            └─► collapsed stacks (.txt, .collapsed, .folded)
 *
 * The output is opened before the first sample: what cannot be written is not worth recording. The
 * first SIGINT, SIGTERM or SIGHUP ends the recording. While the result is named and written, SIGINT
 * ends the program without a file; SIGTERM and SIGHUP, which shells send twice, are dropped. A
 * command that is recorded gets the signals that are sent to us.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cairn/resolve.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/log.h"
#include "cli/namer.h"
#include "cli/pass_on.h"
#include "cli/record.h"
#include "cli/term.h"
#include "cli/wait.h"

enum { QUALITY_BYTES = 4096, PATH_BYTES = 128, OWN_PAGES_BYTES = 64 << 10 };

struct job {
    struct cli_record asked;
    const char *out; /* where it goes; "-": stdout */
    char default_out[PATH_BYTES];
    struct cairn_sampler *sampler;
    struct cairn_profile *profile;
    struct cairn_sample_quality quality;
    struct cli_output *output;
    struct cairn_buffer written; /* the name that it got in the end */
};

static int wait_for_end(struct job *job, struct cairn_err *err)
{
    struct cli_wait wait = cli_wait_begin(job->asked.seconds, job->asked.sampler.argv != NULL);
    for (int code = 1, ms; code > 0 && (ms = cli_wait_next(&wait)) > 0;) {
        code = cairn_sampler_poll(job->sampler, ms, err);
        if (code < 0)
            return code;
        cli_progress(
            "%llu %s, %.0f s; Ctrl-C ends", (unsigned long long)cairn_sampler_count(job->sampler),
            job->asked.sampler.off_cpu ? "times off the CPU" : "samples", cli_wait_elapsed(&wait));
    }
    cli_progress_done();
    return CAIRN_OK;
}

static int record(struct job *job, struct cairn_err *err)
{
    (void)cairn_alloc_apart(OWN_PAGES_BYTES);
    cli_pass_on_begin(true);
    int code = cairn_sampler_start(job->sampler, err);
    if (code == CAIRN_OK && job->asked.sampler.argv)
        cli_pass_on_to(cairn_sampler_pid(job->sampler));
    if (code == CAIRN_OK && job->asked.verbosity)
        cli_say("sampling has begun"); /* whoever waits for it may go on */
    if (code == CAIRN_OK)
        code = wait_for_end(job, err);
    if (code == CAIRN_OK)
        code = cairn_sampler_finish(job->sampler, &job->profile, &job->quality, err);
    cli_pass_on_to(0);
    cli_pass_on_release_keys();
    return code;
}

/* Whose files have the names. */
static int pid_to_name(const struct job *job)
{
    int pid = cairn_sampler_pid(job->sampler);
    return pid == 0 || job->asked.sampler.n_pids > 1 ? CLI_NAMER_MANY : pid;
}

static int write_output(struct job *job, const char *quality, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (job->asked.result != CLI_RESULT_RAW)
        code = cli_namer_name_sampled(&job->asked.symbols, &job->asked.symbol_dirs,
                                      pid_to_name(job), job->sampler, job->profile, err);
    if (code == CAIRN_OK)
        code = cli_result_write(job->asked.result, job->asked.guest, job->profile, quality,
                                job->output, err);
    struct cli_output *output = job->output;
    job->output = NULL;
    if (code == CAIRN_OK)
        return cli_output_commit_anyway(output, &job->written, err);
    return cli_result_end(output, code, err);
}

static void say_exit(const struct job *job)
{
    int status = job->quality.exit_status, pid = cairn_sampler_pid(job->sampler);
    if (!job->asked.sampler.argv)
        return;
    if (status == -1)
        cli_say("the command still runs: pid %d", pid);
    else if (WIFSIGNALED(status))
        cli_say("the command was ended by signal %d (%s)", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        cli_say("the command ended with exit status %d", WEXITSTATUS(status));
}

static void say_whom(const struct job *job)
{
    char whom[QUALITY_BYTES];
    struct cairn_buffer text = {0};
    unsigned long long n = job->quality.n_processes, n_threads = job->quality.n_threads;
    cli_record_whom(&job->asked, whom, sizeof whom);
    cairn_escape_terminal(&text, whom, strlen(whom));
    if (text.size)
        cli_say("sampled %s: met %llu process%s, %llu thread%s", cairn_buffer_text(&text), n,
                n == 1 ? "" : "es", n_threads, n_threads == 1 ? "" : "s");
    cairn_buffer_done(&text);
}

static void say_why_none(const struct job *job)
{
    const struct cairn_sample_quality *q = &job->quality;
    if (q->n_samples + q->n_lost + q->n_unkept == 0 && q->period_ns && !q->off_cpu)
        cli_say("no samples, for %.3f s of CPU time were used; a higher -F sees more of it, and "
                "--off-cpu what a program waits for",
                (double)q->cpu_ns / 1e9);
}

static void say_result(const struct job *job, const char *quality)
{
    struct cairn_buffer line = {0};
    cairn_escape_terminal(&line, quality, strlen(quality));
    say_exit(job);
    say_whom(job);
    if (strcmp(job->out, "-") != 0)
        cli_say("wrote %s", cairn_buffer_text(&job->written));
    say_why_none(job);
    cli_say("%s", cairn_buffer_text(&line));
    cairn_buffer_done(&line);
}

/* A name may be that of others' processes, too: whoever may not sample those samples their own. */
static int new_sampler(struct job *job, struct cairn_err *err)
{
    int code = cairn_sampler_new(&job->asked.sampler, &job->sampler, err);
    if (code != CAIRN_E_ACCESS || !cli_record_leave_out(&job->asked))
        return code;
    code = cairn_sampler_new(&job->asked.sampler, &job->sampler, err);
    size_t n = job->asked.n_left_out;
    if (code == CAIRN_OK)
        cairn_log(CAIRN_LOG_WARNING,
                  "%zu process%s of that name belong%s to other users, and %s left out (sudo "
                  "samples all)",
                  n, n == 1 ? "" : "es", n == 1 ? "s" : "", n == 1 ? "is" : "are");
    return code;
}

static int work(struct job *job, struct cairn_err *err)
{
    char quality[QUALITY_BYTES];
    int code = cli_record_find(&job->asked, err);
    if (code < 0)
        return code;
    code = new_sampler(job, err);
    if (code < 0)
        return code;
    job->out = job->asked.out;
    if (!job->out) {
        cli_record_default_out(&job->asked, cairn_sampler_pid(job->sampler), job->default_out,
                               sizeof job->default_out);
        job->out = job->default_out;
    }
    code = cli_output_open(job->out, job->asked.force, &job->output, err);
    if (code < 0)
        return code;
    code = record(job, err);
    if (code < 0)
        return code;
    cairn_sample_quality_text(&job->quality, job->profile, quality, sizeof quality);
    code = write_output(job, quality, err);
    if (code == CAIRN_OK)
        say_result(job, quality);
    return code;
}

static int run(struct cli_args *args)
{
    struct job job = {.quality.size = sizeof job.quality};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    if (cli_record_read(args, &job.asked)) {
        cli_log_open(job.asked.verbosity);
        status = work(&job, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    cli_output_drop(job.output);
    cairn_profile_free(job.profile);
    cairn_sampler_free(job.sampler);
    cli_record_done(&job.asked);
    cairn_buffer_done(&job.written);
    cli_pass_on_end();
    return status;
}

const struct cli_command cli_cmd_record = {
    .name = "record",
    .summary = "sample the stacks of processes, of a command, or of all that runs",
    .usage = (const char *const[]){"record [OPTION...] -p PID|NAME",
                                   "record [OPTION...] -a | --cgroup CGROUP",
                                   "record [OPTION...] [--] COMMAND [ARGUMENT...]", NULL},
    .options = cli_record_options,
    .notes = "The stacks of user code are found by unwind tables, where perf alone or ptrace is "
             "taken by frame pointers. The last line says how many stacks are whole and why the "
             "others end early.",
    .run = run,
    .remote = CLI_REMOTE_FILE,
    .options_first = true,
};
