/* SPDX-License-Identifier: MIT */
/*
 * cairn stack: what the threads of processes are doing now, or were when a core file was made.
 *
 *     snapshot, N times ──► profile ──► resolver ─┬─► text or JSON of each thread
 *                                                 ├─► of each stack (--merge, -n)
 *                                                 └─► a file, as cairn record writes (-o)
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cairn/resolve.h>
#include <cairn/snapshot.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/zip.h"
#include "cli/namer.h"
#include "cli/stack_options.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum { FOUND_MAX = 4096, INTERVAL_MS = 100 };

struct job {
    struct cli_stack_wish wish;
    struct cairn_json writer; /* to `text`, where --json */
    struct cairn_buffer text;
    struct cairn_profile *all; /* what -o writes */
    struct cli_output *output; /* of -o, opened before the first look, which cannot be repeated */
    uint64_t n_coroutines;
    uint64_t n_threads, n_stopped, n_cut, held_max_ns;
};

static volatile sig_atomic_t stopped;

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_STOPS = sizeof stops / sizeof *stops };
static struct sigaction before[N_STOPS];

/* Once: the next signal does what it would have done, such as removing the unfinished output. */
static void on_stop(int number)
{
    stopped = 1;
    for (size_t i = 0; i < N_STOPS; i++)
        if (stops[i] == number)
            sigaction(number, &before[i], NULL);
}

/* What nohup(1) ignores stays ignored. SIGINT counts: shells ignore it for background jobs. */
static void watch_stops(void)
{
    const struct sigaction action = {.sa_handler = on_stop};
    for (size_t i = 0; i < N_STOPS; i++)
        if (sigaction(stops[i], NULL, &before[i]) == 0 &&
            (before[i].sa_handler != SIG_IGN || stops[i] == SIGINT))
            sigaction(stops[i], &action, NULL);
}

/* An ELF file of type ET_CORE, or a file that a core may be packed in: what to do about that is
 * said by whoever opens it. */
