/* SPDX-License-Identifier: MIT */
/* Who we are to a store: from a file of mode 600, or from the environment. Never from the command
 * line, which other users of the machine see. */
#ifndef CAIRN_CLI_PUSH_AUTH_H
#define CAIRN_CLI_PUSH_AUTH_H

#include <cairn/push.h>

#include "base/buffer.h"

struct cli_push_auth {
    struct cairn_buffer text; /* of the file, split by NULs */
    const char *token;        /* these point there, or into the environment; or are NULL */
    const char *user, *password;
};

/* `path` NULL: CAIRN_PUSH_TOKEN, or CAIRN_PUSH_USER and CAIRN_PUSH_PASSWORD, or neither. No error
 * repeats what was read. */
int cli_push_auth_read(const char *path, struct cli_push_auth *auth, struct cairn_err *err);
void cli_push_auth_done(struct cli_push_auth *auth); /* overwrites it */

#endif /* CAIRN_CLI_PUSH_AUTH_H */
