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
#include "cli/args.h"
#include "cli/namer.h"
#include "cli/result.h"
#include "cli/stack.h"
#include "cli/term.h"
#include "cli/way_options.h"

enum { FOUND_MAX = 4096, INTERVAL_MS = 100 };

struct job {
    struct cairn_snapshot_opts opts;
    struct cairn_unwind_opts modules;
    struct cairn_symbolizer_opts symbols;
    struct cli_list symbol_dirs;
    struct cli_stack_view view;
    bool json, merge, force;
    uint64_t count, interval_ms;
    const char *out;
    enum cli_result result;
    int verbosity;
    struct cairn_json writer; /* to `text`, where --json */
    struct cairn_buffer text;
    struct cairn_profile *all; /* what -o writes */
    uint64_t n_threads, n_stopped, n_cut, held_max_ns;
};

enum {
    OPT_NO_STOP,
    OPT_CONSISTENT,
    OPT_METHOD,
    OPT_WHY,
    OPT_REGS,
    OPT_MERGE,
    OPT_USER_ONLY,
    OPT_COUNT,
    OPT_INTERVAL,
    OPT_OUTPUT,
    OPT_FORCE,
    OPT_JSON,
    OPT_EXE,
    OPT_SYMBOLS,
    OPT_VERBOSE,
    OPT_WAYS,
};

static const struct cli_option options[] = {
    [OPT_NO_STOP] = {"no-stop", 0, NULL,
                     "never stop a thread; one that cannot be read so has no stack then"},
    [OPT_CONSISTENT] = {"consistent", 0, NULL,
                        "stop all threads together, so that their stacks are of one moment"},
    [OPT_METHOD] =
        {"method", 0, "HOW",
         "iterator (a program in the kernel, without a stop; root), memory (threads that "
         "sleep, without a stop), sample (threads that run, without a stop), ptrace, or auto "
         "(default): what disturbs each thread least"},
    [OPT_WHY] = {"why", 'w', NULL, "say how each frame was found and why each stack ends"},
    [OPT_REGS] = {"regs", 'r', NULL, "print the registers of each thread"},
    [OPT_MERGE] = {"merge", 'm', NULL, "threads with equal stacks together"},
    [OPT_USER_ONLY] = {"user-only", 'u', NULL, "no kernel frames"},
    [OPT_COUNT] = {"count", 'n', "N", "look N times, and print how often each stack was seen"},
    [OPT_INTERVAL] = {"interval", 'i', "MS", "milliseconds between two looks (100)"},
    [OPT_OUTPUT] = {"output", 'o', "FILE",
                    "write a profile of all stacks to FILE instead: .pb.gz raw addresses; .html, "
                    ".svg a flame graph; .txt, .collapsed, .folded named stacks"},
    [OPT_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPT_JSON] = {"json", 0, NULL, "print one JSON object"},
    [OPT_EXE] = {"exe", 'e', "FILE", "the program that a core file is of"},
    [OPT_SYMBOLS] = {"symbols", 's', "DIR",
                     "look for binaries and debug files in DIR too; may be given several times"},
    [OPT_VERBOSE] = {"verbose", 'v', NULL, "say what was decided; twice: more of it"},
    CLI_WAY_ROWS(OPT_WAYS),
    {0},
};

static bool set_method(struct job *job, struct cli_args *args, const char *value)
{
    static const char *const words[] = {"auto", "iterator", "memory", "sample", "ptrace", NULL};
    static const enum cairn_snapshot_way ways[] = {CAIRN_SNAPSHOT_NONE, CAIRN_SNAPSHOT_ITERATOR,
                                                   CAIRN_SNAPSHOT_MEMORY, CAIRN_SNAPSHOT_SAMPLE,
                                                   CAIRN_SNAPSHOT_PTRACE};
    int index;
    if (!cli_args_word(args, "method", value, words, &index))
        return false;
    job->opts.way = ways[index];
    return true;
}

static bool set_number(struct cli_args *args, const char *option, const char *value, uint64_t most,
                       uint64_t *ret_value)
{
    if (!cli_args_u64(args, option, value, ret_value))
        return false;
    if (*ret_value > 0 && *ret_value <= most)
        return true;
    cli_args_wrong(args, "--%s: %s, expected 1 to %llu", option, value, (unsigned long long)most);
    return false;
}

