/* SPDX-License-Identifier: MIT */
/*
 * cairn trace --top, within the command: events counted by stack, by the innermost function or by
 * the value of a field.
 *
 *     sums of the trace ──► by stack, by function ─┐
 *     each event ─────────► by field ──────────────┴─► rows (one a key) ──► table
 *
 * Rows are bounded. Events of keys beyond the bound are counted in one number, and shown so.
 */
#ifndef CAIRN_CLI_TRACE_TOP_H
#define CAIRN_CLI_TRACE_TOP_H

#include <cairn/trace.h>

#include "base/buffer.h"
#include "base/table.h"

enum {
    CLI_TRACE_TOP_ROWS_MAX = 1 << 14,
    CLI_TRACE_TOP_TEXT_MAX = 200 /* bytes of a value or a name that are kept */
};

enum cli_trace_top_by {
    CLI_TRACE_TOP_NONE,
    CLI_TRACE_BY_STACK,
    CLI_TRACE_BY_FUNCTION,
    CLI_TRACE_BY_FIELD
};

struct cli_trace_top_row {
    size_t text;       /* of a function or value: its place in `texts` */
    const char *event; /* of a stack: borrowed from the trace, as the next but one */
    uint32_t stack;
    const char *cut;
    uint64_t n, n_before; /* now, and at the look before */
    double rate;          /* events a second since then */
};

struct cli_trace_top {
    enum cli_trace_top_by by;
    const char *field; /* borrowed */
    struct cairn_trace *trace;
    struct cairn_trace_stats stats; /* of the last look */
    struct cairn_table by_key;      /* hash of a key -> number of a row */
    struct cairn_table by_stack;    /* stack -> 1 + number of the row of its function */
    struct cli_trace_top_row *rows;
    struct cairn_buffer texts; /* NUL behind each */
    struct cairn_buffer out, now;
    size_t n, cap;
    uint64_t n_beyond; /* events of keys that have no row */
    uint64_t n_read;   /* events that came, by field */
    uint64_t n_before; /* events counted at the look before */
    double rate;       /* of all */
    uint64_t look_ns;  /* CLOCK_MONOTONIC; 0: not yet */
    bool is_live;      /* stdout is a terminal that can be redrawn */
};

/* "stack", "function" or a field. */
void cli_trace_top_init(struct cli_trace_top *top, const char *by);
void cli_trace_top_done(struct cli_trace_top *top);

/* Counts an event by its field: a cairn_trace_fn. Nonzero: memory is gone. */
int cli_trace_top_event(void *ctx, const struct cairn_trace_event *event);

/* Once a second draws the table, if stdout is a terminal. False: stdout is closed, or memory is
 * gone. */
bool cli_trace_top_turn(struct cli_trace_top *top);

/* When the trace is finished: prints the table. False as above. */
bool cli_trace_top_end(struct cli_trace_top *top);

#endif /* CAIRN_CLI_TRACE_TOP_H */
