/* SPDX-License-Identifier: MIT */
/*
 * Wait: until when a command looks at its target: for --duration, or until a signal asks for an
 * end (pass_on.h).
 */
#ifndef CAIRN_CLI_WAIT_H
#define CAIRN_CLI_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct cli_wait {
    double seconds;    /* 0: no bound */
    bool has_command;  /* the target is a command, which gets the signals too */
    unsigned n_before; /* signals that asked for an end before, and do not count */
    uint64_t start_ns, now_ns, ended_ns;
};

struct cli_wait cli_wait_begin(double seconds, bool has_command);

/* How long to poll now, in milliseconds; 0: it is over. The first signal gives a command a second
 * to end; the next one gives nothing. */
int cli_wait_next(struct cli_wait *wait);

/* At the last cli_wait_next(), in seconds since the begin. */
double cli_wait_elapsed(const struct cli_wait *wait);

#endif /* CAIRN_CLI_WAIT_H */
