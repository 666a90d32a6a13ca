/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/escape.h"

enum { LINE_MAX_BYTES = 4096 }; /* a longer line ends in "..." */

/* The one sink of the process; set before threads start, see <cairn/log.h>. */
static cairn_log_fn sink;
static void *sink_ctx;
static enum cairn_log_level sink_level;

void cairn_log_set(cairn_log_fn fn, void *ctx, enum cairn_log_level level)
{
    sink = fn;
    sink_ctx = ctx;
    sink_level = level;
}

bool cairn_log_wants(enum cairn_log_level level)
{
    return sink && level <= sink_level;
}

static void hand_over(enum cairn_log_level level, const char *text, size_t size)
{
    struct cairn_buffer line = {0};
    cairn_escape_terminal(&line, text, size);
    sink(sink_ctx, level, line.failed ? "out of memory for a message" : cairn_buffer_text(&line));
    cairn_buffer_done(&line);
}

void cairn_log(enum cairn_log_level level, const char *fmt, ...)
{
    if (!cairn_log_wants(level))
        return;
    char text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, fmt);
    int needed = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (needed < 0)
        return;
    size_t size = (size_t)needed;
    if (size >= sizeof text) {
        size = sizeof text - 1;
        memcpy(text + size - 3, "...", 3);
    }
    hand_over(level, text, size);
}

void cairn_log_err(enum cairn_log_level level, const struct cairn_err *err)
{
    if (!cairn_log_wants(level))
        return;
    if (err->hint[0])
        cairn_log(level, "%s (%s)", err->msg, err->hint);
    else
        cairn_log(level, "%s", err->msg);
}

int cairn_bear(const char *who, int code, struct cairn_err *why, struct cairn_err *err)
{
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0) {
        cairn_fail_in(why, code, who);
        cairn_log_err(CAIRN_LOG_WARNING, why);
    }
    return CAIRN_OK;
}
