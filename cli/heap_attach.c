/* SPDX-License-Identifier: MIT */
/* cairn heap attach, detach, stop, start: the tracker into a running process, and out of it. */
#include <inttypes.h>
#include <stdio.h>

#include <cairn/attach.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/term.h"

/* The options that all have come first. */
enum option {
    OPTION_WHY,
    OPTION_JSON,
    OPTION_DEPTH,
    OPTION_NO_STACKS,
    OPTION_SAMPLE,
    OPTION_MAX,
    OPTION_LIBRARY,
    OPTION_MODULE
};

#define WHY_ROW                                                                                    \
    {                                                                                              \
        "why", 0, NULL, "say each step and what was refused"                                       \
    }
#define JSON_ROW                                                                                   \
    {                                                                                              \
        "json", 0, NULL, "print JSON"                                                              \
    }

static const struct cli_option attach_options[] = {
    [OPTION_WHY] = WHY_ROW,
    [OPTION_JSON] = JSON_ROW,
    [OPTION_DEPTH] = CLI_HEAP_DEPTH_ROW,
    [OPTION_NO_STACKS] = CLI_HEAP_NO_STACKS_ROW,
    [OPTION_SAMPLE] = CLI_HEAP_SAMPLE_ROW,
    [OPTION_MAX] = CLI_HEAP_MAX_MEMORY_ROW,
    [OPTION_LIBRARY] = {"library", 0, "FILE", "the tracker (libcairn-track.so)"},
    [OPTION_MODULE] = {"module", 0, "NAME",
                       "record only what this module asks for: a name, a path or a pattern; may be "
                       "given several times"},
    {0},
};
static const struct cli_option detach_options[] = {WHY_ROW, JSON_ROW, {0}};
static const struct cli_option no_options[] = {{0}};

struct job {
    struct cli_args *args;
    struct cairn_attach_opts opts;
    bool json;
    struct cli_list modules;
    const char *process; /* its number or name */
    int pid;
};

static void say(void *context, const char *line)
{
    struct cairn_buffer out = {0};
    (void)context;
    cairn_escape_terminal(&out, line, strlen(line));
    fprintf(stderr, "  %s\n", cairn_buffer_text(&out));
    cairn_buffer_done(&out);
}

static bool take_option(struct job *job, int option, const char *value)
{
    switch (option) {
    case OPTION_WHY:
        job->opts.say = say;
        return true;
    case OPTION_JSON:
        job->json = true;
        return true;
    case OPTION_DEPTH:
        return cli_heap_take_depth(job->args, value, &job->opts.depth);
    case OPTION_NO_STACKS:
        job->opts.no_stacks = 1;
        return true;
    case OPTION_SAMPLE:
        return cli_args_size(job->args, "sample", value, &job->opts.sample_bytes);
    case OPTION_MAX:
        return cli_args_size(job->args, "max-memory", value, &job->opts.max_memory);
    case OPTION_MODULE:
        cli_list_add(&job->modules, value);
        return true;
    default:
        job->opts.library = value;
        return true;
    }
}

static bool take_words(struct job *job)
{
    const char *value;
    int option;
    while ((option = cli_args_next(job->args, &value)) >= 0)
        if (!take_option(job, option, value))
            return false;
    if (option == CLI_ARGS_WRONG)
        return false;
    job->opts.modules = job->modules.items;
    job->opts.n_modules = job->modules.n;
    job->process = cli_heap_process(job->args);
    return job->process != NULL;
}

