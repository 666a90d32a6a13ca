/* SPDX-License-Identifier: MIT */
/* The table of formats, and the two doors that lead through it. */
#include <string.h>

#include "base/error.h"
#include "base/zip.h"
#include "formats/format.h"
#include "formats/other_profile.h"

enum { HEAD_SIZE = 4096, LINE_MAX_BYTES = 64 << 20 };

/* Bytes that a read asks for, and while the input seems to be shorter than the first. */
enum { CHUNK = 1 << 20, CHUNK_FIRST = 1 << 14 };

/* Profiles unpack to 5 to 20 times their size, a bomb to 1000 times; what is small may. */
enum { UNZIPPED_RATIO_MAX = 256 };
static const size_t UNZIPPED_SMALL = (size_t)256 << 20;

/* In the order of trust: collapsed text comes last of those that are read, for it has no magic. */
static const struct cairn_format_row *const rows[] = {
    &cairn_format_heap,      &cairn_format_perf_data,   &cairn_format_pprof,
    &cairn_format_sanitizer, &cairn_format_valgrind,    &cairn_format_tombstone,
    &cairn_format_debugger,  &cairn_format_go,          &cairn_format_rust,
    &cairn_format_backtrace, &cairn_format_java,        &cairn_format_bpf,
    &cairn_format_ftrace,    &cairn_format_perf_script, &cairn_format_collapsed,
    &cairn_format_firefox,   &cairn_format_speedscope,  &cairn_format_callgrind,
    &cairn_format_chrome,    &cairn_format_otlp};
enum { N_ROWS = sizeof rows / sizeof *rows };

int cairn_source_fill(struct cairn_source *s, size_t size, struct cairn_err *err)
{
    while (!s->at_end && s->ahead.size - s->pos < size) {
        if (s->pos) {
            memmove(s->ahead.data, s->ahead.data + s->pos, s->ahead.size - s->pos);
            s->ahead.size -= s->pos;
            s->pos = 0;
        }
        size_t chunk = s->is_long ? CHUNK : CHUNK_FIRST;
        if (!cairn_buffer_reserve(&s->ahead, chunk))
            return cairn_fail_memory(err);
        long got = s->input.read(s->input.ctx, s->ahead.data + s->ahead.size, chunk);
        if (got < 0 || (size_t)got > chunk)
            return cairn_fail(err, CAIRN_E_IO, "the input could not be read to its end");
        s->is_long |= (size_t)got == chunk;
        s->ahead.size += (size_t)got;
        s->at_end = got == 0;
    }
    return CAIRN_OK;
}

int cairn_source_slurp(struct cairn_source *s, size_t limit, struct cairn_span *ret_bytes,
                       struct cairn_err *err)
{
    while (!s->at_end) {
        size_t have = s->ahead.size - s->pos;
        if (have > limit)
            return cairn_fail(err, CAIRN_E_LIMIT, "the input is larger than %zu bytes", limit);
        int result = cairn_source_fill(s, have + 1, err);
        if (result < 0)
            return result;
    }
    *ret_bytes = (struct cairn_span){s->ahead.data + s->pos, s->ahead.size - s->pos};
    return CAIRN_OK;
}

int cairn_source_line(struct cairn_source *s, struct cairn_span *ret_line, uint64_t number,
                      struct cairn_err *err)
{
    size_t searched = 0; /* of what lies ahead: no line break there */
    for (;;) {
        const uint8_t *start = s->ahead.data + s->pos;
        size_t have = s->ahead.size - s->pos;
        const uint8_t *end =
            have > searched ? memchr(start + searched, '\n', have - searched) : NULL;
        if (end || (s->at_end && have)) {
            size_t size = end ? (size_t)(end - start) : have;
            *ret_line = (struct cairn_span){start, size};
            s->pos += size + (end != NULL);
            return 1;
        }
        if (s->at_end)
            return 0;
        if (have > LINE_MAX_BYTES)
            return cairn_fail(err, CAIRN_E_LIMIT, "line %llu: longer than %d bytes",
                              (unsigned long long)number, LINE_MAX_BYTES);
        searched = have;
        int result = cairn_source_fill(s, have + 1, err);
        if (result < 0)
            return result;
    }
}

/* Puts the unzipped bytes in place of the source's, so that no reader needs to know of gzip. */
static int unzip(struct cairn_source *s, struct cairn_err *err)
{
    struct cairn_span zipped;
    int result = cairn_source_slurp(s, CAIRN_FORMAT_BYTES_MAX, &zipped, err);
    if (result < 0)
        return result;
    size_t limit = CAIRN_FORMAT_BYTES_MAX;
    if (zipped.size < CAIRN_FORMAT_BYTES_MAX / UNZIPPED_RATIO_MAX)
        limit = zipped.size * UNZIPPED_RATIO_MAX;
    if (limit < UNZIPPED_SMALL)
        limit = UNZIPPED_SMALL;
    struct cairn_buffer unzipped = {0};
    result = cairn_zip_gunzip(zipped, limit, &unzipped, err);
    cairn_buffer_done(&s->ahead);
    s->ahead = unzipped;
    s->pos = 0;
    s->input.read_at = NULL;
    return result;
}

static const struct cairn_format_row *row_of(enum cairn_format format)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (rows[i]->format == format)
            return rows[i];
    return NULL;
}

/* Of what was unzipped the head is all of it. A log is searched line by line, which takes its time:
 * only as much as of other files. */
static bool is_of_row(const struct cairn_format_row *row, struct cairn_span head)
{
    return row->sniff && row->sniff(row->in_log ? cairn_span_up_to(head, CHUNK_FIRST) : head);
}

