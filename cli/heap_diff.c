/* SPDX-License-Identifier: MIT */
/* cairn heap diff: two looks, of one process or of two runs, by stack. */
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/heap.h"
#include "cli/term.h"

enum { TOP_DEFAULT = 20 };

enum option {
    OPTION_TOP,
    OPTION_MODULE,
    OPTION_SUPPRESSIONS,
    OPTION_NO_DEFAULTS,
    OPTION_FAIL_OVER,
    OPTION_JSON,
    OPTION_NAMES
};

static const struct cli_option options[] = {
    [OPTION_TOP] = {"top", 'n', "N",
                    "print at most N stacks that grew and N that shrank, 0 for all (default: 20)"},
    [OPTION_MODULE] = CLI_HEAP_MODULE_ROW,
    [OPTION_SUPPRESSIONS] = CLI_HEAP_SUPPRESSIONS_ROW,
    [OPTION_NO_DEFAULTS] = CLI_HEAP_NO_DEFAULTS_ROW,
    [OPTION_FAIL_OVER] = {"fail-over", 0, "SIZE",
                          "exit status 3 if the stacks that grew did so by more than SIZE"},
    [OPTION_JSON] = {"json", 0, NULL, "print one JSON object, numbers and names uncut"},
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

struct job {
    struct cli_args *args;
    char **inputs;
    uint64_t n_shown; /* 0: all */
    bool json;
    struct cli_heap_wanted wanted;
    struct cli_heap_look before, after;
    struct cli_heap_changes changes;
};

static bool take_option(struct job *job, int option, const char *value)
{
    switch (option) {
    case OPTION_TOP:
        return cli_args_u64(job->args, "top", value, &job->n_shown);
    case OPTION_MODULE:
        cli_list_add(&job->wanted.modules, value);
        return true;
    case OPTION_SUPPRESSIONS:
        job->wanted.suppressions_file = value;
        return true;
    case OPTION_NO_DEFAULTS:
        job->wanted.no_defaults = true;
        return true;
    case OPTION_FAIL_OVER:
        job->wanted.has_limit = true;
        return cli_args_size(job->args, "fail-over", value, &job->wanted.limit);
    case OPTION_JSON:
        job->json = true;
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
    job->inputs = cli_args_operands(job->args, &n);
    if (n != 2)
        cli_args_wrong(job->args, "two are compared: PID, NAME or FILE, before and now");
    return n == 2;
}

static int print(const struct job *job, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    struct cairn_json json = {.out = &out};
    if (job->json) {
        cairn_json_open(&json, NULL, '{');
        cli_heap_put_changes(&json, &job->changes, job->n_shown, true);
        cli_heap_put_suppressed(&json, &job->wanted);
        cairn_json_close(&json, '}');
    } else {
        cli_heap_add_changes(&out, &job->changes, job->n_shown, true);
    }
    int result = out.failed ? cairn_fail_memory(err) : CAIRN_OK;
    if (result == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
    if (result == CAIRN_OK && !job->json) {
        fflush(stdout);
        cli_heap_say_suppressed(&job->wanted);
        cli_heap_say_quality(&job->before, "before");
        cli_heap_say_quality(&job->after, "now");
    }
    return result;
}

static int work(struct job *job, struct cairn_err *err)
{
    int result = cli_heap_wanted_open(&job->wanted, err);
    if (result == CAIRN_OK)
        result = cli_heap_look(&job->wanted, job->inputs[0], &job->before, err);
    if (result == CAIRN_OK)
        result = cli_heap_look(&job->wanted, job->inputs[1], &job->after, err);
    if (result == CAIRN_OK)
        result = cli_heap_compare(&job->before, &job->after, &job->changes, err);
    return result < 0 ? result : print(job, err);
}

static int run(struct cli_args *args)
{
    struct job job = {.args = args,
                      .n_shown = TOP_DEFAULT,
                      .wanted = {.filter = {.size = sizeof job.wanted.filter}}};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    cli_way_init(&job.wanted.names.symbols);
    if (parse(&job)) {
        cli_log_open(job.wanted.names.verbosity);
        status = work(&job, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    if (status == CLI_OK && job.wanted.has_limit &&
        cli_heap_gate(&job.wanted, &job.after, &job.changes))
        status = CLI_GATE;
    cli_heap_changes_done(&job.changes);
    cli_heap_look_done(&job.before);
    cli_heap_look_done(&job.after);
    cli_heap_wanted_done(&job.wanted);
    return status;
}

const struct cli_command cli_heap_diff = {
    .name = "heap diff",
    .summary = "what grew and what shrank between two states, by stack",
    .usage = (const char *const[]){"heap diff [OPTION...] PID|FILE PID|FILE", NULL},
    .options = options,
    .notes = "Stacks of two runs are the same where their frames are at the same places of the "
             "same builds; in a module of which there are two builds, where they are in the same "
             "functions.",
    .run = run,
    .remote = CLI_REMOTE_TEXT,
};
