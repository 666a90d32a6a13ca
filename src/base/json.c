/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/escape.h"

/* The end of what came before, and the blanks that lead the next member. */
static void start_line(struct cairn_json *j)
{
    if (j->compact)
        return;
    cairn_buffer_char(j->out, '\n');
    for (unsigned i = 0; i < j->depth; i++)
        cairn_buffer_str(j->out, "  ");
}

static void put_quoted(struct cairn_json *j, const char *text)
{
    cairn_buffer_char(j->out, '"');
    cairn_escape_json(j->out, text, strlen(text));
    cairn_buffer_char(j->out, '"');
}

static void start_member(struct cairn_json *j, const char *name)
{
    if (j->filled[j->depth])
        cairn_buffer_char(j->out, ',');
    if (j->depth > 0)
        start_line(j);
    j->filled[j->depth] = j->depth > 0;
    if (!name)
        return;
    put_quoted(j, name);
    cairn_buffer_str(j->out, j->compact ? ":" : ": ");
}

void cairn_json_open(struct cairn_json *j, const char *name, char bracket)
{
    assert(j->depth < CAIRN_JSON_DEPTH_MAX);
    start_member(j, name);
    cairn_buffer_char(j->out, bracket);
    if (j->depth == CAIRN_JSON_DEPTH_MAX) {
        j->out->failed = true;
        return;
    }
    j->filled[++j->depth] = false;
}

void cairn_json_close(struct cairn_json *j, char bracket)
{
    assert(j->depth > 0);
    if (j->depth == 0) {
        j->out->failed = true;
        return;
    }
    bool had_members = j->filled[j->depth--];
    if (had_members)
        start_line(j);
    cairn_buffer_char(j->out, bracket);
    if (j->depth == 0)
        cairn_buffer_char(j->out, '\n');
}

void cairn_json_str(struct cairn_json *j, const char *name, const char *text)
{
    start_member(j, name);
    if (text)
        put_quoted(j, text);
    else
        cairn_buffer_str(j->out, "null");
}

void cairn_json_u64(struct cairn_json *j, const char *name, uint64_t value)
{
    start_member(j, name);
    cairn_buffer_u64(j->out, value);
}

void cairn_json_i64(struct cairn_json *j, const char *name, int64_t value)
{
    start_member(j, name);
    if (value < 0)
        cairn_buffer_char(j->out, '-');
    cairn_buffer_u64(j->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* By hand, since printf's decimal point follows the locale. JSON has no infinity and no NaN. */
void cairn_json_real(struct cairn_json *j, const char *name, double value)
{
    enum { SCALE = 1000000 };
    start_member(j, name);
    if (isnan(value) || isinf(value)) {
        cairn_buffer_str(j->out, "null");
        return;
    }
    double size = value < 0 ? -value : value;
    if (size >= 1e15) { /* no double of this size has six exact places left */
        cairn_buffer_printf(j->out, "%.0f", value);
        return;
    }
    uint64_t whole = (uint64_t)size;
    uint64_t part = (uint64_t)((size - (double)whole) * SCALE + 0.5);
    whole += part / SCALE;
    part %= SCALE;
    if (value < 0 && (whole || part))
        cairn_buffer_char(j->out, '-');
    cairn_buffer_u64(j->out, whole);
    if (!part)
        return;
    char digits[8];
    int used = snprintf(digits, sizeof digits, ".%06" PRIu64, part);
    while (digits[used - 1] == '0')
        used--;
    cairn_buffer_add(j->out, digits, (size_t)used);
}

void cairn_json_fixed(struct cairn_json *j, const char *name, int64_t value, unsigned places)
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value, scale = 1;
    for (unsigned i = 0; i < places; i++)
        scale *= 10;
    start_member(j, name);
    if (value < 0)
        cairn_buffer_char(j->out, '-');
    cairn_buffer_u64(j->out, size / scale);
    uint64_t part = size % scale;
    if (!part)
        return;
    cairn_buffer_char(j->out, '.');
    for (scale /= 10; part; part %= scale, scale /= 10)
        cairn_buffer_char(j->out, (char)('0' + part / scale));
}

void cairn_json_hex(struct cairn_json *j, const char *name, uint64_t value)
{
    start_member(j, name);
    cairn_buffer_str(j->out, "\"0x");
    cairn_buffer_hex(j->out, value);
    cairn_buffer_char(j->out, '"');
}

void cairn_json_bool(struct cairn_json *j, const char *name, bool value)
{
    start_member(j, name);
    cairn_buffer_str(j->out, value ? "true" : "false");
}
