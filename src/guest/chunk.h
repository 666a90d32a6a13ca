/* SPDX-License-Identifier: MIT */
/* Chunk: where the text of a Lua function is, as both kinds of Lua keep it. */
#ifndef CAIRN_GUEST_CHUNK_H
#define CAIRN_GUEST_CHUNK_H

#include "guest/guest.h"

/*
 * Sets the frame's chunk by its source: "@file" is the file, "=name" the name, any other text is
 * itself and called [string "its first line"], in which frame->defined says where the function's
 * name may be found. `source` has room for one byte more. CAIRN_E_NOMEM.
 */
int cairn_guest_chunk(struct cairn_guest_result *result, char *source, size_t size,
                      struct cairn_guest_frame *frame);

#endif /* CAIRN_GUEST_CHUNK_H */
