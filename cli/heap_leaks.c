/* SPDX-License-Identifier: MIT */
/* cairn heap leaks: blocks that live now, or lived at exit, by the stack that allocated them. */
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/heap.h"
#include "cli/term.h"

enum { QUALITY_BYTES = 4096, TOP_DEFAULT = 20 };

enum option {
    OPTION_TOP,
    OPTION_WANTED,
    OPTION_BASELINE = OPTION_WANTED + CLI_HEAP_N_WANTED,
    OPTION_FAIL_OVER,
    OPTION_EVERY,
    OPTION_FORMAT,
    OPTION_JSON,
    OPTION_NAMES
};

static const struct cli_option options[] = {
    [OPTION_TOP] = {"top", 'n', "N", "print at most N stacks, 0 for all of them (default: 20)"},
    [OPTION_WANTED +
        CLI_HEAP_WANTED_MIN] = {"min", 0, "SIZE",
                                "leave out stacks whose live blocks take less than SIZE"},
    [OPTION_WANTED + CLI_HEAP_WANTED_OLDER] = CLI_HEAP_OLDER_ROW,
    [OPTION_WANTED + CLI_HEAP_WANTED_SINCE] = CLI_HEAP_SINCE_ROW,
    [OPTION_WANTED + CLI_HEAP_WANTED_MODULE] = CLI_HEAP_MODULE_ROW,
    [OPTION_WANTED + CLI_HEAP_WANTED_SUPPRESSIONS] = CLI_HEAP_SUPPRESSIONS_ROW,
    [OPTION_WANTED + CLI_HEAP_WANTED_NO_DEFAULTS] = CLI_HEAP_NO_DEFAULTS_ROW,
    [OPTION_BASELINE] = CLI_HEAP_BASELINE_ROW,
    [OPTION_FAIL_OVER] = {"fail-over", 0, "SIZE",
                          "exit status 3 if more than SIZE lives, of what is not left out"},
    [OPTION_EVERY] = {"every", 0, "SECONDS",
                      "look again and again, and print what grew since the look before, until PID "
                      "ends; with --json an object a line"},
    [OPTION_FORMAT] = {"format", 0, "FORM",
                       "text (default); tracker or ndk: every live block by itself, as small "
                       "trackers print it, or as ndk-stack reads it"},
    [OPTION_JSON] = {"json", 0, NULL, "print one JSON object, numbers and names uncut"},
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

enum form { FORM_TEXT, FORM_TRACKER, FORM_NDK };

struct job {
    struct cli_args *args;
    const char *input;
    uint64_t n_shown; /* 0: all */
    bool json;
    int form; /* enum form */
    double every;
    struct cli_heap_wanted wanted;
    struct cli_heap_look look, baseline;
    struct cli_heap_changes changes; /* since the baseline, where there is one */
};

static bool set_every(struct job *job, const char *value)
{
    if (!cli_heap_take_seconds(job->args, "every", value, &job->every))
        return false;
    if (job->every < 0.01)
        cli_args_wrong(job->args, "--every: %s, expected 0.01 seconds or more", value);
    return job->every >= 0.01;
}

static bool take_option(struct job *job, int option, const char *value)
{
    struct cli_heap_wanted *wanted = &job->wanted;
    if (option >= OPTION_WANTED && option < OPTION_WANTED + CLI_HEAP_N_WANTED)
        return cli_heap_take_wanted(job->args, (enum cli_heap_wanted_row)(option - OPTION_WANTED),
                                    value, wanted);
    switch (option) {
    case OPTION_TOP:
        return cli_args_u64(job->args, "top", value, &job->n_shown);
    case OPTION_BASELINE:
        wanted->baseline = value;
        return true;
    case OPTION_FAIL_OVER:
        wanted->has_limit = true;
        return cli_args_size(job->args, "fail-over", value, &wanted->limit);
    case OPTION_EVERY:
        return set_every(job, value);
    case OPTION_FORMAT:
        return cli_args_word(job->args, "format", value,
                             (const char *const[]){"text", "tracker", "ndk", NULL}, &job->form);
    case OPTION_JSON:
        job->json = true;
        return true;
    default:
        return cli_heap_take_name(job->args, option - OPTION_NAMES, value, &wanted->names);
    }
}

/* What would be left undone is refused. */
static bool agree(const struct job *job)
{
    const struct cli_heap_wanted *wanted = &job->wanted;
    const char *one = job->every > 0 ? "every" : job->form != FORM_TEXT ? "format" : NULL;
    const char *other = wanted->baseline                                      ? "baseline"
                        : wanted->has_limit                                   ? "fail-over"
                        : job->form != FORM_TEXT && wanted->suppressions_file ? "suppressions"
                        : job->form != FORM_TEXT && wanted->modules.n         ? "module"
                        : job->form != FORM_TEXT && job->every > 0            ? "format"
                                                                              : NULL;
    if (one && other)
        cli_args_wrong(job->args, "--%s does not go with --%s", other, one);
    return !one || !other;
}

static bool parse(struct job *job)
{
    const char *value;
    int option;
    while ((option = cli_args_next(job->args, &value)) >= 0)
        if (!take_option(job, option, value))
            return false;
    if (option == CLI_ARGS_WRONG || !agree(job))
        return false;
    job->input = cli_heap_input(job->args);
    return job->input != NULL;
}

static int add_json(const struct job *job, struct cairn_buffer *out, struct cairn_err *err)
{
    char quality[QUALITY_BYTES];
    struct cairn_json json = {.out = out};
    int result = CAIRN_OK;
    cairn_json_open(&json, NULL, '{');
    if (job->wanted.baseline) {
        cli_heap_put_changes(&json, &job->changes, job->n_shown, false);
    } else {
        cli_heap_put_leaks(&json, &job->look, job->n_shown);
        result = cli_heap_put_maps(&json, job->look.heap, &job->wanted.names, job->look.pid,
                                   job->n_shown, err);
    }
    cli_heap_put_suppressed(&json, &job->wanted);
    cairn_heap_quality_text(job->look.heap, job->look.profile, quality, sizeof quality);
    cairn_json_str(&json, "quality", quality);
    cairn_json_close(&json, '}');
    return result;
}

static int print(const struct job *job, struct cairn_err *err)
{
    struct cairn_buffer out = {0};
    int result = CAIRN_OK;
    if (job->json)
        result = add_json(job, &out, err);
    else if (job->wanted.baseline)
        cli_heap_add_changes(&out, &job->changes, job->n_shown, false);
    else
        cli_heap_add_leaks(&out, &job->look, job->n_shown);
    if (!job->json && !job->wanted.baseline)
        result = cli_heap_add_maps(&out, job->look.heap, &job->wanted.names, job->look.pid,
                                   job->n_shown, err);
    if (result == CAIRN_OK && out.failed)
        result = cairn_fail_memory(err);
    if (result == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    if (result == CAIRN_OK && !job->json) {
        fflush(stdout);
        cli_heap_say_suppressed(&job->wanted);
        cli_heap_say_quality(&job->look, NULL);
    }
    cairn_buffer_done(&out);
    return result;
}

static int print_blocks(const struct job *job, const struct cairn_heap_block_info *blocks, size_t n,
                        struct cairn_err *err)
{
    const struct cli_heap_blocks list = {blocks, n, job->look.profile, job->wanted.resolver};
    struct cairn_buffer out = {0};
    if (job->form == FORM_TRACKER)
        cli_heap_add_tracker(&out, job->look.heap, &list, job->look.pid);
    else
        cli_heap_add_ndk(&out, job->look.heap, &list, job->look.pid);
    int result = out.failed ? cairn_fail_memory(err) : CAIRN_OK;
    if (result == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
    return result;
}

/* The filters hold, but for those that speak of stacks. */
static int work_blocks(struct job *job, struct cairn_err *err)
{
    struct cli_heap_look *look = &job->look;
    struct cairn_heap_block_info *blocks = NULL;
    size_t n = 0;
    int result = cli_heap_read(job->input, &look->heap, &look->pid, err);
    if (result == CAIRN_OK)
        result =
            cairn_heap_blocks(look->heap, &job->wanted.filter, &look->profile, &blocks, &n, err);
    if (result == CAIRN_OK)
        result = cli_heap_resolver(&job->wanted.names, look->pid, &job->wanted.resolver, err);
    if (result == CAIRN_OK)
        result = cairn_resolve_profile(job->wanted.resolver, look->profile, err);
    if (result == CAIRN_OK)
        result = print_blocks(job, blocks, n, err);
    cairn_heap_blocks_free(blocks);
    return result;
}

/* The filters of age are the process's alone. */
static int read_baseline(struct job *job, struct cairn_err *err)
{
    const struct cairn_heap_filter filter = job->wanted.filter;
    job->wanted.filter = (struct cairn_heap_filter){.size = sizeof filter};
    int result = cli_heap_look(&job->wanted, job->wanted.baseline, &job->baseline, err);
    job->wanted.filter = filter;
    return result;
}

static int work_leaks(struct job *job, struct cairn_err *err)
{
    int result = cli_heap_wanted_open(&job->wanted, err);
    if (result == CAIRN_OK && job->wanted.baseline)
        result = read_baseline(job, err);
    if (result == CAIRN_OK)
        result = cli_heap_look(&job->wanted, job->input, &job->look, err);
    if (result == CAIRN_OK && job->wanted.baseline)
        result = cli_heap_compare(&job->baseline, &job->look, &job->changes, err);
    return result < 0 ? result : print(job, err);
}

static int work(struct job *job, struct cairn_err *err)
{
    if (job->every > 0) {
        const struct cli_heap_every every = {job->input, job->every, job->n_shown, job->json};
        int result = cli_heap_wanted_open(&job->wanted, err);
        return result < 0 ? result : cli_heap_look_every(&job->wanted, &every, err);
    }
    return job->form == FORM_TEXT ? work_leaks(job, err) : work_blocks(job, err);
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
    if (status == CLI_OK &&
        cli_heap_gate(&job.wanted, &job.look, job.wanted.baseline ? &job.changes : NULL))
        status = CLI_GATE;
    cli_heap_changes_done(&job.changes);
    cli_heap_look_done(&job.baseline);
    cli_heap_look_done(&job.look);
    cli_heap_wanted_done(&job.wanted);
    return status;
}

const struct cli_command cli_heap_leaks = {
    .name = "heap leaks",
    .summary = "live blocks by the stack that allocated them, largest first",
    .usage = (const char *const[]){"heap leaks [OPTION...] PID|NAME|FILE", NULL},
    .options = options,
    .notes = "What lives is not lost: a block that somebody still points to is listed too.",
    .run = run,
    .remote = CLI_REMOTE_TEXT,
};
