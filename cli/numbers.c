/* SPDX-License-Identifier: MIT */
#include "cli/numbers.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"

void cli_add_count(struct cairn_buffer *b, uint64_t n)
{
    if (n >= 1000) {
        cli_add_count(b, n / 1000);
        cairn_buffer_printf(b, ",%03u", (unsigned)(n % 1000));
    } else {
        cairn_buffer_u64(b, n);
    }
}

void cli_add_size(struct cairn_buffer *b, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double value = (double)bytes / 1000;
    size_t unit = 0;
    if (bytes < 1000) {
        cairn_buffer_printf(b, "%" PRIu64 " B", bytes);
        return;
    }
    for (; value >= 999.95 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    cairn_buffer_printf(b, "%.1f %s", value, units[unit]);
}

void cli_add_duration(struct cairn_buffer *b, uint64_t ns)
{
    static const struct {
        double up_to, by;
        const char *unit;
    } units[] = {{120, 1, "s"}, {7200, 60, "min"}, {172800, 3600, "h"}, {0, 86400, "d"}};
    double seconds = (double)ns / 1e9;
    size_t i = 0;
    while (units[i].up_to > 0 && seconds >= units[i].up_to)
        i++;
    double value = seconds / units[i].by;
    cairn_buffer_printf(b, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[i].unit);
}

void cli_add_counted(struct cairn_buffer *b, uint64_t n, const char *what)
{
    cli_add_count(b, n);
    cairn_buffer_printf(b, " %s%s", what, n == 1 ? "" : "s");
}

void cli_add_base(struct cairn_buffer *b, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    cairn_escape_terminal(b, name, strlen(name));
}

void cli_add_unnamed(struct cairn_buffer *b, const struct cairn_frame_info *frame)
{
    if (!*frame->module) {
        cairn_buffer_printf(b, "0x%" PRIx64, frame->address);
        return;
    }
    cli_add_base(b, frame->module);
    cairn_buffer_printf(b, "+0x%" PRIx64, frame->address - frame->module_start + frame->module_off);
}