static void put_json(const struct job *job, const struct cairn_attach_report *r)
{
    enum { MS_PLACES = 6 };
    struct cairn_buffer out = {0};
    struct cairn_json json = {.out = &out, .compact = true};
    cairn_json_open(&json, NULL, '{');
    cairn_json_u64(&json, "pid", (uint64_t)job->pid);
    cairn_json_fixed(&json, "took_ms", (int64_t)r->took_ns, MS_PLACES);
    cairn_json_fixed(&json, "held_ms", (int64_t)r->held_ns, MS_PLACES);
    cairn_json_u64(&json, "held_tid", (uint64_t)r->held_tid);
    cairn_json_u64(&json, "functions", r->n_functions);
    cairn_json_u64(&json, "one", r->n_one);
    cairn_json_u64(&json, "pad", r->n_pad);
    cairn_json_u64(&json, "pun", r->n_pun);
    cairn_json_u64(&json, "late", r->n_late);
    cairn_json_u64(&json, "refused", r->n_refused);
    cairn_json_u64(&json, "foreign", r->n_foreign);
    cairn_json_u64(&json, "modules", r->n_modules);
    cairn_json_u64(&json, "chosen_modules", r->n_chosen);
    cairn_json_u64(&json, "slots", r->n_slots);
    cairn_json_bool(&json, "again", r->again);
    cairn_json_u64(&json, "code_bytes", r->code_bytes);
    cairn_json_bool(&json, "older_known", r->older == CAIRN_OLDER_LISTED);
    cairn_json_u64(&json, "older_blocks", r->n_older);
    cairn_json_u64(&json, "older_bytes", r->older_bytes);
    cairn_json_u64(&json, "older_unread_bytes", r->older_unread_bytes);
    cairn_json_close(&json, '}');
    fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
}

static void add_ms(struct cairn_buffer *out, uint64_t ns, int places)
{
    cairn_buffer_printf(out, "%.*f ms", places, (double)ns / CAIRN_NS_PER_MS);
}

static void add_ways(struct cairn_buffer *out, const struct cairn_attach_report *r)
{
    const struct {
        uint32_t n;
        const char *name;
    } ways[] = {{r->n_one, "one"}, {r->n_pad, "pad"}, {r->n_pun, "pun"}, {r->n_late, "late"}};
    const char *between = " (";
    cairn_buffer_char(out, ' ');
    cli_add_counted(out, r->n_functions, "function");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].n) {
            cairn_buffer_printf(out, "%s%" PRIu32 " %s", between, ways[i].n, ways[i].name);
            between = ", ";
        }
    cairn_buffer_str(out, *between == ',' ? ")" : "");
}

static void add_older(struct cairn_buffer *out, const struct cairn_attach_report *r)
{
    cairn_buffer_str(out, "; ");
    if (r->older == CAIRN_OLDER_UNKNOWN)
        cairn_buffer_str(out, "blocks from before are NOT KNOWN (--why says why)");
    if (r->older == CAIRN_OLDER_SAMPLED)
        cairn_buffer_str(out, "blocks from before are not listed with --sample");
    if (r->older == CAIRN_OLDER_CHOSEN)
        cairn_buffer_str(out, "blocks from before are not listed with --module");
    if (r->older != CAIRN_OLDER_LISTED)
        return;
    cli_add_counted(out, r->n_older, "block");
    cairn_buffer_str(out, " (");
    cli_add_size(out, r->older_bytes);
    cairn_buffer_str(out, ") from before");
    if (r->older_unread_bytes) {
        cairn_buffer_str(out, ", ");
        cli_add_size(out, r->older_unread_bytes);
        cairn_buffer_str(out, " of the heap NOT READ");
    }
}

/* Of chosen modules. */
static void add_slots(struct cairn_buffer *out, const struct cairn_attach_report *r)
{
    if (!r->n_chosen)
        return;
    cairn_buffer_str(out, "; ");
    cli_add_counted(out, r->n_slots, "slot");
    cairn_buffer_str(out, " of ");
    cli_add_counted(out, r->n_chosen, "chosen module");
}

static void put_attached(const struct job *job, const struct cairn_attach_report *r)
{
    struct cairn_buffer out = {0};
    cairn_buffer_printf(&out, "attached to %d%s in ", job->pid, r->again ? " again" : "");
    add_ms(&out, r->took_ns, 0);
    cairn_buffer_str(&out, ": held one thread ");
    add_ms(&out, r->held_ns, 2);
    if (r->n_functions) {
        cairn_buffer_char(&out, ';');
        add_ways(&out, r);
    }
    add_slots(&out, r);
    if (r->n_refused)
        cairn_buffer_printf(&out, ", %" PRIu32 " not reached (--why)", r->n_refused);
    if (r->n_foreign)
        cairn_buffer_printf(&out, ", %" PRIu32 " changed by another tool: left alone",
                            r->n_foreign);
    if (r->n_modules) {
        cairn_buffer_str(&out, "; ");
        cli_add_counted(&out, r->n_modules, "module");
    }
    add_older(&out, r);
    printf("%s\n", cairn_buffer_text(&out));
    cairn_buffer_done(&out);
}

