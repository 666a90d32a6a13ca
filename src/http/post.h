/* SPDX-License-Identifier: MIT */
/* One request over HTTP with a body in memory, and the start of its answer. */
#ifndef CAIRN_HTTP_POST_H
#define CAIRN_HTTP_POST_H

#include <stdbool.h>

#include <cairn/error.h>

#include "base/span.h"

enum {
    CAIRN_HTTP_TEXT_BYTES = 4096,
    CAIRN_HTTP_URL_BYTES = 8192,
    CAIRN_HTTP_WHY_BYTES = 256,
    CAIRN_HTTP_HEADERS_MAX = 8
};

struct cairn_http_request {
    const char *url;
    const char *headers[CAIRN_HTTP_HEADERS_MAX]; /* "Name: value"; NULL behind the last */
    struct cairn_span body;
    const char *ca_file; /* certificates to trust; NULL: the machine's */
    double timeout_s;
};

enum cairn_http_end {
    CAIRN_HTTP_ANSWERED, /* `status` came */
    CAIRN_HTTP_NOT_SENT, /* the server does not have all of the body: it can be sent again */
    CAIRN_HTTP_NO_WAY,   /* the same, and a second attempt fails alike */
    CAIRN_HTTP_UNKNOWN   /* all was sent, no status came */
};

struct cairn_http_answer {
    enum cairn_http_end end;
    long status;
    long retry_after_s; /* 0: the server does not say */
    bool is_protobuf;
    size_t size;                         /* of `text`: untrusted bytes */
    char text[CAIRN_HTTP_TEXT_BYTES];    /* the start of the answer's body */
    char redirect[CAIRN_HTTP_URL_BYTES]; /* where the server sends us on to; "" */
    char why[CAIRN_HTTP_WHY_BYTES];      /* unless it is CAIRN_HTTP_ANSWERED */
};

/* Can this build and this machine speak HTTP? CAIRN_E_SUPPORT. */
int cairn_http_can(struct cairn_err *err);

/* Redirections are not followed. CAIRN_OK whatever the server did; CAIRN_E_SUPPORT, CAIRN_E_NOMEM.
 */
int cairn_http_post(const struct cairn_http_request *request, struct cairn_http_answer *ret_answer,
                    struct cairn_err *err);

#endif /* CAIRN_HTTP_POST_H */
