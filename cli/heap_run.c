/* SPDX-License-Identifier: MIT */
/*
 * cairn heap run: a command under the tracker; its output and exit status pass through.
 *
 *     cairn ── a folder, the environment ──► command, and what it starts
 *           ◄── a state file each ──────────
 *           ──► summary on stderr, all states in one file
 */
#include "cli/heap_run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "cli/pass_on.h"
#include "cli/term.h"

enum { PATH_BYTES = 64, SIGNAL_STATUS = 128, GROWTH_TOP = 10 };

enum option {
    OPTION_OUTPUT,
    OPTION_FORCE,
    OPTION_DEPTH,
    OPTION_NO_STACKS,
    OPTION_SAMPLE,
    OPTION_MAX_MEMORY,
    OPTION_MMAP,
    OPTION_FORK_COPY,
    OPTION_NO_FOLLOW,
    OPTION_LOST,
    OPTION_FAIL_OVER,
    OPTION_BASELINE,
    OPTION_SUPPRESSIONS,
    OPTION_NO_DEFAULTS,
    OPTION_LIBRARY,
    OPTION_NAMES
};

static const struct cli_option options[] = {
    [OPTION_OUTPUT] = {"output", 'o', "FILE", "write what was recorded to FILE (cairn.PID.heap)"},
    [OPTION_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPTION_DEPTH] = CLI_HEAP_DEPTH_ROW,
    [OPTION_NO_STACKS] = CLI_HEAP_NO_STACKS_ROW,
    [OPTION_SAMPLE] = CLI_HEAP_SAMPLE_ROW,
    [OPTION_MAX_MEMORY] = CLI_HEAP_MAX_MEMORY_ROW,
    [OPTION_MMAP] = {"mmap", 0, NULL, "record mmap, munmap, mremap and brk too"},
    [OPTION_FORK_COPY] = {"fork-copy", 0, NULL,
                          "let children of fork begin with their parent's blocks"},
    [OPTION_NO_FOLLOW] = {"no-follow", 0, NULL,
                          "track the command alone, not what it starts or becomes"},
    [OPTION_LOST] =
        {"lost", 0, "WHEN",
         "say what nothing points to any more, when COMMAND is at its end (at-exit, the "
         "default), every WHEN seconds, or when cairn gets the signal WHEN (USR1, USR2, HUP)",
         .optional = true},
    [OPTION_FAIL_OVER] = {"fail-over", 0, "SIZE",
                          "exit status 3 if more than SIZE lives at the end, of what is not "
                          "suppressed; with --lost if more is lost"},
    [OPTION_BASELINE] = CLI_HEAP_BASELINE_ROW,
    [OPTION_SUPPRESSIONS] = CLI_HEAP_SUPPRESSIONS_ROW,
    [OPTION_NO_DEFAULTS] = CLI_HEAP_NO_DEFAULTS_ROW,
    [OPTION_LIBRARY] = {"library", 0, "FILE", "the tracker (libcairn-heap.so)"},
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

struct job {
    struct cli_args *args;
    char **argv;
    const char *out;
    bool force;
    struct cairn_heap_opts opts;
    struct cli_heap_wanted wanted;
    struct cli_run_lost lost;
    struct cairn_heap_session *session;
    struct cairn_heap *heap;
    struct cli_output *output;   /* opened before the command runs */
    struct cairn_buffer written; /* the name that it got in the end; "": nothing is written */
};

static bool take_option(struct job *job, int option, const char *value)
{
    switch (option) {
    case OPTION_OUTPUT:
        job->out = value;
        return true;
    case OPTION_FORCE:
        job->force = true;
        return true;
    case OPTION_DEPTH:
        return cli_heap_take_depth(job->args, value, &job->opts.depth);
    case OPTION_NO_STACKS:
        job->opts.no_stacks = 1;
        return true;
    case OPTION_SAMPLE:
        return cli_args_size(job->args, "sample", value, &job->opts.sample_bytes);
    case OPTION_MAX_MEMORY:
        return cli_args_size(job->args, "max-memory", value, &job->opts.max_memory);
    case OPTION_MMAP:
        job->opts.mappings = 1;
        return true;
    case OPTION_FORK_COPY:
        job->opts.fork_copy = 1;
        return true;
    case OPTION_NO_FOLLOW:
        job->opts.no_follow = 1;
        return true;
    case OPTION_LOST:
        if (!cli_run_lost_take(job->args, value, &job->lost))
            return false;
        job->opts.hold_exit = cli_run_lost_is_at_end(&job->lost);
        job->opts.answer = true;
        return true;
    case OPTION_FAIL_OVER:
        job->wanted.has_limit = true;
        return cli_args_size(job->args, "fail-over", value, &job->wanted.limit);
    case OPTION_BASELINE:
        job->wanted.baseline = value;
        return true;
    case OPTION_SUPPRESSIONS:
        job->wanted.suppressions_file = value;
        return true;
    case OPTION_NO_DEFAULTS:
        job->wanted.no_defaults = true;
        return true;
    case OPTION_LIBRARY:
        job->opts.library = value;
        return true;
    default:
        return cli_heap_take_name(job->args, option - OPTION_NAMES, value, &job->wanted.names);
    }
}

static bool parse(struct job *job)
{
    const char *value;
    size_t n;
    int option;
    while ((option = cli_args_next(job->args, &value)) >= 0)
        if (!take_option(job, option, value))
            return false;
    if (option == CLI_ARGS_WRONG)
        return false;
    if (job->lost.is_wanted && job->wanted.baseline) {
        cli_args_wrong(job->args, "--lost and --baseline are two gates: take one");
        return false;
    }
    job->argv = cli_args_operands(job->args, &n);
    if (n)
        return true;
    cli_args_wrong(job->args, "COMMAND is missing");
    return false;
}

/* Before the command runs: what it does is not to be lost for a name that cannot be written. The
 * pid that the default name has is not known yet. */
static int open_output(struct job *job, struct cairn_err *err)
{
    return cli_output_open(job->out ? job->out : "cairn.0.heap", job->out && job->force,
                           &job->output, err);
}

static int save(struct job *job, int pid, struct cairn_err *err)
{
    char own[PATH_BYTES];
    struct cli_output *output = job->output;
    job->output = NULL;
    int result = CAIRN_OK;
    snprintf(own, sizeof own, "cairn.%d.heap", pid);
    if (!job->out)
        result = cli_output_rename(output, own, err);
    if (result == CAIRN_OK)
        result = cairn_heap_save(job->heap, cli_output_write, output, err);
    if (result < 0) {
        (void)cli_output_error(output, err);
        return cli_output_fail(output, result, err);
    }
    return cli_output_commit_anyway(output, &job->written, err);
}

/* The states themselves are the record, until a file has all of them. */
static int save_or_keep(struct job *job, int pid, struct cairn_err *err)
{
    int result = save(job, pid, err);
    if (result == CAIRN_OK)
        return result;
    cairn_buffer_clear(&job->written);
    cairn_heap_session_keep(job->session);
    const char *folder = cairn_heap_session_folder(job->session);
    cli_say("what was recorded stays in %s: cairn heap leaks %s; cairn heap clean %s removes it",
            folder, folder, folder);
    return result;
}

/* There is nothing to read: why? A program that allocates nothing has no state. Only a gate fails
 * by that, which nothing was held against. */
static int say_nothing(const struct job *job, struct cairn_err *err)
{
    const char *reason = cairn_heap_unreachable(job->argv[0]);
    if (!*reason)
        reason = "it allocated nothing, or was not reached (it was started by another loader?)";
    if (!job->wanted.has_limit && !job->wanted.baseline) {
        cli_say("%s was not tracked: %s", job->argv[0], reason);
        return CAIRN_OK;
    }
    cairn_fail(err, CAIRN_E_MISSING, "%s was not tracked: %s", job->argv[0], reason);
    cairn_hint(err, "the tracker is preloaded into programs that the loader starts and that take "
                    "malloc from a library");
    return CAIRN_E_MISSING;
}

/* Programs that were started and that nothing is known of. */
static void say_missed(const struct job *job)
{
    struct cairn_heap_missed missed = {.size = sizeof missed};
    struct cairn_buffer path = {0};
    for (size_t i = 0; job->heap ? cairn_heap_untracked(job->heap, i, &missed)
                                 : cairn_heap_session_missed(job->session, i, &missed);
         i++) {
        cairn_buffer_clear(&path);
        cairn_escape_terminal(&path, missed.path, strlen(missed.path));
        cli_say("%s ran, and is not tracked: %s", cairn_buffer_text(&path), missed.reason);
    }
    cairn_buffer_done(&path);
}

/* Before a long wait: reading takes a tenth of a second a process that left much. */
static void say_reading(const char *folder)
{
    enum { MANY = 50 };
    struct dirent *entry;
    size_t n = 0;
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir)))
        n += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    if (n >= MANY)
        cli_say("reading what %zu processes have left", n);
}

