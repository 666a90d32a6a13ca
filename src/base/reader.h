/* SPDX-License-Identifier: MIT */
/*
 * Reader: a cursor over bytes that nobody vouched for.
 *
 *     base            pos                 end
 *      |---- read -----|----- left --------|
 *
 * A read past the end gives zeros and latches `failed`; it never moves the cursor. So a parser
 * reads a whole record, then asks once: no check is forgotten, because none is repeated.
 */
#ifndef CAIRN_BASE_READER_H
#define CAIRN_BASE_READER_H

#include "base/span.h"

struct cairn_reader {
    struct cairn_span bytes;
    size_t pos; /* always <= bytes.size */
    bool swap;  /* file and host differ in byte order */
    bool failed;
};

static inline struct cairn_reader cairn_reader_of(struct cairn_span bytes, bool swap)
{
    return (struct cairn_reader){.bytes = bytes, .swap = swap};
}

static inline size_t cairn_reader_left(const struct cairn_reader *r)
{
    return r->bytes.size - r->pos;
}

/* Anything left to read, and nothing failed so far? The condition of a parser's loop. */
static inline bool cairn_reader_more(const struct cairn_reader *r)
{
    return !r->failed && r->pos < r->bytes.size;
}

/* Moves to an absolute position; past the end it fails and stays. */
static inline void cairn_reader_seek(struct cairn_reader *r, uint64_t pos)
{
    if (pos > r->bytes.size)
        r->failed = true;
    else if (!r->failed)
        r->pos = (size_t)pos;
}

/* The next `size` bytes, or an empty span and `failed`. */
static inline struct cairn_span cairn_reader_take(struct cairn_reader *r, uint64_t size)
{
    if (__builtin_expect(r->failed || size > cairn_reader_left(r), 0)) {
        r->failed = true;
        return (struct cairn_span){0};
    }
    if (size == 0) /* the bytes may be NULL, to which C adds nothing, not even 0 */
        return (struct cairn_span){0};
    struct cairn_span taken = {r->bytes.data + r->pos, (size_t)size};
    r->pos += (size_t)size;
    return taken;
}

static inline void cairn_reader_skip(struct cairn_reader *r, uint64_t size)
{
    (void)cairn_reader_take(r, size);
}

static inline uint8_t cairn_reader_u8(struct cairn_reader *r)
{
    struct cairn_span raw = cairn_reader_take(r, 1);
    return raw.size ? raw.data[0] : 0;
}

static inline uint16_t cairn_reader_u16(struct cairn_reader *r)
{
    uint16_t value = 0;
    struct cairn_span raw = cairn_reader_take(r, sizeof value);
    if (raw.size)
        memcpy(&value, raw.data, sizeof value);
    return r->swap ? __builtin_bswap16(value) : value;
}

/* DW_FORM_strx3 and DW_FORM_addrx3 are the only three-byte integers in these formats. */
static inline uint32_t cairn_reader_u24(struct cairn_reader *r)
{
    struct cairn_span raw = cairn_reader_take(r, 3);
    if (!raw.size)
        return 0;
    bool big = r->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return big ? (uint32_t)raw.data[0] << 16 | (uint32_t)raw.data[1] << 8 | raw.data[2]
               : (uint32_t)raw.data[2] << 16 | (uint32_t)raw.data[1] << 8 | raw.data[0];
}

static inline uint32_t cairn_reader_u32(struct cairn_reader *r)
{
    uint32_t value = 0;
    struct cairn_span raw = cairn_reader_take(r, sizeof value);
    if (raw.size)
        memcpy(&value, raw.data, sizeof value);
    return r->swap ? __builtin_bswap32(value) : value;
}

static inline uint64_t cairn_reader_u64(struct cairn_reader *r)
{
    uint64_t value = 0;
    struct cairn_span raw = cairn_reader_take(r, sizeof value);
    if (raw.size)
        memcpy(&value, raw.data, sizeof value);
    return r->swap ? __builtin_bswap64(value) : value;
}

/* An unsigned integer of 1, 2, 4 or 8 bytes: addresses and offsets whose width a header gave. Any
 * other width fails. */
static inline uint64_t cairn_reader_word(struct cairn_reader *r, unsigned width)
{
    switch (width) {
    case 1:
        return cairn_reader_u8(r);
    case 2:
        return cairn_reader_u16(r);
    case 4:
        return cairn_reader_u32(r);
    case 8:
        return cairn_reader_u64(r);
    default:
        r->failed = true;
        return 0;
    }
}

/* ULEB128 (DWARF 5, 7.6; protobuf's varint is the same). Bits beyond 64 fail rather than vanish;
 * padding with zero groups is sound, up to the ten bytes that 64 bits can need. */
static inline uint64_t cairn_reader_uleb(struct cairn_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (__builtin_expect(r->failed || r->pos >= r->bytes.size, 0))
            break;
        uint8_t byte = r->bytes.data[r->pos++];
        if (shift == 63 && (byte & 0x7e))
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    r->failed = true;
    return 0;
}

/* SLEB128 (DWARF 5, 7.6). Longer than ten bytes fails. */
static inline int64_t cairn_reader_sleb(struct cairn_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (__builtin_expect(r->failed || r->pos >= r->bytes.size, 0))
            break;
        uint8_t byte = r->bytes.data[r->pos++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (shift + 7 < 64 && (byte & 0x40))
            value |= ~0ull << (shift + 7);
        return (int64_t)value;
    }
    r->failed = true;
    return 0;
}

/* A NUL-terminated string, borrowed from the bytes; "" and `failed` where no NUL follows. */
static inline const char *cairn_reader_str(struct cairn_reader *r)
{
    if (!cairn_reader_more(r)) {
        r->failed = true;
        return "";
    }
    const uint8_t *start = r->bytes.data + r->pos;
    const uint8_t *nul = (const uint8_t *)memchr(start, 0, cairn_reader_left(r));
    if (!nul) {
        r->failed = true;
        return "";
    }
    r->pos += (size_t)(nul - start) + 1;
    return (const char *)start;
}

/* The string at `off` of a string table, or NULL where it does not end inside. */
static inline const char *cairn_span_str(struct cairn_span table, uint64_t off)
{
    if (off >= table.size || !memchr(table.data + off, 0, table.size - (size_t)off))
        return NULL;
    return (const char *)table.data + off;
}

/* Skips to the next multiple of `align` (a power of two); padding may end with the bytes. */
static inline void cairn_reader_align(struct cairn_reader *r, size_t align)
{
    size_t pad = -r->pos & (align - 1);
    r->pos += pad < cairn_reader_left(r) ? pad : cairn_reader_left(r);
}

#endif /* CAIRN_BASE_READER_H */
