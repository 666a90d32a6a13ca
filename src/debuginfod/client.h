/* SPDX-License-Identifier: MIT */
/* The client as its files share it: servers, what was asked, how much came. */
#ifndef CAIRN_DEBUGINFOD_CLIENT_H
#define CAIRN_DEBUGINFOD_CLIENT_H

#include <string.h>

#include <cairn/debuginfod.h>

#include "base/strings.h"
#include "debugfile/by_id.h"
#include "debuginfod/client_folder.h"

enum {
    CAIRN_SERVERS_MAX = 16,
    CAIRN_SERVER_FAILURES = 2, /* one behind the other: it is not asked any more */
    CAIRN_TIMEOUT_S = 10,
    CAIRN_CONNECT_TIMEOUT_S = 5,
    CAIRN_WRONG_TOLD = 3,
};

struct cairn_server {
    char *url; /* without slashes at its end */
    unsigned n_failures;
    bool is_off;
    unsigned n_wrong; /* answers that were no ELF file or of another build; the first are told */
};

struct cairn_debuginfod {
    struct cairn_server servers[CAIRN_SERVERS_MAX];
    size_t n_servers;
    struct cairn_client_folder folder;
    char *folder_path;
    unsigned timeout_s;
    uint64_t max_bytes, bytes; /* of this run */
    int (*progress)(void *ctx, const struct cairn_debuginfod_progress *progress);
    void *ctx;
    struct cairn_strings asked; /* "BUILDID/debuginfo": in this run */
    bool is_stopped, told_limit;
};

/* Where the server may send us on to, as libcurl takes it: a safe connection stays one. */
static inline const char *cairn_server_redirects(const char *url)
{
    return strncmp(url, "https:", 6) == 0 ? "https" : "http,https";
}

/* A cairn_fetch_fn. `ctx` is the client. */
void cairn_debuginfod_fetch(void *ctx, const struct cairn_lacking *wanted, size_t n);

/* Can this build fetch? CAIRN_E_SUPPORT. */
int cairn_debuginfod_can(struct cairn_err *err);

#endif /* CAIRN_DEBUGINFOD_CLIENT_H */
