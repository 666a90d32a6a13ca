/* SPDX-License-Identifier: MIT */
/* What the commands share: talking to the user on stderr, and files in and out. Results go to
 * stdout, all else to stderr; names from a target never reach a terminal unescaped. */
#ifndef CAIRN_CLI_TERM_H
#define CAIRN_CLI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>
#include <cairn/profile.h>

#include "base/buffer.h"

/* The hints of the log (CAIRN_LOG_HINT) on stderr, each once; for when all else was printed. */
void cli_hints_put(void);

/* "cairn: MESSAGE" and "  hint: HINT" on stderr; returns CLI_FAILED. */
int cli_report(const struct cairn_err *err);

/* "cairn: MESSAGE" on stderr. */
__attribute__((format(printf, 1, 2))) void cli_say(const char *fmt, ...);

/* Opens the library's log to stderr: warnings always, decisions and tables with -v (1) and -vv (2).
 */
void cli_log_open(int verbosity);

/* A line that is rewritten in place, at most ten times a second, on a terminal only, and only once
 * a second has passed. cli_progress_done() clears it; cli_say() and the log clear it too. */
__attribute__((format(printf, 1, 2))) void cli_progress(const char *fmt, ...);
void cli_progress_done(void);

/* Reads a profile from a file or from stdin ("-"); `keeps` is that of cairn_import_opts. */
int cli_read_profile(const char *path, enum cairn_format format, unsigned keeps,
                     struct cairn_profile **ret_profile, struct cairn_err *err);

/*
 * Output to a file that appears whole or not at all, or to stdout ("-"). Under sudo the file is
 * given to the caller. An existing file is CAIRN_E_EXISTS without `force`, with --force in the
 * hint.
 */
struct cli_output;
int cli_output_open(const char *path, bool force, struct cli_output **ret_output,
                    struct cairn_err *err);
int cli_output_write(void *output, const void *bytes, size_t size); /* a cairn_write_fn */
int cli_output_flush(struct cli_output *output); /* what was written so far leaves at once */
int cli_output_commit(struct cli_output *output,
                      struct cairn_err *err);    /* frees, also on failure */
void cli_output_drop(struct cli_output *output); /* accepts NULL */

/* As it was given; "stdout". */
const char *cli_output_name(const struct cli_output *output);

/* Another name in the same folder, for a file that was opened before its name was known. */
int cli_output_rename(struct cli_output *output, const char *name, struct cairn_err *err);
/* cli_output_commit() of what cannot be made again. Where a file of that name came into being since
 * the output was opened, the new one gets a number in its name (x.1.heap), and that is said.
 * Appends the name that it has to `ret_name`. */
int cli_output_commit_anyway(struct cli_output *output, struct cairn_buffer *ret_name,
                             struct cairn_err *err);

/* The same for a file that is there and is replaced by what is written: its mode, and its owner
 * where allowed, are kept, a symlink is followed. */
int cli_output_open_in_place(const char *path, struct cli_output **ret_output,
                             struct cairn_err *err);

/* Why the last cli_output_write() failed; for the writer only knows that it did. CAIRN_OK where it
 * did not. */
int cli_output_error(const struct cli_output *output, struct cairn_err *err);

/* After a failure, instead of cli_output_drop(): keeps the temporary file and names it in `err`
 * where it holds data that could be of use. Frees; returns `code`. */
int cli_output_fail(struct cli_output *output, int code, struct cairn_err *err);

/* Whoever read our stdout has gone: ends the program as SIGPIPE does, without a word, and removes
 * what was begun. */
__attribute__((noreturn)) void cli_end_quietly(void);

bool cli_stdout_is_terminal(void);
bool cli_colour(void);    /* stdout is a terminal, NO_COLOR unset, TERM is not dumb */
unsigned cli_width(void); /* $COLUMNS, else those of the terminal; 100 where stdout is none */

#endif /* CAIRN_CLI_TERM_H */
