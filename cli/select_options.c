/* SPDX-License-Identifier: MIT */
#include "cli/select_options.h"

#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "cli/amounts.h"
#include "cli/numbers.h"
#include "cli/term.h"

enum { TIME_FILE_BYTES_MAX = 64 << 20 };

static const struct kind {
    enum cairn_select_kind kind;
    bool excludes;
} kinds[CLI_N_SELECT] = {
    [CLI_SELECT_PID] = {CAIRN_SELECT_PID, false},
    [CLI_SELECT_NO_PID] = {CAIRN_SELECT_PID, true},
    [CLI_SELECT_TID] = {CAIRN_SELECT_TID, false},
    [CLI_SELECT_NO_TID] = {CAIRN_SELECT_TID, true},
    [CLI_SELECT_PROCESS] = {CAIRN_SELECT_PROCESS, false},
    [CLI_SELECT_NO_PROCESS] = {CAIRN_SELECT_PROCESS, true},
    [CLI_SELECT_THREAD] = {CAIRN_SELECT_THREAD, false},
    [CLI_SELECT_NO_THREAD] = {CAIRN_SELECT_THREAD, true},
    [CLI_SELECT_CPU] = {CAIRN_SELECT_CPU, false},
    [CLI_SELECT_NO_CPU] = {CAIRN_SELECT_CPU, true},
    [CLI_SELECT_EVENT] = {CAIRN_SELECT_EVENT, false},
    [CLI_SELECT_NO_EVENT] = {CAIRN_SELECT_EVENT, true},
    [CLI_SELECT_TIME] = {CAIRN_SELECT_TIME, false},
    [CLI_SELECT_NO_TIME] = {CAIRN_SELECT_TIME, true},
    [CLI_SELECT_TIME_FILE] = {CAIRN_SELECT_TIME_FILE, false},
    [CLI_SELECT_CUT] = {CAIRN_SELECT_CUT, false},
    [CLI_SELECT_OFF_CPU] = {CAIRN_SELECT_OFF_CPU, false},
    [CLI_SELECT_MERGE_THREADS] = {CAIRN_SELECT_MERGE_THREADS, false},
    [CLI_SELECT_PER_CPU] = {CAIRN_SELECT_PER_CPU, false},
    [CLI_SELECT_HIDE] = {CAIRN_SELECT_HIDE, false},
    [CLI_SELECT_BY_FUNCTION] = {CAIRN_SELECT_BY_FUNCTION, false},
};

static int add_file(struct cairn_select *select, const char *path, struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    int code = cairn_file_slurp(path, TIME_FILE_BYTES_MAX, &text, err);
    if (code == CAIRN_OK && text.size && memchr(text.data, 0, text.size))
        code = cairn_fail(err, CAIRN_E_ARG, "%s: a NUL byte, expected text", path);
    else if (code == CAIRN_OK && (code = cairn_select_add(select, CAIRN_SELECT_TIME_FILE, 0,
                                                          cairn_buffer_text(&text), err)) < 0)
        (void)cairn_fail_in(err, code, path);
    cairn_buffer_done(&text);
    return code;
}

static int add(struct cli_select *select, enum cli_select_row row, const char *value,
               struct cairn_err *err)
{
    const struct kind *kind = &kinds[row];
    int code = select->select ? CAIRN_OK : cairn_select_new(&select->select, err);
    if (code < 0)
        return code;
    return kind->kind == CAIRN_SELECT_TIME_FILE
               ? add_file(select->select, value, err)
               : cairn_select_add(select->select, kind->kind, kind->excludes, value, err);
}

bool cli_select_take(struct cli_select *select, enum cli_select_row row, const char *value)
{
    static const struct cli_option options[] = {CLI_SELECT_ROWS(0)};
    struct cairn_err err = {0};
    if (add(select, row, value, &err) == CAIRN_OK)
        return true;
    cli_args_wrong(select->args, "--%s: %s%s%s", options[row].name, err.msg, *err.hint ? "; " : "",
                   err.hint);
    return false;
}

