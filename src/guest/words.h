/* SPDX-License-Identifier: MIT */
/* Words of somebody's memory, in the byte order of this machine. */
#ifndef CAIRN_GUEST_WORDS_H
#define CAIRN_GUEST_WORDS_H

#include <string.h>

#include "base/memory.h"

/* Of bytes that were read. */
static inline uint64_t cairn_guest_word(const uint8_t *bytes, size_t at)
{
    uint64_t value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

static inline uint32_t cairn_guest_half(const uint8_t *bytes, size_t at)
{
    uint32_t value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

/* False: not to be read. */
static inline bool cairn_guest_u64(struct cairn_memory memory, uint64_t va, uint64_t *ret_value)
{
    return memory.read(memory.ctx, va, ret_value, sizeof *ret_value);
}

static inline bool cairn_guest_u32(struct cairn_memory memory, uint64_t va, uint32_t *ret_value)
{
    return memory.read(memory.ctx, va, ret_value, sizeof *ret_value);
}

static inline bool cairn_guest_u8(struct cairn_memory memory, uint64_t va, uint8_t *ret_value)
{
    return memory.read(memory.ctx, va, ret_value, sizeof *ret_value);
}

/* The text at `va`, up to a NUL or `max` bytes; `*ret_size` is without the NUL. Reads little that
 * it does not need. */
bool cairn_guest_text(struct cairn_memory memory, uint64_t va, char *to, size_t max,
                      size_t *ret_size);

#endif /* CAIRN_GUEST_WORDS_H */
