/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "push/push.h"
#include "push/url.h"

enum { TIMEOUT_S = 30, REDIRECTS_MAX = 3, NS_PER_S = 1000000000 };

static const double first_pause_s = 0.5, longest_pause_s = 30;

/* One profile on its way. */
struct sending {
    const struct cairn_push_opts *opts;
    struct cairn_http_request request;
    struct cairn_http_answer answer;
    struct cairn_push_result result;
    struct cairn_buffer url, shown;
    uint64_t end_ns; /* of the time that it may take */
    double pause_s;  /* before the next attempt */
    unsigned n_redirects;
    bool may_be_there; /* a proxy gave up on a request that the store perhaps has */
};

static enum cairn_push_store store_of(const struct cairn_push_opts *opts)
{
    return opts->store ? opts->store : cairn_push_url_store(opts->url);
}

int cairn_push_check(const struct cairn_push_opts *opts, enum cairn_push_store *ret_store,
                     struct cairn_err *err)
{
    int code = cairn_push_url_check(opts->url, err);
    if (code < 0)
        return code;
    enum cairn_push_store store = store_of(opts);
    if (store == CAIRN_PUSH_AUTO) {
        cairn_fail(err, CAIRN_E_ARG, "%.200s: neither path nor port say which store it is",
                   opts->url);
        cairn_hint(err, "say --to pyroscope or --to otlp");
        return CAIRN_E_ARG;
    }
    code = cairn_push_labels_check(opts, store, err);
    if (code == CAIRN_OK)
        code = cairn_http_can(err);
    if (code == CAIRN_OK && ret_store)
        *ret_store = store;
    return code;
}

static double seconds_left(const struct sending *s)
{
    uint64_t now = cairn_now_ns();
    return now < s->end_ns ? (double)(s->end_ns - now) / NS_PER_S : 0;
}

static void set_url(struct sending *s, const char *url)
{
    cairn_buffer_clear(&s->url);
    cairn_buffer_clear(&s->shown);
    cairn_buffer_str(&s->url, url);
    cairn_push_url_show(&s->shown, url);
    s->request.url = cairn_buffer_text(&s->url);
}

/* Only a redirection that keeps method and body, on the same server, is followed: what is sent has
 * secrets beside it. */
static int redirect(struct sending *s, struct cairn_err *err)
{
    const char *to = s->answer.redirect;
    bool keeps_method = s->answer.status == 307 || s->answer.status == 308;
    if (keeps_method && s->n_redirects++ < REDIRECTS_MAX &&
        cairn_push_url_same_origin(s->request.url, to)) {
        struct cairn_buffer copy = {0};
        cairn_buffer_str(&copy, to);
        set_url(s, cairn_buffer_text(&copy));
        cairn_buffer_done(&copy);
        return s->url.failed || s->shown.failed ? cairn_fail_memory(err) : CAIRN_OK;
    }
    struct cairn_buffer shown = {0};
    cairn_push_url_show(&shown, to);
    s->result.outcome = CAIRN_PUSH_REFUSED;
    cairn_fail(err, CAIRN_E_IO, "%.120s: HTTP status %ld: sent on to %.200s, which is not followed",
               cairn_buffer_text(&s->shown), s->answer.status,
               shown.size ? cairn_buffer_text(&shown) : "nowhere");
    cairn_hint(err,
               "only 307 and 308 on the same server are followed; give that URL if it is right");
    cairn_buffer_done(&shown);
    return CAIRN_E_IO;
}

