/* SPDX-License-Identifier: MIT */
/*
 * Pass on: signals that are sent to cairn while a command runs under it go on to that command,
 * which decides whether to end. Handlers do it at once; they are not inherited by the command. What
 * was ignored before (nohup(1)) stays ignored.
 *
 * Not passed on: what the terminal sends to the whole foreground process group, for the command
 * gets it from there; and what the command or one of its descendants sends.
 *
 * One command at a time.
 */
#ifndef CAIRN_CLI_PASS_ON_H
#define CAIRN_CLI_PASS_ON_H

#include <stdbool.h>

/* Before cli_pass_on_begin(): this signal is for cairn itself, and is not passed on. */
void cli_pass_on_keep(int number);
/* The signal that is kept came since the last call. */
bool cli_pass_on_take_kept(void);
/* From here on no signal that can be handled ends cairn. Before the command is started.
 * `takes_ignored_int`: SIGINT counts although it was ignored. A shell without job control ignores
 * it for its background jobs, and scripts end recordings by it. */
void cli_pass_on_begin(bool takes_ignored_int);
/* The command runs as `pid`: it gets what came since the start, and what comes. 0: it has ended,
 * and signals are dropped. */
void cli_pass_on_to(int pid);
/* How many of SIGINT, SIGTERM and SIGHUP came so far, passed on or not. */
unsigned cli_pass_on_n_ends(void);
/* Gives SIGINT and SIGQUIT back to whoever had them: nothing can be lost any more. */
void cli_pass_on_release_keys(void);
/* Gives all signals back. */
void cli_pass_on_end(void);

#endif /* CAIRN_CLI_PASS_ON_H */