static bool set_option(struct job *job, struct cli_args *args, int row, const char *value)
{
    if (row >= OPT_WAYS)
        return cli_way_take(args, (enum cli_way_row)(row - OPT_WAYS), value, &job->symbols);
    switch (row) {
    case OPT_NO_STOP:
        job->opts.no_stop = 1;
        return true;
    case OPT_CONSISTENT:
        job->opts.consistent = 1;
        return true;
    case OPT_METHOD:
        return set_method(job, args, value);
    case OPT_WHY:
        return job->view.why = true;
    case OPT_REGS:
        return job->view.regs = true;
    case OPT_MERGE:
        return job->merge = true;
    case OPT_USER_ONLY:
        job->opts.user_only = 1;
        return true;
    case OPT_COUNT:
        return set_number(args, "count", value, 1000000, &job->count);
    case OPT_INTERVAL:
        return set_number(args, "interval", value, 86400000, &job->interval_ms);
    case OPT_OUTPUT:
        job->out = value;
        return true;
    case OPT_FORCE:
        return job->force = true;
    case OPT_JSON:
        return job->json = true;
    case OPT_EXE:
        job->modules.program = value;
        return true;
    case OPT_SYMBOLS:
        cli_list_add(&job->symbol_dirs, value);
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
    (void)cli_args_operands(args, &n);
    if (!n)
        return cli_args_wrong(args, "whose stacks? give a PID, a name or a core file"), false;
    if (job->opts.no_stop && (job->opts.consistent || job->opts.way == CAIRN_SNAPSHOT_PTRACE))
        return cli_args_wrong(args, "--no-stop contradicts --consistent and --method=ptrace"),
               false;
    if (job->opts.consistent && job->opts.way != CAIRN_SNAPSHOT_NONE &&
        job->opts.way != CAIRN_SNAPSHOT_PTRACE)
        return cli_args_wrong(args, "--consistent contradicts --method=%s",
                              cairn_snapshot_way_text((int)job->opts.way)),
               false;
    if (job->json && job->out)
        return cli_args_wrong(args, "either --json or --output, not both"), false;
    return !job->out || cli_result_of_name(args, job->out, &job->result);
}

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    stopped = 1;
    signal(number, SIG_DFL);
}

/* An ELF file of type ET_CORE. */
static bool is_core(const char *path)
{
    unsigned char head[EI_NIDENT + 2];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool whole = read(fd, head, sizeof head) == sizeof head;
    close(fd);
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
    for (uint64_t i = 0; i < job->count && !stopped && code == CAIRN_OK; i++) {
        if (i)
            nap(job->interval_ms);
        code = cairn_snapshot_take(snapshot, err);
        if (code == CAIRN_E_MISSING && i) {
            cli_say("the process ended after %llu looks", (unsigned long long)i);
            return CAIRN_OK;
        }
        if (code == CAIRN_OK) {
            count_ways(job, snapshot);
            if (!cli_stack_count(groups, snapshot))
                code = cairn_fail_memory(err);
        }
    }
    return code;
}

static void show(struct job *job, struct cairn_snapshot *snapshot, struct cli_stack_groups *groups)
{
    bool grouped = job->merge || job->count > 1;
    const char *core = job->opts.core;
    cli_stack_sort(groups);
    if (job->json && grouped) {
        cli_stack_groups_json(&job->writer, snapshot, core, groups);
    } else if (job->json) {
        cli_stack_json(&job->writer, snapshot, core, &job->view);
    } else {
        if (job->text.size)
            cairn_buffer_char(&job->text, '\n');
        cli_stack_head_text(&job->text, snapshot, core);
        if (grouped)
            cli_stack_groups_text(&job->text, snapshot, groups);
        else
            cli_stack_text(&job->text, snapshot, &job->view);
    }
}