static const struct cairn_format_row *row_of_head(struct cairn_span head)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (is_of_row(rows[i], head))
            return rows[i];
    return NULL;
}

/* A log may hold reports of several kinds, and one reader passes over those of another. */
static const struct cairn_format_row *other_in_log(const struct cairn_format_row *row,
                                                   struct cairn_span head)
{
    for (size_t i = 0; row->in_log && i < N_ROWS; i++)
        if (rows[i] != row && rows[i]->in_log && is_of_row(rows[i], head))
            return rows[i];
    return NULL;
}

static int fail_unknown(struct cairn_span head, struct cairn_err *err)
{
    const struct cairn_other_profile *other = cairn_other_profile_of(head);
    cairn_fail(err, CAIRN_E_FORMAT, "%s%sneither a pprof profile nor stacks as text",
               other ? other->what : "", other ? ", " : "");
    if (!head.size)
        cairn_fail(err, CAIRN_E_FORMAT, "the input is empty");
    if (!other)
        cairn_hint(err, "stacks as text are what perf script writes, or lines of "
                        "frame;frame;frame COUNT");
    else if (other->hint)
        cairn_hint(err, "%s", other->hint);
    return CAIRN_E_FORMAT;
}

static int read_from(struct cairn_source *source, enum cairn_format format,
                     struct cairn_profile *profile, struct cairn_err *err)
{
    int result = cairn_source_fill(source, HEAD_SIZE, err);
    if (result < 0)
        return result;
    if (cairn_zip_is_gzip(cairn_buffer_span(&source->ahead)))
        result = unzip(source, err);
    if (result < 0)
        return result;
    bool is_auto = format == CAIRN_FORMAT_AUTO;
    struct cairn_span head = cairn_buffer_span(&source->ahead);
    const struct cairn_format_row *row = is_auto ? row_of_head(head) : row_of(format);
    const struct cairn_format_row *other = is_auto && row ? other_in_log(row, head) : NULL;
    if (other) {
        cairn_fail(err, CAIRN_E_FORMAT, "it holds reports of two kinds, %s and %s", row->name,
                   other->name);
        cairn_hint(err, "--from %s reads those of one kind", row->name);
        return CAIRN_E_FORMAT;
    }
    if (!row && !is_auto)
        return cairn_fail(err, CAIRN_E_ARG, "there is no format number %d", (int)format);
    /* "goroutine profile: total 7" looks like a stack and its count. */
    if (!row || (is_auto && row == &cairn_format_collapsed && cairn_other_profile_of(head)))
        return fail_unknown(head, err);
    if (!row->read)
        return cairn_fail(err, CAIRN_E_ARG, "the format %s can be written, not read", row->name);
    return row->read(source, profile, err);
}

int cairn_format_read(const struct cairn_format_input *input, enum cairn_format format,
                      struct cairn_profile **ret_profile, struct cairn_err *err)
{
    struct cairn_profile *profile;
    int result = cairn_profile_new(&profile, err);
    if (result < 0)
        return result;
    struct cairn_source source = {.input = *input};
    result = read_from(&source, format, profile, err);
    cairn_buffer_done(&source.ahead);
    if (result < 0) {
        cairn_profile_free(profile);
        return result;
    }
    /* Most profiles are only looked at from here on; whoever adds more has it built anew. */
    cairn_profile_drop_index(profile);
    *ret_profile = profile;
    return CAIRN_OK;
}

int cairn_profile_read(cairn_read_fn read, void *ctx, enum cairn_format format,
                       struct cairn_profile **ret_profile, struct cairn_err *err)
{
    const struct cairn_format_input input = {.read = read, .ctx = ctx};
    return cairn_format_read(&input, format, ret_profile, err);
}

int cairn_profile_write(const struct cairn_profile *profile, enum cairn_format format,
                        cairn_write_fn write, void *ctx, struct cairn_err *err)
{
    const struct cairn_format_row *row = row_of(format);
    if (!row)
        return cairn_fail(err, CAIRN_E_ARG, "no format to write was named");
    if (!row->write)
        return cairn_fail(err, CAIRN_E_ARG, "the format %s can be read, not written", row->name);
    if (profile->n_types == 0)
        return cairn_fail(err, CAIRN_E_ARG, "a profile without value types cannot be written");
    return row->write(profile, write, ctx, err);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t size = strlen(name), tail = strlen(ending);
    return size > tail && strcmp(name + size - tail, ending) == 0;
}

static bool starts_with(const char *name, const char *start)
{
    const char *slash = strrchr(name, '/');
    return start && strncmp(slash ? slash + 1 : name, start, strlen(start)) == 0;
}

enum cairn_format cairn_format_of_name(const char *name)
{
    for (size_t i = 0; i < N_ROWS; i++)
        for (const char *const *ending = rows[i]->endings; *ending; ending++)
            if (ends_with(name, *ending))
                return rows[i]->format;
    for (size_t i = 0; i < N_ROWS; i++)
        if (starts_with(name, rows[i]->start))
            return rows[i]->format;
    return CAIRN_FORMAT_AUTO;
}

enum cairn_format cairn_format_of_bytes(const void *head, size_t size)
{
    const struct cairn_format_row *row = row_of_head((struct cairn_span){head, size});
    return row ? row->format : CAIRN_FORMAT_AUTO;
}

const char *cairn_format_name(enum cairn_format format)
{
    const struct cairn_format_row *row = row_of(format);
    return row ? row->name : NULL;
}

enum cairn_format cairn_format_of(const char *name)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i]->format;
    return CAIRN_FORMAT_AUTO;
}
