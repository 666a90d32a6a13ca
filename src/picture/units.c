/* SPDX-License-Identifier: MIT */
#include "picture/units.h"

#include "base/escape.h"

struct scale {
    const char *unit; /* as profiles name it */
    double size;
    const char *shown;
};

/* The largest first within a unit. */
static const struct scale scales[] = {
    {"nanoseconds", 1e9, "s"}, {"nanoseconds", 1e6, "ms"}, {"nanoseconds", 1e3, "us"},
    {"nanoseconds", 1, "ns"},  {"microseconds", 1e6, "s"}, {"microseconds", 1e3, "ms"},
    {"microseconds", 1, "us"}, {"milliseconds", 1e3, "s"}, {"milliseconds", 1, "ms"},
    {"seconds", 1, "s"},       {"bytes", 1e12, "TB"},      {"bytes", 1e9, "GB"},
    {"bytes", 1e6, "MB"},      {"bytes", 1e3, "kB"},       {"bytes", 1, "B"},
};

void cairn_units_count(struct cairn_buffer *b, uint64_t value)
{
    char digits[20];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n-- > 0) {
        cairn_buffer_char(b, digits[n]);
        if (n && n % 3 == 0)
            cairn_buffer_char(b, ',');
    }
}

/* "samples", and "sample" of one; what is no plain word stays as the profile names it. */
static void add_name(struct cairn_buffer *b, uint64_t size, const char *name)
{
    static const char *const plain[] = {"samples", "blocks", "allocations", "events"};
    size_t n = strlen(name);
    for (size_t i = 0; size == 1 && i < sizeof plain / sizeof *plain; i++)
        if (strcmp(name, plain[i]) == 0) {
            n--;
            break;
        }
    cairn_escape_terminal(b, name, n);
}

void cairn_units_value(struct cairn_buffer *b, int64_t value, const char *type, const char *unit)
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    if (value < 0)
        cairn_buffer_char(b, '-');
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        const struct scale *s = &scales[i];
        if (strcmp(s->unit, unit) != 0 || ((double)size < s->size && s->size > 1))
            continue;
        double shown = (double)size / s->size;
        cairn_buffer_printf(b, "%.*f %s", s->size <= 1 ? 0 : shown < 10 ? 2 : 1, shown, s->shown);
        return;
    }
    cairn_units_count(b, size);
    const char *name = strcmp(unit, "count") == 0 ? type : unit;
    if (*name) {
        cairn_buffer_char(b, ' ');
        add_name(b, size, name);
    }
}

void cairn_units_percent(struct cairn_buffer *b, int64_t value, int64_t whole)
{
    double percent = whole ? 100.0 * (double)value / (double)whole : 0;
    cairn_buffer_printf(b, "%.*f%%", percent < 10 ? 2 : 1, percent);
}
