/* SPDX-License-Identifier: MIT */
/*
 * Buffer: bytes that grow. A failed allocation latches `failed` and later appends do nothing, so
 * that a writer appends a whole document and asks once.
 */
#ifndef CAIRN_BASE_BUFFER_H
#define CAIRN_BASE_BUFFER_H

#include "base/span.h"

struct cairn_buffer {
    uint8_t *data; /* NUL follows data[size] once anything was appended */
    size_t size;
    size_t cap;
    bool failed;
};

void cairn_buffer_done(struct cairn_buffer *b);

/* Forgets the contents, keeps the memory, clears `failed`. */
void cairn_buffer_clear(struct cairn_buffer *b);

/* Room for `extra` more bytes; false where memory is gone. */
bool cairn_buffer_reserve(struct cairn_buffer *b, size_t extra);

void cairn_buffer_add(struct cairn_buffer *b, const void *bytes, size_t size);
void cairn_buffer_str(struct cairn_buffer *b, const char *text);
void cairn_buffer_char(struct cairn_buffer *b, char c);
void cairn_buffer_u64(struct cairn_buffer *b, uint64_t value); /* decimal */
/* ULEB128 (DWARF 5, 7.6), which is protobuf's varint. */
void cairn_buffer_uleb(struct cairn_buffer *b, uint64_t value);
/* `width` bytes, at most 8, little-endian. */
void cairn_buffer_le(struct cairn_buffer *b, uint64_t value, size_t width);
/* The same in place of bytes that were appended at `at`. */
void cairn_buffer_set_le(struct cairn_buffer *b, size_t at, uint64_t value, size_t width);
void cairn_buffer_hex(struct cairn_buffer *b, uint64_t value); /* without 0x */
__attribute__((format(printf, 2, 3))) void cairn_buffer_printf(struct cairn_buffer *b,
                                                               const char *fmt, ...);

static inline struct cairn_span cairn_buffer_span(const struct cairn_buffer *b)
{
    return (struct cairn_span){b->data, b->size};
}

/* The contents as a C string, "" where nothing was appended; borrowed until the next append. */
static inline const char *cairn_buffer_text(const struct cairn_buffer *b)
{
    return b->data ? (const char *)b->data : "";
}

#endif /* CAIRN_BASE_BUFFER_H */
