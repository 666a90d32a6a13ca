/* SPDX-License-Identifier: MIT */
/* cairn heap holds: what keeps a block of a running process, or most of them. */
#include "cli/heap_holds.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/result.h"
#include "cli/term.h"

enum { TOP_DEFAULT = 40, PATHS_MAX = 10000, QUALITY_BYTES = 4096 };

enum option {
    OPTION_PATHS,
    OPTION_DOMINATORS,
    OPTION_TOP,
    OPTION_OUTPUT,
    OPTION_FORCE,
    OPTION_CONSISTENT,
    OPTION_JSON,
    OPTION_NAMES
};

static const struct cli_option options[] = {
    [OPTION_PATHS] = {"paths", 0, "N",
                      "print the paths to N pointers to the block, the shortest first "
                      "(default: 1)"},
    [OPTION_DOMINATORS] = {"dominators", 0, NULL,
                           "print what keeps most, as a tree: what would be free without each row"},
    [OPTION_TOP] = {"top", 'n', "N",
                    "print the N largest rows of the tree, 0 for all of them (default: 40)"},
    [OPTION_OUTPUT] = {"output", 'o', "FILE",
                       "write the tree as a profile, or as a flame graph where FILE ends in .html "
                       "or .svg"},
    [OPTION_FORCE] = {"force", 'f', NULL, "replace FILE where it is there already"},
    [OPTION_CONSISTENT] = {"consistent", 0, NULL,
                           "stop the process while it is read, and say for how long"},
    [OPTION_JSON] = {"json", 0, NULL, "print one JSON object, numbers and names uncut"},
    CLI_HEAP_NAME_ROWS(OPTION_NAMES),
    {0},
};

struct job {
    struct cli_args *args;
    int pid;                    /* 0: of a core file, */
    const char *core;           /* whose path this is */
    const char *process, *what; /* what: NULL with --dominators alone */
    uint64_t n_paths, n_shown;
    bool dominators, consistent, json, force;
    const char *out;
    enum cli_result result;
    struct cli_heap_wanted wanted;
    struct cairn_heap_holds *holds;
    struct cairn_buffer text; /* of the node that is written */
};

