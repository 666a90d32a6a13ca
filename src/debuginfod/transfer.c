/* SPDX-License-Identifier: MIT */
#include "debuginfod/transfer.h"

#include <elf.h>
#include <stdio.h>
#include <unistd.h>

#include <cairn/version.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

enum {
    SLOW_BYTES_A_SECOND = 1000,
    REDIRECTS_MAX = 5,
    TOTAL_S = 900,
    HTTP_OK = 200,
    HTTP_ABSENT = 404,
    HTTP_GONE = 410
};

/* The first bytes decide: a page of a proxy or a login is not fetched to its end. */
static bool looks_right(struct cairn_transfer *t, const char *bytes, size_t size)
{
    size_t held = t->bytes < SELFMAG ? (size_t)t->bytes : SELFMAG;
    for (size_t i = 0; i < size && held + i < CAIRN_TRANSFER_HEAD; i++)
        t->head[held + i] = bytes[i];
    size_t known = held + size < SELFMAG ? held + size : SELFMAG;
    return memcmp(t->head, ELFMAG, known) == 0;
}

/* Only what came with "200 OK" is a file: the text of a refusal is not kept. */
static bool is_answer(const struct cairn_transfer *t, const struct cairn_curl *curl)
{
    long status = 0;
    curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return status == HTTP_OK;
}

static const struct cairn_curl *receivers_curl; /* one library in a program */

static size_t receive(char *bytes, size_t one, size_t n, void *ctx)
{
    struct cairn_transfer *t = ctx;
    size_t size = one * n;
    if (!is_answer(t, receivers_curl))
        return size;
    if (t->bytes < SELFMAG && !looks_right(t, bytes, size)) {
        t->is_other = true;
        return 0;
    }
    if (size > t->client->max_bytes - t->client->bytes) {
        t->is_over_limit = true;
        return 0;
    }
    if (cairn_write_all(t->fd, bytes, size, t->client->folder.path, &t->write_err) < 0)
        return 0;
    t->bytes += size;
    t->client->bytes += size;
    return size;
}

static bool set_up(struct cairn_transfer *t, const struct cairn_curl *curl)
{
    CURL *easy = t->easy;
    long timeout = (long)t->client->timeout_s;
    long connect = timeout < CAIRN_CONNECT_TIMEOUT_S ? timeout : CAIRN_CONNECT_TIMEOUT_S;
    char agent[64];
    snprintf(agent, sizeof agent, "cairn/%s", cairn_version());
    bool ok = curl->easy_setopt(easy, CURLOPT_URL, t->url) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, cairn_server_redirects(t->url)) ==
          CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, connect) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES_A_SECOND) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, timeout) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_TIMEOUT, (long)TOTAL_S) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE,
                            (curl_off_t)(t->client->max_bytes - t->client->bytes)) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_USERAGENT, agent) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_WRITEDATA, t) == CURLE_OK;
    ok &= curl->easy_setopt(easy, CURLOPT_PRIVATE, t) == CURLE_OK;
    return ok;
}

int cairn_transfer_start(struct cairn_transfer *t, const struct cairn_curl *curl,
                         struct cairn_err *err)
{
    receivers_curl = curl;
    t->bytes = 0;
    t->is_other = t->is_over_limit = false;
    t->write_err = (struct cairn_err){0};
    memset(t->head, 0, sizeof t->head);
    int size = snprintf(t->url, sizeof t->url, "%s/buildid/%s/%s", t->server->url,
                        t->wanted->build_id, t->name);
    if (size < 0 || (size_t)size >= sizeof t->url)
        return cairn_fail(err, CAIRN_E_LIMIT, "debuginfod: a URL of %d bytes", size);
    int code = cairn_client_folder_temp(&t->client->folder, t->wanted->build_id, &t->fd, err);
    if (code < 0)
        return code;
    t->easy = curl->easy_init();
    if (t->easy && set_up(t, curl))
        return CAIRN_OK;
    code = t->easy ? cairn_fail(err, CAIRN_E_SUPPORT,
                                "debuginfod: libcurl is too old, expected 7.85 or newer")
                   : cairn_fail_memory(err);
    cairn_transfer_drop(t, curl);
    return code;
}

void cairn_transfer_drop(struct cairn_transfer *t, const struct cairn_curl *curl)
{
    if (t->easy)
        curl->easy_cleanup(t->easy);
    if (t->fd >= 0)
        close(t->fd);
    t->easy = NULL;
    t->fd = -1;
}

