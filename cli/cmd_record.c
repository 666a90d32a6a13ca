/* SPDX-License-Identifier: MIT */
/*
 * cairn record: catches stacks of a process or a command.
 *
 *     sampler ──► raw profile ─┬───────────────► pprof (.pb.gz)
 *                              └─► resolver ─┬─► picture (.html, .svg)
 *                                            └─► collapsed stacks (.txt, .collapsed, .folded)
 *
 * The output is opened before the first sample: what cannot be written is not worth recording. The
 * first SIGINT or SIGTERM ends the recording, the second one the program.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cairn/resolve.h>
#include <cairn/sampler.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/args.h"
#include "cli/namer.h"
#include "cli/result.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum { POLL_MS = 100, QUALITY_BYTES = 4096, PID_MAX = 1 << 30, PATH_BYTES = 64 };

struct job {
    struct cairn_sampler_opts sampler_opts;
    double seconds;  /* 0: until the target ends */
    const char *out; /* NULL: cairn.PID.pb.gz */
    char default_out[PATH_BYTES];
    enum cli_result result;
    struct cli_list symbol_dirs;
    bool force;
    int verbosity;
    struct cairn_symbolizer_opts symbols; /* in which way names are read */
    struct cairn_sampler *sampler;
    struct cairn_profile *profile;
    struct cairn_sample_quality quality;
    struct cli_output *output;
};

enum {
    OPT_PID,
    OPT_FREQUENCY,
    OPT_DURATION,
    OPT_OUTPUT,
    OPT_USER_ONLY,
    OPT_METHOD,
    OPT_SYMBOLS,
    OPT_FORCE,
    OPT_VERBOSE,
    OPT_WAYS,
};

static const struct cli_option options[] = {
    [OPT_PID] = {"pid", 'p', "PID", "sample this process: all its threads, and what they start"},
    [OPT_FREQUENCY] = {"frequency", 'F', "HZ", "samples a second of CPU time (99)"},
    [OPT_DURATION] = {"duration", 'd', "SECONDS", "stop after SECONDS; the target runs on"},
    [OPT_OUTPUT] = {"output", 'o', "FILE",
                    "write to FILE: .pb.gz raw addresses; .html, .svg a flame graph; .txt, "
                    ".collapsed, .folded named stacks (cairn.PID.pb.gz)"},
    [OPT_USER_ONLY] = {"user-only", 'u', NULL,
                       "no kernel frames; time in the kernel is not counted"},
    [OPT_METHOD] = {"method", 0, "HOW",
                    "bpf, perf, ptrace (commands only), or auto (default): the first of these that "
                    "is allowed"},
    [OPT_SYMBOLS] = {"symbols", 's', "DIR",
                     "look for binaries and debug files in DIR too, for output that is named; may "
                     "be given several times"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL, "say what was decided; twice: more of it"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

static bool set_method(struct job *job, struct cli_args *args, const char *value)
{
    static const char *const words[] = {"auto", "bpf", "perf", "ptrace", NULL};
    static const enum cairn_sample_method methods[] = {CAIRN_SAMPLE_AUTO, CAIRN_SAMPLE_BPF,
                                                       CAIRN_SAMPLE_PERF, CAIRN_SAMPLE_PTRACE};
    int index;
    if (!cli_args_word(args, "method", value, words, &index))
        return false;
    job->sampler_opts.method = methods[index];
    return true;
}

static bool set_pid(struct job *job, struct cli_args *args, const char *value)
{
    uint64_t pid;
    if (!cli_args_u64(args, "pid", value, &pid))
        return false;
    if (pid == 0 || pid > PID_MAX) {
        cli_args_wrong(args, "--pid: %s is no process", value);
        return false;
    }
    job->sampler_opts.pid = (int)pid;
    return true;
}

static bool set_positive(struct cli_args *args, const char *option, const char *value, double most,
                         double *ret_value)
{
    if (!cli_args_real(args, option, value, ret_value))
        return false;
    if (*ret_value > 0 && *ret_value <= most)
        return true;
    cli_args_wrong(args, "--%s: %s, expected more than 0 and at most %.0f", option, value, most);
    return false;
}

static bool set_option(struct job *job, struct cli_args *args, int row, const char *value)
{
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &job->symbols);
    switch (row) {
    case OPT_PID:
        return set_pid(job, args, value);
    case OPT_FREQUENCY:
        if (!set_positive(args, "frequency", value, 1e6, &job->sampler_opts.frequency_hz))
            return false;
        if (job->sampler_opts.frequency_hz >= 1)
            return true;
        cli_args_wrong(args, "--frequency: %s, expected at least 1", value);
        return false;
    case OPT_DURATION:
        return set_positive(args, "duration", value, 1e8, &job->seconds);
    case OPT_OUTPUT:
        job->out = value;
        return true;
    case OPT_USER_ONLY:
        job->sampler_opts.user_only = 1;
        return true;
    case OPT_METHOD:
        return set_method(job, args, value);
    case OPT_SYMBOLS:
        cli_list_add(&job->symbol_dirs, value);
        return true;
    case OPT_FORCE:
        job->force = true;
        return true;
    default:
        job->verbosity++;
        return true;
    }
}

static bool read_args(struct job *job, struct cli_args *args)
{
    const char *value;
    int row;
    size_t n;
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!set_option(job, args, row, value))
            return false;
    if (row == CLI_ARGS_WRONG)
        return false;
    char **operands = cli_args_operands(args, &n);
    if (n > 0)
        job->sampler_opts.argv = operands;
    if ((n > 0) == (job->sampler_opts.pid > 0)) {
        cli_args_wrong(args, n ? "either --pid or a command, not both"
                               : "nothing to record: give --pid PID or -- COMMAND");
        return false;
    }
    if (job->sampler_opts.method == CAIRN_SAMPLE_PTRACE && n == 0) {
        cli_args_wrong(args, "--method=ptrace is for commands only");
        return false;
    }
    return cli_result_of_name(args, job->out, &job->result);
}

