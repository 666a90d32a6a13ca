/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_BASE_SPAN_H
#define CAIRN_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes: whoever made the span keeps them alive. */
struct cairn_span {
    const uint8_t *data;
    size_t size;
};

/* The bytes of a C string without its NUL; NULL gives an empty span. */
static inline struct cairn_span cairn_span_of(const char *text)
{
    return (struct cairn_span){(const uint8_t *)text, text ? strlen(text) : 0};
}

static inline bool cairn_span_equal(struct cairn_span a, struct cairn_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool cairn_span_begins(struct cairn_span bytes, const char *text)
{
    size_t size = strlen(text);
    return bytes.size >= size && (size == 0 || memcmp(bytes.data, text, size) == 0);
}

/* [off, off + size) of `bytes`; false, and nothing written, where that is not all inside. */
static inline bool cairn_span_slice(struct cairn_span bytes, uint64_t off, uint64_t size,
                                    struct cairn_span *ret_slice)
{
    if (off > bytes.size || size > bytes.size - off)
        return false;
    *ret_slice = (struct cairn_span){size ? bytes.data + off : bytes.data, (size_t)size};
    return true;
}

#endif /* CAIRN_BASE_SPAN_H */
