/* SPDX-License-Identifier: MIT */
/*
 * The text of a function without a name, in every format that has names:
 *
 *     libfoo.so+0x1230 [function]     the function that begins at this offset
 *
 * What reads it back must not take it for a name: symbols may name the function later.
 */
#ifndef CAIRN_BASE_FUNCTION_START_H
#define CAIRN_BASE_FUNCTION_START_H

#include <stdint.h>

#include "base/buffer.h"

/* Behind the offset. */
#define CAIRN_FUNCTION_MARK " [function]"

/* Appends the text. */
void cairn_function_start_put(struct cairn_buffer *out, const char *module, uint64_t off);

/* Bytes of the text in front of the mark; all of them where there is no mark. */
size_t cairn_function_start_bare(const char *text, size_t size);

/* Is `text` such a text? The module's name is its first `*ret_module_size` bytes. */
bool cairn_function_start_read(const char *text, size_t size, size_t *ret_module_size,
                               uint64_t *ret_off);

#endif /* CAIRN_BASE_FUNCTION_START_H */
