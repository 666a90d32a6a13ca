/* SPDX-License-Identifier: MIT */
/* In place of HTTP, in a build without libcurl. */
#include "base/error.h"
#include "http/post.h"

int cairn_http_can(struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_SUPPORT, "this build of cairn has no HTTP");
    cairn_hint(err, "use a build with libcurl, as the package of cairn is");
    return CAIRN_E_SUPPORT;
}

int cairn_http_post(const struct cairn_http_request *request, struct cairn_http_answer *ret_answer,
                    struct cairn_err *err)
{
    (void)request;
    (void)ret_answer;
    return cairn_http_can(err);
}
