/* SPDX-License-Identifier: MIT */
/*
 * Span: a stretch of time as an option names it.
 *
 *     1.5-3                    seconds from the start; also 200ms-2s
 *     -3  and  1.5-            from the start on; to the end
 *     12:30:05.25-12:31        clock times of this machine's time zone
 *     2026-11-29T12:30-12:31   with a date
 */
#ifndef CAIRN_SELECT_SPAN_H
#define CAIRN_SELECT_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>

enum { CAIRN_SELECT_SPANS_MAX = 256 };

enum cairn_select_moment_kind {
    CAIRN_SELECT_OPEN,  /* not said */
    CAIRN_SELECT_START, /* nanoseconds from the start */
    CAIRN_SELECT_CLOCK, /* nanoseconds of the day */
    CAIRN_SELECT_DATE   /* the same of a day that is named */
};

struct cairn_select_moment {
    enum cairn_select_moment_kind kind;
    int64_t ns;
    int year, month, day; /* as people write them */
};

struct cairn_select_span {
    struct cairn_select_moment from, to; /* `to` does not belong to it */
};

struct cairn_select_spans {
    struct cairn_select_span *items;
    size_t n, cap;
};

int cairn_select_spans_add(struct cairn_select_spans *spans, const char *text,
                           struct cairn_err *err);
void cairn_select_spans_done(struct cairn_select_spans *spans); /* all-zero is fine */

/* A profile's times, as nanoseconds since 1970 where `is_wall`. */
struct cairn_select_times {
    int64_t start_ns, first_ns, last_ns;
    bool is_wall;
};

/* [low, high) in those times. CAIRN_E_ARG: clock times, and the profile knows none; or it ends
 * before it begins. */
int cairn_select_span_place(const struct cairn_select_span *span,
                            const struct cairn_select_times *times, int64_t *ret_low,
                            int64_t *ret_high, struct cairn_err *err);

#endif /* CAIRN_SELECT_SPAN_H */
