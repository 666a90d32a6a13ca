/* SPDX-License-Identifier: MIT */
/* In place of the client, in a build without libcurl. */
#include "base/error.h"
#include "debuginfod/client.h"

int cairn_debuginfod_can(struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_SUPPORT, "debuginfod: this build of cairn has no HTTP");
    cairn_hint(err, "debuginfod-find debuginfo BUILDID fetches a file; \"cairn symbols add\" keeps "
                    "it for all commands");
    return CAIRN_E_SUPPORT;
}

void cairn_debuginfod_fetch(void *ctx, const struct cairn_lacking *wanted, size_t n)
{
    (void)ctx;
    (void)wanted;
    (void)n;
}
