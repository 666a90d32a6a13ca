/* SPDX-License-Identifier: MIT */
/* Scan: small readers over the bytes of one line. Each moves `*at` only where it returns true. */
#ifndef CAIRN_KLOG_SCAN_H
#define CAIRN_KLOG_SCAN_H

#include "base/span.h"

static inline bool cairn_scan_is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* 0 to 15; 255: no digit. */
static inline uint8_t cairn_scan_hex_digit(uint8_t c)
{
    uint8_t lower = (uint8_t)(c | 0x20);
    if (cairn_scan_is_digit(c))
        return (uint8_t)(c - '0');
    return lower >= 'a' && lower <= 'f' ? (uint8_t)(lower - 'a' + 10) : 255;
}

static inline bool cairn_scan_text(struct cairn_span line, size_t *at, const char *text)
{
    size_t size = strlen(text);
    if (line.size - *at < size || memcmp(line.data + *at, text, size) != 0)
        return false;
    *at += size;
    return true;
}

static inline bool cairn_scan_char(struct cairn_span line, size_t *at, char c)
{
    if (*at >= line.size || line.data[*at] != (uint8_t)c)
        return false;
    ++*at;
    return true;
}

static inline void cairn_scan_blanks(struct cairn_span line, size_t *at)
{
    while (*at < line.size && (line.data[*at] == ' ' || line.data[*at] == '\t'))
        ++*at;
}

/* At most 19 digits, so that nothing overflows. */
static inline bool cairn_scan_decimal(struct cairn_span line, size_t *at, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = *at;
    for (; i < line.size && i - *at < 20 && cairn_scan_is_digit(line.data[i]); i++)
        value = value * 10 + (uint64_t)(line.data[i] - '0');
    if (i == *at || i - *at > 19)
        return false;
    *at = i;
    *ret_value = value;
    return true;
}

/* All hex digits there are; false where there is none. `*ret_n` tells how many: more than 16 are
 * no address. */
static inline bool cairn_scan_hex(struct cairn_span line, size_t *at, uint64_t *ret_value,
                                  size_t *ret_n)
{
    uint64_t value = 0;
    size_t i = *at;
    for (; i < line.size; i++) {
        uint8_t digit = cairn_scan_hex_digit(line.data[i]);
        if (digit > 15)
            break;
        value = value << 4 | digit;
    }
    if (i == *at)
        return false;
    *ret_n = i - *at;
    *at = i;
    *ret_value = value;
    return true;
}

static inline struct cairn_span cairn_scan_rest(struct cairn_span line, size_t at)
{
    return (struct cairn_span){line.data + at, line.size - at};
}

static inline struct cairn_span cairn_scan_trim(struct cairn_span text)
{
    while (text.size && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* Where `text` stands in `line`; line.size: nowhere. */
static inline size_t cairn_scan_find(struct cairn_span line, const char *text)
{
    const uint8_t *found = line.size ? memmem(line.data, line.size, text, strlen(text)) : NULL;
    return found ? (size_t)(found - line.data) : line.size;
}

#endif /* CAIRN_KLOG_SCAN_H */
