/* SPDX-License-Identifier: MIT */
#include "symlist/line.h"

enum { HEX_DIGITS_MAX = 16 };

static struct cairn_span advance(struct cairn_span span, size_t n)
{
    return (struct cairn_span){n ? span.data + n : span.data, span.size - n};
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct cairn_span skip_blanks(struct cairn_span span)
{
    size_t n = 0;
    while (n < span.size && is_blank(span.data[n]))
        n++;
    return advance(span, n);
}

bool cairn_list_line_next(struct cairn_span *text, struct cairn_span *ret_line)
{
    if (!text->size)
        return false;
    const uint8_t *end = memchr(text->data, '\n', text->size);
    size_t size = end ? (size_t)(end - text->data) : text->size;
    *ret_line = (struct cairn_span){text->data, size};
    *text = advance(*text, size + (end != NULL));
    return true;
}

struct cairn_span cairn_list_word(struct cairn_span *line)
{
    struct cairn_span rest = skip_blanks(*line);
    size_t n = 0;
    while (n < rest.size && !is_blank(rest.data[n]))
        n++;
    *line = advance(rest, n);
    return (struct cairn_span){rest.data, n};
}

struct cairn_span cairn_list_rest(struct cairn_span line)
{
    struct cairn_span rest = skip_blanks(line);
    const uint8_t *nul = rest.size ? memchr(rest.data, 0, rest.size) : NULL;
    if (nul)
        rest.size = (size_t)(nul - rest.data);
    while (rest.size && is_blank(rest.data[rest.size - 1]))
        rest.size--;
    return rest;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cairn_list_hex(struct cairn_span word, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (word.size > 2 && word.data[0] == '0' && (word.data[1] | 0x20) == 'x')
        word = advance(word, 2);
    if (!word.size || word.size > HEX_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < word.size; i++) {
        int digit = hex_digit(word.data[i]);
        if (digit < 0)
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    *ret_value = value;
    return true;
}