static bool is_busy(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Why this attempt failed; the outcome if there is no other one. */
static int fail(struct sending *s, struct cairn_err *err)
{
    const struct cairn_http_answer *answer = &s->answer;
    const char *shown = cairn_buffer_text(&s->shown);
    if (answer->end == CAIRN_HTTP_ANSWERED) {
        s->result.outcome = !is_busy(answer->status) ? CAIRN_PUSH_REFUSED
                            : s->may_be_there        ? CAIRN_PUSH_DOUBTFUL
                                                     : CAIRN_PUSH_NOT_SENT;
        return cairn_push_fail_status(answer, shown, s->result.n_bytes, s->opts, err);
    }
    if (answer->end == CAIRN_HTTP_UNKNOWN) {
        s->result.outcome = CAIRN_PUSH_DOUBTFUL;
        cairn_fail(err, CAIRN_E_IO, "%.120s: all was sent, but no answer came: %s", shown,
                   answer->why);
        cairn_hint(err, "the store may have the profile: look there before it is sent again");
        return CAIRN_E_IO;
    }
    s->result.outcome = s->may_be_there ? CAIRN_PUSH_DOUBTFUL : CAIRN_PUSH_NOT_SENT;
    return cairn_fail(err, CAIRN_E_IO, "%.120s: %s", shown, answer->why);
}

/* Waits before the next attempt. False: there is none. Servers that fail at one time are not asked
 * again at one time by all who wait. */
static bool wait_for_next(struct sending *s, const struct cairn_err *why)
{
    const struct cairn_http_answer *answer = &s->answer;
    bool is_answered = answer->end == CAIRN_HTTP_ANSWERED;
    if (is_answered ? !is_busy(answer->status) : answer->end != CAIRN_HTTP_NOT_SENT)
        return false;
    double pause = s->pause_s * (0.75 + 0.5 * (double)(cairn_now_ns() / 1000 % 1000) / 1000);
    if (is_answered && (double)answer->retry_after_s > pause)
        pause = (double)answer->retry_after_s;
    s->pause_s = 2 * s->pause_s < longest_pause_s ? 2 * s->pause_s : longest_pause_s;
    if (pause >= seconds_left(s))
        return false;
    cairn_log(CAIRN_LOG_WARNING, "%s; next attempt in %.1f s", why->msg, pause);
    struct timespec time = {(time_t)pause, (long)((pause - (double)(time_t)pause) * NS_PER_S)};
    while (nanosleep(&time, &time) < 0)
        continue;
    return true;
}

/* A success, unless the store says that it left something out. */
static int succeed(struct sending *s, struct cairn_err *err)
{
    uint64_t n = store_of(s->opts) == CAIRN_PUSH_OTLP ? cairn_push_n_rejected(&s->answer) : 0;
    if (!n) {
        s->result.outcome = CAIRN_PUSH_SENT;
        if (s->may_be_there)
            cairn_log(CAIRN_LOG_WARNING,
                      "%s: the store may have the profile twice: an attempt "
                      "before this one ended at its proxy",
                      cairn_buffer_text(&s->shown));
        return CAIRN_OK;
    }
    struct cairn_buffer words = {0};
    cairn_push_words(&words, &s->answer, s->opts);
    s->result.outcome = CAIRN_PUSH_REFUSED;
    cairn_fail(err, CAIRN_E_IO, "%.120s: the store refused %llu of the profiles%s%s",
               cairn_buffer_text(&s->shown), (unsigned long long)n, words.size ? ": " : "",
               cairn_buffer_text(&words));
    cairn_buffer_done(&words);
    return CAIRN_E_IO;
}

static int send_until_done(struct sending *s, struct cairn_err *err)
{
    for (;;) {
        s->request.timeout_s = seconds_left(s);
        s->result.n_tries++;
        int code = cairn_http_post(&s->request, &s->answer, err);
        if (code < 0)
            return code;
        long status = s->answer.status;
        s->result.status = (int)status;
        s->may_be_there |= status == 502 || status == 504;
        if (status / 100 == 2)
            return succeed(s, err);
        if (status / 100 == 3) {
            code = redirect(s, err);
            if (code < 0)
                return code;
            continue;
        }
        struct cairn_err why = {0};
        code = fail(s, &why);
        if (wait_for_next(s, &why))
            continue;
        if (err)
            *err = why;
        return code;
    }
}

static int send_body(struct sending *s, const struct cairn_push_body *body, struct cairn_err *err)
{
    struct cairn_buffer authorization = {0}, tenant = {0};
    const char **header = s->request.headers;
    cairn_push_authorization(&authorization, s->opts);
    if (s->opts->tenant)
        cairn_buffer_printf(&tenant, "X-Scope-OrgID: %s", s->opts->tenant);
    *header++ = body->content;
    if (body->encoding)
        *header++ = body->encoding;
    if (authorization.size)
        *header++ = cairn_buffer_text(&authorization);
    if (tenant.size)
        *header++ = cairn_buffer_text(&tenant);
    s->request.body = cairn_buffer_span(&body->bytes);
    s->result.n_bytes = body->bytes.size;
    set_url(s, cairn_buffer_text(&body->url));
    bool failed = authorization.failed || tenant.failed || s->url.failed || s->shown.failed;
    int code = failed ? cairn_fail_memory(err) : send_until_done(s, err);
    if (authorization.data)
        explicit_bzero(authorization.data, authorization.size);
    cairn_buffer_done(&authorization);
    cairn_buffer_done(&tenant);
    return code;
}

static void warn_of_open_secrets(const struct cairn_push_opts *opts)
{
    if ((opts->token || opts->user) && strncmp(opts->url, "http:", 5) == 0 &&
        !cairn_push_url_is_local(opts->url))
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: the password or token goes over the network unencrypted; "
                  "https:// does not do that",
                  opts->url);
}

int cairn_push_profile(const struct cairn_profile *profile, const struct cairn_push_opts *opts,
                       struct cairn_push_result *ret_result, struct cairn_err *err)
{
    struct sending *s = calloc(1, sizeof *s);
    struct cairn_push_body body = {0};
    enum cairn_push_store store;
    if (!s)
        return cairn_fail_memory(err);
    double timeout = opts->timeout_s > 0 ? opts->timeout_s : TIMEOUT_S;
    s->opts = opts;
    s->request.ca_file = opts->ca_file;
    s->pause_s = first_pause_s;
    s->end_ns = cairn_now_ns() + (uint64_t)(timeout * NS_PER_S);
    int code = cairn_push_check(opts, &store, err);
    if (code == CAIRN_OK)
        code = cairn_push_body_make(&body, profile, opts, store, err);
    if (code == CAIRN_OK) {
        warn_of_open_secrets(opts);
        code = send_body(s, &body, err);
    }
    if (ret_result) {
        s->result.size = ret_result->size;
        snprintf(s->result.shown, sizeof s->result.shown, "%s", cairn_buffer_text(&s->shown));
        *ret_result = s->result;
    }
    cairn_buffer_done(&s->url);
    cairn_buffer_done(&s->shown);
    cairn_push_body_done(&body);
    free(s);
    return code;
}
