/* SPDX-License-Identifier: MIT */
/*
 * Push: profiles into the stores that people run, over HTTP.
 *
 *     CAIRN_PUSH_PYROSCOPE  POST URL/ingest, a pprof profile
 *     CAIRN_PUSH_OTLP       POST URL/v1development/profiles, OpenTelemetry's request, gzip
 *
 * HTTP is libcurl's, which is loaded when it is needed. A secret stands in no message, also where
 * the store's answer repeats it.
 */
#ifndef CAIRN_PUSH_H
#define CAIRN_PUSH_H

#include <stddef.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Later versions add values at the end. */
enum cairn_push_store {
    CAIRN_PUSH_AUTO, /* what the path or the port of the URL says */
    CAIRN_PUSH_PYROSCOPE,
    CAIRN_PUSH_OTLP
};

struct cairn_push_label {
    const char *key, *value;
};

/* Set .size to sizeof; zero means the default. Texts are borrowed for the time of a call. */
struct cairn_push_opts {
    size_t size;
    const char
        *url; /* "https://host:4040", or with the whole path of the store's API; without user,
                        password and query */
    enum cairn_push_store store;
    const char *name; /* of the service; NULL: that of the only process, else "cairn" */
    const struct cairn_push_label *labels;
    size_t n_labels;
    const char *tenant; /* the header X-Scope-OrgID */
    const char *token;  /* bearer; or these two: */
    const char *user, *password;
    const char *ca_file; /* certificates to trust; NULL: the machine's */
    double timeout_s;    /* for one profile, all attempts and pauses together; 0: 30 */
};

enum cairn_push_outcome {
    CAIRN_PUSH_NOT_SENT, /* the store does not have the profile */
    CAIRN_PUSH_REFUSED,  /* nor does it take it: a second attempt fails alike */
    CAIRN_PUSH_DOUBTFUL, /* all of it left, but no answer came: the store may have it */
    CAIRN_PUSH_SENT
};

/* Set .size to sizeof. */
struct cairn_push_result {
    size_t size;
    enum cairn_push_outcome outcome;
    int status;       /* of HTTP; 0: none came */
    unsigned n_tries; /* requests */
    size_t n_bytes;   /* of the body */
    char shown[256];  /* the URL for people, without query; cut where it is longer */
};

/* Are the URL, the name and the labels sound, and can this build speak HTTP? The store is in
 * `ret_store` (or NULL). CAIRN_E_ARG, CAIRN_E_SUPPORT. */
CAIRN_API int cairn_push_check(const struct cairn_push_opts *opts, enum cairn_push_store *ret_store,
                               struct cairn_err *err);

/*
 * Sends one profile. Where the store is busy (429, 502, 503, 504) or the connection breaks before
 * all of the profile left, it is sent again after a pause, as long as the time allows. A profile
 * that left without an answer is not sent again. A redirection is followed on one server only.
 *
 * CAIRN_OK: the store has it. Else `err` says why not, with the store's own words, and `ret_result`
 * (or NULL) how far it came.
 */
CAIRN_API int cairn_push_profile(const struct cairn_profile *profile,
                                 const struct cairn_push_opts *opts,
                                 struct cairn_push_result *ret_result, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_PUSH_H */