static bool take_option(struct job *job, int option, const char *value)
{
    switch (option) {
    case OPTION_PATHS:
        return cli_args_count(job->args, "paths", value, PATHS_MAX, &job->n_paths);
    case OPTION_DOMINATORS:
        job->dominators = true;
        return true;
    case OPTION_TOP:
        return cli_args_u64(job->args, "top", value, &job->n_shown);
    case OPTION_OUTPUT:
        job->out = value;
        job->dominators = true;
        return cli_result_of_name(job->args, value, &job->result);
    case OPTION_FORCE:
        job->force = true;
        return true;
    case OPTION_CONSISTENT:
        job->consistent = true;
        return true;
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
    char **operands = cli_args_operands(job->args, &n);
    bool is_right = n == 2 || (n == 1 && job->dominators);
    if (!is_right)
        cli_args_wrong(job->args, n == 0  ? "PID, NAME or CORE is missing"
                                  : n > 2 ? "one block at a time"
                                          : "say of what: 0xADDRESS, a function or #N; or "
                                            "--dominators");
    job->process = n ? operands[0] : NULL;
    job->what = n == 2 ? operands[1] : NULL;
    return is_right;
}

static int look(struct job *job, struct cairn_err *err)
{
    struct cairn_heap_holds_opts opts = {.size = sizeof opts,
                                         .n_paths = (size_t)job->n_paths,
                                         .dominators = job->dominators,
                                         .consistent = job->consistent};
    int code = cli_heap_find_target(job->process, &job->pid, &job->core, err);
    const struct cli_holds_target target = {job->pid, job->core};
    uint64_t *vas = NULL;
    if (code == CAIRN_OK && job->what)
        code = cli_holds_find(&job->wanted, &target, job->what, &vas, &opts.n_vas, err);
    opts.core = job->core;
    opts.vas = vas;
    if (code == CAIRN_OK)
        code = cairn_heap_holds_new(job->pid, &opts, &job->holds, err);
    cairn_free(vas);
    if (code < 0)
        return code;
    return cli_heap_name(&job->wanted.names, job->pid, cairn_heap_holds_profile(job->holds), err);
}

static int make_text(struct job *job, struct cairn_buffer *out, struct cairn_err *err)
{
    if (job->what)
        cli_holds_add(out, job->holds);
    if (job->what && job->dominators)
        cairn_buffer_char(out, '\n');
    return job->dominators ? cli_holds_add_tree(out, job->holds, job->n_shown, err) : CAIRN_OK;
}

static int make_json(struct job *job, struct cairn_buffer *out, const char *quality,
                     struct cairn_err *err)
{
    struct cairn_json json = {.out = out};
    cairn_json_open(&json, NULL, '{');
    cli_heap_put_target(&json, job->pid, job->core, cairn_heap_holds_heap(job->holds));
    cli_holds_put(&json, job->holds);
    int code =
        job->dominators ? cli_holds_put_tree(&json, job->holds, job->n_shown, err) : CAIRN_OK;
    cairn_json_str(&json, "quality", quality);
    cairn_json_close(&json, '}');
    return code;
}

static const char *name_node(void *ctx, const struct cairn_heap_holds_node *node)
{
    struct job *job = ctx;
    cairn_buffer_clear(&job->text);
    if (node->root)
        cli_holds_add_name(&job->text, node->root);
    else
        cli_heap_add_place(&job->text, cairn_heap_holds_profile(job->holds), node->stack);
    return cairn_buffer_text(&job->text);
}

static int write_tree(struct job *job, struct cairn_err *err)
{
    struct cairn_profile *profile = NULL;
    struct cli_output *output = NULL;
    int code = cairn_heap_holds_retained(job->holds, name_node, job, &profile, err);
    if (code == CAIRN_OK)
        code = cli_output_open(job->out, job->force, &output, err);
    if (code == CAIRN_OK) {
        code = cli_result_write(job->result, CAIRN_GUEST_ALL, profile,
                                "what keeps what: retained memory", output, err);
        code = cli_result_end(output, code, err);
    }
    cairn_profile_free(profile);
    return code;
}

static int print(struct job *job, struct cairn_err *err)
{
    char quality[QUALITY_BYTES];
    struct cairn_buffer out = {0};
    cairn_heap_quality_text(cairn_heap_holds_heap(job->holds), cairn_heap_holds_profile(job->holds),
                            quality, sizeof quality);
    int code = job->json ? make_json(job, &out, quality, err) : make_text(job, &out, err);
    if (code == CAIRN_OK && out.failed)
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
    if (code == CAIRN_OK && !job->json) {
        fflush(stdout);
        cli_holds_say(job->holds, job->core != NULL);
        cli_say("%s", quality);
    }
    return code;
}

static int run(struct cli_args *args)
{
    struct job job = {.args = args,
                      .n_paths = 1,
                      .n_shown = TOP_DEFAULT,
                      .wanted = {.filter = {.size = sizeof job.wanted.filter}}};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    cli_way_init(&job.wanted.names.symbols);
    if (parse(&job)) {
        cli_log_open(job.wanted.names.verbosity);
        int code = look(&job, &err);
        if (code == CAIRN_OK && job.out)
            code = write_tree(&job, &err);
        if (code == CAIRN_OK && !(job.out && strcmp(job.out, "-") == 0))
            code = print(&job, &err);
        status = code < 0 ? cli_report(&err) : CLI_OK;
    }
    cairn_heap_holds_free(job.holds);
    cairn_buffer_done(&job.text);
    cli_heap_wanted_done(&job.wanted);
    return status;
}

const struct cli_command cli_heap_holds = {
    .name = "heap holds",
    .summary = "what keeps a block of a running process or a core file, or most of them",
    .usage = (const char *const[]){"heap holds [OPTION...] PID|NAME|CORE 0xADDRESS|FUNCTION|#N",
                                   "heap holds --dominators [OPTION...] PID|NAME|CORE", NULL},
    .options = options,
    .notes = "FUNCTION: the largest block that it allocated; #N: of the Nth stack of cairn heap "
             "leaks.",
    .run = run,
};
