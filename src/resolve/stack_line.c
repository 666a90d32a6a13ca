/* SPDX-License-Identifier: MIT */
#include "resolve/stack_line.h"

#include <ctype.h>
#include <string.h>

#include "base/function_start.h"

enum { ADDRESS_DIGITS_MAX = 16 };

static const int8_t hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* The number at `p` and where it ends; NULL where there is none, or too long a one. */
static const char *read_hex(const char *p, const char *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *start = p;
    for (; p < end && hex_digits[(uint8_t)*p]; p++)
        value = value << 4 | (uint64_t)(hex_digits[(uint8_t)*p] - 1);
    if (p == start || p - start > ADDRESS_DIGITS_MAX)
        return NULL;
    *ret_value = value;
    return p;
}

/* Digits, a point and digits: the counts of differential stacks may be no integers. */
static bool is_count(const char *p, const char *end)
{
    const char *start = p;
    if (p < end && *p == '-')
        p++;
    while (p < end && isdigit((uint8_t)*p))
        p++;
    if (p < end && *p == '.')
        p++;
    while (p < end && isdigit((uint8_t)*p))
        p++;
    return p == end && p > start && isdigit((uint8_t)p[-1]);
}

size_t cairn_stack_line_open(const char *line, size_t size, struct cairn_stack_line *ret_line)
{
    if (size && line[size - 1] == '\r')
        size--;
    const char *blank = memrchr(line, ' ', size);
    if (!blank || blank == line || !is_count(blank + 1, line + size))
        return 0;
    *ret_line = (struct cairn_stack_line){.next = line, .end = blank};
    return (size_t)(blank - line);
}

/* What names hold and paths hardly do: "operator+(int)+0x1b" names a place in a function. */
static bool is_module_name(const char *p, size_t size)
{
    if (!size || memchr(p, 0, size))
        return false;
    if (*p == '/')
        return true;
    return !memchr(p, '(', size) && !memchr(p, '<', size) && !memchr(p, ':', size);
}

/* "module+0xoff": `ret_size` is the length of the module's name, `ret_base` that of all before
 * "+0x". */
static bool read_offset(const char *p, const char *end, size_t *ret_size, size_t *ret_base,
                        uint64_t *ret_value)
{
    static const char deleted[] = " (deleted)";
    const char *digits = end;
    while (digits > p && hex_digits[(uint8_t)digits[-1]])
        digits--;
    if (digits == end || digits - p < 4 || memcmp(digits - 3, "+0x", 3) != 0)
        return false;
    size_t size = (size_t)(digits - 3 - p), tail = sizeof deleted - 1;
    *ret_base = size;
    if (size > tail && memcmp(p + size - tail, deleted, tail) == 0)
        size -= tail;
    *ret_size = size;
    return is_module_name(p, size) && read_hex(digits, end, ret_value) == end;
}

/* Where an offset would end. */
static const char *behind_offset(const char *p, const char *end)
{
    return p + cairn_function_start_bare(p, (size_t)(end - p));
}

/* In a line with two counts the first one stands behind the leaf: "0x12 3". */
static const char *leaf_end(const char *p, const char *end)
{
    const char *blank = memrchr(p, ' ', (size_t)(end - p));
    return blank && is_count(blank + 1, end) ? blank : end;
}

bool cairn_stack_line_next(struct cairn_stack_line *line, struct cairn_stack_frame *ret_frame)
{
    const char *p = line->next;
    if (!p)
        return false;
    const char *end = memchr(p, ';', (size_t)(line->end - p));
    struct cairn_stack_frame frame = {.text = p, .leaf = !end};
    line->next = end ? end + 1 : NULL;
    if (!end)
        end = leaf_end(p, line->end);
    frame.size = (size_t)(end - p);
    if (frame.size > 2 && p[0] == '0' && p[1] == 'x' && read_hex(p + 2, end, &frame.value) == end)
        frame.form = CAIRN_STACK_VA;
    else if (read_offset(p, behind_offset(p, end), &frame.module_size, &frame.base_size,
                         &frame.value))
        frame.form = CAIRN_STACK_OFFSET;
    frame.is_function_start = frame.form == CAIRN_STACK_OFFSET && behind_offset(p, end) != end;
    *ret_frame = frame;
    return true;
}
