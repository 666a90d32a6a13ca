/* SPDX-License-Identifier: MIT */
/* The URL of a store: what it may hold, whose it is, and how it is shown. */
#ifndef CAIRN_PUSH_URL_H
#define CAIRN_PUSH_URL_H

#include <stdbool.h>

#include <cairn/push.h>

#include "base/buffer.h"

/* What may be shown of any text that was meant as a URL: without user, password, query. */
void cairn_push_url_show(struct cairn_buffer *b, const char *url);

/* http or https, a host, and neither user nor query. CAIRN_E_ARG. */
int cairn_push_url_check(const char *url, struct cairn_err *err);

/* Scheme, host and port are the same? Both begin with http:// or https://, else false. */
bool cairn_push_url_same_origin(const char *a, const char *b);

/* Is the host this machine by its name? */
bool cairn_push_url_is_local(const char *url);

/* By path, then by port; CAIRN_PUSH_AUTO: neither says. */
enum cairn_push_store cairn_push_url_store(const char *url);

/* The URL with the store's path behind it, unless that is there. */
void cairn_push_url_endpoint(struct cairn_buffer *b, const char *url, enum cairn_push_store store);

/* One part of a query: all but letters, digits and -._~ as %HH. */
void cairn_push_url_quote(struct cairn_buffer *b, const char *text);

#endif /* CAIRN_PUSH_URL_H */
