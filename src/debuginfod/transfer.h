/* SPDX-License-Identifier: MIT */
/* Transfer: one file from one server, to a file without a name, and the judgement on what came. */
#ifndef CAIRN_DEBUGINFOD_TRANSFER_H
#define CAIRN_DEBUGINFOD_TRANSFER_H

#include "debuginfod/client.h"
#include "http/curl.h"

enum { CAIRN_TRANSFER_URL = 2048 + 256, CAIRN_TRANSFER_HEAD = 16 };

enum cairn_outcome {
    CAIRN_OUTCOME_GOT,     /* it is in the folder */
    CAIRN_OUTCOME_ABSENT,  /* the server does not have it */
    CAIRN_OUTCOME_WRONG,   /* it gave something else; that was told */
    CAIRN_OUTCOME_FAILED,  /* the server did not do its work; that was told */
    CAIRN_OUTCOME_GIVEN_UP /* for a limit or a fault of ours; that was told */
};

struct cairn_transfer {
    struct cairn_debuginfod *client;
    struct cairn_server *server;
    const struct cairn_lacking *wanted;
    const char *name; /* "debuginfo", "executable" */
    CURL *easy;       /* NULL: not running */
    int fd;
    uint64_t bytes;
    bool is_other, is_over_limit; /* why we ended it: no ELF file, more bytes than are allowed */
    struct cairn_err write_err;   /* or this */
    char url[CAIRN_TRANSFER_URL];
    char head[CAIRN_TRANSFER_HEAD + 1];
};

/* Begins; the caller adds `t->easy` to its multi handle. What `t` holds else was set before. */
int cairn_transfer_start(struct cairn_transfer *t, const struct cairn_curl *curl,
                         struct cairn_err *err);

/* Frees what the transfer holds; where it ended by itself, `result` says how. */
enum cairn_outcome cairn_transfer_end(struct cairn_transfer *t, const struct cairn_curl *curl,
                                      CURLcode result);
void cairn_transfer_drop(struct cairn_transfer *t, const struct cairn_curl *curl);

#endif /* CAIRN_DEBUGINFOD_TRANSFER_H */