/* The server's fault, told once for each way of it. */
static enum cairn_outcome fail_server(struct cairn_transfer *t, const char *why)
{
    struct cairn_server *server = t->server;
    server->n_failures++;
    if (server->n_failures >= CAIRN_SERVER_FAILURES)
        server->is_off = true;
    cairn_log(CAIRN_LOG_WARNING, "debuginfod: %s: %s%s", t->url, why,
              server->is_off ? "; this server is not asked any more in this run" : "");
    return CAIRN_OUTCOME_FAILED;
}

/* A server of nonsense gives as much of it as there are modules. */
static enum cairn_log_level level_of_wrong(struct cairn_server *server)
{
    return server->n_wrong++ < CAIRN_WRONG_TOLD ? CAIRN_LOG_WARNING : CAIRN_LOG_INFO;
}

static enum cairn_outcome tell_other(struct cairn_transfer *t)
{
    cairn_log(level_of_wrong(t->server),
              "debuginfod: %s: no ELF file, it begins with \"%s\"; passed over", t->url, t->head);
    return CAIRN_OUTCOME_WRONG;
}

/* A server can have filed it under the wrong number, or mean harm. */
static enum cairn_outcome check_file(struct cairn_transfer *t)
{
    struct cairn_candidate c;
    struct cairn_err why;
    int code = cairn_candidate_open_fd(t->fd, t->url, &c, &why);
    if (code < 0) {
        cairn_log(level_of_wrong(t->server), "debuginfod: %s; passed over", why.msg);
        return CAIRN_OUTCOME_WRONG;
    }
    bool is_right = strcmp(c.build_id, t->wanted->build_id) == 0;
    if (!is_right)
        cairn_log(level_of_wrong(t->server),
                  "debuginfod: %s: the build ID of what came is %s, expected %s; passed over",
                  t->url, c.build_id[0] ? c.build_id : "unknown", t->wanted->build_id);
    cairn_candidate_close(&c);
    if (!is_right)
        return CAIRN_OUTCOME_WRONG;
    code = cairn_client_folder_put(&t->client->folder, t->wanted->build_id, t->name, t->fd, &why);
    if (code == CAIRN_OK)
        return CAIRN_OUTCOME_GOT;
    cairn_log_err(CAIRN_LOG_WARNING, &why);
    return CAIRN_OUTCOME_GIVEN_UP;
}

static enum cairn_outcome tell_limit(struct cairn_transfer *t)
{
    if (!t->client->told_limit)
        cairn_log(CAIRN_LOG_WARNING,
                  "debuginfod: %s: more than the %llu bytes that are left of --fetch-limit; not "
                  "fetched",
                  t->url, (unsigned long long)(t->client->max_bytes - t->client->bytes));
    t->client->told_limit = true;
    return CAIRN_OUTCOME_GIVEN_UP;
}

static enum cairn_outcome judge(struct cairn_transfer *t, const struct cairn_curl *curl,
                                CURLcode result)
{
    long status = 0;
    char text[64];
    curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (t->is_other)
        return tell_other(t);
    if (t->is_over_limit || result == CURLE_FILESIZE_EXCEEDED)
        return tell_limit(t);
    if (t->write_err.code) {
        cairn_log_err(CAIRN_LOG_WARNING, &t->write_err);
        t->client->is_stopped = true; /* the disk is full: the next one would fail alike */
        return CAIRN_OUTCOME_GIVEN_UP;
    }
    if (result == CURLE_OPERATION_TIMEDOUT)
        return fail_server(t, t->bytes ? "too slow" : "no answer in time");
    if (result != CURLE_OK)
        return fail_server(t, curl->easy_strerror(result));
    if (status == HTTP_ABSENT || status == HTTP_GONE)
        return CAIRN_OUTCOME_ABSENT;
    if (status == HTTP_OK && t->bytes)
        return check_file(t);
    if (status == HTTP_OK)
        return fail_server(t, "an empty file");
    snprintf(text, sizeof text, "HTTP status %ld", status);
    return fail_server(t, text);
}

enum cairn_outcome cairn_transfer_end(struct cairn_transfer *t, const struct cairn_curl *curl,
                                      CURLcode result)
{
    enum cairn_outcome outcome = judge(t, curl, result);
    if (outcome == CAIRN_OUTCOME_GOT || outcome == CAIRN_OUTCOME_ABSENT)
        t->server->n_failures = 0;
    cairn_transfer_drop(t, curl);
    return outcome;
}
