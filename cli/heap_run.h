/* SPDX-License-Identifier: MIT */
/* cairn heap run: the wait for what it started, with looks at what is lost. */
#ifndef CAIRN_CLI_HEAP_RUN_H
#define CAIRN_CLI_HEAP_RUN_H

#include "cli/heap.h"

/* Begins all-zero. */
struct cli_run_lost {
    bool is_wanted;
    double every_seconds; /* 0: once, when the process is at its end */
    bool is_closed;       /* the last look found more than --fail-over allows */
    bool has_failed;      /* no look was made, which a gate does not let pass */
};

/* The value of --lost: NULL, "at-exit" or seconds. False after having said what is wrong. */
bool cli_run_lost_take(struct cli_args *args, const char *value, struct cli_run_lost *lost);

/* Until process `pid` has ended; returns its status as waitpid(2) has it. */
int cli_run_wait(int pid, struct cairn_heap_session *session, struct cli_heap_wanted *wanted,
                 struct cli_run_lost *lost);

#endif /* CAIRN_CLI_HEAP_RUN_H */
