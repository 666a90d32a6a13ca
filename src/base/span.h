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

static inline bool cairn_span_ends(struct cairn_span bytes, const char *text)
{
    size_t size = strlen(text);
    return bytes.size >= size &&
           (size == 0 || memcmp(bytes.data + bytes.size - size, text, size) == 0);
}

/* What is behind the first `at` bytes; empty where there are fewer. */
static inline struct cairn_span cairn_span_from(struct cairn_span bytes, size_t at)
{
    at = at < bytes.size ? at : bytes.size;
    return (struct cairn_span){at ? bytes.data + at : bytes.data, bytes.size - at};
}

/* The first `size` bytes; all where there are fewer. */
static inline struct cairn_span cairn_span_up_to(struct cairn_span bytes, size_t size)
{
    return (struct cairn_span){bytes.data, size < bytes.size ? size : bytes.size};
}

/* Where `text` is first; the size of `bytes` where it is not. */
static inline size_t cairn_span_find(struct cairn_span bytes, const char *text)
{
    const uint8_t *at = bytes.size ? memmem(bytes.data, bytes.size, text, strlen(text)) : NULL;
    return at ? (size_t)(at - bytes.data) : bytes.size;
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
