/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "cli/heap_lost.h"
#include "cli/numbers.h"
#include "cli/term.h"

static size_t at_most(size_t n, uint64_t n_shown)
{
    return n_shown && n_shown < n ? (size_t)n_shown : n;
}

static void add_amount(struct cairn_buffer *out, uint64_t bytes, uint64_t blocks)
{
    cli_add_size(out, bytes);
    cairn_buffer_str(out, " in ");
    cli_add_counted(out, blocks, "block");
}

void cli_lost_sum(const struct cairn_heap_leak *leaks, size_t n, uint64_t *ret_bytes,
                  uint64_t *ret_blocks)
{
    *ret_bytes = *ret_blocks = 0;
    for (size_t i = 0; i < n; i++) {
        *ret_bytes += leaks[i].bytes + leaks[i].indirect_bytes;
        *ret_blocks += leaks[i].n_blocks + leaks[i].n_indirect;
    }
}

static void add_rows(struct cairn_buffer *out, const struct cairn_heap_lost *lost,
                     const struct cairn_heap_leak *leaks, size_t n, uint64_t n_shown,
                     const char *verdict)
{
    size_t n_rows = at_most(n, n_shown);
    for (size_t i = 0; i < n_rows; i++) {
        add_amount(out, leaks[i].bytes, leaks[i].n_blocks);
        cairn_buffer_printf(out, " %s", verdict);
        if (leaks[i].n_indirect) {
            cairn_buffer_str(out, ", and by that ");
            add_amount(out, leaks[i].indirect_bytes, leaks[i].n_indirect);
        }
        cli_heap_add_age(out, &leaks[i]);
        cairn_buffer_char(out, '\n');
        cli_heap_add_whole_stack(out, lost->profile, &leaks[i]);
    }
    if (n_rows < n)
        cairn_buffer_printf(out, "and %zu more stacks: --top 0 prints all\n", n - n_rows);
}

static void add_sum(struct cairn_buffer *out, const struct cairn_heap_leak *leaks, size_t n,
                    const char *verdict)
{
    uint64_t bytes, blocks;
    cli_lost_sum(leaks, n, &bytes, &blocks);
    add_amount(out, bytes, blocks);
    cairn_buffer_printf(out, " %s, from ", verdict);
    cli_add_counted(out, n, "stack");
}

/* Where nothing is listed, that is said: of which blocks, and how sure. */
static void add_none(struct cairn_buffer *out, const struct cairn_heap_lost *lost)
{
    cairn_buffer_str(out, *lost->unsure ? "Nothing is claimed to be lost.\n"
                                        : "No lost blocks found.\n");
}

void cli_lost_add(struct cairn_buffer *out, const struct cairn_heap_lost *lost, uint64_t n_shown,
                  bool wants_possibly)
{
    add_rows(out, lost, lost->lost, lost->n_lost, n_shown, "lost");
    if (wants_possibly)
        add_rows(out, lost, lost->possibly, lost->n_possibly, n_shown, "possibly lost");
    if (lost->n_lost) {
        add_sum(out, lost->lost, lost->n_lost, "lost");
        cairn_buffer_char(out, '\n');
    } else {
        add_none(out, lost);
    }
    if (lost->n_possibly) {
        add_sum(out, lost->possibly, lost->n_possibly, "possibly lost");
        cairn_buffer_str(out, wants_possibly ? "\n" : ": --possibly lists them\n");
    }
}

