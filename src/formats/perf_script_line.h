/* SPDX-License-Identifier: MIT */
/*
 * Perf script line: what one line of perf script's text says.
 *
 *     COMM  [PID/]TID [CPU] [SECONDS.FRACTION:] [PERIOD] EVENT: [fields, or one frame]     a head
 *     <blanks>HEX-ADDRESS NAME[+0xOFFSET] (MODULE)                                         a frame
 *     <blanks>FILE:LINE                                             its place in the source
 *     # TEXT                                                                       a comment
 *
 * A name or a module may hold blanks and parentheses, and COMM whatever a program calls itself: a
 * head is the first place in the line from which on all that follows fits.
 *
 * Source: Linux, tools/perf/builtin-script.c (perf_sample__fprintf_start, process_event) and
 * tools/perf/util/evsel_fprintf.c (sample__fprintf_callchain), 4.9 to 6.11.
 */
#ifndef CAIRN_FORMATS_PERF_SCRIPT_LINE_H
#define CAIRN_FORMATS_PERF_SCRIPT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct cairn_perf_head {
    struct cairn_span comm, event; /* event: with its modifiers; empty: the text does not say */
    struct cairn_span rest;        /* behind the event, blanks at both ends removed */
    int64_t pid, tid, cpu;         /* -1: not said */
    uint64_t time_ns, period;
    bool has_time, has_period;
};

/* Spans lie in `line`, which has no line break. */
bool cairn_perf_head_parse(struct cairn_span line, struct cairn_perf_head *ret_head);

struct cairn_perf_frame {
    uint64_t address;         /* as printed: of callers the return address */
    struct cairn_span name;   /* without the offset; empty: "[unknown]" */
    struct cairn_span module; /* without " (deleted)"; empty: "[unknown]", or not said */
    bool is_inlined;          /* into the next one, which has the same address */
};

bool cairn_perf_frame_parse(struct cairn_span line, struct cairn_perf_frame *ret_frame);

/* "file.c:12" below a frame. False: the line names no place in a source ("libc.so.6[27000]"). */
bool cairn_perf_place_parse(struct cairn_span line, struct cairn_span *ret_file,
                            uint32_t *ret_line);

/* The event without its modifiers: "cpu-clock" of "cpu-clock:ppp". Tracepoints stay whole. */
struct cairn_span cairn_perf_event_name(struct cairn_span event);

#endif /* CAIRN_FORMATS_PERF_SCRIPT_LINE_H */
