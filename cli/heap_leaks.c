/* SPDX-License-Identifier: MIT */
/* cairn heap leaks: blocks that live now, or lived at exit, by the stack that allocated them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { QUALITY_BYTES = 4096, TOP_DEFAULT = 20, FRAMES_MAX = 1024 };

enum option {
    OPTION_TOP,
    OPTION_MIN,
    OPTION_OLDER,
    OPTION_SINCE,
    OPTION_MODULE,
    OPTION_FORMAT,
    OPTION_JSON,
    OPTION_NAMES
};

static const struct cli_option options[] = {
    [OPTION_TOP] = {"top", 'n', "N", "print at most N stacks, 0 for all of them (default: 20)"},
    [OPTION_MIN] = {"min", 0, "SIZE", "leave out stacks whose live blocks take less than SIZE"},
    [OPTION_OLDER] = {"older-than", 0, "SECONDS", "only blocks that are at least so old"},
    [OPTION_SINCE] = {"since-mark", 0, "N", "only blocks born after mark N (cairn heap mark)"},
    [OPTION_MODULE] = {"module", 0, "NAME",
                       "only stacks with a frame in a module whose file name contains NAME; given "
                       "several times, in any of them"},
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
    struct cairn_heap_filter filter;
    struct cli_list modules;
    struct cli_heap_names names;
    int pid;
    struct cairn_heap *heap;
    struct cairn_profile *profile;
    struct cairn_heap_leak *leaks;
    size_t n;
};

static bool set_older(struct job *job, const char *value)
{
    double seconds;
    if (!cli_args_real(job->args, "older-than", value, &seconds))
        return false;
    if (seconds < 0 || seconds > 1e9) {
        cli_args_wrong(job->args, "--older-than: %s, expected seconds", value);
        return false;
    }
    job->filter.older_than_ns = (uint64_t)(seconds * 1e9);
    return true;
}

static bool set_since(struct job *job, const char *value)
{
    uint64_t mark;
    if (!cli_args_u64(job->args, "since-mark", value, &mark))
        return false;
    if (mark == 0 || mark > UINT32_MAX) {
        cli_args_wrong(job->args, "--since-mark: marks count from 1");
        return false;
    }
    job->filter.since_mark = (uint32_t)mark;
    return true;
}

static bool take_option(struct job *job, int option, const char *value)
{
    switch (option) {
    case OPTION_TOP:
        return cli_args_u64(job->args, "top", value, &job->n_shown);
    case OPTION_MIN:
        return cli_args_size(job->args, "min", value, &job->filter.min_bytes);
    case OPTION_OLDER:
        return set_older(job, value);
    case OPTION_SINCE:
        return set_since(job, value);
    case OPTION_MODULE:
        cli_list_add(&job->modules, value);
        return true;
    case OPTION_FORMAT:
        return cli_args_word(job->args, "format", value,
                             (const char *const[]){"text", "tracker", "ndk", NULL}, &job->form);
    case OPTION_JSON:
        job->json = true;
        return true;
    default:
        return cli_heap_take_name(job->args, option - OPTION_NAMES, value, &job->names);
    }
}

static bool parse(struct job *job)
{
    const char *value;
    int option;
    while ((option = cli_args_next(job->args, &value)) >= 0)
        if (!take_option(job, option, value))
            return false;
    job->input = option == CLI_ARGS_WRONG ? NULL : cli_heap_input(job->args);
    return job->input != NULL;
}

static bool is_in_module(const struct job *job, uint32_t stack)
{
    uint32_t frames[FRAMES_MAX];
    size_t n = cairn_profile_stack(job->profile, stack, frames, FRAMES_MAX);
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++) {
        struct cairn_frame_info frame = {.size = sizeof frame};
        if (cairn_profile_frame(job->profile, frames[i], &frame) < 0)
            continue;
        const char *slash = strrchr(frame.module, '/');
        for (size_t k = 0; k < job->modules.n; k++)
            if (strstr(slash ? slash + 1 : frame.module, job->modules.items[k]))
                return true;
    }
    return false;
}

static void keep_modules(struct job *job)
{
    size_t kept = 0;
    for (size_t i = 0; job->modules.n && i < job->n; i++)
        if (is_in_module(job, job->leaks[i].stack))
            job->leaks[kept++] = job->leaks[i];
    if (job->modules.n)
        job->n = kept;
}

static size_t n_shown(const struct job *job)
{
    return job->n_shown && job->n_shown < job->n ? (size_t)job->n_shown : job->n;
}

static void add_age(struct cairn_buffer *out, const struct cairn_heap_leak *leak)
{
    cairn_buffer_str(out, ", ");
    cli_add_duration(out, leak->youngest_ns);
    if (leak->n_blocks > 1 && leak->oldest_ns - leak->youngest_ns >= 1000000000) {
        cairn_buffer_str(out, " to ");
        cli_add_duration(out, leak->oldest_ns);
    }
    cairn_buffer_str(out, " old");
}

static void add_leak(const struct job *job, const struct cairn_heap_leak *leak,
                     struct cairn_buffer *out)
{
    struct cairn_heap_process process = {.size = sizeof process}, second = process;
    cli_add_size(out, leak->bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, leak->n_blocks, "block");
    add_age(out, leak);
    if (cairn_heap_process(job->heap, 1, &second) &&
        cairn_heap_process(job->heap, leak->process, &process))
        cairn_buffer_printf(out, ", process %d", process.pid);
    cairn_buffer_char(out, '\n');
    cli_heap_add_stack(out, job->profile, leak->stack);
    if (leak->cut) {
        cairn_buffer_str(out, "    [cut: ");
        cairn_escape_terminal(out, leak->cut, strlen(leak->cut));
        cairn_buffer_str(out, "]\n");
    }
    cairn_buffer_char(out, '\n');
}

static void sum_up(const struct job *job, uint64_t *ret_bytes, uint64_t *ret_blocks)
{
    *ret_bytes = *ret_blocks = 0;
    for (size_t i = 0; i < job->n; i++) {
        *ret_bytes += job->leaks[i].bytes;
        *ret_blocks += job->leaks[i].n_blocks;
    }
}

static void add_sum(const struct job *job, struct cairn_buffer *out)
{
    uint64_t bytes, blocks;
    sum_up(job, &bytes, &blocks);
    cli_add_size(out, bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, blocks, "block");
    cairn_buffer_str(out, job->pid ? " live now, from " : " live at the end, from ");
    cli_add_counted(out, job->n, "stack");
    cairn_buffer_char(out, '\n');
}

static void add_text(const struct job *job, struct cairn_buffer *out)
{
    size_t n = n_shown(job);
    if (job->n == 0) {
        cairn_buffer_str(out, "No memory leaks detected.\n");
        return;
    }
    for (size_t i = 0; i < n; i++)
        add_leak(job, &job->leaks[i], out);
    if (n < job->n)
        cairn_buffer_printf(out, "and %zu more stacks: --top 0 prints all\n", job->n - n);
    add_sum(job, out);
}

static void put_frame(struct cairn_json *json, const struct cairn_profile *profile, uint32_t number)
{
    struct cairn_frame_info frame = {.size = sizeof frame};
    struct cairn_frame_line line;
    if (cairn_profile_frame(profile, number, &frame) < 0)
        return;
    cairn_json_open(json, NULL, '{');
    cairn_json_hex(json, "address", frame.address);
    cairn_json_str(json, "module", frame.module);
    cairn_json_str(json, "build_id", frame.build_id);
    cairn_json_open(json, "lines", '[');
    for (uint32_t i = 0; i < frame.n_lines; i++) {
        if (cairn_profile_frame_line(profile, number, i, &line) < 0)
            break;
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "function", line.function);
        cairn_json_str(json, "file", line.file);
        cairn_json_u64(json, "line", line.line);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
    cairn_json_close(json, '}');
}

static void put_leak(const struct job *job, const struct cairn_heap_leak *leak,
                     struct cairn_json *json)
{
    struct cairn_heap_process process = {.size = sizeof process};
    uint32_t frames[FRAMES_MAX];
    size_t n = cairn_profile_stack(job->profile, leak->stack, frames, FRAMES_MAX);
    cairn_json_open(json, NULL, '{');
    cairn_json_u64(json, "bytes", leak->bytes);
    cairn_json_u64(json, "blocks", leak->n_blocks);
    cairn_json_real(json, "oldest_seconds", (double)leak->oldest_ns / 1e9);
    cairn_json_real(json, "youngest_seconds", (double)leak->youngest_ns / 1e9);
    if (cairn_heap_process(job->heap, leak->process, &process))
        cairn_json_i64(json, "pid", process.pid);
    cairn_json_str(json, "cut", leak->cut);
    cairn_json_open(json, "frames", '[');
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++)
        put_frame(json, job->profile, frames[i]);
    cairn_json_close(json, ']');
    cairn_json_close(json, '}');
}

static void add_json(const struct job *job, const char *quality, struct cairn_buffer *out)
{
    struct cairn_json json = {.out = out};
    uint64_t bytes, blocks;
    sum_up(job, &bytes, &blocks);
    cairn_json_open(&json, NULL, '{');
    cairn_json_u64(&json, "bytes", bytes);
    cairn_json_u64(&json, "blocks", blocks);
    cairn_json_u64(&json, "stacks", job->n);
    cairn_json_open(&json, "leaks", '[');
    for (size_t i = 0; i < n_shown(job); i++)
        put_leak(job, &job->leaks[i], &json);
    cairn_json_close(&json, ']');
    cairn_json_str(&json, "quality", quality);
    cairn_json_close(&json, '}');
    cairn_buffer_char(out, '\n');
}

static int print(struct job *job, struct cairn_err *err)
{
    char quality[QUALITY_BYTES];
    struct cairn_buffer out = {0};
    cairn_heap_quality_text(job->heap, job->profile, quality, sizeof quality);
    if (job->json)
        add_json(job, quality, &out);
    else
        add_text(job, &out);
    int result = out.failed ? cairn_fail_memory(err) : CAIRN_OK;
    if (result == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    if (result == CAIRN_OK && !job->json) {
        fflush(stdout);
        cli_say("%s", quality);
    }
    cairn_buffer_done(&out);
    return result;
}

static int print_blocks(struct job *job, const struct cairn_heap_block_info *blocks, size_t n,
                        struct cairn_err *err)
{
    const struct cli_heap_blocks list = {blocks, n, job->profile};
    struct cairn_buffer out = {0};
    if (job->form == FORM_TRACKER)
        cli_heap_add_tracker(&out, job->heap, &list, job->pid);
    else
        cli_heap_add_ndk(&out, job->heap, &list, job->pid);
    int result = out.failed ? cairn_fail_memory(err) : CAIRN_OK;
    if (result == CAIRN_OK)
        fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
    return result;
}

/* The filters hold, but for those that speak of stacks. */
static int work_blocks(struct job *job, struct cairn_err *err)
{
    struct cairn_heap_block_info *blocks = NULL;
    size_t n = 0;
    int result = cairn_heap_blocks(job->heap, &job->filter, &job->profile, &blocks, &n, err);
    if (result == CAIRN_OK)
        result = cli_heap_name(&job->names, job->pid, job->profile, err);
    if (result == CAIRN_OK)
        result = print_blocks(job, blocks, n, err);
    cairn_heap_blocks_free(blocks);
    return result;
}

