/* SPDX-License-Identifier: MIT */
#include "base/function_start.h"

#include <string.h>

enum { MARK_BYTES = sizeof CAIRN_FUNCTION_MARK - 1, OFF_DIGITS_MAX = 16 };

void cairn_function_start_put(struct cairn_buffer *out, const char *module, uint64_t off)
{
    cairn_buffer_str(out, module);
    cairn_buffer_str(out, "+0x");
    cairn_buffer_hex(out, off);
    cairn_buffer_str(out, CAIRN_FUNCTION_MARK);
}

size_t cairn_function_start_bare(const char *text, size_t size)
{
    bool marked =
        size > MARK_BYTES && memcmp(text + size - MARK_BYTES, CAIRN_FUNCTION_MARK, MARK_BYTES) == 0;
    return marked ? size - MARK_BYTES : size;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cairn_function_start_read(const char *text, size_t size, size_t *ret_module_size,
                               uint64_t *ret_off)
{
    size_t end = cairn_function_start_bare(text, size), at = end;
    uint64_t off = 0;
    if (end == size)
        return false;
    while (at > 0 && end - at <= OFF_DIGITS_MAX && hex_digit(text[at - 1]) >= 0)
        at--;
    if (at == end || end - at > OFF_DIGITS_MAX || at < 4 || memcmp(text + at - 3, "+0x", 3) != 0)
        return false;
    for (size_t i = at; i < end; i++)
        off = off << 4 | (uint64_t)hex_digit(text[i]);
    *ret_module_size = at - 3;
    *ret_off = off;
    return true;
}
