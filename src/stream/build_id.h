/* SPDX-License-Identifier: MIT */
/* Stream build IDs: those that a recording has beside the mappings, by path. */
#ifndef CAIRN_STREAM_BUILD_ID_H
#define CAIRN_STREAM_BUILD_ID_H

#include "stream/stream.h"

/* The build ID of a mapping as far as it is known by now; a text of the profile, 0: unknown. */
uint32_t cairn_stream_map_build_id(const struct cairn_stream *stream,
                                   const struct cairn_stream_map *map);

/* Gives the modules the build IDs that came beside the mappings. */
void cairn_stream_set_build_ids(struct cairn_stream *stream);

#endif /* CAIRN_STREAM_BUILD_ID_H */
