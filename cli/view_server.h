/* SPDX-License-Identifier: MIT */
/*
 * View server: one file, served once, to a viewer that runs in a browser of this machine.
 *
 *     127.0.0.1:PORT  GET /TOKEN/NAME ─► the file, for the origin of the viewer alone
 *                     OPTIONS ─────────► what the browser asks before it lets the viewer ask
 *                     else ────────────► an error, which tells nothing
 *
 * The token is 128 random bits. A request must name the server as its host, so that no name of
 * another site can lead here, and a page of another origin is refused.
 */
#ifndef CAIRN_CLI_VIEW_SERVER_H
#define CAIRN_CLI_VIEW_SERVER_H

#include <stdbool.h>

#include <cairn/error.h>

#include "base/span.h"

enum { CLI_VIEW_URL_BYTES = 512 };

struct cli_view_server {
    int fd;
    unsigned port;
    const char *origin; /* of the viewer: "https://www.speedscope.app". Borrowed */
    struct cairn_span file;
    char path[CLI_VIEW_URL_BYTES]; /* "/TOKEN/NAME" */
    bool is_taken;                 /* all of the file was sent */
};

/* Listens on a free port. `name` is the last part of the path; what is no letter, digit, point or
 * dash in it becomes a dash. CAIRN_E_IO. */
int cli_view_listen(struct cli_view_server *server, const char *name, struct cairn_err *err);

/* Answers until the file was taken, or for so long. CAIRN_OK in both cases; CAIRN_E_IO. */
int cli_view_serve(struct cli_view_server *server, double seconds, struct cairn_err *err);

void cli_view_close(struct cli_view_server *server);

#endif /* CAIRN_CLI_VIEW_SERVER_H */
