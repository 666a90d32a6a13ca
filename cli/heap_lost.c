/* SPDX-License-Identifier: MIT */
/* cairn heap lost: blocks of a running process that nothing points to any more. */
#include "cli/heap_lost.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/result.h"
#include "cli/term.h"

enum { TOP_DEFAULT = 20, QUALITY_BYTES = 4096 };

enum option {
    OPTION_TOP,
    OPTION_POSSIBLY,
    OPTION_ALL,
    OPTION_WANTED,
    OPTION_CONSISTENT = OPTION_WANTED + CLI_HEAP_N_WANTED,
    OPTION_FAIL_OVER,
    OPTION_OUTPUT,
    OPTION_FORCE,
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
    [OPTION_OUTPUT] = {"output", 'o', "FILE",
                       "write it as a profile too, or as a flame graph where FILE ends in .html or "
                       ".svg"},
    [OPTION_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPTION_JSON] = {"json", 0, NULL, "print one JSON object, numbers and names uncut"},
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

struct job {
    struct cli_args *args;
    int pid;          /* 0: of a core file, */
    const char *core; /* whose path this is */
    uint64_t n_shown; /* 0: all */
    bool json, wants_possibly, consistent, force;
    const char *out;
    enum cli_result result;
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
    case OPTION_OUTPUT:
        job->out = value;
        return cli_result_of_name(job->args, value, &job->result);
    case OPTION_FORCE:
        job->force = true;
        return true;
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
        cli_args_wrong(job->args,
                       n ? "one process or core file at a time" : "PID, NAME or CORE is missing");
    *ret_input = n == 1 ? operands[0] : NULL;
    return n == 1;
}

/* Without the default suppressions of the C library's own buffers: those are held, not lost. */
static int leave_out(struct cli_heap_wanted *wanted, struct cairn_heap_lost *lost,
                     struct cairn_err *err)
{
    cairn_heap_suppressions_free(wanted->suppressions);
    wanted->suppressions = NULL;
    int code = wanted->suppressions_file ? cairn_heap_suppressions_read(wanted->suppressions_file,
                                                                        &wanted->suppressions, err)
                                         : cairn_heap_suppressions_new(&wanted->suppressions, err);
    if (code == CAIRN_OK && !wanted->no_defaults)
        code = cairn_heap_suppressions_add_programs(wanted->suppressions, lost->profile, err);
    if (code == CAIRN_OK)
        code = cairn_heap_suppress(wanted->suppressions, lost->profile, lost->possibly,
                                   &lost->n_possibly, err);
    if (code == CAIRN_OK) /* last: cli_heap_say_suppressed() reports this call */
        code = cairn_heap_suppress(wanted->suppressions, lost->profile, lost->lost, &lost->n_lost,
                                   err);
    return code;
}

int cli_lost_look(struct cli_heap_wanted *wanted, int pid, const struct cairn_heap_lost_opts *opts,
                  struct cairn_heap_lost *ret_lost, struct cairn_err *err)
{
    ret_lost->size = sizeof *ret_lost;
    int code = cairn_heap_lost(pid, opts, ret_lost, err);
    if (code < 0)
        return code;
    cli_heap_keep_modules(&wanted->modules, ret_lost->profile, ret_lost->lost, &ret_lost->n_lost);
    cli_heap_keep_modules(&wanted->modules, ret_lost->profile, ret_lost->possibly,
                          &ret_lost->n_possibly);
    code = cli_heap_name(&wanted->names, opts->core ? 0 : pid, ret_lost->profile, err);
    return code < 0 ? code : leave_out(wanted, ret_lost, err);
}

static int look(struct job *job, const char *input, struct cairn_err *err)
{
    int code = cli_heap_find_target(input, &job->pid, &job->core, err);
    const struct cairn_heap_lost_opts opts = {.size = sizeof opts,
                                              .filter = &job->wanted.filter,
                                              .consistent = job->consistent,
                                              .core = job->core};
    return code < 0 ? code : cli_lost_look(&job->wanted, job->pid, &opts, &job->lost, err);
}

static int print(const struct job *job, struct cairn_err *err)
{
    char quality[QUALITY_BYTES];
    struct cairn_buffer out = {0};
    struct cairn_json json = {.out = &out};
    cairn_heap_quality_text(job->lost.heap, job->lost.profile, quality, sizeof quality);
    if (job->json) {
        cairn_json_open(&json, NULL, '{');
        cli_heap_put_target(&json, job->pid, job->core, job->lost.heap);
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
        cli_lost_say(&job->lost, job->core != NULL);
        cli_say("%s", quality);
    }
    cairn_buffer_done(&out);
    return code;
}

/* Behind all that asks the profile for what lives. */
static int write_profile(struct job *job, struct cairn_err *err)
{
    struct cli_output *output = NULL;
    int code = cairn_heap_lost_make_profile(&job->lost, err);
    if (code == CAIRN_OK)
        code = cli_output_open(job->out, job->force, &output, err);
    if (code < 0)
        return code;
    code = cli_result_write(job->result, CAIRN_GUEST_ALL, job->lost.profile,
                            "lost blocks by the stack that "
                            "allocated them",
                            output, err);
    return cli_result_end(output, code, err);
}

/* Only what is lost for sure closes it. */
bool cli_lost_gate(const struct cli_heap_wanted *wanted, const struct cairn_heap_lost *lost)
{
    uint64_t bytes, blocks;
    cli_lost_sum(lost->lost, lost->n_lost, &bytes, &blocks);
    if (!wanted->has_limit || bytes <= wanted->limit)
        return false;
    cli_say("%llu bytes lost, over the %llu of --fail-over", (unsigned long long)bytes,
            (unsigned long long)wanted->limit);
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
        if (code == CAIRN_OK && !(job.out && strcmp(job.out, "-") == 0))
            code = print(&job, &err);
        if (code == CAIRN_OK && job.out)
            code = write_profile(&job, &err);
        status = code < 0 ? cli_report(&err) : CLI_OK;
    }
    if (status == CLI_OK && cli_lost_gate(&job.wanted, &job.lost))
        status = CLI_GATE;
    cairn_heap_lost_done(&job.lost);
    cli_heap_wanted_done(&job.wanted);
    return status;
}

const struct cli_command cli_heap_lost = {
    .name = "heap lost",
    .summary = "blocks that nothing points to any more, of a running process or a core file",
    .usage = (const char *const[]){"heap lost [OPTION...] PID|NAME|CORE", NULL},
    .options = options,
    .notes = "The process runs on while it is read several times; what no pass reaches is lost. A "
             "core file of a program that was not tracked has no birth stacks: its blocks are "
             "listed by class and size.",
    .run = run,
    .remote = CLI_REMOTE_TEXT,
};