static void put_rows(struct cairn_json *json, const char *name, const struct cairn_heap_lost *lost,
                     const struct cairn_heap_leak *leaks, size_t n)
{
    cairn_json_open(json, name, '[');
    for (size_t i = 0; i < n; i++) {
        cairn_json_open(json, NULL, '{');
        cairn_json_u64(json, "bytes", leaks[i].bytes);
        cairn_json_u64(json, "blocks", leaks[i].n_blocks);
        cairn_json_u64(json, "indirect_bytes", leaks[i].indirect_bytes);
        cairn_json_u64(json, "indirect_blocks", leaks[i].n_indirect);
        cli_heap_put_origin(json, lost->heap, &leaks[i]);
        cairn_json_str(json, "cut", leaks[i].cut);
        cli_heap_put_stack(json, lost->profile, leaks[i].stack);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
}

static void put_sum(struct cairn_json *json, const char *name, const struct cairn_heap_leak *leaks,
                    size_t n)
{
    uint64_t bytes, blocks;
    cli_lost_sum(leaks, n, &bytes, &blocks);
    cairn_json_open(json, name, '{');
    cairn_json_u64(json, "bytes", bytes);
    cairn_json_u64(json, "blocks", blocks);
    cairn_json_u64(json, "stacks", n);
    cairn_json_close(json, '}');
}

static void put_look(struct cairn_json *json, const struct cairn_heap_lost *lost)
{
    cairn_json_open(json, "look", '{');
    cairn_json_u64(json, "blocks", lost->n_blocks);
    cairn_json_u64(json, "bytes", lost->bytes);
    cairn_json_u64(json, "passes", lost->n_passes);
    cairn_json_u64(json, "found_held_later", lost->n_saved);
    cairn_json_u64(json, "read_bytes", lost->read_bytes);
    cairn_json_u64(json, "threads", lost->n_threads);
    cairn_json_u64(json, "epoll_sets", lost->n_epoll_sets);
    cairn_json_real(json, "seconds", (double)lost->duration_ns / 1e9);
    cairn_json_real(json, "stopped_seconds", (double)lost->stopped_ns / 1e9);
    cairn_json_close(json, '}');
}

void cli_lost_add_sums(struct cairn_buffer *out, const struct cairn_heap_lost *lost)
{
    if (lost->n_lost)
        add_sum(out, lost->lost, lost->n_lost, "lost");
    else
        cairn_buffer_str(out, *lost->unsure ? "nothing is claimed to be lost" : "nothing is lost");
    if (lost->n_possibly) {
        cairn_buffer_str(out, "; ");
        add_sum(out, lost->possibly, lost->n_possibly, "possibly lost");
    }
    cairn_buffer_char(out, '\n');
}

void cli_lost_put_sums(struct cairn_json *json, const struct cairn_heap_lost *lost)
{
    put_sum(json, "lost", lost->lost, lost->n_lost);
    put_sum(json, "possibly", lost->possibly, lost->n_possibly);
    cairn_json_str(json, "unsure", *lost->unsure ? lost->unsure : NULL);
}

void cli_lost_put(struct cairn_json *json, const struct cairn_heap_lost *lost, uint64_t n_shown)
{
    put_sum(json, "lost", lost->lost, lost->n_lost);
    put_sum(json, "possibly", lost->possibly, lost->n_possibly);
    put_rows(json, "lost_stacks", lost, lost->lost, at_most(lost->n_lost, n_shown));
    put_rows(json, "possibly_stacks", lost, lost->possibly, at_most(lost->n_possibly, n_shown));
    cairn_json_str(json, "unsure", *lost->unsure ? lost->unsure : NULL);
    cairn_json_str(json, "notes", *lost->notes ? lost->notes : NULL);
    put_look(json, lost);
}

static void say_text(const char *head, const char *text)
{
    struct cairn_buffer out = {0};
    cairn_escape_terminal(&out, text, strlen(text));
    if (*text)
        cli_say("%s%s", head, cairn_buffer_text(&out));
    cairn_buffer_done(&out);
}

void cli_lost_say(const struct cairn_heap_lost *lost, bool is_core)
{
    struct cairn_buffer out = {0};
    add_amount(&out, lost->bytes, lost->n_blocks);
    cairn_buffer_str(&out, ", ");
    cli_add_counted(&out, lost->n_threads, "thread");
    cairn_buffer_str(&out, "; read ");
    cli_add_size(&out, lost->read_bytes);
    cairn_buffer_str(&out, " in ");
    cairn_buffer_printf(&out, "%" PRIu64 " pass%s and ", lost->n_passes,
                        lost->n_passes == 1 ? "" : "es");
    cairn_buffer_printf(&out, "%.1f s", (double)lost->duration_ns / 1e9);
    if (lost->stopped_ns)
        cairn_buffer_printf(&out, "; the process was stopped for %.0f ms",
                            (double)lost->stopped_ns / 1e6);
    else if (!is_core)
        cairn_buffer_str(&out, "; the process ran on");
    cli_say("%s", cairn_buffer_text(&out));
    say_text("why nothing is claimed to be lost: ", lost->unsure);
    say_text("", lost->notes);
    cairn_buffer_done(&out);
}
