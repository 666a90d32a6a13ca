/* SPDX-License-Identifier: MIT */
#include "cli/write_profile.h"

#include <string.h>

#include "base/error.h"
#include "base/gzip_stream.h"
#include "cli/numbers.h"

enum { GZIP_LEVEL = 1 }; /* of columns of numbers: more would take far longer for a tenth less */

static bool is_packed_name(const char *name)
{
    size_t size = strlen(name);
    return size > 3 && strcmp(name + size - 3, ".gz") == 0;
}

static int add(void *stream, const void *bytes, size_t size)
{
    return cairn_gzip_stream_add(stream, bytes, size, NULL);
}

int cli_write_packed(const struct cairn_profile *profile, enum cairn_format format,
                     cairn_write_fn write, void *ctx, struct cairn_err *err)
{
    struct cairn_gzip_stream *stream;
    int code = cairn_gzip_stream_open(GZIP_LEVEL, write, ctx, &stream, err);
    if (code < 0)
        return code;
    code = cairn_profile_write(profile, format, add, stream, err);
    return cairn_gzip_stream_close(stream, code, err);
}

bool cli_format_is_for_viewers(enum cairn_format format)
{
    return format == CAIRN_FORMAT_FIREFOX || format == CAIRN_FORMAT_SPEEDSCOPE ||
           format == CAIRN_FORMAT_CALLGRIND || format == CAIRN_FORMAT_CHROME ||
           format == CAIRN_FORMAT_OTLP;
}

bool cli_format_holds_events(enum cairn_format format)
{
    return format == CAIRN_FORMAT_PPROF || format == CAIRN_FORMAT_FIREFOX ||
           format == CAIRN_FORMAT_CHROME;
}

bool cli_format_holds_times(enum cairn_format format)
{
    return format == CAIRN_FORMAT_FIREFOX || format == CAIRN_FORMAT_CHROME ||
           format == CAIRN_FORMAT_PERF_DATA || format == CAIRN_FORMAT_OTLP;
}

/* Events have a time of their own, which few formats have a place for. */
static void say_left_behind(const struct cairn_profile *profile, enum cairn_format format)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cairn_buffer count = {0};
    if (cli_format_holds_events(format))
        return;
    cairn_profile_stats(profile, &stats);
    cli_add_counted(&count, stats.n_events, "event");
    if (stats.n_events)
        cli_say("%s has no place for events with a time of their own; left out: %s",
                cairn_format_name(format), cairn_buffer_text(&count));
    cairn_buffer_done(&count);
}

int cli_write_profile(const struct cairn_profile *profile, enum cairn_format format,
                      struct cli_output *output, struct cairn_err *err)
{
    say_left_behind(profile, format);
    bool is_packed = cli_format_is_for_viewers(format) && is_packed_name(cli_output_name(output));
    int code = is_packed ? cli_write_packed(profile, format, cli_output_write, output, err)
                         : cairn_profile_write(profile, format, cli_output_write, output, err);
    if (code == CAIRN_E_IO && cli_output_error(output, err) < 0)
        return (int)err->code;
    return code;
}
