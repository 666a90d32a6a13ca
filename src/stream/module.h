/* SPDX-License-Identifier: MIT */
/* Stream modules: a mapping of a process as a module of the profile. */
#ifndef CAIRN_STREAM_MODULE_H
#define CAIRN_STREAM_MODULE_H

#include "stream/stream.h"

/* The profile's module for a mapping. What several processes have mapped of one file is one module,
 * with the addresses of the process that was met first. UINT32_MAX: memory is gone. */
uint32_t cairn_stream_module(struct cairn_stream *stream, struct cairn_stream_map *map);

/* The same of the kernel; NULL is its image. */
uint32_t cairn_stream_kernel_module(struct cairn_stream *stream, struct cairn_stream_map *map);

/* Where the profile has what lies at `va` in the mapping, whose module is known. */
uint64_t cairn_stream_va(const struct cairn_stream *stream, const struct cairn_stream_map *map,
                         uint64_t va);

/* The build ID of a mapping as far as it is known by now; a text of the profile, 0: unknown. */
uint32_t cairn_stream_map_build_id(const struct cairn_stream *stream,
                                   const struct cairn_stream_map *map);

/* Gives the modules the build IDs that came beside the mappings. */
void cairn_stream_set_build_ids(struct cairn_stream *stream);

#endif /* CAIRN_STREAM_MODULE_H */
