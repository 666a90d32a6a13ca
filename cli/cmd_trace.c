/* SPDX-License-Identifier: MIT */
/*
 * cairn trace: system calls of processes, of a command, or of all that runs, with their stacks.
 *
 *     trace ─┬─► events ─► lines, JSON (stdout)
 *            └─► sums ───► table (stdout), profile, picture (-o)
 *
 * The first SIGINT, SIGTERM or SIGHUP ends it, as it ends cairn record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/namer.h"
#include "cli/numbers.h"
#include "cli/pass_on.h"
#include "cli/trace.h"
#include "cli/wait.h"

enum { TURN_MS = 200 }; /* a live table asks so often whether it is due */

struct job {
    struct cli_trace asked;
    struct cairn_trace *trace;
    struct cli_trace_lines lines;
    struct cli_trace_top top;
    struct cli_output *output;
    struct cairn_buffer written;
    struct cairn_trace_stats stats;
    int thread_pid;
    bool is_closed; /* whoever read stdout has gone */
};

static int wait_for_end(struct job *job, struct cairn_err *err)
{
    struct cli_wait wait = cli_wait_begin(job->asked.whom.seconds, job->asked.opts.argv != NULL);
    for (int code = 1, ms; code == 1 && !job->is_closed && (ms = cli_wait_next(&wait)) > 0;) {
        code = cairn_trace_poll(job->trace, job->top.is_live && ms > TURN_MS ? TURN_MS : ms, err);
        if (code < 0)
            return code;
        job->is_closed = code == 2 || !cli_trace_flush(&job->lines, false) ||
                         (job->asked.top && !cli_trace_top_turn(&job->top));
    }
    return CAIRN_OK;
}

/* Signals are ours again. */
static void let_go(void)
{
    cli_pass_on_to(0);
    cli_pass_on_release_keys();
}

static int trace(struct job *job, struct cairn_err *err)
{
    cli_pass_on_begin(true);
    int code = cairn_trace_start(job->trace, err);
    if (code == CAIRN_OK && job->asked.opts.argv)
        cli_pass_on_to(cairn_trace_pid(job->trace));
    if (code == CAIRN_OK && job->asked.whom.verbosity)
        cli_say("tracing has begun"); /* whoever waits for it may go on */
    if (code == CAIRN_OK)
        code = wait_for_end(job, err);
    if (code == CAIRN_OK)
        code = cairn_trace_finish(job->trace, err);
    if (code < 0 || cairn_trace_hold(job->trace, 0, NULL) <= 0)
        let_go();
    return code;
}

/* What was traced by ptrace and runs on needs us. An end that is asked for ends both. */
static void hold(struct job *job)
{
    struct cli_wait wait = cli_wait_begin(0, true);
    if (cairn_trace_hold(job->trace, 0, NULL) <= 0)
        return;
    cli_say("tracing has ended, and the command runs on: its filter of system calls stays, and "
            "needs this process until its end");
    wait.n_before = cli_pass_on_n_ends();
    for (int ms; (ms = cli_wait_next(&wait)) > 0;)
        if (cairn_trace_hold(job->trace, ms, NULL) <= 0)
            return;
}

static void put_part(struct cairn_buffer *out, uint64_t n, const char *what)
{
    cairn_buffer_str(out, out->size ? ", " : "");
    cli_add_count(out, n);
    cairn_buffer_printf(out, " %s", what);
}

static void say_line(struct cairn_buffer *line)
{
    cli_say("%s", cairn_buffer_text(line));
    cairn_buffer_clear(line);
}

/* Why stacks were cut, the most frequent first. */
static void put_cuts(struct cairn_buffer *out, struct cairn_trace *trace)
{
    enum { REASONS_MAX = 8 };
    struct {
        const char *reason;
        uint64_t n;
    } cuts[REASONS_MAX] = {{0}};
    struct cairn_trace_sum sum = {.size = sizeof sum};
    size_t n = 0;
    for (size_t i = 0; i < cairn_trace_sum_rows(trace); i++) {
        if (cairn_trace_sum(trace, i, &sum) < 0 || !*sum.cut)
            continue;
        size_t at = 0;
        while (at < n && strcmp(cuts[at].reason, sum.cut) != 0)
            at++;
        if (at == REASONS_MAX)
            continue;
        n += at == n;
        cuts[at].reason = sum.cut;
        cuts[at].n += sum.n;
    }
    for (size_t i = 0; i < n; i++) {
        cairn_buffer_str(out, i ? ", " : ": ");
        cli_add_count(out, cuts[i].n);
        cairn_buffer_char(out, ' ');
        cairn_escape_terminal(out, cuts[i].reason, strlen(cuts[i].reason));
    }
}

