/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/gzip_stream.h"
#include "formats/otlp_request.h"
#include "profile/only.h"
#include "push/push.h"
#include "push/url.h"

enum { GZIP_LEVEL = 6 };

static bool is_plain(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* The first character of a name that it may not hold; NULL: it is sound. */
static const char *first_odd(const char *name, const char *also)
{
    while (*name && (is_plain((unsigned char)*name) || strchr(also, *name)))
        name++;
    return *name ? name : NULL;
}

/* UTF-8 without control characters? */
static bool is_text(const char *text)
{
    size_t size = strlen(text);
    struct cairn_buffer safe = {0};
    cairn_escape_terminal(&safe, text, size);
    bool is_same = safe.size == size && (!size || memcmp(safe.data, text, size) == 0);
    cairn_buffer_done(&safe);
    return is_same;
}

static int check_label(const struct cairn_push_label *label, enum cairn_push_store store,
                       struct cairn_err *err)
{
    const char *key = label->key, *value = label->value;
    if (strlen(key) > CAIRN_PUSH_TEXT_BYTES || strlen(value) > CAIRN_PUSH_TEXT_BYTES)
        return cairn_fail(err, CAIRN_E_ARG, "label %.40s: more than %d bytes", key,
                          CAIRN_PUSH_TEXT_BYTES);
    if (!*key || first_odd(key, "_.") || (*key >= '0' && *key <= '9'))
        return cairn_fail(err, CAIRN_E_ARG,
                          "label \"%.80s\": expected a name of letters, digits, \".\" and _", key);
    if (!is_text(value))
        return cairn_fail(err, CAIRN_E_ARG,
                          "label %.80s: the value holds control characters or no UTF-8", key);
    if (store == CAIRN_PUSH_PYROSCOPE && strpbrk(value, "{},="))
        return cairn_fail(err, CAIRN_E_ARG,
                          "label %.80s: /ingest has no way to write { } , and = in a value", key);
    return CAIRN_OK;
}

int cairn_push_labels_check(const struct cairn_push_opts *opts, enum cairn_push_store store,
                            struct cairn_err *err)
{
    if (opts->name && (!*opts->name || first_odd(opts->name, "_.-/:") ||
                       strlen(opts->name) > CAIRN_PUSH_TEXT_BYTES))
        return cairn_fail(err, CAIRN_E_ARG,
                          "name \"%.80s\": expected letters, digits and _ . - / :", opts->name);
    if (opts->tenant && (!is_text(opts->tenant) || strlen(opts->tenant) > CAIRN_PUSH_TEXT_BYTES))
        return cairn_fail(err, CAIRN_E_ARG, "the tenant holds control characters or is too long");
    if (opts->n_labels > CAIRN_PUSH_LABELS_MAX)
        return cairn_fail(err, CAIRN_E_ARG, "%zu labels, at most %d are allowed", opts->n_labels,
                          CAIRN_PUSH_LABELS_MAX);
    for (size_t i = 0; i < opts->n_labels; i++)
        if (check_label(&opts->labels[i], store, err) < 0)
            return CAIRN_E_ARG;
    return CAIRN_OK;
}

void cairn_push_name(struct cairn_buffer *b, const struct cairn_profile *profile,
                     const struct cairn_push_opts *opts)
{
    const char *name = opts->name ? opts->name : cairn_profile_only_process(profile);
    if (!name || !*name)
        name = "cairn";
    for (size_t i = 0; name[i] && i < CAIRN_PUSH_TEXT_BYTES; i++) {
        bool is_sound = is_plain((unsigned char)name[i]) || strchr("_.-/:", name[i]);
        cairn_buffer_char(b, is_sound ? name[i] : '_');
    }
}

static int add_bytes(void *buffer, const void *bytes, size_t size)
{
    cairn_buffer_add(buffer, bytes, size);
    return ((struct cairn_buffer *)buffer)->failed;
}

static int add_packed(void *stream, const void *bytes, size_t size)
{
    return cairn_gzip_stream_add(stream, bytes, size, NULL);
}

/* "/ingest?name=APP{key=value,...}&from=...", in seconds; a profile without a time is of now. */
static void add_query(struct cairn_buffer *url, const struct cairn_profile *profile,
                      const struct cairn_push_opts *opts)
{
    enum { NS_PER_S = 1000000000 };
    uint64_t now = cairn_clock_ns(CLOCK_REALTIME);
    uint64_t from = profile->time_ns > 0 ? (uint64_t)profile->time_ns : now;
    uint64_t length = profile->duration_ns > 0 ? (uint64_t)profile->duration_ns : 0;
    struct cairn_buffer name = {0};
    cairn_push_name(&name, profile, opts);
    for (size_t i = 0; i < opts->n_labels; i++)
        cairn_buffer_printf(&name, "%c%s=%s", i ? ',' : '{', opts->labels[i].key,
                            opts->labels[i].value);
    cairn_buffer_str(&name, opts->n_labels ? "}" : "");
    cairn_buffer_str(url, "?name=");
    cairn_push_url_quote(url, cairn_buffer_text(&name));
    cairn_buffer_printf(url, "&from=%llu&until=%llu&format=pprof&spyName=cairn",
                        (unsigned long long)(from / NS_PER_S),
                        (unsigned long long)((from + length + NS_PER_S - 1) / NS_PER_S));
    url->failed |= name.failed;
    cairn_buffer_done(&name);
}

static int make_pyroscope(struct cairn_push_body *body, const struct cairn_profile *profile,
                          const struct cairn_push_opts *opts, struct cairn_err *err)
{
    body->content = "Content-Type: application/octet-stream";
    add_query(&body->url, profile, opts);
    return cairn_profile_write(profile, CAIRN_FORMAT_PPROF, add_bytes, &body->bytes, err);
}

static int pack_otlp(struct cairn_push_body *body, const struct cairn_profile *profile,
                     const struct cairn_otlp_resource_rows *resource, struct cairn_err *err)
{
    struct cairn_gzip_stream *stream;
    int code = cairn_gzip_stream_open(GZIP_LEVEL, add_bytes, &body->bytes, &stream, err);
    if (code < 0)
        return code;
    code = cairn_otlp_write(profile, resource, add_packed, stream, err);
    return cairn_gzip_stream_close(stream, code, err);
}

static int make_otlp(struct cairn_push_body *body, const struct cairn_profile *profile,
                     const struct cairn_push_opts *opts, struct cairn_err *err)
{
    struct cairn_otlp_resource_row rows[CAIRN_PUSH_LABELS_MAX + 1];
    struct cairn_buffer name = {0};
    size_t n = 0;
    cairn_push_name(&name, profile, opts);
    body->content = "Content-Type: application/x-protobuf";
    body->encoding = "Content-Encoding: gzip";
    rows[n++] = (struct cairn_otlp_resource_row){"service.name", cairn_buffer_text(&name)};
    for (size_t i = 0; i < opts->n_labels; i++)
        rows[n++] = (struct cairn_otlp_resource_row){opts->labels[i].key, opts->labels[i].value};
    const struct cairn_otlp_resource_rows resource = {rows, n};
    int code = pack_otlp(body, profile, &resource, err);
    cairn_buffer_done(&name);
    return code;
}

int cairn_push_body_make(struct cairn_push_body *body, const struct cairn_profile *profile,
                         const struct cairn_push_opts *opts, enum cairn_push_store store,
                         struct cairn_err *err)
{
    cairn_push_url_endpoint(&body->url, opts->url, store);
    int code = store == CAIRN_PUSH_OTLP ? make_otlp(body, profile, opts, err)
                                        : make_pyroscope(body, profile, opts, err);
    return body->url.failed || body->bytes.failed ? cairn_fail_memory(err) : code;
}

void cairn_push_body_done(struct cairn_push_body *body)
{
    cairn_buffer_done(&body->url);
    cairn_buffer_done(&body->bytes);
}