/* The file comes first: nothing that goes wrong with the summary loses it. */
static int finish(struct job *job, int pid, struct cairn_err *err)
{
    say_reading(cairn_heap_session_folder(job->session));
    int result = cairn_heap_session_read(job->session, &job->heap, err);
    if (result == CAIRN_OK)
        result = save_or_keep(job, pid, err);
    cli_pass_on_release_keys();
    if (!job->opts.no_follow)
        say_missed(job);
    if (!job->heap)
        return result == CAIRN_E_MISSING ? say_nothing(job, err) : result;
    struct cairn_err of_summary = {0};
    int said = cli_heap_say_summary(job->heap, &job->wanted.names, &of_summary);
    if (result == CAIRN_OK && job->written.size)
        cli_say("wrote %s: cairn heap leaks %s", cairn_buffer_text(&job->written),
                cairn_buffer_text(&job->written));
    if (result == CAIRN_OK && said < 0)
        *err = of_summary;
    return result < 0 ? result : said;
}

/* What grew, on stderr: stdout is the command's. */
static int print_growth(const struct cli_heap_changes *changes, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    cli_heap_add_changes(&out, changes, GROWTH_TOP, false);
    int result = out.failed ? cairn_fail_memory(err) : CAIRN_OK;
    if (result == CAIRN_OK)
        fwrite(out.data, 1, out.size, stderr);
    cairn_buffer_done(&out);
    return result;
}

