/* SPDX-License-Identifier: MIT */
#include "cli/trace_top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/escape.h"
#include "cli/numbers.h"
#include "cli/term.h"
#include "cli/trace_top_rows.h"

static const uint64_t LOOK_NS = 1000000000;

void cli_trace_top_init(struct cli_trace_top *top, const char *by)
{
    const char *term = getenv("TERM");
    top->by = strcmp(by, "stack") == 0      ? CLI_TRACE_BY_STACK
              : strcmp(by, "function") == 0 ? CLI_TRACE_BY_FUNCTION
                                            : CLI_TRACE_BY_FIELD;
    top->field = top->by == CLI_TRACE_BY_FIELD ? by : NULL;
    top->is_live = cli_stdout_is_terminal() && term && strcmp(term, "dumb") != 0;
}

void cli_trace_top_done(struct cli_trace_top *top)
{
    cairn_table_done(&top->by_key);
    cairn_table_done(&top->by_stack);
    cairn_free(top->rows);
    cairn_buffer_done(&top->texts);
    cairn_buffer_done(&top->out);
    cairn_buffer_done(&top->now);
}

/* The row of a key, NULL: there is no space for it, and `*ret_code` is CAIRN_E_NOMEM where that is
 * memory. */
static struct cli_trace_top_row *get_row(struct cli_trace_top *top, uint64_t key, int *ret_code)
{
    uint32_t number;
    *ret_code = CAIRN_OK;
    if (cairn_table_find(&top->by_key, key, &number))
        return &top->rows[number];
    if (top->n >= CLI_TRACE_TOP_ROWS_MAX)
        return NULL;
    *ret_code = CAIRN_E_NOMEM;
    if (cairn_grow((void **)&top->rows, &top->cap, top->n + 1, sizeof *top->rows) < 0 ||
        cairn_table_set(&top->by_key, key, (uint32_t)top->n) < 0)
        return NULL;
    *ret_code = CAIRN_OK;
    top->rows[top->n] = (struct cli_trace_top_row){.text = SIZE_MAX, .cut = ""};
    return &top->rows[top->n++];
}

/* The row that is called by a text, which may be longer than what is kept of it. */
static struct cli_trace_top_row *get_named(struct cli_trace_top *top, const char *text, size_t size,
                                           int *ret_code)
{
    struct cli_trace_top_row *row = get_row(top, cairn_hash_bytes(text, size), ret_code);
    if (!row || row->text != SIZE_MAX)
        return row;
    row->text = top->texts.size;
    cairn_buffer_add(&top->texts, text,
                     size < CLI_TRACE_TOP_TEXT_MAX ? size : CLI_TRACE_TOP_TEXT_MAX);
    cairn_buffer_str(&top->texts, size < CLI_TRACE_TOP_TEXT_MAX ? "" : "...");
    cairn_buffer_char(&top->texts, '\0');
    *ret_code = top->texts.failed ? CAIRN_E_NOMEM : CAIRN_OK;
    return top->texts.failed ? NULL : row;
}

int cli_trace_top_event(void *ctx, const struct cairn_trace_event *event)
{
    struct cli_trace_top *top = ctx;
    int code;
    cairn_buffer_clear(&top->now);
    cli_trace_top_value(&top->now, event, top->field);
    struct cli_trace_top_row *row =
        get_named(top, cairn_buffer_text(&top->now), top->now.size, &code);
    if (code < 0 || top->now.failed)
        return code < 0 ? code : CAIRN_E_NOMEM;
    top->n_read++;
    if (row)
        row->n++;
    else
        top->n_beyond++;
    return 0;
}

static uint64_t key_of(const struct cairn_trace_sum *sum)
{
    const uint64_t parts[] = {cairn_hash_bytes(sum->name, strlen(sum->name)),
                              cairn_hash_bytes(sum->cut, strlen(sum->cut)), sum->stack,
                              sum->is_compat != 0};
    return cairn_hash_bytes(parts, sizeof parts);
}

