/* SPDX-License-Identifier: MIT */
#include "resolve/tracker_line.h"

#include <string.h>

enum { ADDRESS_DIGITS_MAX = 16 };

static bool take_text(const char **at, const char *end, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(end - *at) < size || memcmp(*at, text, size) != 0)
        return false;
    *at += size;
    return true;
}

static bool take_decimal(const char **at, const char *end)
{
    const char *start = *at;
    while (*at < end && **at >= '0' && **at <= '9')
        (*at)++;
    return *at > start;
}

/* Behind "0x". */
static bool take_hex(const char **at, const char *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *start = *at;
    for (; *at < end; (*at)++) {
        unsigned c = (uint8_t) * *at, letter = (c | 0x20) - 'a';
        if (c - '0' >= 10 && letter >= 6)
            break;
        value = value << 4 | (c - '0' < 10 ? c - '0' : letter + 10);
    }
    *ret_value = value;
    return *at > start && *at - start <= ADDRESS_DIGITS_MAX;
}

/* "#0: 0x7f8a5c1234", which begins the line or stands behind a blank. */
static bool take_number_and_va(const char **at, const char *line, const char *end, uint64_t *ret_va)
{
    for (const char *p = line; (p = memchr(p, '#', (size_t)(end - p))); p++) {
        *at = p + 1;
        if ((p == line || p[-1] == ' ' || p[-1] == '\t') && take_decimal(at, end) &&
            take_text(at, end, ": 0x") && take_hex(at, end, ret_va))
            return true;
    }
    return false;
}

/* Nothing, or " (NAME)" up to the end. */
static bool is_name(const char *at, const char *end)
{
    return at == end || (end - at >= 3 && at[0] == ' ' && at[1] == '(' && end[-1] == ')');
}

/* " libsample.so+0x1234", with a blank in the module's name perhaps. */
static bool take_module(const char **at, const char *end, struct cairn_tracker_line *line)
{
    const char *start = *at + 1;
    for (const char *p = start; (p = memmem(p, (size_t)(end - p), "+0x", 3)); p++) {
        const char *behind = p + 3;
        if (take_hex(&behind, end, &line->rel) && is_name(behind, end)) {
            line->module = start;
            line->module_size = (size_t)(p - start);
            *at = behind;
            return p > start;
        }
    }
    return false;
}

bool cairn_tracker_line_read(const char *line, size_t size, struct cairn_tracker_line *ret_line)
{
    struct cairn_tracker_line found = {0};
    const char *at, *end = line + size;
    while (end > line && (end[-1] == '\r' || end[-1] == ' '))
        end--;
    if (!take_number_and_va(&at, line, end, &found.va))
        return false;
    if (!is_name(at, end) && (*at != ' ' || !take_module(&at, end, &found)))
        return false;
    if (found.module && memchr(found.module, 0, found.module_size))
        return false;
    found.head = (size_t)(at - line);
    found.tail = (size_t)(end - line);
    *ret_line = found;
    return true;
}

bool cairn_tracker_line_begins(const char *line, size_t size)
{
    static const char title[] = "=== Memory Leak Report ===";
    return memmem(line, size, title, sizeof title - 1) != NULL;
}
