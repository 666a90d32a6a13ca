/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cairn/snapshot.h>

#include "base/error.h"
#include "base/escape.h"
#include "cli/heap.h"
#include "cli/namer.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { FRAMES_MAX = 1024 };

/* `*ret_pid` is 0 where no process has that name: then it names a file. */
static int find_process(const char *input, int *ret_pid, struct cairn_err *err)
{
    if (strchr(input, '/'))
        return CAIRN_OK;
    int code = cli_heap_find_process(input, ret_pid, err);
    return code == CAIRN_E_ARG ? code : CAIRN_OK; /* several processes: which one is meant? */
}

/* The program itself often lies in the current folder, and hides no process of its name. */
static int read_here(const char *input, const struct stat *st, struct cairn_heap **ret_heap,
                     int *ret_pid, struct cairn_err *err)
{
    struct cairn_err err_name = {0};
    int code = S_ISDIR(st->st_mode) ? cairn_heap_read_folder(input, ret_heap, err)
                                    : cairn_heap_read_file(input, ret_heap, err);
    if (code != CAIRN_E_FORMAT && code != CAIRN_E_MISSING)
        return code;
    int code_name = find_process(input, ret_pid, &err_name);
    if (code_name < 0) {
        *err = err_name;
        return code_name;
    }
    if (!*ret_pid)
        return code;
    return cairn_heap_read_pid(*ret_pid, ret_heap, err);
}

int cli_heap_read(const char *input, struct cairn_heap **ret_heap, int *ret_pid,
                  struct cairn_err *err)
{
    struct stat st;
    *ret_pid = 0;
    if (stat(input, &st) == 0)
        return read_here(input, &st, ret_heap, ret_pid, err);
    int code = find_process(input, ret_pid, err);
    if (code < 0)
        return code;
    return *ret_pid ? cairn_heap_read_pid(*ret_pid, ret_heap, err)
                    : cairn_heap_read_file(input, ret_heap, err);
}

int cli_heap_find_process(const char *input, int *ret_pid, struct cairn_err *err)
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

int cli_heap_find_target(const char *input, int *ret_pid, const char **ret_core,
                         struct cairn_err *err)
{
    *ret_pid = cli_parse_pid(input);
    *ret_core = !*ret_pid && cairn_heap_is_core(input) ? input : NULL;
    return *ret_pid || *ret_core ? CAIRN_OK : cli_heap_find_process(input, ret_pid, err);
}

const char *cli_heap_target_text(int pid, const char *core)
{
    static char text[32];
    if (core)
        return core;
    snprintf(text, sizeof text, "process %d", pid);
    return text;
}

bool cli_heap_take_name(struct cli_args *args, int row, const char *value,
                        struct cli_heap_names *names)
{
    switch (row) {
    case CLI_HEAP_SYMBOLS:
        cli_list_add(&names->symbol_dirs, value);
        return true;
    case CLI_HEAP_VERBOSE:
        names->verbosity++;
        return true;
    default:
        return cli_way_take(args, (enum cli_way_row)(row - CLI_HEAP_WAYS), value, &names->symbols);
    }
}

static const char *only_operand(struct cli_args *args, const char *what)
{
    size_t n;
    char **operands = cli_args_operands(args, &n);
    if (n == 1)
        return operands[0];
    cli_args_wrong(args, n ? "one %s at a time" : "%s is missing", what);
    return NULL;
}

const char *cli_heap_input(struct cli_args *args)
{
    return only_operand(args, "PID, NAME or FILE");
}

const char *cli_heap_process(struct cli_args *args)
{
    return only_operand(args, "PID or NAME");
}

int cli_heap_resolver(const struct cli_heap_names *names, int pid,
                      struct cairn_resolver **ret_resolver, struct cairn_err *err)
{
    return cli_namer_new(&names->symbols, &names->symbol_dirs, pid, ret_resolver, err);
}

int cli_heap_name(const struct cli_heap_names *names, int pid, struct cairn_profile *profile,
                  struct cairn_err *err)
{
    return cli_namer_name(&names->symbols, &names->symbol_dirs, pid, profile, err);
}

