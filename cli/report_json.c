/* SPDX-License-Identifier: MIT */
/* The report as one JSON object: docs/formats/report-json.md. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/amounts.h"
#include "cli/report.h"

static void put_rows(const struct cli_report *r, struct cairn_json *json)
{
    cairn_json_str(json, "sort", r->by_total ? "total" : "self");
    cairn_json_u64(json, "n_functions", r->n_all_rows);
    cairn_json_open(json, "functions", '[');
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct cairn_top_row *row = &r->rows[i];
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "function", row->function);
        cairn_json_str(json, "file", row->file);
        cairn_json_str(json, "module", row->module);
        cairn_json_i64(json, "self", row->self);
        cairn_json_real(json, "self_percent", cli_percent(row->self, r->sum));
        cairn_json_i64(json, "total", row->total);
        cairn_json_real(json, "total_percent", cli_percent(row->total, r->sum));
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
}

static int put_cuts(const struct cli_report *r, struct cairn_json *json)
{
    struct cairn_cut_row none;
    size_t n = cairn_profile_cuts(r->profile, &none, 0);
    struct cairn_cut_row *cuts = calloc(n + 1, sizeof *cuts);
    if (!cuts)
        return CAIRN_E_NOMEM;
    n = cairn_profile_cuts(r->profile, cuts, n);
    cairn_json_open(json, "cut_by_reason", '[');
    for (size_t i = 0; i < n; i++) {
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "reason", cuts[i].reason);
        cairn_json_u64(json, "samples", cuts[i].n_samples);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
    free(cuts);
    return CAIRN_OK;
}

static int put_quality(const struct cli_report *r, struct cairn_json *json)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(r->profile, &stats);
    cairn_json_open(json, "quality", '{');
    cairn_json_u64(json, "samples_read", r->n_read);
    cairn_json_u64(json, "samples", stats.n_samples);
    cairn_json_u64(json, "samples_judged", stats.n_judged);
    cairn_json_u64(json, "samples_whole", stats.n_judged - stats.n_cut - stats.n_gap);
    cairn_json_u64(json, "samples_cut", stats.n_cut);
    cairn_json_u64(json, "samples_gap", stats.n_gap);
    int result = put_cuts(r, json);
    cairn_json_u64(json, "duration_ns", stats.duration_ns);
    cairn_json_u64(json, "frames", stats.n_frames);
    cairn_json_u64(json, "frames_unnamed", stats.n_unnamed);
    cairn_json_close(json, '}');
    return result;
}

int cli_report_json(struct cairn_buffer *out, const struct cli_report *r, struct cairn_err *err)
{
    struct cairn_json json = {.out = out};
    const struct cairn_value_type *types;
    size_t n = cairn_profile_value_types(r->profile, &types);
    cairn_json_open(&json, NULL, '{');
    cairn_json_str(&json, "value", cli_report_value(r).type);
    cairn_json_str(&json, "unit", cli_report_value(r).unit);
    cairn_json_open(&json, "values", '[');
    for (size_t i = 0; i < n; i++)
        cairn_json_str(&json, NULL, types[i].type);
    cairn_json_close(&json, ']');
    cairn_json_i64(&json, "sum", r->sum);
    int result = CAIRN_OK;
    if (r->form == CLI_REPORT_TOP)
        put_rows(r, &json);
    else
        result = cli_report_tree_put(&json, r, err);
    if (result == CAIRN_OK && put_quality(r, &json) < 0)
        result = cairn_fail_memory(err);
    cli_steps_put(&json, &r->steps);
    cairn_json_close(&json, '}');
    return result;
}
