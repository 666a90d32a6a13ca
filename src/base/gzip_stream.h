/* SPDX-License-Identifier: MIT */
/* Gzip stream: one gzip member (RFC 1952) written in pieces, so that a long text is never in memory
 * as a whole. Browsers refuse a second member. */
#ifndef CAIRN_BASE_GZIP_STREAM_H
#define CAIRN_BASE_GZIP_STREAM_H

#include <stddef.h>

#include <cairn/error.h>

struct cairn_gzip_stream;

/* Packed bytes go to `write`; nonzero from it is a failure. `level` is 1 to 9. */
int cairn_gzip_stream_open(int level, int (*write)(void *ctx, const void *bytes, size_t size),
                           void *ctx, struct cairn_gzip_stream **ret_stream, struct cairn_err *err);

/* CAIRN_E_IO: `write` failed. */
int cairn_gzip_stream_add(struct cairn_gzip_stream *stream, const void *bytes, size_t size,
                          struct cairn_err *err);

/* Writes what is left, unless `code` is a failure, and frees. The first failure. */
int cairn_gzip_stream_close(struct cairn_gzip_stream *stream, int code, struct cairn_err *err);

#endif /* CAIRN_BASE_GZIP_STREAM_H */
