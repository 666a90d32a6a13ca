/* SPDX-License-Identifier: MIT */
/* What ask.c and answer.c agree on. */
#ifndef CAIRN_REMOTE_NAMES_H
#define CAIRN_REMOTE_NAMES_H

#include <cairn/error.h>

#include "base/error.h"

enum {
    CAIRN_REMOTE_ASK_MAX = 512,     /* addresses of one ASK */
    CAIRN_REMOTE_LINES_MAX = 1024,  /* of one address: a function and what was inlined into it */
    CAIRN_REMOTE_MODULES_MAX = 512, /* of one ASK: no more than addresses */
};

static inline int cairn_remote_bad_names(struct cairn_err *err, size_t pos)
{
    return cairn_fail(err, CAIRN_E_FORMAT, "names: byte %zu makes no sense", pos);
}

#endif /* CAIRN_REMOTE_NAMES_H */
