/* SPDX-License-Identifier: MIT */
/*
 * The command in place of GNU addr2line: its options, its answers, its exit status, so that what
 * runs addr2line (perf, scripts, sanitizers) can run cairn instead. Installed as cairn-addr2line,
 * as addr2line in a folder for PATH, and at hand as `cairn addr2line`.
 *
 * GNU's own words are the contract here, not the house's: options are parsed by getopt_long(),
 * whose abbreviations and order are part of it, and messages begin with the name of the program as
 * called.
 */
#ifndef CAIRN_CLI_ADDR2LINE_H
#define CAIRN_CLI_ADDR2LINE_H

#include <stdbool.h>

#include "cli/gnu_text.h"

/* Is the command called as addr2line, cairn-addr2line or CPU-linux-gnu-addr2line, in any folder? */
bool cli_is_addr2line(const char *argv0);

/* `argv` begins with the program's name and ends with NULL. Returns the exit status: 0 or 1. */
int cli_addr2line(char **argv);

struct cli_addr2line_options {
    const char *program; /* as messages begin */
    const char *exe;     /* -e; a.out */
    const char *section; /* -j; NULL: addresses are those of the file */
    bool addresses;      /* -a: print each address before its answer */
    struct cli_gnu_text form;
    char **operands; /* addresses; none: they come on stdin */
    char **expanded; /* owns the words, where some came out of an @FILE; NULL: argv does */
};

/* True where there is something to look up. False where all is done or said: *ret_status is the
 * exit status. */
bool cli_addr2line_parse(char **argv, struct cli_addr2line_options *ret_options, int *ret_status);

/* After either answer; the texts of the options go with it. */
void cli_addr2line_options_done(struct cli_addr2line_options *options);

#endif /* CAIRN_CLI_ADDR2LINE_H */
