/* SPDX-License-Identifier: MIT */
/* Stream kernel: what a recording says of the kernel's own code. */
#ifndef CAIRN_STREAM_KERNEL_H
#define CAIRN_STREAM_KERNEL_H

#include "stream/stream.h"

int cairn_stream_map_kernel(struct cairn_stream *stream,
                            const struct cairn_stream_mapping *mapping);

/* The profile's module for a mapping of the kernel; NULL is its image. UINT32_MAX: memory is gone.
 */
uint32_t cairn_stream_kernel_module(struct cairn_stream *stream, struct cairn_stream_map *map);

/* Counts a mapping that was not taken in. `code` is what laying it returned; so is CAIRN_OK or
 * CAIRN_E_NOMEM. */
static inline int cairn_stream_count(struct cairn_stream *stream, int code)
{
    stream->counts.n_mappings += code == 0;
    return code < 0 ? code : CAIRN_OK;
}

#endif /* CAIRN_STREAM_KERNEL_H */
