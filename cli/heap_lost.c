/* SPDX-License-Identifier: MIT */
/* cairn heap lost: blocks of a running process that nothing points to any more. */
#include "cli/heap_lost.h"

#include <stdio.h>

#include <cairn/snapshot.h>

#include "base/error.h"
#include "cli/term.h"

enum { TOP_DEFAULT = 20, QUALITY_BYTES = 4096 };

enum option {
    OPTION_TOP,
    OPTION_POSSIBLY,
    OPTION_ALL,
    OPTION_WANTED,
    OPTION_CONSISTENT = OPTION_WANTED + CLI_HEAP_N_WANTED,
    OPTION_FAIL_OVER,
    OPTION_JSON,
    OPTION_NAMES
};

static const struct cli_option options[] = {
    [OPTION_TOP] = {"top", 'n', "N", "print at most N stacks, 0 for all of them (default: 20)"},
    [OPTION_POSSIBLY] = {"possibly", 0, NULL,
                         "list what only doubtful pointers lead to as well: into a block, behind "
                         "its end, with a tag"},
    [OPTION_ALL] = {"all", 0, NULL, "the same as --possibly --top 0"},
    [OPTION_WANTED + CLI_HEAP_WANTED_MIN] = {"min", 0, "SIZE",
                                             "leave out stacks whose blocks take less than SIZE"},
    [OPTION_WANTED + CLI_HEAP_WANTED_OLDER] = CLI_HEAP_OLDER_ROW,
    [OPTION_WANTED + CLI_HEAP_WANTED_SINCE] = CLI_HEAP_SINCE_ROW,
    [OPTION_WANTED + CLI_HEAP_WANTED_MODULE] = CLI_HEAP_MODULE_ROW,
    [OPTION_WANTED + CLI_HEAP_WANTED_SUPPRESSIONS] = CLI_HEAP_SUPPRESSIONS_ROW,
    [OPTION_WANTED +
        CLI_HEAP_WANTED_NO_DEFAULTS] = {"no-default-suppressions", 0, NULL,
                                        "do not ask the program for suppressions of its own"},
    [OPTION_CONSISTENT] = {"consistent", 0, NULL,
                           "stop the process while it is read, and say for how long"},
    [OPTION_FAIL_OVER] = {"fail-over", 0, "SIZE", "exit status 3 if more than SIZE is lost"},
    [OPTION_JSON] = {"json", 0, NULL, "print one JSON object, numbers and names uncut"},
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

struct job {
    struct cli_args *args;
    int pid;
    uint64_t n_shown; /* 0: all */
    bool json, wants_possibly, consistent;
    struct cli_heap_wanted wanted;
    struct cairn_heap_lost lost;
};

static bool take_option(struct job *job, int option, const char *value)
{
    struct cli_heap_wanted *wanted = &job->wanted;
    if (option >= OPTION_WANTED && option < OPTION_WANTED + CLI_HEAP_N_WANTED)
        return cli_heap_take_wanted(job->args, (enum cli_heap_wanted_row)(option - OPTION_WANTED),
                                    value, wanted);
    switch (option) {
    case OPTION_TOP:
        return cli_args_u64(job->args, "top", value, &job->n_shown);
    case OPTION_ALL:
        job->n_shown = 0;
        job->wants_possibly = true;
        return true;
    case OPTION_POSSIBLY:
        job->wants_possibly = true;
        return true;
    case OPTION_CONSISTENT:
        job->consistent = true;
        return true;
    case OPTION_FAIL_OVER:
        wanted->has_limit = true;
        return cli_args_size(job->args, "fail-over", value, &wanted->limit);
    case OPTION_JSON:
        job->json = true;
        return true;
    default:
        return cli_heap_take_name(job->args, option - OPTION_NAMES, value, &wanted->names);
    }
}

static bool parse(struct job *job, const char **ret_input)
{
    const char *value;
    size_t n;
    int option;
    while ((option = cli_args_next(job->args, &value)) >= 0)
        if (!take_option(job, option, value))
            return false;
    if (option == CLI_ARGS_WRONG)
        return false;
    char **operands = cli_args_operands(job->args, &n);
    if (n != 1)
        cli_args_wrong(job->args, n ? "one process at a time" : "PID or NAME is missing");
    *ret_input = n == 1 ? operands[0] : NULL;
    return n == 1;
}

/* A pid, or the one process of that name. */
static int find_process(const char *input, int *ret_pid, struct cairn_err *err)
{
    int pids[2] = {0};
    size_t n = 0;
    *ret_pid = cli_parse_pid(input);
    if (*ret_pid)
        return CAIRN_OK;
    int code = cairn_snapshot_find(input, pids, 2, &n, err);
    if (code == CAIRN_OK && n == 0)
        code = cairn_fail(err, CAIRN_E_MISSING, "%s: no process of that name", input);
    if (code == CAIRN_OK && n > 1) {
        code = cairn_fail(err, CAIRN_E_ARG, "%s: %zu processes have that name", input, n);
        cairn_hint(err, "name one by its number: pgrep -a %s", input);
    }
    *ret_pid = pids[0];
    return code;
}

/* Rules of the C library's own buffers are not asked: those are held. */
static int leave_out(struct job *job, struct cairn_err *err)
{
    struct cli_heap_wanted *wanted = &job->wanted;
    struct cairn_heap_lost *lost = &job->lost;
    int code = wanted->suppressions_file ? cairn_heap_suppressions_read(wanted->suppressions_file,
                                                                        &wanted->suppressions, err)
                                         : cairn_heap_suppressions_new(&wanted->suppressions, err);
    if (code == CAIRN_OK && !wanted->no_defaults)
        code = cairn_heap_suppressions_add_programs(wanted->suppressions, lost->profile, err);
    if (code == CAIRN_OK)
        code = cairn_heap_suppress(wanted->suppressions, lost->profile, lost->possibly,
                                   &lost->n_possibly, err);
    if (code == CAIRN_OK) /* the last call is what is told of */
        code = cairn_heap_suppress(wanted->suppressions, lost->profile, lost->lost, &lost->n_lost,
                                   err);
    return code;
}

static int look(struct job *job, const char *input, struct cairn_err *err)
{
    struct cairn_heap_lost *lost = &job->lost;
    int code = find_process(input, &job->pid, err);
    const struct cairn_heap_lost_opts opts = {
        .size = sizeof opts, .filter = &job->wanted.filter, .consistent = job->consistent};
    lost->size = sizeof *lost;
    if (code == CAIRN_OK)
        code = cairn_heap_lost(job->pid, &opts, lost, err);
    if (code < 0)
        return code;
    cli_heap_keep_modules(&job->wanted.modules, lost->profile, lost->lost, &lost->n_lost);
    cli_heap_keep_modules(&job->wanted.modules, lost->profile, lost->possibly, &lost->n_possibly);
    code = cli_heap_name(&job->wanted.names, job->pid, lost->profile, err);
    return code < 0 ? code : leave_out(job, err);
}

static int print(const struct job *job, struct cairn_err *err)
{
    char quality[QUALITY_BYTES];
    struct cairn_buffer out = {0};
    struct cairn_json json = {.out = &out};
    cairn_heap_quality_text(job->lost.heap, job->lost.profile, quality, sizeof quality);
    if (job->json) {
        cairn_json_open(&json, NULL, '{');
        cairn_json_i64(&json, "pid", job->pid);
        cli_lost_put(&json, &job->lost, job->n_shown);
        cli_heap_put_suppressed(&json, &job->wanted);
        cairn_json_str(&json, "quality", quality);
        cairn_json_close(&json, '}');
    } else {
        cli_lost_add(&out, &job->lost, job->n_shown, job->wants_possibly);
    }
    int code = out.failed ? cairn_fail_memory(err) : CAIRN_OK;
    if (code == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    if (code == CAIRN_OK && !job->json) {
        fflush(stdout);
        cli_heap_say_suppressed(&job->wanted);
        cli_lost_say(&job->lost);
        cli_say("%s", quality);
    }
    cairn_buffer_done(&out);
    return code;
}

/* Only what is lost for sure closes it. */
static bool is_over(const struct job *job)
{
    uint64_t bytes, blocks;
    cli_lost_sum(job->lost.lost, job->lost.n_lost, &bytes, &blocks);
    if (!job->wanted.has_limit || bytes <= job->wanted.limit)
        return false;
    cli_say("%llu bytes lost, over the %llu of --fail-over", (unsigned long long)bytes,
            (unsigned long long)job->wanted.limit);
    return true;
}

static int run(struct cli_args *args)
{
    struct job job = {.args = args,
                      .n_shown = TOP_DEFAULT,
                      .wanted = {.filter = {.size = sizeof job.wanted.filter}}};
    struct cairn_err err = {0};
    const char *input;
    int status = CLI_USAGE;
    cli_way_init(&job.wanted.names.symbols);
    if (parse(&job, &input)) {
        cli_log_open(job.wanted.names.verbosity);
        int code = look(&job, input, &err);
        if (code == CAIRN_OK)
            code = print(&job, &err);
        status = code < 0 ? cli_report(&err) : CLI_OK;
    }
    if (status == CLI_OK && is_over(&job))
        status = CLI_GATE;
    cairn_heap_lost_done(&job.lost);
    cli_heap_wanted_done(&job.wanted);
    return status;
}

const struct cli_command cli_heap_lost = {
    .name = "heap lost",
    .summary = "blocks of a running process that nothing points to any more",
    .usage = (const char *const[]){"heap lost [OPTION...] PID|NAME", NULL},
    .options = options,
    .notes = "The process runs on while it is read several times; what no pass reaches is lost.",
    .run = run,
    .remote = CLI_REMOTE_TEXT,
};
