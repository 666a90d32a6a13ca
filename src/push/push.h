/* SPDX-License-Identifier: MIT */
/* Push: what its parts share. */
#ifndef CAIRN_PUSH_PUSH_H
#define CAIRN_PUSH_PUSH_H

#include <cairn/push.h>

#include "base/buffer.h"
#include "http/post.h"

enum { CAIRN_PUSH_TEXT_BYTES = 1024, CAIRN_PUSH_LABELS_MAX = 64 };

/* One profile, made ready for its store. */
struct cairn_push_body {
    struct cairn_buffer url, bytes;
    const char *content; /* headers for the body; NULL: one is enough */
    const char *encoding;
};

/* Name and labels: length, characters, number. CAIRN_E_ARG. */
int cairn_push_labels_check(const struct cairn_push_opts *opts, enum cairn_push_store store,
                            struct cairn_err *err);

/* That of the options, else of the only process, with _ for what a name may not hold. */
void cairn_push_name(struct cairn_buffer *b, const struct cairn_profile *profile,
                     const struct cairn_push_opts *opts);

/* `body` is all-zero before, and freed by the second one whatever the first returned. */
int cairn_push_body_make(struct cairn_push_body *body, const struct cairn_profile *profile,
                         const struct cairn_push_opts *opts, enum cairn_push_store store,
                         struct cairn_err *err);
void cairn_push_body_done(struct cairn_push_body *body);

/* "Authorization: ..." where the options say so. Whoever frees it overwrites it before. */
void cairn_push_authorization(struct cairn_buffer *b, const struct cairn_push_opts *opts);

/* The store's own words, on one line, without secrets, bounded; appends nothing where it has none.
 */
void cairn_push_words(struct cairn_buffer *b, const struct cairn_http_answer *answer,
                      const struct cairn_push_opts *opts);

/* Fills `err` for a status that is no success. */
int cairn_push_fail_status(const struct cairn_http_answer *answer, const char *shown,
                           size_t n_bytes, const struct cairn_push_opts *opts,
                           struct cairn_err *err);

/* A success of OTLP may be one in part: how many profiles were refused. */
uint64_t cairn_push_n_rejected(const struct cairn_http_answer *answer);

#endif /* CAIRN_PUSH_PUSH_H */
