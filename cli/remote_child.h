/* SPDX-License-Identifier: MIT */
/* Child: the process at the far end that runs one command line. */
#ifndef CAIRN_CLI_REMOTE_CHILD_H
#define CAIRN_CLI_REMOTE_CHILD_H

#include <cairn/remote.h>

struct cli_remote_child {
    int pid;      /* 0: none yet, or ended */
    int out, err; /* its stdout and stderr; -1: closed */
    int names;    /* a socket: each ASK and each ANSWER behind its size, in 4 bytes */
};

/* Runs `run_words` in it. On failure there is no child, but its descriptors are to be closed. */
int cli_remote_child_start(const struct cairn_remote_run *run, int (*run_words)(char **words),
                           struct cli_remote_child *ret_child, struct cairn_err *err);

#endif /* CAIRN_CLI_REMOTE_CHILD_H */
