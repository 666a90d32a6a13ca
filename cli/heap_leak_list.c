/* SPDX-License-Identifier: MIT */
/* Live blocks by stack, as `cairn heap leaks` prints them: in words, or as JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "cli/heap.h"
#include "cli/numbers.h"

static size_t at_most(const struct cli_heap_look *look, uint64_t n_shown)
{
    return n_shown && n_shown < look->n ? (size_t)n_shown : look->n;
}

void cli_heap_add_age(struct cairn_buffer *out, const struct cairn_heap_leak *leak)
{
    if (leak->youngest_ns == UINT64_MAX)
        return;
    cairn_buffer_str(out, ", ");
    cli_add_duration(out, leak->youngest_ns);
    if (leak->n_blocks > 1 && leak->oldest_ns - leak->youngest_ns >= 1000000000) {
        cairn_buffer_str(out, " to ");
        cli_add_duration(out, leak->oldest_ns);
    }
    cairn_buffer_str(out, " old");
}

void cli_heap_add_whole_stack(struct cairn_buffer *out, const struct cairn_profile *profile,
                              const struct cairn_heap_leak *leak)
{
    cli_heap_add_stack(out, profile, leak->stack);
    if (leak->cut) {
        cairn_buffer_str(out, "    [cut: ");
        cairn_escape_terminal(out, leak->cut, strlen(leak->cut));
        cairn_buffer_str(out, "]\n");
    }
    cairn_buffer_char(out, '\n');
}

static void add_leak(struct cairn_buffer *out, const struct cli_heap_look *look,
                     const struct cairn_heap_leak *leak)
{
    struct cairn_heap_process process = {.size = sizeof process}, second = process;
    cli_add_size(out, leak->bytes);
    if (leak->error_bytes) {
        cairn_buffer_str(out, " +- ");
        cli_add_size(out, leak->error_bytes);
    }
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, leak->n_blocks, "block");
    cli_heap_add_age(out, leak);
    if (leak->n_processes > 1)
        cairn_buffer_printf(out, ", %" PRIu64 " processes", leak->n_processes);
    else if (cairn_heap_process(look->heap, 1, &second) &&
             cairn_heap_process(look->heap, leak->process, &process))
        cairn_buffer_printf(out, ", process %d", process.pid);
    cairn_buffer_char(out, '\n');
    cli_heap_add_whole_stack(out, look->profile, leak);
}

static void add_sum(struct cairn_buffer *out, const struct cli_heap_look *look)
{
    uint64_t bytes, blocks;
    cli_heap_sum_look(look, &bytes, &blocks);
    cli_add_size(out, bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, blocks, "block");
    cairn_buffer_str(out, look->pid ? " live now, from " : " live at the end, from ");
    cli_add_counted(out, look->n, "stack");
    cairn_buffer_char(out, '\n');
}

void cli_heap_add_leaks(struct cairn_buffer *out, const struct cli_heap_look *look,
                        uint64_t n_shown)
{
    size_t n = at_most(look, n_shown);
    if (look->n == 0) {
        struct cairn_heap_totals totals = {.size = sizeof totals};
        cairn_heap_totals(look->heap, &totals);
        cairn_buffer_str(out, totals.n_not_asked
                                  ? "Nothing is known: the program asked another malloc.\n"
                                  : "No memory leaks detected.\n");
        return;
    }
    for (size_t i = 0; i < n; i++)
        add_leak(out, look, &look->leaks[i]);
    if (n < look->n)
        cairn_buffer_printf(out, "and %zu more stacks: --top 0 prints all\n", look->n - n);
    add_sum(out, look);
}

static void put_leak(struct cairn_json *json, const struct cli_heap_look *look,
                     const struct cairn_heap_leak *leak)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_u64(json, "bytes", leak->bytes);
    cairn_json_u64(json, "blocks", leak->n_blocks);
    if (leak->error_bytes)
        cairn_json_u64(json, "standard_error", leak->error_bytes);
    cli_heap_put_origin(json, look->heap, leak);
    cairn_json_str(json, "cut", leak->cut);
    cli_heap_put_stack(json, look->profile, leak->stack);
    cairn_json_close(json, '}');
}

void cli_heap_put_leaks(struct cairn_json *json, const struct cli_heap_look *look, uint64_t n_shown)
{
    uint64_t bytes, blocks;
    cli_heap_sum_look(look, &bytes, &blocks);
    cairn_json_u64(json, "bytes", bytes);
    cairn_json_u64(json, "blocks", blocks);
    cairn_json_u64(json, "stacks", look->n);
    cairn_json_open(json, "leaks", '[');
    for (size_t i = 0; i < at_most(look, n_shown); i++)
        put_leak(json, look, &look->leaks[i]);
    cairn_json_close(json, ']');
}