static struct cli_trace_top_row *row_of_stack(struct cli_trace_top *top,
                                              const struct cairn_trace_sum *sum, int *ret_code)
{
    struct cli_trace_top_row *row = get_row(top, key_of(sum), ret_code);
    if (!row)
        return NULL;
    row->event = sum->name;
    row->stack = sum->stack;
    row->cut = sum->cut;
    return row;
}

/* Stacks are named once; later only their number is looked up. */
static struct cli_trace_top_row *row_of_function(struct cli_trace_top *top,
                                                 const struct cairn_trace_sum *sum, int *ret_code)
{
    uint32_t number;
    *ret_code = CAIRN_OK;
    if (cairn_table_find(&top->by_stack, sum->stack, &number))
        return &top->rows[number - 1];
    cairn_buffer_clear(&top->now);
    cli_trace_top_function(&top->now, top->trace, sum->stack);
    if (top->now.failed) {
        *ret_code = CAIRN_E_NOMEM;
        return NULL;
    }
    struct cli_trace_top_row *row =
        get_named(top, cairn_buffer_text(&top->now), top->now.size, ret_code);
    if (row && cairn_table_set(&top->by_stack, sum->stack, (uint32_t)(row - top->rows) + 1) < 0) {
        *ret_code = CAIRN_E_NOMEM;
        return NULL;
    }
    return row;
}

/* The sums are those of the whole trace so far. */
static int take_sums(struct cli_trace_top *top)
{
    struct cairn_trace_sum sum = {.size = sizeof sum};
    int code = CAIRN_OK;
    for (size_t i = 0; i < top->n; i++)
        top->rows[i].n = 0;
    top->n_beyond = 0;
    for (size_t i = 0; i < cairn_trace_sum_rows(top->trace) && code == CAIRN_OK; i++) {
        if (cairn_trace_sum(top->trace, i, &sum) < 0)
            break;
        struct cli_trace_top_row *row = top->by == CLI_TRACE_BY_STACK
                                            ? row_of_stack(top, &sum, &code)
                                            : row_of_function(top, &sum, &code);
        if (row)
            row->n += sum.n;
        else
            top->n_beyond += sum.n;
    }
    return code;
}

static double a_second(uint64_t now, uint64_t before, uint64_t ns)
{
    return ns && now > before ? (double)(now - before) * 1e9 / (double)ns : 0;
}

/* Numbers of now, and what came since the look before; in the end since the begin. */
static int look(struct cli_trace_top *top, bool is_end)
{
    const uint64_t now_ns = cairn_now_ns();
    top->stats.size = sizeof top->stats;
    cairn_trace_stats(top->trace, &top->stats);
    uint64_t ns = top->look_ns ? now_ns - top->look_ns : top->stats.duration_ns;
    if (is_end)
        ns = top->stats.duration_ns;
    int code = top->by == CLI_TRACE_BY_FIELD ? CAIRN_OK : take_sums(top);
    for (size_t i = 0; i < top->n && code == CAIRN_OK; i++) {
        struct cli_trace_top_row *row = &top->rows[i];
        row->rate = a_second(row->n, is_end ? 0 : row->n_before, ns);
        row->n_before = row->n;
    }
    top->rate = a_second(top->stats.n_counted, is_end ? 0 : top->n_before, ns);
    top->n_before = top->stats.n_counted;
    top->look_ns = now_ns;
    return code;
}

static bool write_out(struct cli_trace_top *top)
{
    const bool ok = !top->out.failed &&
                    fwrite(top->out.data, 1, top->out.size, stdout) == top->out.size &&
                    fflush(stdout) == 0;
    cairn_buffer_clear(&top->out);
    return ok;
}

bool cli_trace_top_turn(struct cli_trace_top *top)
{
    if (!top->is_live || (top->look_ns && cairn_now_ns() - top->look_ns < LOOK_NS))
        return true;
    if (look(top, false) < 0)
        return false;
    cli_trace_top_draw(top);
    return write_out(top);
}

bool cli_trace_top_end(struct cli_trace_top *top)
{
    if (look(top, true) < 0)
        return false;
    cli_trace_top_print(top);
    return write_out(top);
}
