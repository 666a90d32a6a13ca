/* SPDX-License-Identifier: MIT */
/* Bytes compressed by xz, by liblzma. */
#ifndef CAIRN_BASE_XZ_H
#define CAIRN_BASE_XZ_H

#include <cairn/error.h>

#include "base/buffer.h"

/* Is this .xz? */
bool cairn_xz_is_xz(struct cairn_span bytes);

/*
 * Unpacks an .xz file (The .xz File Format, 1.1.0), appended to `ret_bytes`: its first stream, and
 * those that follow it, zero padding between them passed over. What comes behind them and is
 * neither is left alone, for a section may be longer than its contents.
 *
 * CAIRN_E_LIMIT: more than `limit` bytes, or a dictionary that would want more than 128 MiB (xz -9
 * wants 65). CAIRN_E_FORMAT: damaged, cut off, or no .xz. CAIRN_E_SUPPORT: a filter or checksum
 * that liblzma does not know.
 */
int cairn_xz_unpack(struct cairn_span bytes, size_t limit, struct cairn_buffer *ret_bytes,
                    struct cairn_err *err);

#endif /* CAIRN_BASE_XZ_H */