static void add_safe(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

static void add_line(struct cairn_buffer *out, const struct cairn_frame_line *line)
{
    add_safe(out, line->function);
    if (!*line->file)
        return;
    cairn_buffer_str(out, " (");
    cli_add_base(out, line->file);
    if (line->line)
        cairn_buffer_printf(out, ":%u", line->line);
    cairn_buffer_str(out, ")");
}

static void add_frame(struct cairn_buffer *out, const struct cairn_profile *profile,
                      uint32_t number)
{
    struct cairn_frame_info frame = {.size = sizeof frame};
    struct cairn_frame_line line;
    if (cairn_profile_frame(profile, number, &frame) < 0)
        return;
    for (uint32_t i = 0; i < frame.n_lines; i++) {
        bool is_last = i + 1 == frame.n_lines;
        if (cairn_profile_frame_line(profile, number, i, &line) < 0)
            break;
        cairn_buffer_str(out, "    ");
        add_line(out, &line);
        if (!is_last)
            cairn_buffer_str(out, " [inlined]");
        else if (*frame.module) {
            cairn_buffer_str(out, "  ");
            cli_add_base(out, frame.module);
        }
        if (is_last && cairn_frame_is_guess((int)frame.how))
            cairn_buffer_str(out, " [guessed]");
        cairn_buffer_char(out, '\n');
    }
    if (frame.n_lines == 0) {
        cairn_buffer_str(out, "    ");
        cli_add_unnamed(out, &frame);
        cairn_buffer_char(out, '\n');
    }
}

void cli_heap_add_stack(struct cairn_buffer *out, const struct cairn_profile *profile,
                        uint32_t stack)
{
    uint32_t frames[FRAMES_MAX];
    size_t n = cairn_profile_stack(profile, stack, frames, FRAMES_MAX);
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++)
        add_frame(out, profile, frames[i]);
    if (n == 0)
        cairn_buffer_str(out, "    (no stack)\n");
}

void cli_heap_add_place(struct cairn_buffer *out, const struct cairn_profile *profile,
                        uint32_t stack)
{
    enum { SHOWN = 3 };
    uint32_t frames[SHOWN];
    size_t n = cairn_profile_stack(profile, stack, frames, SHOWN);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        struct cairn_frame_info frame = {.size = sizeof frame};
        struct cairn_frame_line line;
        if (cairn_profile_frame(profile, frames[i], &frame) < 0)
            continue;
        if (i)
            cairn_buffer_str(out, " < ");
        if (frame.n_lines && cairn_profile_frame_line(profile, frames[i], 0, &line) == CAIRN_OK)
            add_line(out, &line);
        else
            cli_add_unnamed(out, &frame);
    }
    if (n == 0)
        cairn_buffer_str(out, "(no stack)");
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
    if (frame.function_start)
        cairn_json_hex(json, "function_start", frame.function_start);
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

void cli_heap_put_stack(struct cairn_json *json, const struct cairn_profile *profile,
                        uint32_t stack)
{
    uint32_t frames[FRAMES_MAX];
    size_t n = cairn_profile_stack(profile, stack, frames, FRAMES_MAX);
    cairn_json_open(json, "frames", '[');
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++)
        put_frame(json, profile, frames[i]);
    cairn_json_close(json, ']');
}

void cli_heap_put_target(struct cairn_json *json, int pid, const char *core,
                         const struct cairn_heap *heap)
{
    struct cairn_heap_process process = {.size = sizeof process};
    if (core && cairn_heap_process(heap, 0, &process))
        pid = process.pid;
    cairn_json_i64(json, "pid", pid);
    if (core)
        cairn_json_str(json, "core", core);
}

void cli_heap_put_origin(struct cairn_json *json, const struct cairn_heap *heap,
                         const struct cairn_heap_leak *leak)
{
    struct cairn_heap_process process = {.size = sizeof process};
    if (leak->oldest_ns != UINT64_MAX) {
        cairn_json_real(json, "oldest_seconds", (double)leak->oldest_ns / 1e9);
        cairn_json_real(json, "youngest_seconds", (double)leak->youngest_ns / 1e9);
    }
    if (cairn_heap_process(heap, leak->process, &process))
        cairn_json_i64(json, "pid", process.pid);
    cairn_json_u64(json, "processes", leak->n_processes);
}