static void say_exit(const struct job *job)
{
    const int status = job->stats.exit_status;
    if (!job->asked.opts.argv)
        return;
    if (status == -1)
        cli_say("the command still runs: pid %d", cairn_trace_pid(job->trace));
    else if (WIFSIGNALED(status))
        cli_say("the command was ended by signal %d (%s)", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        cli_say("the command ended with exit status %d", WEXITSTATUS(status));
}

static void say_quality(struct job *job)
{
    const struct cairn_trace_stats *stats = &job->stats;
    struct cairn_buffer line = {0};
    say_exit(job);
    put_part(&line, stats->n_seen, stats->n_seen == 1 ? "event seen" : "events seen");
    if (stats->n_filtered)
        put_part(&line, stats->n_filtered, "filtered out");
    if (!job->asked.opts.sums_only && !job->asked.top)
        put_part(&line, stats->n_shown, "shown");
    if (stats->n_not_shown)
        put_part(&line, stats->n_not_shown,
                 "counted alone, for they came faster than they were read");
    put_part(&line, stats->n_counted, "counted");
    if (job->asked.opts.timeline)
        put_part(&line, stats->n_kept, "on the timeline");
    if (stats->n_unkept)
        put_part(&line, stats->n_unkept, "counted alone, for the timeline is full");
    if (stats->n_pending)
        put_part(&line, stats->n_pending, "not returned yet");
    if (stats->n_unreturned)
        put_part(&line, stats->n_unreturned, "left without a return");
    put_part(&line, stats->n_lost, "lost");
    say_line(&line);
    if (!job->asked.opts.no_stack) {
        cairn_buffer_str(&line, job->asked.opts.kernel_only ? "stacks, the kernel's frames alone: "
                                                            : "stacks: ");
        cli_add_count(&line, stats->n_whole);
        cairn_buffer_str(&line, " whole, ");
        cli_add_count(&line, stats->n_cut);
        cairn_buffer_str(&line, " cut");
        if (stats->n_cut)
            put_cuts(&line, job->trace);
        cairn_buffer_str(&line, "; ");
        cli_add_count(&line, stats->n_remembered);
        cairn_buffer_str(&line, " recognized, ");
        cli_add_count(&line, stats->n_walked);
        cairn_buffer_str(&line, " walked");
        say_line(&line);
    }
    cairn_buffer_printf(&line, "attached by %s", stats->attached);
    if (stats->ns_per_event)
        cairn_buffer_printf(&line, "; %llu ns an event", (unsigned long long)stats->ns_per_event);
    else if (stats->n_seen && stats->way == CAIRN_TRACE_WAY_BPF)
        cairn_buffer_str(&line, "; time of an event: see sysctl kernel.bpf_stats_enabled");
    say_line(&line);
    cairn_buffer_done(&line);
}

static int put_summary(struct job *job, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    cli_trace_summary(&out, job->trace, !job->asked.opts.no_stack);
    bool ok = !out.failed;
    if (ok && fwrite(cairn_buffer_text(&out), 1, out.size, stdout) == out.size)
        (void)fflush(stdout);
    cairn_buffer_done(&out);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}

static int write_profile(struct job *job, struct cairn_err *err)
{
    struct cairn_profile *profile = NULL;
    const enum cli_result result = job->asked.whom.result;
    char title[128];
    int code = cairn_trace_take_profile(job->trace, result != CLI_RESULT_RAW, &profile, err);
    snprintf(title, sizeof title, "%llu events, %llu lost",
             (unsigned long long)job->stats.n_counted, (unsigned long long)job->stats.n_lost);
    if (code == CAIRN_OK)
        code = cli_result_write(result, CAIRN_GUEST_FOLD, profile, title, job->output, err);
    struct cli_output *output = job->output;
    job->output = NULL;
    cairn_profile_free(profile);
    if (code < 0)
        return cli_result_end(output, code, err);
    code = cli_output_commit_anyway(output, &job->written, err);
    if (code == CAIRN_OK && strcmp(job->asked.whom.out, "-") != 0)
        cli_say("wrote %s", cairn_buffer_text(&job->written));
    return code;
}

/* The process that a thread is in. */
static int find_thread(struct job *job, struct cairn_err *err)
{
    char path[64], line[256];
    const int tid = job->asked.opts.tid;
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "Tgid:", 5) == 0)
            job->thread_pid = (int)strtol(line + 5, NULL, 10);
    if (file)
        fclose(file);
    if (!job->thread_pid)
        return cairn_fail(err, CAIRN_E_MISSING, "thread %d: no such thread", tid);
    job->asked.opts.pids = &job->thread_pid;
    job->asked.opts.n_pids = 1;
    job->asked.opts.no_inherit = 1;
    return CAIRN_OK;
}

