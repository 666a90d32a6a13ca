/* SPDX-License-Identifier: MIT */
#include "push/url.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

enum { URL_BYTES = 2048 };

struct store_row {
    enum cairn_push_store store;
    const char *path, *port;
};

static const struct store_row stores[] = {
    {CAIRN_PUSH_PYROSCOPE, "/ingest", "4040"},
    {CAIRN_PUSH_OTLP, "/v1development/profiles", "4318"},
};

enum { N_STORES = sizeof stores / sizeof *stores };

/* The parts of a sound URL; borrowed. */
struct parts {
    struct cairn_span scheme, host, port; /* the port that the scheme means, where none is there */
    const char *path;
};

static struct cairn_span span(const char *from, const char *to)
{
    return (struct cairn_span){(const uint8_t *)from, (size_t)(to - from)};
}

static bool split(const char *url, struct parts *ret_parts)
{
    const bool is_safe = strncmp(url, "https://", 8) == 0;
    if (!is_safe && strncmp(url, "http://", 7) != 0)
        return false;
    const char *host = url + (is_safe ? 8 : 7), *path = host + strcspn(host, "/?#");
    const char *colon = path;
    while (colon > host && colon[-1] != ':' && colon[-1] != ']')
        colon--;
    bool has_port = colon > host && colon[-1] == ':';
    ret_parts->scheme = span(url, host - 3);
    ret_parts->host = span(host, has_port ? colon - 1 : path);
    ret_parts->port = has_port ? span(colon, path) : cairn_span_of(is_safe ? "443" : "80");
    ret_parts->path = path;
    return ret_parts->host.size > 0 && !memchr(host, '@', (size_t)(path - host));
}

void cairn_push_url_show(struct cairn_buffer *b, const char *url)
{
    const char *at = strrchr(url, '@'), *scheme = strstr(url, "://");
    if (at && scheme && scheme < at)
        cairn_buffer_add(b, url, (size_t)(scheme + 3 - url));
    const char *rest = at ? at + 1 : url;
    cairn_buffer_add(b, rest, strcspn(rest, "?#"));
}

static int fail_url(const char *url, const char *what, const char *hint, struct cairn_err *err)
{
    struct cairn_buffer shown = {0};
    cairn_push_url_show(&shown, url);
    cairn_fail(err, CAIRN_E_ARG, "%.200s: %s", cairn_buffer_text(&shown), what);
    if (hint)
        cairn_hint(err, "%s", hint);
    cairn_buffer_done(&shown);
    return CAIRN_E_ARG;
}

int cairn_push_url_check(const char *url, struct cairn_err *err)
{
    struct parts parts;
    if (strchr(url, '@'))
        return fail_url(url,
                        "the URL holds a user or a password, which other users of the machine see",
                        "write them into a file of mode 600 and give it by --auth", err);
    if (strlen(url) > URL_BYTES)
        return fail_url("", "a URL of more than 2048 bytes", NULL, err);
    if (url[strcspn(url, "?#")])
        return fail_url(url, "the URL holds a query (?) or a fragment (#), expected neither", NULL,
                        err);
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("\"<>\\^`{|}", *c))
            return fail_url(url, "the URL holds a character that must be written as %HH", NULL,
                            err);
    if (!split(url, &parts))
        return fail_url(url, "expected http://HOST[:PORT][/PATH] or https://...", NULL, err);
    return CAIRN_OK;
}

static bool same_word(struct cairn_span a, struct cairn_span b)
{
    return a.size == b.size && strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0;
}

bool cairn_push_url_same_origin(const char *a, const char *b)
{
    struct parts left, right;
    return split(a, &left) && split(b, &right) && same_word(left.scheme, right.scheme) &&
           same_word(left.host, right.host) && same_word(left.port, right.port);
}

bool cairn_push_url_is_local(const char *url)
{
    struct parts parts;
    return split(url, &parts) &&
           (same_word(parts.host, cairn_span_of("localhost")) ||
            same_word(parts.host, cairn_span_of("[::1]")) || cairn_span_begins(parts.host, "127."));
}

/* The URL without slashes at its end. */
static struct cairn_span trim(const char *url)
{
    struct cairn_span all = cairn_span_of(url);
    while (all.size && all.data[all.size - 1] == '/')
        all.size--;
    return all;
}

enum cairn_push_store cairn_push_url_store(const char *url)
{
    struct parts parts;
    if (!split(url, &parts))
        return CAIRN_PUSH_AUTO;
    for (size_t i = 0; i < N_STORES; i++)
        if (cairn_span_ends(trim(parts.path), stores[i].path))
            return stores[i].store;
    for (size_t i = 0; i < N_STORES; i++)
        if (cairn_span_equal(parts.port, cairn_span_of(stores[i].port)))
            return stores[i].store;
    return CAIRN_PUSH_AUTO;
}

void cairn_push_url_endpoint(struct cairn_buffer *b, const char *url, enum cairn_push_store store)
{
    struct cairn_span base = trim(url);
    cairn_buffer_add(b, base.data, base.size);
    for (size_t i = 0; i < N_STORES; i++)
        if (stores[i].store == store && !cairn_span_ends(base, stores[i].path))
            cairn_buffer_str(b, stores[i].path);
}

void cairn_push_url_quote(struct cairn_buffer *b, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (strchr("-._~", *c) || (byte >= '0' && byte <= '9') ||
            ((byte | 32) >= 'a' && (byte | 32) <= 'z')) {
            cairn_buffer_char(b, *c);
            continue;
        }
        cairn_buffer_char(b, '%');
        cairn_buffer_char(b, digits[byte >> 4]);
        cairn_buffer_char(b, digits[byte & 15]);
    }
}