static int work(struct job *job, struct cairn_err *err)
{
    int result = cli_heap_read(job->input, &job->heap, &job->pid, err);
    if (result == CAIRN_OK && job->form != FORM_TEXT)
        return work_blocks(job, err);
    if (result == CAIRN_OK)
        result =
            cairn_heap_leaks(job->heap, &job->filter, &job->profile, &job->leaks, &job->n, err);
    if (result < 0)
        return result;
    keep_modules(job);
    result = cli_heap_name(&job->names, job->pid, job->profile, err);
    return result < 0 ? result : print(job, err);
}

static int run(struct cli_args *args)
{
    struct job job = {.args = args, .n_shown = TOP_DEFAULT, .filter = {.size = sizeof job.filter}};
    struct cairn_err err = {0};
    int status = CLI_USAGE;
    cli_way_init(&job.names.symbols);
    if (parse(&job)) {
        cli_log_open(job.names.verbosity);
        status = work(&job, &err) < 0 ? cli_report(&err) : CLI_OK;
    }
    cairn_heap_leaks_free(job.leaks);
    cairn_profile_free(job.profile);
    cairn_heap_free(job.heap);
    cli_list_done(&job.modules);
    cli_list_done(&job.names.symbol_dirs);
    return status;
}

const struct cli_command cli_heap_leaks = {
    .name = "heap leaks",
    .summary = "live blocks by the stack that allocated them, largest first",
    .usage = (const char *const[]){"heap leaks [OPTION...] PID|FILE", NULL},
    .options = options,
    .notes = "What lives is not lost: a block that somebody still points to is listed too.",
    .run = run,
};
