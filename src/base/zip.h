/* SPDX-License-Identifier: MIT */
/* Compressed bytes, by zlib and libzstd. Every reader has a limit, for a kilobyte can claim to be a
 * terabyte. */
#ifndef CAIRN_BASE_ZIP_H
#define CAIRN_BASE_ZIP_H

#include <cairn/error.h>

#include "base/buffer.h"

/* Is this gzip (RFC 1952)? */
bool cairn_zip_is_gzip(struct cairn_span bytes);

/* The program that unpacks what begins like this; NULL: none is known. */
const char *cairn_zip_program(struct cairn_span head);

/* gzip, all members, to `ret_bytes` (appended); more than `limit` bytes is CAIRN_E_LIMIT. */
int cairn_zip_gunzip(struct cairn_span bytes, size_t limit, struct cairn_buffer *ret_bytes,
                     struct cairn_err *err);

/* Is this zstd (RFC 8878)? */
bool cairn_zip_is_zstd(struct cairn_span bytes);

/* zstd, all frames, appended; more than `limit` bytes is CAIRN_E_LIMIT. */
int cairn_zip_unzstd(struct cairn_span bytes, size_t limit, struct cairn_buffer *ret_bytes,
                     struct cairn_err *err);

/* One gzip member, appended; level 1 to 9; the header carries no time, so that equal input gives
 * equal bytes. */
int cairn_zip_gzip(struct cairn_span bytes, int level, struct cairn_buffer *ret_bytes,
                   struct cairn_err *err);

/* How hard is looked for what is alike. Numbers without a pattern are smaller, and far sooner done,
 * where nothing is looked for but runs of one byte, or nothing at all. */
enum cairn_zip_way {
    CAIRN_ZIP_SMALL,
    CAIRN_ZIP_FAST,
    CAIRN_ZIP_RUNS,
    CAIRN_ZIP_SYMBOLS, /* rare bytes are long, frequent ones short: no more than that */
    CAIRN_ZIP_WAYS
};

/* Raw deflate (RFC 1951), appended: what a browser's DecompressionStream("deflate-raw") reads. */
int cairn_zip_deflate(struct cairn_span bytes, enum cairn_zip_way way,
                      struct cairn_buffer *ret_bytes, struct cairn_err *err);

/* Raw deflate, all of it, to exactly `out_size` bytes; `out` is the caller's. */
int cairn_zip_inflate_raw(struct cairn_span bytes, uint8_t *out, size_t out_size,
                          struct cairn_err *err);

/* Exactly `out_size` bytes out of a zlib stream (RFC 1950) or a zstd frame: ELF's compressed
 * sections say their size beforehand. `out` is the caller's. */
int cairn_zip_inflate_exact(struct cairn_span bytes, uint8_t *out, size_t out_size,
                            struct cairn_err *err);
int cairn_zip_zstd_exact(struct cairn_span bytes, uint8_t *out, size_t out_size,
                         struct cairn_err *err);

#endif /* CAIRN_BASE_ZIP_H */
