/* SPDX-License-Identifier: MIT */
/*
 * Windows: the filter file of simpleperf, stretches of time of all, of a process or of a thread.
 *
 *     CLOCK monotonic            or realtime; monotonic where nothing is said
 *     GLOBAL_BEGIN 1000          nanoseconds; the nearest BEGIN and END are a window [1000, 2000)
 *     GLOBAL_END 2000
 *     PROCESS_BEGIN 42 1000      of this pid, and PROCESS_END
 *     THREAD_BEGIN 43 1000       of this tid, and THREAD_END
 *
 * A BEGIN inside of a window changes nothing, nor does an END outside of one; a window that nothing
 * ends is open. Where a kind has windows, a sample must be in one of them.
 *
 * Source: AOSP, system/extras/simpleperf/doc/sample_filter.md.
 */
#ifndef CAIRN_SELECT_WINDOWS_H
#define CAIRN_SELECT_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>

enum { CAIRN_SELECT_WINDOWS_MAX = 1 << 20 };

enum cairn_select_scope {
    CAIRN_SELECT_GLOBAL,
    CAIRN_SELECT_OF_PROCESS,
    CAIRN_SELECT_OF_THREAD,
    CAIRN_SELECT_N_SCOPES
};

struct cairn_select_window {
    uint64_t low, high;
    uint32_t scope, id; /* enum cairn_select_scope; pid or tid, 0 of the global ones */
};

struct cairn_select_windows {
    struct cairn_select_window
        *items; /* sorted by scope, id and time; those of one do not overlap */
    size_t n, cap;
    bool has[CAIRN_SELECT_N_SCOPES];
    bool is_realtime;
};

/* Fills empty windows. CAIRN_E_ARG names the line that is wrong, or says that there is none. */
int cairn_select_windows_parse(struct cairn_select_windows *windows, const char *text,
                               struct cairn_err *err);
/* Is a moment of that pid or tid inside? True where the scope has no windows. */
bool cairn_select_windows_hold(const struct cairn_select_windows *windows,
                               enum cairn_select_scope scope, uint32_t id, uint64_t ns);
void cairn_select_windows_done(struct cairn_select_windows *windows); /* all-zero is fine */

#endif /* CAIRN_SELECT_WINDOWS_H */
