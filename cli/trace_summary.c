/* SPDX-License-Identifier: MIT */
/* The sums of cairn trace: a row for each call, then the three stacks with most of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "cli/numbers.h"
#include "cli/trace.h"

enum { TOP_STACKS = 3, TIME_WIDTH = 10 };

struct call {
    const char *name;
    bool is_compat;
    uint64_t n, n_errors, ns, min_ns, max_ns, n_timed;
};

static int by_call(const void *a, const void *b)
{
    const struct cairn_trace_sum *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (!order)
        order = x->is_compat - y->is_compat;
    if (!order)
        order = (x->stack > y->stack) - (x->stack < y->stack);
    return order;
}

static int by_count(const void *a, const void *b)
{
    const struct cairn_trace_sum *x = a, *y = b;
    return (x->n < y->n) - (x->n > y->n);
}

static int by_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return (x->n < y->n) - (x->n > y->n);
}

static bool is_same_call(const struct cairn_trace_sum *a, const struct cairn_trace_sum *b)
{
    return strcmp(a->name, b->name) == 0 && a->is_compat == b->is_compat;
}

/* Threads of a stack are summed: sorted rows become fewer. */
static size_t merge(struct cairn_trace_sum *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct cairn_trace_sum *last = kept ? &rows[kept - 1] : NULL;
        if (last && is_same_call(last, &rows[i]) && last->stack == rows[i].stack) {
            last->n += rows[i].n;
            last->n_errors += rows[i].n_errors;
            last->ns += rows[i].ns;
            last->bytes += rows[i].bytes;
            if (rows[i].min_ns && (!last->min_ns || rows[i].min_ns < last->min_ns))
                last->min_ns = rows[i].min_ns;
            if (rows[i].max_ns > last->max_ns)
                last->max_ns = rows[i].max_ns;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static size_t sum_calls(const struct cairn_trace_sum *rows, size_t n, struct call *calls)
{
    size_t n_calls = 0;
    for (size_t i = 0; i < n; i++) {
        if (!i || !is_same_call(&rows[i], &rows[i - 1]))
            calls[n_calls++] =
                (struct call){.name = rows[i].name, .is_compat = rows[i].is_compat != 0};
        struct call *call = &calls[n_calls - 1];
        call->n += rows[i].n;
        call->n_errors += rows[i].n_errors;
        call->ns += rows[i].ns;
        call->n_timed += rows[i].ns ? rows[i].n - rows[i].n_gone : 0;
        if (rows[i].min_ns && (!call->min_ns || rows[i].min_ns < call->min_ns))
            call->min_ns = rows[i].min_ns;
        if (rows[i].max_ns > call->max_ns)
            call->max_ns = rows[i].max_ns;
    }
    return n_calls;
}

static void put_right(struct cairn_buffer *out, const struct cairn_buffer *text, size_t width)
{
    for (size_t i = text->size; i < width; i++)
        cairn_buffer_char(out, ' ');
    cairn_buffer_str(out, cairn_buffer_text(text));
}

static void put_number(struct cairn_buffer *out, uint64_t n, size_t width)
{
    struct cairn_buffer text = {0};
    cli_add_count(&text, n);
    put_right(out, &text, width);
    cairn_buffer_done(&text);
}

static void put_time(struct cairn_buffer *out, uint64_t ns, bool has_time)
{
    struct cairn_buffer text = {0};
    if (has_time)
        cli_trace_time(&text, ns);
    else
        cairn_buffer_char(&text, '-');
    put_right(out, &text, TIME_WIDTH + 2);
    cairn_buffer_done(&text);
}

static void put_call(struct cairn_buffer *out, const struct call *call)
{
    const bool has_time = call->n_timed > 0;
    put_number(out, call->n, 13);
    put_number(out, call->n_errors, 11);
    put_time(out, call->min_ns, has_time);
    put_time(out, has_time ? call->ns / call->n_timed : 0, has_time);
    put_time(out, call->max_ns, has_time);
    put_time(out, call->ns, has_time);
    cairn_buffer_str(out, "  ");
    cairn_escape_terminal(out, call->name, strlen(call->name));
    cairn_buffer_str(out, call->is_compat ? " [32-bit call]\n" : "\n");
}

static void put_stacks(struct cairn_buffer *out, struct cairn_trace *trace,
                       const struct cairn_trace_sum *rows, size_t n, const struct call *call)
{
    size_t n_put = 0;
    for (size_t i = 0; i < n && n_put < TOP_STACKS; i++) {
        if (strcmp(rows[i].name, call->name) != 0 || (rows[i].is_compat != 0) != call->is_compat)
            continue;
        cairn_buffer_char(out, '\n');
        cli_add_count(out, rows[i].n);
        cairn_buffer_str(out, " of ");
        cli_add_count(out, call->n);
        cairn_buffer_char(out, ' ');
        cairn_escape_terminal(out, call->name, strlen(call->name));
        if (rows[i].n_errors) {
            cairn_buffer_str(out, ", ");
            cli_add_count(out, rows[i].n_errors);
            cairn_buffer_str(out, " failed");
        }
        cairn_buffer_char(out, '\n');
        cli_trace_stack(out, trace, rows[i].stack, rows[i].cut);
        n_put++;
    }
}

void cli_trace_summary(struct cairn_buffer *out, struct cairn_trace *trace, bool has_stacks)
{
    size_t n = cairn_trace_sum_rows(trace);
    struct cairn_trace_sum *rows = cairn_alloc(n + 1, sizeof *rows);
    struct call *calls = cairn_alloc(n + 1, sizeof *calls);
    for (size_t i = 0; rows && calls && i < n; i++) {
        rows[i].size = sizeof rows[i];
        (void)cairn_trace_sum(trace, i, &rows[i]);
    }
    if (rows && calls) {
        qsort(rows, n, sizeof *rows, by_call);
        n = merge(rows, n);
        size_t n_calls = sum_calls(rows, n, calls);
        qsort(rows, n, sizeof *rows, by_count);
        qsort(calls, n_calls, sizeof *calls, by_calls);
        cairn_buffer_printf(out, "%13s%11s%12s%12s%12s%12s  %s\n", "calls", "errors", "min", "mean",
                            "max", "sum", "call");
        for (size_t i = 0; i < n_calls; i++)
            put_call(out, &calls[i]);
        for (size_t i = 0; i < n_calls && has_stacks; i++)
            put_stacks(out, trace, rows, n, &calls[i]);
    } else {
        out->failed = true;
    }
    cairn_free(rows);
    cairn_free(calls);
}
