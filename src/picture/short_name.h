/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_PICTURE_SHORT_NAME_H
#define CAIRN_PICTURE_SHORT_NAME_H

#include "base/buffer.h"

/*
 * A C++ or Rust name without what is only read on demand: parameters, return type, template
 * arguments, qualifiers and clone suffixes.
 *
 *     void ns::Pool<int, 4>::run(Job const&) const [clone .part.0]   ─►   ns::Pool<…>::run
 *
 * Appends; a name that has none of these, or is of no such form, is appended as it is.
 */
void cairn_short_name(struct cairn_buffer *b, const char *name);

#endif /* CAIRN_PICTURE_SHORT_NAME_H */