static int find_targets(struct job *job, struct cairn_err *err)
{
    if (job->asked.opts.tid)
        return find_thread(job, err);
    int code = cli_record_find(&job->asked.whom, err);
    job->asked.opts.pids = job->asked.whom.sampler.pids;
    job->asked.opts.n_pids = job->asked.whom.sampler.n_pids;
    return code;
}

static int put_results(struct job *job, struct cairn_err *err)
{
    int code = CAIRN_OK;
    job->is_closed = !cli_trace_flush(&job->lines, true) || job->is_closed;
    if (job->is_closed)
        return CAIRN_OK;
    job->stats.size = sizeof job->stats;
    cairn_trace_stats(job->trace, &job->stats);
    if (job->asked.summary)
        code = put_summary(job, err);
    if (job->asked.top && !cli_trace_top_end(&job->top))
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK)
        say_quality(job);
    return code == CAIRN_OK && job->output ? write_profile(job, err) : code;
}

static int work(struct job *job, struct cairn_err *err)
{
    int code = find_targets(job, err);
    if (code < 0)
        return code;
    job->asked.whom.symbols.size = sizeof job->asked.whom.symbols;
    job->asked.whom.symbols.symbol_dirs = job->asked.whom.symbol_dirs.items;
    job->asked.whom.symbols.n_symbol_dirs = job->asked.whom.symbol_dirs.n;
    job->asked.opts.symbols = &job->asked.whom.symbols;
    job->asked.opts.report = job->asked.top ? cli_trace_top_event : cli_trace_line;
    job->asked.opts.report_ctx = job->asked.top ? (void *)&job->top : &job->lines;
    if (job->asked.top)
        cli_trace_top_init(&job->top, job->asked.top);
    code = cairn_trace_new(&job->asked.opts, &job->trace, err);
    if (code < 0)
        return code;
    job->lines.trace = job->top.trace = job->trace;
    job->lines.json = job->asked.json;
    job->lines.snapshot = job->asked.snapshot ? &job->asked : NULL;
    job->lines.no_stack = job->asked.opts.no_stack != 0;
    if (job->asked.whom.out)
        code = cli_output_open(job->asked.whom.out, job->asked.whom.force, &job->output, err);
    if (code == CAIRN_OK)
        code = trace(job, err);
    if (code < 0)
        return code;
    code = put_results(job, err);
    hold(job);
    let_go();
    if (job->is_closed)
        cli_end_quietly();
    return code;
}

static int put_event_name(void *ctx, const char *name)
{
    (void)ctx;
    puts(name);
    return 0;
}

