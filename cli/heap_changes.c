/* SPDX-License-Identifier: MIT */
/* What grew and what shrank between two looks: as text, as JSON, as a gate. */
#include <inttypes.h>

#include "cli/heap.h"
#include "cli/numbers.h"
#include "cli/term.h"

int cli_heap_compare(const struct cli_heap_look *before, const struct cli_heap_look *after,
                     struct cli_heap_changes *ret_changes, struct cairn_err *err)
{
    const struct cairn_heap_look first = {before->profile, before->leaks, before->n};
    const struct cairn_heap_look second = {after->profile, after->leaks, after->n};
    struct cli_heap_changes c = {.before = before, .after = after};
    int result = cairn_heap_diff(&first, &second, &c.items, &c.n, err);
    if (result < 0)
        return result;
    for (; c.n_grown < c.n; c.n_grown++) {
        const struct cairn_heap_change *change = &c.items[c.n_grown];
        if (change->bytes[1] < change->bytes[0] ||
            (change->bytes[1] == change->bytes[0] && change->blocks[1] < change->blocks[0]))
            break;
        c.grown_bytes += change->bytes[1] - change->bytes[0];
    }
    for (size_t i = c.n_grown; i < c.n; i++)
        c.shrunk_bytes += c.items[i].bytes[0] - c.items[i].bytes[1];
    *ret_changes = c;
    return CAIRN_OK;
}

void cli_heap_changes_done(struct cli_heap_changes *changes)
{
    cairn_heap_changes_free(changes->items);
    *changes = (struct cli_heap_changes){0};
}

static void add_signed_size(struct cairn_buffer *out, uint64_t from, uint64_t to)
{
    cairn_buffer_char(out, to < from ? '-' : '+');
    cli_add_size(out, to < from ? from - to : to - from);
}

static void add_signed_blocks(struct cairn_buffer *out, uint64_t from, uint64_t to)
{
    cairn_buffer_char(out, to < from ? '-' : '+');
    cli_add_counted(out, to < from ? from - to : to - from, "block");
}

static void add_side(struct cairn_buffer *out, const struct cairn_heap_change *change, int side)
{
    cli_add_size(out, change->bytes[side]);
    cairn_buffer_str(out, " in ");
    cli_add_count(out, change->blocks[side]);
}

static const struct cairn_profile *profile_of(const struct cli_heap_changes *changes,
                                              const struct cairn_heap_change *change)
{
    return change->is_of_after ? changes->after->profile : changes->before->profile;
}

static void add_change(struct cairn_buffer *out, const struct cli_heap_changes *changes,
                       const struct cairn_heap_change *change)
{
    add_signed_size(out, change->bytes[0], change->bytes[1]);
    cairn_buffer_str(out, ", ");
    add_signed_blocks(out, change->blocks[0], change->blocks[1]);
    cairn_buffer_str(out, " (");
    add_side(out, change, 0);
    cairn_buffer_str(out, " before, ");
    add_side(out, change, 1);
    cairn_buffer_str(out, " now)\n");
    cli_heap_add_stack(out, profile_of(changes, change), change->stack);
    cairn_buffer_char(out, '\n');
}

/* `n_shown` at most, 0: all; of those from `first` to `end` the ones at the wanted side. */
static void add_range(struct cairn_buffer *out, const struct cli_heap_changes *changes,
                      size_t first, size_t end, uint64_t n_shown, bool from_end)
{
    size_t n = end - first;
    size_t shown = n_shown && n_shown < n ? (size_t)n_shown : n;
    for (size_t i = 0; i < shown; i++)
        add_change(out, changes, &changes->items[from_end ? end - 1 - i : first + i]);
    if (shown < n)
        cairn_buffer_printf(out, "and %zu more stacks that %s: --top 0 prints all\n\n", n - shown,
                            from_end ? "shrank" : "grew");
}

