/* SPDX-License-Identifier: MIT */
/*
 * Writes a tar archive (POSIX.1-2001, pax): files and links, all of uid 0 and time 0, so that equal
 * contents give equal bytes. What the ustar header has no room for, long names and files beyond
 * 8 GiB, stands in a pax header before it.
 */
#ifndef CAIRN_BASE_TAR_H
#define CAIRN_BASE_TAR_H

#include <cairn/error.h>

#include "base/span.h"

typedef int (*cairn_tar_write_fn)(void *ctx, const void *bytes, size_t size); /* 0: all of them */

struct cairn_tar {
    cairn_tar_write_fn write;
    void *ctx;
};

/* A regular file, mode 0644. CAIRN_E_IO: `write` failed, and knows why. CAIRN_E_NOMEM. */
int cairn_tar_file(const struct cairn_tar *tar, const char *name, struct cairn_span bytes,
                   struct cairn_err *err);

/* A symbolic link. */
int cairn_tar_link(const struct cairn_tar *tar, const char *name, const char *target,
                   struct cairn_err *err);

/* The mark of the end. */
int cairn_tar_end(const struct cairn_tar *tar, struct cairn_err *err);

#endif /* CAIRN_BASE_TAR_H */