void cli_select_done(struct cli_select *select)
{
    cairn_select_free(select->select);
    select->select = NULL;
}

unsigned cli_select_needs(const struct cli_select *select)
{
    return select->select ? cairn_select_needs(select->select) : 0;
}

int cli_select_apply(const struct cli_select *select, const char *path,
                     struct cairn_profile *profile, const char *value, struct cairn_err *err)
{
    if (!select->select)
        return CAIRN_OK;
    int code = cairn_select_apply(select->select, profile, value, err);
    return code < 0 ? cairn_fail_in(err, code, strcmp(path, "-") == 0 ? "stdin" : path) : CAIRN_OK;
}

void cli_select_steps(const struct cli_select *select, struct cli_steps *ret_steps)
{
    struct cli_steps steps = {0};
    for (; select->select && steps.n < CLI_N_SELECT; steps.n++) {
        steps.rows[steps.n].size = sizeof *steps.rows;
        if (cairn_select_step(select->select, steps.n, &steps.rows[steps.n]) < 0)
            break;
    }
    if (select->select)
        cairn_select_reset(select->select);
    *ret_steps = steps;
}

uint64_t cli_steps_dropped(const struct cli_steps *steps)
{
    uint64_t n = 0;
    for (size_t i = 0; i < steps->n; i++)
        n += steps->rows[i].changes ? 0 : steps->rows[i].n_samples;
    return n;
}

/* " (cpu 400.00 ms)"; nothing where samples are what is counted. */
static void add_value(struct cairn_buffer *b, const struct cairn_select_step *step)
{
    const struct cairn_value_type value = {step->type, step->unit};
    struct cli_scale scale = cli_scale_of(value, step->value);
    char cell[CLI_AMOUNT_SIZE];
    if (!*step->type || strcmp(step->type, "samples") == 0 || !step->value)
        return;
    cli_print_amount(cell, step->value, &scale);
    cairn_buffer_str(b, " (");
    cairn_escape_terminal(b, step->type, strlen(step->type));
    cairn_buffer_printf(b, " %s", cell);
    if (*scale.unit && strcmp(scale.unit, "count") != 0) {
        cairn_buffer_char(b, ' ');
        cairn_escape_terminal(b, scale.unit, strlen(scale.unit));
    }
    cairn_buffer_char(b, ')');
}

static void add_step(struct cairn_buffer *b, const struct cairn_select_step *step)
{
    cairn_buffer_printf(b, "--%s %s ", step->name, step->changes ? "changed" : "took out");
    cli_add_count(b, step->n_samples);
    cairn_buffer_str(b, " of ");
    cli_add_counted(b, step->n_before, "sample");
    if (!step->changes)
        add_value(b, step);
    if (!step->n_without)
        return;
    cairn_buffer_str(b, ", ");
    cli_add_count(b, step->n_without);
    cairn_buffer_str(b, " of them say nothing of it");
}

void cli_steps_add(struct cairn_buffer *b, const struct cli_steps *steps)
{
    for (size_t i = 0; i < steps->n; i++) {
        cairn_buffer_str(b, i ? "; " : "filters: ");
        add_step(b, &steps->rows[i]);
    }
}

void cli_steps_say(const char *before, const struct cli_steps *steps)
{
    struct cairn_buffer text = {0};
    cli_steps_add(&text, steps);
    if (text.size)
        cli_say("%s%s", before, cairn_buffer_text(&text));
    cairn_buffer_done(&text);
}

void cli_steps_put(struct cairn_json *json, const struct cli_steps *steps)
{
    cairn_json_open(json, "filters", '[');
    for (size_t i = 0; i < steps->n; i++) {
        const struct cairn_select_step *step = &steps->rows[i];
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "filter", step->name);
        cairn_json_u64(json, "samples_before", step->n_before);
        cairn_json_u64(json, step->changes ? "samples_changed" : "samples_taken_out",
                       step->n_samples);
        if (!step->changes) {
            cairn_json_u64(json, "samples_without", step->n_without);
            cairn_json_i64(json, "value_taken_out", step->value);
            cairn_json_str(json, "value", step->type);
        }
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
}