void cli_heap_add_changes(struct cairn_buffer *out, const struct cli_heap_changes *changes,
                          uint64_t n_shown, bool wants_shrunk)
{
    add_range(out, changes, 0, changes->n_grown, n_shown, false);
    if (wants_shrunk)
        add_range(out, changes, changes->n_grown, changes->n, n_shown, true);
    if (changes->n == 0) {
        cairn_buffer_str(out, "No stack has more or less than before.\n");
        return;
    }
    cli_add_counted(out, changes->n_grown, "stack");
    cairn_buffer_str(out, " grew by ");
    cli_add_size(out, changes->grown_bytes);
    cairn_buffer_str(out, ", ");
    cli_add_count(out, changes->n - changes->n_grown);
    cairn_buffer_str(out, " shrank by ");
    cli_add_size(out, changes->shrunk_bytes);
    cairn_buffer_char(out, '\n');
}

static void put_change(struct cairn_json *json, const struct cli_heap_changes *changes,
                       const struct cairn_heap_change *change)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_i64(json, "bytes", (int64_t)(change->bytes[1] - change->bytes[0]));
    cairn_json_i64(json, "blocks", (int64_t)(change->blocks[1] - change->blocks[0]));
    cairn_json_u64(json, "bytes_before", change->bytes[0]);
    cairn_json_u64(json, "blocks_before", change->blocks[0]);
    cairn_json_u64(json, "bytes_now", change->bytes[1]);
    cairn_json_u64(json, "blocks_now", change->blocks[1]);
    cli_heap_put_stack(json, profile_of(changes, change), change->stack);
    cairn_json_close(json, '}');
}

void cli_heap_put_changes(struct cairn_json *json, const struct cli_heap_changes *changes,
                          uint64_t n_shown, bool wants_shrunk)
{
    uint64_t bytes, blocks;
    cli_heap_sum_look(changes->before, &bytes, &blocks);
    cairn_json_u64(json, "bytes_before", bytes);
    cairn_json_u64(json, "blocks_before", blocks);
    cli_heap_sum_look(changes->after, &bytes, &blocks);
    cairn_json_u64(json, "bytes_now", bytes);
    cairn_json_u64(json, "blocks_now", blocks);
    cairn_json_u64(json, "grown_bytes", changes->grown_bytes);
    cairn_json_u64(json, "grown_stacks", changes->n_grown);
    cairn_json_u64(json, "shrunk_bytes", changes->shrunk_bytes);
    cairn_json_u64(json, "shrunk_stacks", changes->n - changes->n_grown);
    size_t n_shrunk = wants_shrunk ? changes->n - changes->n_grown : 0;
    size_t grown = n_shown && n_shown < changes->n_grown ? (size_t)n_shown : changes->n_grown;
    size_t shrunk = n_shown && n_shown < n_shrunk ? (size_t)n_shown : n_shrunk;
    cairn_json_open(json, "changes", '[');
    for (size_t i = 0; i < grown; i++)
        put_change(json, changes, &changes->items[i]);
    for (size_t i = 0; i < shrunk; i++)
        put_change(json, changes, &changes->items[changes->n - shrunk + i]);
    cairn_json_close(json, ']');
}

/* A stack that shrank makes up for none that grew. */
bool cli_heap_gate(const struct cli_heap_wanted *wanted, const struct cli_heap_look *now,
                   const struct cli_heap_changes *changes)
{
    uint64_t bytes, blocks;
    struct cairn_buffer out = {0};
    cli_heap_sum_look(now, &bytes, &blocks);
    bytes = changes ? changes->grown_bytes : bytes;
    bool is_closed = (changes || wanted->has_limit) && bytes > wanted->limit;
    if (is_closed) {
        cli_add_count(&out, bytes);
        cairn_buffer_str(&out, changes ? " bytes more than in the baseline" : " bytes live");
        if (changes) {
            cairn_buffer_str(&out, ", in ");
            cli_add_counted(&out, changes->n_grown, "stack");
        }
        if (wanted->has_limit) {
            cairn_buffer_str(&out, ", over the ");
            cli_add_count(&out, wanted->limit);
            cairn_buffer_str(&out, " of --fail-over");
        }
        cli_say("%s", cairn_buffer_text(&out));
    }
    cairn_buffer_done(&out);
    return is_closed;
}