static int look(struct job *job, struct cairn_snapshot *snapshot, struct cairn_err *err)
{
    struct cli_stack_groups groups = {0};
    struct cairn_profile *profile = cairn_snapshot_profile(snapshot);
    int code = take(job, snapshot, &groups, err);
    if (code == CAIRN_OK && !(job->out && job->result == CLI_RESULT_RAW))
        code = cli_namer_name(&job->symbols, &job->symbol_dirs,
                              job->opts.core ? 0 : cairn_snapshot_pid(snapshot), profile, err);
    if (code == CAIRN_OK && job->out)
        code = cairn_profile_merge(job->all, profile, err);
    else if (code == CAIRN_OK)
        show(job, snapshot, &groups);
    cli_stack_groups_done(&groups);
    return code;
}

static int look_at(struct job *job, int pid, const char *core, struct cairn_err *err)
{
    struct cairn_snapshot *snapshot;
    struct cairn_snapshot_opts opts = job->opts;
    job->modules.size = sizeof job->modules;
    job->modules.symbol_dirs = job->symbol_dirs.items;
    job->modules.n_symbol_dirs = job->symbol_dirs.n;
    opts.size = sizeof opts;
    opts.modules = &job->modules;
    opts.pid = pid;
    opts.core = job->opts.core = core;
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
    if (pid)
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
        cli_say("%llu of %llu threads were stopped, the longest for %.1f us; a system call that "
                "they slept in may have returned EINTR",
                (unsigned long long)job->n_stopped, (unsigned long long)job->n_threads,
                (double)job->held_max_ns / 1000);
}

static int write_profile(struct job *job, struct cairn_err *err)
{
    struct cli_output *output;
    char subtitle[128];
    snprintf(subtitle, sizeof subtitle, "%llu stacks, %llu cut", (unsigned long long)job->n_threads,
             (unsigned long long)job->n_cut);
    int code = cli_output_open(job->out, job->force, &output, err);
    if (code < 0)
        return code;
    code = cli_result_write(job->result, job->all, subtitle, output, err);
    code = cli_result_end(output, code, err);
    if (code == CAIRN_OK && strcmp(job->out, "-") != 0)
        cli_say("wrote %s: %s", job->out, subtitle);
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
    int code = job->out ? cairn_profile_new(&job->all, err) : CAIRN_OK;
    if (code < 0)
        return cli_report(err), false;
    if (job->count > 1) {
        signal(SIGINT, on_stop);
        signal(SIGTERM, on_stop);
    }
    job->writer.out = &job->text;
    if (job->json) {
        cairn_json_open(&job->writer, NULL, '{');
        cairn_json_open(&job->writer, "processes", '[');
    }
    for (size_t i = 0; words[i] && !stopped; i++)
        ok &= look_at_word(job, words[i]);
    if (job->json) {
        cairn_json_close(&job->writer, ']');
        cairn_json_close(&job->writer, '}');
        cairn_buffer_char(&job->text, '\n');
    }
    if (job->out ? job->n_threads > 0 : job->text.size > 0)
        code = job->out ? write_profile(job, err) : write_text(job, err);
    say_stops(job);
    return code < 0 ? cli_report(err), false : ok;
}

static int run(struct cli_args *args)
{
    struct job job = {.count = 1, .interval_ms = INTERVAL_MS};
    struct cairn_err err = {0};
    size_t n;
    int status = CLI_USAGE;
    cli_way_init(&job.symbols);
    if (read_args(&job, args)) {
        cli_log_open(job.verbosity);
        status = work(&job, cli_args_operands(args, &n), &err) ? CLI_OK : CLI_FAILED;
    }
    cairn_buffer_done(&job.text);
    cairn_profile_free(job.all);
    cli_list_done(&job.symbol_dirs);
    return status;
}

const struct cli_command cli_cmd_stack = {
    .name = "stack",
    .summary = "show what every thread of a process is doing now, or in a core file",
    .usage = (const char *const[]){"stack [OPTION...] PID|NAME...",
                                   "stack [OPTION...] CORE [--exe FILE]", NULL},
    .options = options,
    .notes = "Threads that sleep are read without a stop, and so are those that run where they may "
             "be sampled (perf_event_open(2)). Others are stopped for some microseconds, each for "
             "itself, and that is told; a stop can end a system call with EINTR.",
    .run = run,
};
