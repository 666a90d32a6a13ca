/* SPDX-License-Identifier: MIT */
/* Flags: names of bits and values in arguments, by table. */
#ifndef CAIRN_TRACE_FLAGS_H
#define CAIRN_TRACE_FLAGS_H

#include "base/buffer.h"

/* "O_RDWR|O_CLOEXEC"; what has no name comes in hex. `table` is the name of a table, which ends at
 * a blank or NUL. */
void cairn_flags_put(struct cairn_buffer *out, const char *table, uint64_t value);

/* The value of a name of any table; false: there is none. */
bool cairn_flags_find(const char *name, size_t size, uint64_t *ret_value);

#endif /* CAIRN_TRACE_FLAGS_H */