/* Only a gate needs names; without one they are left to who reads the file. */
static int ask_gate(struct job *job, bool *ret_is_closed, struct cairn_err *err)
{
    struct cli_heap_look now = {0}, baseline = {0};
    struct cli_heap_changes changes = {0};
    bool has_baseline = job->wanted.baseline != NULL;
    if (job->lost.is_wanted) {
        *ret_is_closed = job->lost.is_closed;
        return job->lost.has_failed && job->wanted.has_limit
                   ? cairn_fail(err, CAIRN_E_MISSING, "--fail-over: what is lost is not known")
                   : CAIRN_OK;
    }
    if (!job->heap || (!has_baseline && !job->wanted.has_limit))
        return CAIRN_OK;
    int result = cli_heap_look_at(&job->wanted, job->heap, 0, &now, err);
    job->heap = NULL;
    if (result == CAIRN_OK)
        cli_heap_say_suppressed(&job->wanted);
    if (result == CAIRN_OK && has_baseline)
        result = cli_heap_look(&job->wanted, job->wanted.baseline, &baseline, err);
    if (result == CAIRN_OK && has_baseline)
        result = cli_heap_compare(&baseline, &now, &changes, err);
    if (result == CAIRN_OK && has_baseline)
        result = print_growth(&changes, err);
    if (result == CAIRN_OK)
        *ret_is_closed = cli_heap_gate(&job->wanted, &now, has_baseline ? &changes : NULL);
    cli_heap_changes_done(&changes);
    cli_heap_look_done(&baseline);
    cli_heap_look_done(&now);
    return result;
}

/* The exit status is the command's own, as shells have it, unless a gate closed. */
static int status_of(bool is_closed, int status)
{
    if (is_closed)
        return CLI_GATE;
    if (WIFSIGNALED(status))
        return SIGNAL_STATUS + WTERMSIG(status);
    return WEXITSTATUS(status);
}

/* Before the command runs: its hour is not to be lost for a file that cannot be read. */
static int check_gate(struct job *job, struct cairn_err *err)
{
    struct cairn_heap *heap = NULL;
    int result = cli_heap_wanted_open(&job->wanted, err);
    if (result == CAIRN_OK && job->wanted.baseline)
        result = cairn_heap_read_file(job->wanted.baseline, &heap, err);
    cairn_heap_free(heap);
    return result;
}

static int start(struct job *job, int *ret_pid, struct cairn_err *err)
{
    int result = check_gate(job, err);
    if (result == CAIRN_OK)
        result = open_output(job, err);
    if (result == CAIRN_OK)
        result = cairn_heap_session_new(&job->opts, &job->session, err);
    if (result < 0)
        return result;
    cli_pass_on_keep(job->lost.signal);
    cli_pass_on_begin(false);
    result = cairn_heap_session_start(job->session, job->argv, ret_pid, err);
    if (result == CAIRN_OK)
        cli_pass_on_to(*ret_pid);
    return result;
}

static int work(struct job *job, struct cairn_err *err)
{
    int pid;
    bool is_closed = false;
    const char *reason = cairn_heap_unreachable(job->argv[0]);
    if (*reason)
        cli_say("%s cannot be tracked, only what it starts: %s", job->argv[0], reason);
    if (start(job, &pid, err) < 0)
        return cli_report(err);
    int status = cli_run_wait(pid, job->session, &job->wanted, &job->lost);
    cli_pass_on_to(0);
    if (finish(job, pid, err) < 0 || ask_gate(job, &is_closed, err) < 0) {
        (void)cli_report(err);
        return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : CLI_FAILED;
    }
    return status_of(is_closed, status);
}

static int run(struct cli_args *args)
{
    struct job job = {.args = args,
                      .opts = {.size = sizeof job.opts},
                      .wanted = {.filter = {.size = sizeof job.wanted.filter}}};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    cli_way_init(&job.wanted.names.symbols);
    if (parse(&job)) {
        cli_log_open(job.wanted.names.verbosity);
        status = work(&job, &err);
    }
    cli_output_drop(job.output);
    cairn_heap_free(job.heap);
    cairn_heap_session_free(job.session);
    cli_heap_wanted_done(&job.wanted);
    cairn_buffer_done(&job.written);
    cli_pass_on_end();
    return status;
}

const struct cli_command cli_heap_run = {
    .name = "heap run",
    .summary = "run a command and record each of its live blocks",
    .usage = (const char *const[]){"heap run [OPTION...] [--] COMMAND [ARGUMENT...]", NULL},
    .options = options,
    .notes = "The exit status is that of COMMAND; 3 where --fail-over or --baseline closed "
             "the gate.",
    .run = run,
    .remote = CLI_REMOTE_TEXT,
    .options_first = true,
};