static bool is_core(const char *path)
{
    unsigned char head[EI_NIDENT + 2];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool whole = read(fd, head, sizeof head) == sizeof head;
    close(fd);
    if (whole && cairn_zip_program((struct cairn_span){head, sizeof head}))
        return true;
    if (!whole || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    return head[EI_NIDENT + (head[EI_DATA] == ELFDATA2MSB)] == ET_CORE;
}

static void count_ways(struct job *job, const struct cairn_snapshot *snapshot)
{
    for (size_t i = 0; i < cairn_snapshot_threads(snapshot); i++) {
        struct cairn_snapshot_thread thread = {.size = sizeof thread};
        if (cairn_snapshot_thread(snapshot, i, &thread) < 0)
            continue;
        job->n_threads++;
        job->n_stopped += thread.held_ns > 0;
        job->n_cut += thread.has_regs && thread.end != CAIRN_END_OUTERMOST;
        if (thread.held_ns > job->held_max_ns)
            job->held_max_ns = thread.held_ns;
    }
}

static void count_coroutines(struct job *job, const struct cairn_snapshot *snapshot)
{
    struct cairn_snapshot_coroutines all = {.size = sizeof all};
    if (cairn_snapshot_coroutines(snapshot, &all) == CAIRN_OK)
        job->n_coroutines += all.n;
}

static void nap(uint64_t ms)
{
    const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* A process that ends between two looks ends the looks. */
static int take(struct job *job, struct cairn_snapshot *snapshot, struct cli_stack_groups *groups,
                struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (uint64_t i = 0; i < job->wish.count && !stopped && code == CAIRN_OK; i++) {
        if (i)
            nap(job->wish.interval_ms);
        code = cairn_snapshot_take(snapshot, err);
        if (code == CAIRN_E_MISSING && i) {
            cli_say("the process ended after %llu looks", (unsigned long long)i);
            return CAIRN_OK;
        }
        if (code == CAIRN_OK) {
            count_ways(job, snapshot);
            count_coroutines(job, snapshot);
            if (!cli_stack_count(groups, snapshot))
                code = cairn_fail_memory(err);
        }
    }
    return code;
}

static void show(struct job *job, struct cairn_snapshot *snapshot, struct cli_stack_groups *groups)
{
    bool grouped = job->wish.merge || job->wish.count > 1;
    const char *core = job->wish.opts.core;
    cli_stack_sort(groups);
    if (job->wish.json && grouped) {
        cli_stack_groups_json(&job->writer, snapshot, core, groups, &job->wish.view);
    } else if (job->wish.json) {
        cli_stack_json(&job->writer, snapshot, core, &job->wish.view);
    } else {
        if (job->text.size)
            cairn_buffer_char(&job->text, '\n');
        cli_stack_head_text(&job->text, snapshot, core);
        if (grouped)
            cli_stack_groups_text(&job->text, snapshot, groups, &job->wish.view);
        else
            cli_stack_text(&job->text, snapshot, &job->wish.view);
        if (job->wish.view.coroutines)
            cli_stack_coroutines_text(&job->text, snapshot, &job->wish.view);
    }
}

static int look(struct job *job, struct cairn_snapshot *snapshot, struct cairn_err *err)
{
    struct cli_stack_groups groups = {.keeps_frames = job->wish.view.why};
    struct cairn_profile *profile = cairn_snapshot_profile(snapshot);
    int code = take(job, snapshot, &groups, err);
    if (code == CAIRN_OK && !(job->wish.out && job->wish.result == CLI_RESULT_RAW))
        code = cli_namer_name(&job->wish.symbols, &job->wish.symbol_dirs,
                              job->wish.opts.core ? 0 : cairn_snapshot_pid(snapshot), profile, err);
    if (code == CAIRN_OK && job->wish.out)
        code = cairn_profile_merge(job->all, profile, err);
    else if (code == CAIRN_OK)
        show(job, snapshot, &groups);
    cli_stack_groups_done(&groups);
    return code;
}

static int look_at(struct job *job, int pid, const char *core, struct cairn_err *err)
{
    struct cairn_snapshot *snapshot;
    struct cairn_snapshot_opts opts = job->wish.opts;
    job->wish.modules.size = sizeof job->wish.modules;
    job->wish.modules.symbol_dirs = job->wish.symbol_dirs.items;
    job->wish.modules.n_symbol_dirs = job->wish.symbol_dirs.n;
    opts.size = sizeof opts;
    opts.modules = &job->wish.modules;
    opts.pid = pid;
    opts.core = job->wish.opts.core = core;
    int code = cairn_snapshot_new(&opts, &snapshot, err);
    if (code < 0)
        return code;
    code = look(job, snapshot, err);
    cairn_snapshot_free(snapshot);
    return code;
}

/* What fails for one does not keep the others from being shown. */
static bool look_at_name(struct job *job, const char *name)
{
    static int pids[FOUND_MAX];
    struct cairn_err err;
    size_t n = 0;
    bool ok = true;
    if (cairn_snapshot_find(name, pids, FOUND_MAX, &n, &err) < 0) {
        cli_report(&err);
        return false;
    }
    if (!n) {
        cairn_fail(&err, CAIRN_E_MISSING, "%s: no process of that name, and no core file", name);
        cli_report(&err);
        return false;
    }
    for (size_t i = 0; i < n && i < FOUND_MAX; i++)
        if (look_at(job, pids[i], NULL, &err) < 0) {
            cli_report(&err);
            ok = false;
        }
    return ok;
}

static bool look_at_word(struct job *job, const char *word)
{
    struct cairn_err err;
    int pid = cli_parse_pid(word), code;
    if (!word[strspn(word, " \t")])
        code = cairn_fail(&err, CAIRN_E_ARG, "\"%s\" is neither a process nor a core file", word);
    else if (pid)
        code = look_at(job, pid, NULL, &err);
    else if (is_core(word) || strchr(word, '/'))
        code = look_at(job, 0, word, &err);
    else
        return look_at_name(job, word);
    if (code < 0)
        cli_report(&err);
    return code == CAIRN_OK;
}

/* To stderr, for the result is to be read by programs, too. */
static void say_stops(const struct job *job)
{
    if (job->n_stopped)
        cli_say("%llu of %llu thread%s %s stopped, the longest for %.1f us%s",
                (unsigned long long)job->n_stopped, (unsigned long long)job->n_threads,
                job->n_threads == 1 ? "" : "s", job->n_stopped == 1 ? "was" : "were",
                (double)job->held_max_ns / 1000,
                cairn_snapshot_stops_end_calls()
                    ? "; a system call slept in may have returned EINTR"
                    : "");
}

static int write_profile(struct job *job, struct cairn_err *err)
{
    struct cairn_buffer name = {0};
    struct cli_output *output = job->output;
    char subtitle[128];
    int n = snprintf(subtitle, sizeof subtitle, "%llu stacks, %llu cut",
                     (unsigned long long)job->n_threads, (unsigned long long)job->n_cut);
    if (job->wish.view.coroutines)
        snprintf(subtitle + n, sizeof subtitle - (size_t)n, ", %llu coroutines",
                 (unsigned long long)job->n_coroutines);
    job->output = NULL;
    int code =
        cli_result_write(job->wish.result, job->wish.view.guest, job->all, subtitle, output, err);
    code = code == CAIRN_OK ? cli_output_commit_anyway(output, &name, err)
                            : cli_result_end(output, code, err);
    if (code == CAIRN_OK && strcmp(job->wish.out, "-") != 0)
        cli_say("wrote %s: %s", cairn_buffer_text(&name), subtitle);
    cairn_buffer_done(&name);
    return code;
}

static int write_text(struct job *job, struct cairn_err *err)
{
    struct cli_output *output;
    if (job->text.failed)
        return cairn_fail_memory(err);
    int code = cli_output_open("-", false, &output, err);
    if (code < 0)
        return code;
    if (cli_output_write(output, job->text.data, job->text.size) != 0)
        code = CAIRN_E_IO;
    return cli_result_end(output, code, err);
}

static bool work(struct job *job, char **words, struct cairn_err *err)
{
    bool ok = true;
    int code = job->wish.out ? cairn_profile_new(&job->all, err) : CAIRN_OK;
    if (code == CAIRN_OK && job->wish.out)
        code = cli_output_open(job->wish.out, job->wish.force, &job->output, err);
    if (code < 0)
        return cli_report(err), false;
    if (job->wish.count > 1)
        watch_stops();
    job->writer.out = &job->text;
    if (job->wish.json) {
        cairn_json_open(&job->writer, NULL, '{');
        cairn_json_open(&job->writer, "processes", '[');
    }
    for (size_t i = 0; words[i] && !stopped; i++)
        ok &= look_at_word(job, words[i]);
    if (job->wish.json) {
        cairn_json_close(&job->writer, ']');
        cairn_json_close(&job->writer, '}');
        cairn_buffer_char(&job->text, '\n');
    }
    if (job->wish.out ? job->n_threads > 0 : job->text.size > 0)
        code = job->wish.out ? write_profile(job, err) : write_text(job, err);
    say_stops(job);
    return code < 0 ? cli_report(err), false : ok;
}

static int run(struct cli_args *args)
{
    struct job job = {.wish = {.count = 1, .interval_ms = INTERVAL_MS}};
    struct cairn_err err = {0};
    size_t n;
    int status = CLI_USAGE;
    cli_way_init(&job.wish.symbols);
    if (cli_stack_options_read(&job.wish, args)) {
        cli_log_open(job.wish.verbosity);
        status = work(&job, cli_args_operands(args, &n), &err) ? CLI_OK : CLI_FAILED;
    }
    cli_output_drop(job.output);
    cairn_buffer_done(&job.text);
    cairn_profile_free(job.all);
    cli_list_done(&job.wish.symbol_dirs);
    return status;
}

const struct cli_command cli_cmd_stack = {
    .name = "stack",
    .summary = "show what every thread of a process is doing now, or in a core file",
    .usage = (const char *const[]){"stack [OPTION...] PID|NAME...",
                                   "stack [OPTION...] CORE [--exe FILE]", NULL},
    .options = cli_stack_options,
    .notes = "Threads that sleep are read without a stop, and so are those that run where they may "
             "be sampled (perf_event_open(2)). Others are stopped for some microseconds, each for "
             "itself, and that is told.",
    .run = run,
    .remote = CLI_REMOTE_PROFILE,
};