static int attach(struct job *job)
{
    struct cairn_attach_report report = {.size = sizeof report};
    struct cairn_err err = {0};
    if (!take_words(job))
        return CLI_USAGE;
    cli_log_open(0);
    if (cli_heap_find_process(job->process, &job->pid, &err) < 0 ||
        cairn_attach(job->pid, &job->opts, &report, &err) < 0)
        return cli_report(&err);
    if (job->json)
        put_json(job, &report);
    else
        put_attached(job, &report);
    return CLI_OK;
}

static int run_attach(struct cli_args *args)
{
    struct job job = {.args = args, .opts = {.size = sizeof job.opts}};
    int status = attach(&job);
    cli_list_done(&job.modules);
    return status;
}

const struct cli_command cli_heap_attach = {
    .name = "heap attach",
    .summary = "track a process that runs already",
    .usage = (const char *const[]){"heap attach [OPTION...] PID|NAME", NULL},
    .options = attach_options,
    .run = run_attach,
    .remote = CLI_REMOTE_TEXT,
};

static int run_detach(struct cli_args *args)
{
    struct job job = {.args = args, .opts = {.size = sizeof job.opts}};
    struct cairn_attach_report report = {.size = sizeof report};
    struct cairn_err err = {0};
    struct cairn_buffer out = {0};
    if (!take_words(&job))
        return CLI_USAGE;
    cli_log_open(0);
    if (cli_heap_find_process(job.process, &job.pid, &err) < 0 ||
        cairn_detach(job.pid, &job.opts, &report, &err) < 0)
        return cli_report(&err);
    if (job.json) {
        put_json(&job, &report);
        return CLI_OK;
    }
    cairn_buffer_printf(&out, "detached from %d in ", job.pid);
    add_ms(&out, report.took_ns, 0);
    cairn_buffer_str(&out, ": ");
    cli_add_counted(&out, report.n_functions, "function");
    cairn_buffer_str(&out, " as before, ");
    if (report.n_slots) {
        cli_add_counted(&out, report.n_slots, "slot");
        cairn_buffer_str(&out, " as before, ");
    }
    cli_add_size(&out, report.code_bytes);
    cairn_buffer_str(&out, " of code stay for the next attach");
    if (report.n_foreign)
        cairn_buffer_printf(&out,
                            "; %" PRIu32 " changed by another tool since: left alone, our code "
                            "passes calls on",
                            report.n_foreign);
    printf("%s\n", cairn_buffer_text(&out));
    cairn_buffer_done(&out);
    return CLI_OK;
}

const struct cli_command cli_heap_detach = {
    .name = "heap detach",
    .summary = "let go of a process that was attached to, as it was before",
    .usage = (const char *const[]){"heap detach [OPTION...] PID|NAME", NULL},
    .options = detach_options,
    .run = run_detach,
    .remote = CLI_REMOTE_TEXT,
};

/* As long as it takes to write two words: nothing that --why could tell. */
static int run_record(struct cli_args *args, int on)
{
    struct cairn_err err = {0};
    const char *value, *process;
    int pid;
    if (cli_args_next(args, &value) == CLI_ARGS_WRONG || !(process = cli_heap_process(args)))
        return CLI_USAGE;
    cli_log_open(0);
    if (cli_heap_find_process(process, &pid, &err) < 0 || cairn_heap_record(pid, on, &err) < 0)
        return cli_report(&err);
    printf("%d: new blocks are %s\n", pid, on ? "recorded" : "not recorded");
    return CLI_OK;
}

static int run_stop(struct cli_args *args)
{
    return run_record(args, 0);
}

static int run_start(struct cli_args *args)
{
    return run_record(args, 1);
}

const struct cli_command cli_heap_stop = {
    .name = "heap stop",
    .summary = "record no new blocks of a running process; those that are freed are known",
    .usage = (const char *const[]){"heap stop PID|NAME", NULL},
    .options = no_options,
    .run = run_stop,
    .remote = CLI_REMOTE_TEXT,
};

const struct cli_command cli_heap_start = {
    .name = "heap start",
    .summary = "record new blocks again",
    .usage = (const char *const[]){"heap start PID|NAME", NULL},
    .options = no_options,
    .run = run_start,
    .remote = CLI_REMOTE_TEXT,
};
