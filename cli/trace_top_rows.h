/* SPDX-License-Identifier: MIT */
/* What events of cairn trace --top are counted by, and how the table is written. */
#ifndef CAIRN_CLI_TRACE_TOP_ROWS_H
#define CAIRN_CLI_TRACE_TOP_ROWS_H

#include "cli/trace_top.h"

/* The value of a field of an event, as the table shows it; "(no FIELD)": it has none. */
void cli_trace_top_value(struct cairn_buffer *out, const struct cairn_trace_event *event,
                         const char *field);

/* The innermost function of a stack that has a name. */
void cli_trace_top_function(struct cairn_buffer *out, struct cairn_trace *trace, uint32_t stack);

/* The table, to `top->out`: over the screen, or at the end, with whole stacks. */
void cli_trace_top_draw(struct cli_trace_top *top);
void cli_trace_top_print(struct cli_trace_top *top);

#endif /* CAIRN_CLI_TRACE_TOP_ROWS_H */
