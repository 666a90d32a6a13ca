/* SPDX-License-Identifier: MIT */
/* The options that say which samples count and how threads and stacks are seen, the same for every
 * command that takes profiles, and what is said of what they did. */
#ifndef CAIRN_CLI_SELECT_OPTIONS_H
#define CAIRN_CLI_SELECT_OPTIONS_H

#include <cairn/select.h>

#include "base/buffer.h"
#include "base/json.h"
#include "cli/args.h"

enum cli_select_row {
    CLI_SELECT_PID,
    CLI_SELECT_NO_PID,
    CLI_SELECT_TID,
    CLI_SELECT_NO_TID,
    CLI_SELECT_PROCESS,
    CLI_SELECT_NO_PROCESS,
    CLI_SELECT_THREAD,
    CLI_SELECT_NO_THREAD,
    CLI_SELECT_CPU,
    CLI_SELECT_NO_CPU,
    CLI_SELECT_EVENT,
    CLI_SELECT_NO_EVENT,
    CLI_SELECT_TIME,
    CLI_SELECT_NO_TIME,
    CLI_SELECT_TIME_FILE,
    CLI_SELECT_CUT,
    CLI_SELECT_OFF_CPU,
    CLI_SELECT_MERGE_THREADS,
    CLI_SELECT_PER_CPU,
    CLI_SELECT_HIDE,
    CLI_SELECT_BY_FUNCTION,
    CLI_N_SELECT
};

/* Their rows in a table of options, from number `first` on. */
/* clang-format off */
#define CLI_SELECT_ROWS(first)                                                                     \
    [(first) + CLI_SELECT_PID] = {"pid", 0, "LIST",                                                \
        "only samples of these processes, such as 42,50-60"},                                      \
    [(first) + CLI_SELECT_NO_PID] = {"exclude-pid", 0, "LIST", "no samples of these processes"},   \
    [(first) + CLI_SELECT_TID] = {"tid", 0, "LIST", "only samples of these threads, by number"},   \
    [(first) + CLI_SELECT_NO_TID] = {"exclude-tid", 0, "LIST", "no samples of these threads"},     \
    [(first) + CLI_SELECT_PROCESS] = {"process", 0, "RE",                                          \
        "only samples of processes whose name the POSIX extended regular expression matches"},     \
    [(first) + CLI_SELECT_NO_PROCESS] = {"exclude-process", 0, "RE",                               \
        "no samples of such processes"},                                                           \
    [(first) + CLI_SELECT_THREAD] = {"thread", 0, "RE",                                            \
        "only samples of threads whose name the expression matches"},                              \
    [(first) + CLI_SELECT_NO_THREAD] = {"exclude-thread", 0, "RE", "no samples of such threads"},  \
    [(first) + CLI_SELECT_CPU] = {"cpu", 0, "LIST", "only samples of these CPUs, such as 0,4-7"},  \
    [(first) + CLI_SELECT_NO_CPU] = {"exclude-cpu", 0, "LIST", "no samples of these CPUs"},        \
    [(first) + CLI_SELECT_EVENT] = {"event", 0, "NAME",                                            \
        "only samples of this event, such as page-faults, which is then what is shown"},           \
    [(first) + CLI_SELECT_NO_EVENT] = {"exclude-event", 0, "NAME", "no samples of this event"},    \
    [(first) + CLI_SELECT_TIME] = {"time", 0, "A-B",                                               \
        "only samples from A on and before B: seconds from the start (1.5-3, 200ms-, -2) or clock "\
        "times (12:30:05-12:31)"},                                                                 \
    [(first) + CLI_SELECT_NO_TIME] = {"exclude-time", 0, "A-B", "no samples of that time"},        \
    [(first) + CLI_SELECT_TIME_FILE] = {"time-file", 0, "FILE",                                    \
        "only samples of the times that FILE lists, a filter file of simpleperf"},                 \
    [(first) + CLI_SELECT_CUT] = {"drop-cut", 0, "N",                                              \
        "no samples whose stack is cut; with N, only where at most N of a thread follow each "     \
        "other", true},                                                                            \
    [(first) + CLI_SELECT_OFF_CPU] = {"off-cpu", 0, "MODE",                                        \
        "samples of time off the CPU: only those, with (default: beside the others), mixed (one "  \
        "value, wall, is the time on and off the CPU) or none of them"},                           \
    [(first) + CLI_SELECT_MERGE_THREADS] = {"merge-threads", 0, "RE",                              \
        "make one thread of those of a process whose names match"},                                \
    [(first) + CLI_SELECT_PER_CPU] = {"per-cpu", 0, NULL,                                          \
        "show CPUs in place of processes and threads"},                                            \
    [(first) + CLI_SELECT_HIDE] = {"hide", 0, "RE",                                                \
        "take frames of functions whose names match out of the stacks"},                           \
    [(first) + CLI_SELECT_BY_FUNCTION] = {"by-function", 0, NULL,                                  \
        "make one frame of those of a function, without addresses and lines"}
/* clang-format on */

/* All-zero but for `args` is fine. */
struct cli_select {
    struct cli_args *args;
    struct cairn_select *select; /* NULL: no filter was given */
};

/* One of these options; false after having said what is wrong. */
bool cli_select_take(struct cli_select *select, enum cli_select_row row, const char *value);
void cli_select_done(struct cli_select *select);

/* Bits of enum cairn_select_need; 0 where nothing was given. */
unsigned cli_select_needs(const struct cli_select *select);

/* The filters on one input. `value` is what is counted; NULL: what the profile shows first. */
int cli_select_apply(const struct cli_select *select, const char *path,
                     struct cairn_profile *profile, const char *value, struct cairn_err *err);

/* What the filters did since this was last asked. */
struct cli_steps {
    struct cairn_select_step rows[CLI_N_SELECT];
    size_t n;
};
void cli_select_steps(const struct cli_select *select, struct cli_steps *ret_steps);

/* How many samples they took out. */
uint64_t cli_steps_dropped(const struct cli_steps *steps);

/* "filters: --pid took out 40 of 100 samples (cpu 0.40 s), --hide changed 7 of 60", safe for a
 * terminal; nothing where there was no filter. */
void cli_steps_add(struct cairn_buffer *b, const struct cli_steps *steps);
void cli_steps_say(const char *before, const struct cli_steps *steps); /* the same on stderr */

/* The member "filters" of an object: docs/formats/report-json.md. */
void cli_steps_put(struct cairn_json *json, const struct cli_steps *steps);

#endif /* CAIRN_CLI_SELECT_OPTIONS_H */
