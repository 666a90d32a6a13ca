/* SPDX-License-Identifier: MIT */
#include "http/post.h"

#include <stdio.h>
#include <string.h>

#include <cairn/version.h>

#include "base/error.h"
#include "http/curl.h"

enum { CONNECT_TIMEOUT_MS = 10000, MS_PER_S = 1000, RETRY_AFTER_MAX_S = 86400, HTTP_FINAL = 200 };

int cairn_http_can(struct cairn_err *err)
{
    return cairn_curl_load(err) ? CAIRN_OK : CAIRN_E_SUPPORT;
}

/* Keeps the start of the answer. The rest is read and forgotten, for the connection's sake. */
static size_t receive(char *bytes, size_t one, size_t n, void *ctx)
{
    struct cairn_http_answer *answer = ctx;
    size_t size = one * n;
    size_t room = sizeof answer->text - answer->size;
    memcpy(&answer->text[answer->size], bytes, size < room ? size : room);
    answer->size += size < room ? size : room;
    return size;
}

static bool set_limits(const struct cairn_http_request *r, const struct cairn_curl *curl,
                       CURL *easy)
{
    long timeout = (long)(r->timeout_s * MS_PER_S) + 1;
    long connect = timeout < CONNECT_TIMEOUT_MS ? timeout : CONNECT_TIMEOUT_MS;
    return curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout) == CURLE_OK;
}

static bool set_up(const struct cairn_http_request *r, const struct cairn_curl *curl, CURL *easy,
                   struct curl_slist *headers, struct cairn_http_answer *answer)
{
    char agent[64];
    snprintf(agent, sizeof agent, "cairn/%s", cairn_version());
    return set_limits(r, curl, easy) && curl->easy_setopt(easy, CURLOPT_URL, r->url) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_USERAGENT, agent) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_POSTFIELDS, (const char *)r->body.data) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.size) ==
               CURLE_OK &&
           (!r->ca_file || curl->easy_setopt(easy, CURLOPT_CAINFO, r->ca_file) == CURLE_OK) &&
           curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK &&
           curl->easy_setopt(easy, CURLOPT_WRITEDATA, answer) == CURLE_OK;
}

/* What a second attempt does not change. */
static bool is_lasting(CURLcode result)
{
    return result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_URL_MALFORMAT ||
           result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE ||
           result == CURLE_SSL_CERTPROBLEM || result == CURLE_COULDNT_RESOLVE_HOST ||
           result == CURLE_COULDNT_RESOLVE_PROXY;
}

static enum cairn_http_end judge(const struct cairn_http_request *r, const struct cairn_curl *curl,
                                 CURL *easy, CURLcode result, long status)
{
    curl_off_t sent = 0;
    if (status)
        return CAIRN_HTTP_ANSWERED;
    if (is_lasting(result))
        return CAIRN_HTTP_NO_WAY;
    curl->easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return (uint64_t)sent < r->body.size ? CAIRN_HTTP_NOT_SENT : CAIRN_HTTP_UNKNOWN;
}

static void take_answer(const struct cairn_http_request *r, const struct cairn_curl *curl,
                        CURL *easy, CURLcode result, struct cairn_http_answer *answer)
{
    char *redirect = NULL, *type = NULL;
    curl_off_t wait = 0;
    curl->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer->status);
    if (answer->status < HTTP_FINAL) /* 100: "go on" is no answer yet */
        answer->status = 0;
    curl->easy_getinfo(easy, CURLINFO_REDIRECT_URL, &redirect);
    curl->easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    curl->easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait);
    answer->retry_after_s = (long)(wait < RETRY_AFTER_MAX_S ? wait : RETRY_AFTER_MAX_S);
    answer->is_protobuf = type && strstr(type, "protobuf");
    snprintf(answer->redirect, sizeof answer->redirect, "%s", redirect ? redirect : "");
    snprintf(answer->why, sizeof answer->why, "%s", curl->easy_strerror(result));
    answer->end = judge(r, curl, easy, result, answer->status);
}

static bool add_headers(const struct cairn_http_request *r, const struct cairn_curl *curl,
                        struct curl_slist **io_list)
{
    for (size_t i = 0; i < CAIRN_HTTP_HEADERS_MAX && r->headers[i]; i++) {
        struct curl_slist *longer = curl->slist_append(*io_list, r->headers[i]);
        if (!longer)
            return false;
        *io_list = longer;
    }
    return true;
}

int cairn_http_post(const struct cairn_http_request *request, struct cairn_http_answer *ret_answer,
                    struct cairn_err *err)
{
    const struct cairn_curl *curl = cairn_curl_load(err);
    if (!curl)
        return CAIRN_E_SUPPORT;
    struct curl_slist *headers = NULL;
    int code = CAIRN_OK;
    memset(ret_answer, 0, sizeof *ret_answer);
    CURL *easy = curl->easy_init();
    if (!easy || !add_headers(request, curl, &headers))
        code = cairn_fail_memory(err);
    else if (!set_up(request, curl, easy, headers, ret_answer))
        code = cairn_fail(err, CAIRN_E_SUPPORT, "libcurl is too old, expected 7.85 or newer");
    else
        take_answer(request, curl, easy, curl->easy_perform(easy), ret_answer);
    if (easy)
        curl->easy_cleanup(easy);
    curl->slist_free_all(headers);
    return code;
}
