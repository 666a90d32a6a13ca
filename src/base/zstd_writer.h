/* SPDX-License-Identifier: MIT */
/* Zstd writer: bytes that are packed into one frame (RFC 8878) as they come. */
#ifndef CAIRN_BASE_ZSTD_WRITER_H
#define CAIRN_BASE_ZSTD_WRITER_H

#include <cairn/error.h>

#include "base/span.h"

typedef int (*cairn_zstd_write_fn)(void *ctx, const void *bytes, size_t size); /* 0: all of them */

struct cairn_zstd_writer {
    cairn_zstd_write_fn write; /* the caller's, with its */
    void *ctx;
    void *context; /* made for the first bytes */
};

/* Adds bytes; a cairn_tar_write_fn. Nonzero: `write` failed, or memory is gone. */
int cairn_zstd_writer_add(void *writer, const void *bytes, size_t size);

/* Ends the frame and frees; also after a failure, where nothing is written. */
int cairn_zstd_writer_end(struct cairn_zstd_writer *writer, bool is_whole, struct cairn_err *err);

#endif /* CAIRN_BASE_ZSTD_WRITER_H */
