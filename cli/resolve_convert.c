/* SPDX-License-Identifier: MIT */
#include "cli/resolve_convert.h"

#include <string.h>

#include "base/error.h"
#include "cli/write_profile.h"

#define HEAP_HEAD "cairnheap" /* docs/formats/heap.md */

static const char perf_heads[][9] = {"PERFILE2", "2ELIFREP"}; /* docs/formats/perf-data.md */

enum { HEAD_BYTES = sizeof HEAP_HEAD - 1 };

bool cli_resolve_is_recording(const uint8_t *head, size_t size)
{
    enum { MAGIC_BYTES = 8 };
    for (size_t i = 0; i < sizeof perf_heads / sizeof *perf_heads; i++)
        if (size >= MAGIC_BYTES && memcmp(head, perf_heads[i], MAGIC_BYTES) == 0)
            return true;
    return false;
}

/* Reports that hold stacks, whose first line may be any text. */
bool cli_resolve_is_stack_text(enum cairn_format format)
{
    static const enum cairn_format texts[] = {CAIRN_FORMAT_SANITIZER, CAIRN_FORMAT_VALGRIND,
                                              CAIRN_FORMAT_TOMBSTONE, CAIRN_FORMAT_DEBUGGER,
                                              CAIRN_FORMAT_GO,        CAIRN_FORMAT_RUST,
                                              CAIRN_FORMAT_BACKTRACE, CAIRN_FORMAT_JAVA,
                                              CAIRN_FORMAT_BPF,       CAIRN_FORMAT_FTRACE};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (format == texts[i])
            return true;
    return false;
}

/* gzip, the state of a heap tracker, a recording of perf, or a message whose first field is a
 * sample type: a text could begin with the same line break, but not go on with a control character.
 */
bool cli_resolve_is_profile(const uint8_t *head, size_t size)
{
    if (size >= HEAD_BYTES && memcmp(head, HEAP_HEAD, HEAD_BYTES) == 0)
        return true;
    if (cli_resolve_is_recording(head, size) ||
        cli_resolve_is_stack_text(cairn_format_of_bytes(head, size)))
        return true;
    if (size >= 2 && head[0] == 0x1f && head[1] == 0x8b)
        return true;
    return size >= 3 && head[0] == 0x0a && (head[2] == 0x08 || head[2] == 0x10);
}

/* What the callbacks know better than the library that called them. */
static int refine(int result, const struct cli_source *source, const struct cli_output *output,
                  struct cairn_err *err)
{
    if (result < 0 && source->os_errno)
        return cairn_fail_os(err, source->os_errno, "%s", source->name);
    if (result == CAIRN_E_IO && cli_output_error(output, err) < 0)
        return (int)err->code;
    return result < 0 && result != CAIRN_E_NOMEM ? cairn_fail_in(err, result, source->name)
                                                 : result;
}

/* The format of the output: pprof, whatever its name, but for the formats of viewers. */
static enum cairn_format format_of(const struct cli_output *output)
{
    enum cairn_format format = cairn_format_of_name(cli_output_name(output));
    return cli_format_is_for_viewers(format) ? format : CAIRN_FORMAT_PPROF;
}

static int convert_profile(const struct cli_resolve_way *way, struct cli_source *source,
                           struct cli_output *output, struct cairn_err *err)
{
    struct cairn_profile *profile = NULL;
    const struct cairn_import_opts opts = {
        .size = sizeof opts, .format = way->format, .files = way->files};
    int result = cli_source_import(source, &opts, &profile, err);
    if (result == CAIRN_OK)
        result = cairn_resolve_profile(way->resolver, profile, err);
    if (result == CAIRN_OK)
        result = cli_write_profile(profile, format_of(output), output, err);
    cairn_profile_free(profile);
    return refine(result, source, output, err);
}

int cli_resolve_convert(const struct cli_resolve_way *way, struct cli_source *source,
                        struct cli_output *output, struct cairn_err *err)
{
    const uint8_t *head;
    size_t size = cli_source_peek(source, CLI_SOURCE_HEAD_BYTES, &head);
    bool is_profile = way->format == CAIRN_FORMAT_AUTO ? cli_resolve_is_profile(head, size)
                                                       : way->format != CAIRN_FORMAT_COLLAPSED;
    if (is_profile)
        return convert_profile(way, source, output, err);
    if (format_of(output) != CAIRN_FORMAT_PPROF) {
        cairn_fail(err, CAIRN_E_ARG, "%s: wants a profile, %s is text", cli_output_name(output),
                   source->name);
        cairn_hint(err, "write named text first, then cairn convert TEXT -o %s",
                   cli_output_name(output));
        return CAIRN_E_ARG;
    }
    int result =
        cairn_resolve_text(way->resolver, cli_source_read, source, cli_output_write, output, err);
    return refine(result, source, output, err);
}
