/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/text.h"

#include <errno.h>
#include <unistd.h>

static const char digit_of[] = "0123456789abcdef";

void cairn_text_flush(struct cairn_text *text)
{
    int saved = errno;
    for (size_t at = 0; at < text->n && !text->failed;) {
        ssize_t got = write(text->fd, text->bytes + at, text->n - at);
        if (got > 0)
            at += (size_t)got;
        else if (got == 0 || errno != EINTR)
            text->failed = true;
    }
    text->n = 0;
    errno = saved;
}

static void put_char(struct cairn_text *text, char c)
{
    if (text->n == sizeof text->bytes)
        cairn_text_flush(text);
    text->bytes[text->n++] = c;
}

void cairn_text_put(struct cairn_text *text, const char *plain)
{
    while (*plain)
        put_char(text, *plain++);
}

void cairn_text_put_name(struct cairn_text *text, const char *name)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (c >= 0x20 && c < 0x7f && c != '\\') {
            put_char(text, *name);
        } else if (c == '\\') {
            cairn_text_put(text, "\\\\");
        } else {
            cairn_text_put(text, "\\x");
            put_char(text, digit_of[c >> 4]);
            put_char(text, digit_of[c & 15]);
        }
    }
}

void cairn_text_put_decimal(struct cairn_text *text, uint64_t value, unsigned width)
{
    char reversed[20];
    unsigned n = 0;
    do
        reversed[n++] = digit_of[value % 10];
    while (value /= 10);
    for (unsigned i = n; i > 0; i--)
        put_char(text, reversed[i - 1]);
    for (; n < width; n++)
        put_char(text, ' ');
}

size_t cairn_text_hex(uint64_t value, char *ret_digits)
{
    size_t n = 0;
    for (unsigned shift = 64; shift > 0; shift -= 4)
        if (n > 0 || value >> (shift - 4) || shift == 4)
            ret_digits[n++] = digit_of[value >> (shift - 4) & 15];
    return n;
}

void cairn_text_put_hex(struct cairn_text *text, uint64_t value, unsigned digits)
{
    cairn_text_put(text, "0x");
    for (unsigned i = 16; i > 0; i--)
        if (i <= digits || i == 1 || value >> (4 * (i - 1)))
            put_char(text, digit_of[value >> (4 * (i - 1)) & 15]);
}
