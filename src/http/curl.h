/* SPDX-License-Identifier: MIT */
/* libcurl, loaded when it is first needed: cairn starts on machines that do not have it. */
#ifndef CAIRN_HTTP_CURL_H
#define CAIRN_HTTP_CURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include <cairn/error.h>

#define CAIRN_CURL_FUNCTIONS(X)                                                                    \
    X(easy, init)                                                                                  \
    X(easy, cleanup)                                                                               \
    X(easy, perform)                                                                               \
    X(easy, setopt)                                                                                \
    X(easy, getinfo)                                                                               \
    X(easy, strerror)                                                                              \
    X(slist, append)                                                                               \
    X(slist, free_all)                                                                             \
    X(global, init)                                                                                \
    X(multi, init)                                                                                 \
    X(multi, cleanup)                                                                              \
    X(multi, add_handle)                                                                           \
    X(multi, remove_handle)                                                                        \
    X(multi, perform)                                                                              \
    X(multi, poll)                                                                                 \
    X(multi, info_read)

struct cairn_curl {
#define X(kind, name) __typeof__(&curl_##kind##_##name) kind##_##name;
    CAIRN_CURL_FUNCTIONS(X)
#undef X
};

/* Its functions. NULL: it is not there, or too old; CAIRN_E_SUPPORT in `err`, with what to install.
 */
const struct cairn_curl *cairn_curl_load(struct cairn_err *err);

#endif /* CAIRN_HTTP_CURL_H */
