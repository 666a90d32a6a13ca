/* SPDX-License-Identifier: MIT */
/* cairn heap run: the wait for what it started, with looks at what is lost. */
#ifndef CAIRN_CLI_HEAP_RUN_H
#define CAIRN_CLI_HEAP_RUN_H

#include "cli/heap.h"

/* Begins all-zero. */
struct cli_run_lost {
    bool is_wanted;
    double every_seconds; /* 0 without a signal: when the process is at its end */
    int signal;           /* a look when cairn gets it; 0: none */
    bool is_closed;       /* a look that the gate is for found more than --fail-over allows */
    bool has_failed;      /* no look was made, which a gate does not let pass */
    bool is_over;         /* no look at the end: __lsan_do_leak_check() made it */
    bool has_before;      /* there was a look before its destructors, which found so much: */
    uint64_t before_bytes, before_blocks;
};

/* The value of --lost: NULL, "at-exit", seconds or a signal. False after having said what is wrong.
 */
bool cli_run_lost_take(struct cli_args *args, const char *value, struct cli_run_lost *lost);
bool cli_run_lost_is_at_end(const struct cli_run_lost *lost);

/* Until process `pid` has ended; returns its status as waitpid(2) has it. */
int cli_run_wait(int pid, struct cairn_heap_session *session, struct cli_heap_wanted *wanted,
                 struct cli_run_lost *lost);

/* heap_run_look.c: looks, of which each prints what it found on stderr. */
struct cli_run {
    int pid; /* of the command */
    struct cairn_heap_session *session;
    struct cli_heap_wanted *wanted;
    struct cli_run_lost *lost;
};
void cli_run_look_running(const struct cli_run *run); /* every so many seconds, or at a signal */
void cli_run_look_at_end(const struct cli_run *run);  /* CAIRN_HEAP_TURN_STANDS */
/* The process asks for it, and gets its answer (CAIRN_HEAP_ASKED_...). */
void cli_run_look_asked(const struct cli_run *run, int pid, enum cairn_heap_asked_kind kind);

#endif /* CAIRN_CLI_HEAP_RUN_H */
