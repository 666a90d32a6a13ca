/* SPDX-License-Identifier: MIT */
/* What changed as one JSON object: docs/formats/diff-json.md. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/diff.h"

static void put_side(struct cairn_json *json, const char *name, const struct cli_diff_side *side)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(side->profile, &stats);
    cairn_json_open(json, name, '{');
    cairn_json_i64(json, "sum", side->sum);
    cairn_json_u64(json, "samples_read", side->n_read);
    cairn_json_u64(json, "samples", stats.n_samples);
    cairn_json_u64(json, "duration_ns", stats.duration_ns);
    cairn_json_u64(json, "frames", stats.n_frames);
    cairn_json_u64(json, "frames_unnamed", stats.n_unnamed);
    cli_steps_put(json, &side->steps);
    cairn_json_close(json, '}');
}

static void put_name(struct cairn_json *json, const struct cairn_diff_row *row)
{
    cairn_json_str(json, "function", row->function);
    cairn_json_str(json, "file", row->file);
    cairn_json_str(json, "module", row->module);
}

static void put_function(struct cairn_json *json, const struct cairn_diff_row *row)
{
    cairn_json_open(json, NULL, '{');
    put_name(json, row);
    cairn_json_bool(json, "in_old", row->in_old);
    cairn_json_bool(json, "in_new", row->in_new);
    cairn_json_i64(json, "old_self", row->old_self);
    cairn_json_i64(json, "new_self", row->new_self);
    cairn_json_real(json, "self_change", row->self_change);
    cairn_json_i64(json, "old_total", row->old_total);
    cairn_json_i64(json, "new_total", row->new_total);
    cairn_json_real(json, "total_change", row->total_change);
    cairn_json_close(json, '}');
}

static int put_stack(struct cairn_json *json, const struct cli_diff *d,
                     const struct cairn_diff_stack *stack)
{
    uint32_t *frames = calloc((size_t)stack->n_frames + 1, sizeof *frames);
    if (!frames)
        return CAIRN_E_NOMEM;
    cairn_diff_frames(d->diff, stack->stack, frames, stack->n_frames);
    cairn_json_open(json, NULL, '{');
    cairn_json_i64(json, "old", stack->old_self);
    cairn_json_i64(json, "new", stack->new_self);
    cairn_json_real(json, "change", stack->change);
    cairn_json_open(json, "frames", '[');
    for (uint32_t i = 0; i < stack->n_frames; i++) {
        cairn_json_open(json, NULL, '{');
        put_name(json, &d->functions[frames[i]]);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
    cairn_json_close(json, '}');
    free(frames);
    return CAIRN_OK;
}

static void put_functions(struct cairn_json *json, const struct cli_diff *d)
{
    cairn_json_u64(json, "n_functions_grew", d->n_functions_grew);
    cairn_json_u64(json, "n_functions_shrank", d->n_functions_shrank);
    cairn_json_open(json, "functions_grew", '[');
    for (size_t i = 0; i < cli_diff_shown(d, d->n_functions_grew); i++)
        put_function(json, &d->functions[i]);
    cairn_json_close(json, ']');
    cairn_json_open(json, "functions_shrank", '[');
    for (size_t i = 0; i < cli_diff_shown(d, d->n_functions_shrank); i++)
        put_function(json, &d->functions[d->n_functions - 1 - i]);
    cairn_json_close(json, ']');
}

static int put_stacks(struct cairn_json *json, const struct cli_diff *d)
{
    int result = CAIRN_OK;
    cairn_json_u64(json, "n_stacks_grew", d->n_stacks_grew);
    cairn_json_u64(json, "n_stacks_shrank", d->n_stacks_shrank);
    cairn_json_open(json, "stacks_grew", '[');
    for (size_t i = 0; i < cli_diff_shown(d, d->n_stacks_grew) && result == CAIRN_OK; i++)
        result = put_stack(json, d, &d->stacks[i]);
    cairn_json_close(json, ']');
    cairn_json_open(json, "stacks_shrank", '[');
    for (size_t i = 0; i < cli_diff_shown(d, d->n_stacks_shrank) && result == CAIRN_OK; i++)
        result = put_stack(json, d, &d->stacks[d->n_stacks - 1 - i]);
    cairn_json_close(json, ']');
    return result;
}

int cli_diff_json(struct cairn_buffer *out, const struct cli_diff *d, struct cairn_err *err)
{
    struct cairn_json json = {.out = out};
    int result = CAIRN_OK;
    cairn_json_open(&json, NULL, '{');
    cairn_json_str(&json, "value", d->value.type);
    cairn_json_str(&json, "unit", d->value.unit);
    cairn_json_str(&json, "changes_in", d->absolute ? d->value.unit : "percent");
    cairn_json_str(&json, "sort", d->by_total ? "total" : "self");
    put_side(&json, "old", &d->sides[0]);
    put_side(&json, "new", &d->sides[1]);
    if (d->by != CLI_DIFF_BY_STACK)
        put_functions(&json, d);
    if (d->by != CLI_DIFF_BY_FUNCTION)
        result = put_stacks(&json, d);
    cairn_json_close(&json, '}');
    return result < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}
