/* SPDX-License-Identifier: MIT */
/* What the far ends sent, as one result. */
#ifndef CAIRN_CLI_REMOTE_RESULT_H
#define CAIRN_CLI_REMOTE_RESULT_H

#include "cli/remote_session.h"
#include "cli/term.h"

/* Prints at most `most` bytes of what waits; 0: all. What steers a terminal is escaped there.
 * CAIRN_E_IO: stdout takes nothing more. */
int cli_remote_put_text(struct cli_remote_session *s, size_t most, struct cairn_err *err);

/* Texts or one profile to `output`, which it takes over, then failures, and a row a host where
 * there are several. Returns the exit status of the program. */
int cli_remote_finish(const struct cli_remote *remote, struct cli_remote_session *sessions,
                      struct cli_output *output);

#endif /* CAIRN_CLI_REMOTE_RESULT_H */
