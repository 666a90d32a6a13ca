/* SPDX-License-Identifier: MIT */
/* cairn hook move: a copy of some instructions for another address, in hexadecimal. */
#include <stdio.h>
#include <string.h>

#include <cairn/hook.h>

#include "base/buffer.h"
#include "base/json.h"
#include "cli/hook.h"
#include "cli/term.h"

enum { BYTES_MAX = 4096 };
enum { CPU, AT, TO, LEAST, SHADOW_STACK, JSON };
static const struct cli_option options[] = {
    [CPU] = {"cpu", 0, "CPU", "x86-64, aarch64, arm or thumb"},
    [AT] = {"at", 0, "VA", "the address where the instructions run, such as 0x401000"},
    [TO] = {"to", 0, "VA", "the address where the copy will run"},
    [LEAST] = {"least", 0, "N", "move the whole instructions that cover N bytes (default: 1)"},
    [SHADOW_STACK] =
        {"shadow-stack", 0, NULL,
         "the process has a shadow stack: refuse calls, whose return address it holds"},
    [JSON] = {"json", 0, NULL, "print one JSON object"},
    {0}};

struct wanted {
    struct cairn_hook_piece piece;
    bool has_at, has_to, json;
    uint8_t bytes[BYTES_MAX];
};

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Pairs of digits, with blanks between them or not. */
static bool parse_hex(struct cli_args *args, const char *text, struct wanted *w)
{
    size_t n = w->piece.n_code;
    for (size_t i = 0; text[i];) {
        if (text[i] == ' ' || text[i] == '\n' || text[i] == '\t') {
            i++;
            continue;
        }
        const int high = digit_of(text[i]), low = high < 0 ? -1 : digit_of(text[i + 1]);
        if (low < 0) {
            cli_args_wrong(args, "HEX: \"%.8s\" at character %zu is no byte, expected two digits",
                           text + i, i + 1);
            return false;
        }
        if (n == BYTES_MAX) {
            cli_args_wrong(args, "HEX: more than %d bytes", BYTES_MAX);
            return false;
        }
        w->bytes[n++] = (uint8_t)(high << 4 | low);
        i += 2;
    }
    w->piece.n_code = n;
    return true;
}

static bool take_option(struct cli_args *args, int row, const char *value, struct wanted *w)
{
    uint64_t number = 0;
    switch (row) {
    case CPU:
        w->piece.cpu = cairn_hook_cpu_of_name(value);
        if (w->piece.cpu == CAIRN_HOOK_CPU_NONE)
            cli_args_wrong(args, "--cpu: \"%s\" is unknown, expected x86-64, aarch64, arm or thumb",
                           value);
        return w->piece.cpu != CAIRN_HOOK_CPU_NONE;
    case AT:
        w->has_at = true;
        return cli_args_u64(args, "at", value, &w->piece.from_va);
    case TO:
        w->has_to = true;
        return cli_args_u64(args, "to", value, &w->piece.to_va);
    case LEAST:
        if (!cli_args_count(args, "least", value, CAIRN_HOOK_LEAST_MAX, &number))
            return false;
        w->piece.least = (size_t)number;
        return true;
    case SHADOW_STACK:
        w->piece.has_shadow_stack = true;
        return true;
    default:
        w->json = true;
        return true;
    }
}

static bool take_words(struct cli_args *args, struct wanted *w)
{
    const char *value;
    size_t n;
    int row;
    while ((row = cli_args_next(args, &value)) >= 0)
        if (!take_option(args, row, value, w))
            return false;
    if (row == CLI_ARGS_WRONG)
        return false;
    char **operands = cli_args_operands(args, &n);
    const char *missing = !w->piece.cpu ? "--cpu"
                          : !w->has_at  ? "--at"
                          : !w->has_to  ? "--to"
                                        : NULL;
    if (missing || !n) {
        cli_args_wrong(args, "%s is missing", missing ? missing : "HEX");
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!parse_hex(args, operands[i], w))
            return false;
    return true;
}

/* {"taken":5,"code":"..."} or {"refused":"...","at":"0x..."} */
static void put_json(struct cairn_buffer *out, bool is_moved, const struct cairn_hook_copy *copy,
                     const char *code)
{
    struct cairn_json json = {.out = out, .compact = true};
    cairn_json_open(&json, NULL, '{');
    if (is_moved) {
        cairn_json_u64(&json, "taken", copy->taken);
        cairn_json_str(&json, "code", code);
    } else {
        cairn_json_str(&json, "refused", cairn_hook_reason_text(copy->reason));
        cairn_json_hex(&json, "at", copy->reason_va);
    }
    cairn_json_close(&json, '}');
}

static int run(struct cli_args *args)
{
    struct wanted w = {.piece = {.size = sizeof w.piece, .code = w.bytes, .least = 1}};
    struct cairn_hook_copy copy;
    struct cairn_buffer out = {0}, code = {0};
    if (!take_words(args, &w))
        return CLI_USAGE;
    const bool is_moved = cairn_hook_move(&w.piece, &copy);
    for (size_t i = 0; is_moved && i < copy.n_code; i++)
        cairn_buffer_printf(&code, "%02x", copy.code[i]);
    if (w.json)
        put_json(&out, is_moved, &copy, cairn_buffer_text(&code));
    else if (is_moved)
        cairn_buffer_printf(&out, "%s\n", cairn_buffer_text(&code));
    else
        cli_say("hook move: the instruction at 0x%llx cannot be moved: %s",
                (unsigned long long)copy.reason_va, cairn_hook_reason_text(copy.reason));
    fwrite(out.data, 1, out.size, stdout);
    cairn_buffer_done(&out);
    cairn_buffer_done(&code);
    return is_moved ? CLI_OK : CLI_FAILED;
}

const struct cli_command cli_hook_move = {
    .name = "hook move",
    .summary = "copy instructions so that they do the same at another address",
    .usage = (const char *const[]){"hook move --cpu CPU --at VA --to VA [--least N] HEX...", NULL},
    .options = options,
    .run = run,
};