/* An event as -e takes it, then what is known of it. */
static int put_usdt(void *ctx, const struct cairn_trace_usdt *probe)
{
    struct cairn_buffer line = {0};
    (void)ctx;
    cairn_buffer_str(&line, "usdt:");
    cairn_escape_terminal(&line, probe->file, strlen(probe->file));
    cairn_buffer_printf(&line, ":%s:%s  %zu place%s%s  ", probe->provider, probe->name,
                        probe->n_places, probe->n_places == 1 ? "" : "s",
                        probe->has_semaphore ? ", semaphore" : "");
    if (*probe->args)
        cairn_escape_terminal(&line, probe->args, strlen(probe->args));
    else
        cairn_buffer_str(&line, "no arguments");
    puts(cairn_buffer_text(&line));
    cairn_buffer_done(&line);
    return 0;
}

static int list(struct job *job, struct cairn_err *err)
{
    const struct cli_list *patterns = &job->asked.patterns;
    const struct cairn_trace_opts *opts = &job->asked.opts;
    int code = CAIRN_OK;
    if (opts->tid || job->asked.whom.processes.n)
        code = find_targets(job, err);
    for (size_t i = 0; i < patterns->n && code == CAIRN_OK; i++)
        code = strncmp(patterns->items[i], "usdt:", 5) == 0
                   ? cairn_trace_list_usdt(patterns->items[i], opts->pids, opts->n_pids, put_usdt,
                                           NULL, err)
                   : cairn_trace_list(patterns->items[i], put_event_name, NULL, err);
    return code;
}

static int put_place(void *ctx, const struct cairn_trace_spot *place)
{
    struct cairn_buffer line = {0};
    (void)ctx;
    cairn_buffer_str(&line, strcmp(place->kind, "syscall") == 0 ? "syscall:" : "");
    cairn_escape_terminal(&line, place->event, strlen(place->event));
    if (*place->file) {
        cairn_buffer_str(&line, "\n  at      ");
        cairn_escape_terminal(&line, place->file, strlen(place->file));
        cairn_buffer_printf(&line, "+0x%llx", (unsigned long long)place->off);
    }
    for (size_t i = 0; i < place->n_insn; i++)
        cairn_buffer_printf(&line, "%s%02x", i ? " " : "\n  bytes   ", place->insn[i]);
    printf("%s\n  by      %s\n", cairn_buffer_text(&line), place->cost);
    cairn_buffer_done(&line);
    return 0;
}

static int explain(struct job *job, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (job->asked.opts.tid || job->asked.whom.processes.n)
        code = find_targets(job, err);
    return code == CAIRN_OK ? cairn_trace_explain(&job->asked.opts, put_place, NULL, err) : code;
}

static int look(struct job *job, struct cairn_err *err)
{
    if (job->asked.patterns.n)
        return list(job, err);
    return job->asked.explain ? explain(job, err) : work(job, err);
}

static int run(struct cli_args *args)
{
    struct job job = {0};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    if (cli_trace_read(args, &job.asked)) {
        cli_log_open(job.asked.whom.verbosity);
        int code = look(&job, &err);
        status = code < 0 ? cli_report(&err) : CLI_OK;
    }
    cli_output_drop(job.output);
    cairn_trace_free(job.trace);
    cli_trace_lines_done(&job.lines);
    cli_trace_top_done(&job.top);
    cli_trace_done(&job.asked);
    cairn_buffer_done(&job.written);
    cli_pass_on_end();
    return status;
}

const struct cli_command cli_cmd_trace = {
    .name = "trace",
    .summary = "report system calls, each with the whole stack that made it",
    .usage = (const char *const[]){"trace [OPTION...] -e EVENT -p PID|NAME",
                                   "trace [OPTION...] -e EVENT -t TID",
                                   "trace [OPTION...] -e EVENT -a | --cgroup CGROUP",
                                   "trace [OPTION...] -e EVENT [--] COMMAND [ARGUMENT...]",
                                   "trace --list PATTERN [-p PID]",
                                   "trace --explain -e EVENT [-p PID | [--] COMMAND]", NULL},
    .options = cli_trace_options,
    .notes = "A filter is a condition such as [count > 4096 && path ~ \"/dev/*\" && ret < 0], with "
             "fields by the names of arguments, pid, tid, uid, cpu, comm, ret, errno and duration. "
             "As root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; without, system calls of a "
             "command, or of processes of the same user.",
    .run = run,
    .remote = CLI_REMOTE_PROFILE,
    .options_first = true,
};
