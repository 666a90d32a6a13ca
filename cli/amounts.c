/* SPDX-License-Identifier: MIT */
#include "cli/amounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

struct cli_scale cli_scale_of(struct cairn_value_type value, int64_t sum)
{
    static const struct {
        const char *from;
        struct cli_scale to;
        double least;
    } scales[] = {
        {"nanoseconds", {"s", 1e9}, 10e9},   {"nanoseconds", {"ms", 1e6}, 10e6},
        {"nanoseconds", {"us", 1e3}, 10e3},  {"microseconds", {"s", 1e6}, 10e6},
        {"microseconds", {"ms", 1e3}, 10e3}, {"milliseconds", {"s", 1e3}, 10e3},
        {"bytes", {"GB", 1e9}, 10e9},        {"bytes", {"MB", 1e6}, 10e6},
        {"bytes", {"kB", 1e3}, 10e3},
    };
    double size = sum < 0 ? -(double)sum : (double)sum;
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strcmp(scales[i].from, value.unit) == 0 && size >= scales[i].least)
            return scales[i].to;
    return (struct cli_scale){value.unit, 0};
}

void cli_print_amount(char *cell, int64_t value, const struct cli_scale *scale)
{
    if (scale->divisor > 0)
        snprintf(cell, CLI_AMOUNT_SIZE, "%.2f", (double)value / scale->divisor);
    else
        snprintf(cell, CLI_AMOUNT_SIZE, "%" PRId64, value);
}

void cli_print_percent(char *cell, int64_t value, int64_t sum)
{
    if (sum)
        snprintf(cell, CLI_AMOUNT_SIZE, "%.1f", cli_percent(value, sum));
    else
        snprintf(cell, CLI_AMOUNT_SIZE, "-");
}

double cli_percent(int64_t part, int64_t sum)
{
    return sum ? 100.0 * (double)part / (double)sum : 0;
}

void cli_add_value_title(struct cairn_buffer *b, struct cairn_value_type value,
                         const struct cli_scale *scale)
{
    cairn_escape_terminal(b, value.type, strlen(value.type));
    if (!*scale->unit || strcmp(scale->unit, "count") == 0)
        return;
    cairn_buffer_str(b, " in ");
    cairn_escape_terminal(b, scale->unit, strlen(scale->unit));
}
