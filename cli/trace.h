/* SPDX-License-Identifier: MIT */
/* What cairn trace was told to do, and how it prints events and sums. */
#ifndef CAIRN_CLI_TRACE_H
#define CAIRN_CLI_TRACE_H

#include <cairn/trace.h>

#include "base/buffer.h"
#include "cli/record.h"
#include "cli/trace_top.h"

struct cli_trace {
    struct cairn_trace_opts opts;
    struct cli_record whom; /* of it processes, symbols and output */
    struct cli_list events, patterns;
    struct cairn_buffer filter;
    bool json, summary, snapshot, explain;
    uint64_t limit;  /* lines a second; 0: no bound */
    const char *top; /* what events are counted by; NULL: they are printed */
};

extern const struct cli_option cli_trace_options[];

/* As cli_record_read(). */
bool cli_trace_read(struct cli_args *args, struct cli_trace *ret_trace);
void cli_trace_done(struct cli_trace *trace);

/* Live lines on stdout. Equal events in a row are printed once, and counted. */
struct cli_trace_lines {
    struct cairn_trace *trace;
    bool json;
    bool no_stack;
    const struct cli_trace *snapshot; /* all threads are shown at each event; NULL: they are not */
    struct cairn_buffer out, last, now;
    uint64_t n_again; /* the last event came so often again */
    uint32_t last_stack;
};
int cli_trace_line(void *ctx, const struct cairn_trace_event *event); /* a cairn_trace_fn */
/* Writes what waits: false, stdout is closed. */
bool cli_trace_flush(struct cli_trace_lines *lines, bool is_end);
void cli_trace_lines_done(struct cli_trace_lines *lines);

/* All threads of a process, as cairn stack shows them. */
void cli_trace_snapshot(struct cairn_buffer *out, const struct cli_trace *asked, int pid);

/* A table of calls on stdout, with the stacks that made most of them. */
void cli_trace_summary(struct cairn_buffer *out, struct cairn_trace *trace, bool has_stacks);

/* "12.3 us". */
void cli_trace_time(struct cairn_buffer *out, uint64_t ns);
/* The frames of a stack, and why it ends early. */
void cli_trace_stack(struct cairn_buffer *out, struct cairn_trace *trace, uint32_t stack,
                     const char *cut);

#endif /* CAIRN_CLI_TRACE_H */
