/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

void cairn_buffer_done(struct cairn_buffer *b)
{
    cairn_free(b->data);
    *b = (struct cairn_buffer){0};
}

void cairn_buffer_clear(struct cairn_buffer *b)
{
    b->size = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = 0;
}

bool cairn_buffer_reserve(struct cairn_buffer *b, size_t extra)
{
    size_t need;
    if (extra < b->cap - b->size && !b->failed)
        return true;
    if (b->failed || __builtin_add_overflow(b->size, extra, &need) || need == SIZE_MAX ||
        cairn_grow((void **)&b->data, &b->cap, need + 1, 1) < 0) {
        b->failed = true;
        return false;
    }
    return true;
}

void cairn_buffer_add(struct cairn_buffer *b, const void *bytes, size_t size)
{
    if (!cairn_buffer_reserve(b, size))
        return;
    if (size)
        memcpy(b->data + b->size, bytes, size);
    b->size += size;
    b->data[b->size] = 0;
}

void cairn_buffer_str(struct cairn_buffer *b, const char *text)
{
    cairn_buffer_add(b, text, strlen(text));
}

void cairn_buffer_char(struct cairn_buffer *b, char c)
{
    cairn_buffer_add(b, &c, 1);
}

void cairn_buffer_u64(struct cairn_buffer *b, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    cairn_buffer_add(b, digits + at, sizeof digits - at);
}

void cairn_buffer_uleb(struct cairn_buffer *b, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    cairn_buffer_add(b, bytes, n);
}

void cairn_buffer_le(struct cairn_buffer *b, uint64_t value, size_t width)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    cairn_buffer_add(b, bytes, width);
}

void cairn_buffer_set_le(struct cairn_buffer *b, size_t at, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width && !b->failed; i++)
        b->data[at + i] = (uint8_t)(value >> 8 * i);
}

void cairn_buffer_hex(struct cairn_buffer *b, uint64_t value)
{
    char digits[16];
    size_t at = sizeof digits;
    do
        digits[--at] = "0123456789abcdef"[value & 15];
    while (value >>= 4);
    cairn_buffer_add(b, digits + at, sizeof digits - at);
}

void cairn_buffer_printf(struct cairn_buffer *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int size = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (size < 0 || !cairn_buffer_reserve(b, (size_t)size)) {
        b->failed = true;
        return;
    }
    va_start(args, fmt);
    vsnprintf((char *)b->data + b->size, (size_t)size + 1, fmt, args);
    va_end(args);
    b->size += (size_t)size;
}