static volatile sig_atomic_t stopped;
static struct sigaction before_int, before_term;

/* Once: then the next one does what it did before. */
static void on_stop(int number)
{
    (void)number;
    stopped = 1;
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
}

static void watch_stop(void)
{
    const struct sigaction action = {.sa_handler = on_stop};
    stopped = 0;
    sigaction(SIGINT, &action, &before_int);
    sigaction(SIGTERM, &action, &before_term);
}

static void unwatch_stop(void)
{
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int wait_for_end(struct job *job, struct cairn_err *err)
{
    const double start = seconds_now();
    for (int code = 1; code > 0 && !stopped;) {
        double elapsed = seconds_now() - start;
        double left_ms = job->seconds > 0 ? (job->seconds - elapsed) * 1000 : POLL_MS;
        if (left_ms <= 0)
            break;
        code =
            cairn_sampler_poll(job->sampler, left_ms < POLL_MS ? (int)left_ms + 1 : POLL_MS, err);
        if (code < 0)
            return code;
        cli_progress("%llu samples, %.0f s; Ctrl-C ends",
                     (unsigned long long)cairn_sampler_count(job->sampler), elapsed);
    }
    cli_progress_done();
    return CAIRN_OK;
}

static int record(struct job *job, struct cairn_err *err)
{
    watch_stop();
    int code = cairn_sampler_start(job->sampler, err);
    if (code == CAIRN_OK)
        code = wait_for_end(job, err);
    unwatch_stop();
    if (code < 0)
        return code;
    return cairn_sampler_finish(job->sampler, &job->profile, &job->quality, err);
}

static int write_output(struct job *job, const char *quality, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (job->result != CLI_RESULT_RAW)
        code = cli_namer_name(&job->symbols, &job->symbol_dirs, cairn_sampler_pid(job->sampler),
                              job->profile, err);
    if (code == CAIRN_OK)
        code = cli_result_write(job->result, job->profile, quality, job->output, err);
    struct cli_output *output = job->output;
    job->output = NULL;
    return cli_result_end(output, code, err);
}

static void say_exit(const struct job *job)
{
    int status = job->quality.exit_status, pid = cairn_sampler_pid(job->sampler);
    if (!job->sampler_opts.argv)
        return;
    if (status == -1)
        cli_say("the command still runs: pid %d", pid);
    else if (WIFSIGNALED(status))
        cli_say("the command was ended by signal %d (%s)", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        cli_say("the command ended with exit status %d", WEXITSTATUS(status));
}

static void say_result(const struct job *job, const char *quality)
{
    struct cairn_buffer line = {0};
    cairn_escape_terminal(&line, quality, strlen(quality));
    say_exit(job);
    if (strcmp(job->out, "-") != 0)
        cli_say("wrote %s", job->out);
    cli_say("%s", cairn_buffer_text(&line));
    cairn_buffer_done(&line);
}

static int work(struct job *job, struct cairn_err *err)
{
    char quality[QUALITY_BYTES];
    int code = cairn_sampler_new(&job->sampler_opts, &job->sampler, err);
    if (code < 0)
        return code;
    if (!job->out) {
        snprintf(job->default_out, sizeof job->default_out, "cairn.%d.pb.gz",
                 cairn_sampler_pid(job->sampler));
        job->out = job->default_out;
    }
    code = cli_output_open(job->out, job->force, &job->output, err);
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
    struct job job = {.sampler_opts.size = sizeof job.sampler_opts,
                      .quality.size = sizeof job.quality};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    cli_way_init(&job.symbols);
    if (read_args(&job, args)) {
        cli_log_open(job.verbosity);
        status = work(&job, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    cli_output_drop(job.output);
    cairn_profile_free(job.profile);
    cairn_sampler_free(job.sampler);
    cli_list_done(&job.symbol_dirs);
    return status;
}

const struct cli_command cli_cmd_record = {
    .name = "record",
    .summary = "sample the stacks of a process or of a command",
    .usage = (const char *const[]){"record [OPTION...] -p PID",
                                   "record [OPTION...] [--] COMMAND [ARGUMENT...]", NULL},
    .options = options,
    .notes = "The stacks of user code are found by frame pointers: build with "
             "-fno-omit-frame-pointer. The last line says how many stacks are whole and why the "
             "others end early.",
    .run = run,
    .options_first = true,
};
