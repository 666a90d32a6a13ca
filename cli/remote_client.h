/* SPDX-License-Identifier: MIT */
/* Client: the program that opens a shell elsewhere, ssh mostly, as a child of ours. */
#ifndef CAIRN_CLI_REMOTE_CLIENT_H
#define CAIRN_CLI_REMOTE_CLIENT_H

#include <stdbool.h>

#include <cairn/error.h>

/* Our ends of its stdin, stdout and stderr, which do not block; -1: not opened. They are to be
 * closed after a failure, too. */
int cli_remote_client_start(const char *const *argv, int *ret_pid, int ret_ends[3],
                            struct cairn_err *err);

/* Waits until it has ended, and returns its wait status. It ends when its stdin does; one that does
 * not within a second, or where it `is_urgent`, is ended. 0 in `pid`: it was never started. */
int cli_remote_client_reap(int *pid, bool is_urgent);

#endif /* CAIRN_CLI_REMOTE_CLIENT_H */
