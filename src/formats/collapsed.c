/* SPDX-License-Identifier: MIT */
/*
 * Collapsed stacks: one line each, root first, what flame graph scripts pass to each other.
 *
 *     frame;frame;frame COUNT
 *     |-- text, any byte but ';' and line breaks --| the count follows the last blank
 *
 * A line that begins with '#' and a blank and has no ';' is a comment (austin's "# interval: 100"),
 * and so is one that begins with '#' and has no count. A suffix tells a frame's kind: _[k] kernel,
 * _[i] inlined, _[j] JIT. Addresses stay the text they are: a collapsed line does not say which of
 * them are return addresses (`cairn resolve` is told).
 */
#include "formats/collapsed.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"
#include "profile/frame_kind.h"

enum {
    FRAMES_MAX = CAIRN_PROFILE_DEPTH_MAX, /* of one line */
    SUFFIX_SIZE = 4,                      /* "_[k]" */
};

/* Where a frame of the line before ends, and the stack that it made. */
struct step {
    uint32_t end;
    uint32_t stack;
};

struct reading {
    struct cairn_profile *p;
    uint32_t *frame_of_text; /* by number of the text, suffix included; 0: not made yet */
    size_t cap_frames;
    struct step *steps; /* of the line before */
    size_t n_steps, cap_steps;
    struct cairn_buffer last; /* its stack, without the count */
    uint64_t line;            /* from 1 */
    bool rounded;
};

static void done(struct reading *r)
{
    cairn_free(r->frame_of_text);
    cairn_free(r->steps);
    cairn_buffer_done(&r->last);
}

static unsigned char kind_of_suffix(struct cairn_span *io_text)
{
    const uint8_t *end = io_text->data + io_text->size;
    if (io_text->size <= SUFFIX_SIZE || end[-4] != '_' || end[-3] != '[' || end[-1] != ']')
        return CAIRN_FRAME_UNKNOWN;
    switch (end[-2]) {
    case 'k':
    case 'i':
    case 'j':
        io_text->size -= SUFFIX_SIZE;
        return end[-2];
    default:
        return CAIRN_FRAME_UNKNOWN;
    }
}

static uint32_t make_frame(struct reading *r, struct cairn_span text)
{
    const unsigned char kind = kind_of_suffix(&text);
    struct cairn_profile_function function = {
        .name = cairn_profile_text(r->p, (const char *)text.data, text.size)};
    if (function.name == UINT32_MAX)
        return UINT32_MAX;
    struct cairn_profile_line line = {.function = cairn_profile_add_function(r->p, &function)};
    struct cairn_profile_frame frame = {0};
    (void)cairn_frame_set_kind(&frame, kind);
    return line.function == UINT32_MAX ? UINT32_MAX
                                       : cairn_profile_add_frame(r->p, &frame, &line, 1);
}

/* The frame of a text; the text with its suffix is the key. */
static uint32_t frame_of(struct reading *r, struct cairn_span text)
{
    uint32_t number = cairn_profile_text(r->p, (const char *)text.data, text.size);
    if (number == UINT32_MAX)
        return UINT32_MAX;
    size_t old = r->cap_frames;
    if (number >= old) {
        if (cairn_grow((void **)&r->frame_of_text, &r->cap_frames, number + 1,
                       sizeof *r->frame_of_text) < 0)
            return UINT32_MAX;
        memset(r->frame_of_text + old, 0, (r->cap_frames - old) * sizeof *r->frame_of_text);
    }
    if (!r->frame_of_text[number])
        r->frame_of_text[number] = make_frame(r, text);
    return r->frame_of_text[number];
}

/* How many frames at the root this line shares with the one before. */
static size_t shared_steps(const struct reading *r, struct cairn_span stack)
{
    size_t limit = stack.size < r->last.size ? stack.size : r->last.size, same = 0;
    while (same + 8 <= limit && memcmp(stack.data + same, r->last.data + same, 8) == 0)
        same += 8;
    while (same < limit && stack.data[same] == r->last.data[same])
        same++;
    size_t n = r->n_steps;
    while (n && (r->steps[n - 1].end > same ||
                 (r->steps[n - 1].end < stack.size && stack.data[r->steps[n - 1].end] != ';')))
        n--;
    return n;
}

static int add_path(struct reading *r, struct cairn_span stack, struct cairn_err *err)
{
    size_t n = shared_steps(r, stack);
    uint32_t at = n ? r->steps[n - 1].stack : 0;
    size_t pos = n ? r->steps[n - 1].end + 1 : 0; /* behind the ';' */
    if (pos < stack.size && memchr(stack.data + pos, 0, stack.size - pos))
        return cairn_fail(err, CAIRN_E_FORMAT, "line %llu: a NUL byte in a name",
                          (unsigned long long)r->line);
    while (pos <= stack.size) {
        const uint8_t *start = stack.data + pos;
        const uint8_t *sep = memchr(start, ';', stack.size - pos);
        size_t size = sep ? (size_t)(sep - start) : stack.size - pos;
        if (n == FRAMES_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT, "line %llu: more than %d frames",
                              (unsigned long long)r->line, FRAMES_MAX);
        uint32_t frame = frame_of(r, (struct cairn_span){start, size});
        at = frame == UINT32_MAX ? frame : cairn_profile_add_stack(r->p, at, frame);
        if (at == UINT32_MAX ||
            cairn_grow((void **)&r->steps, &r->cap_steps, n + 1, sizeof *r->steps) < 0)
            return cairn_fail_memory(err);
        pos += size;
        r->steps[n++] = (struct step){(uint32_t)pos, at};
        pos++;
    }
    r->n_steps = n;
    cairn_buffer_clear(&r->last);
    cairn_buffer_add(&r->last, stack.data, stack.size);
    return r->last.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

/* Digits, perhaps a sign before and a fraction behind, which is rounded. */
static bool parse_count(struct reading *r, struct cairn_span text, int64_t *ret_count)
{
    size_t at = text.size && text.data[0] == '-';
    size_t first = at;
    int64_t count = 0;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++)
        if (__builtin_mul_overflow(count, 10, &count) ||
            __builtin_add_overflow(count, text.data[at] - '0', &count))
            return false;
    if (at == first)
        return false;
    if (at < text.size && text.data[at] == '.') {
        size_t tenth = ++at;
        while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9')
            at++;
        count += at > tenth && text.data[tenth] >= '5' && count < INT64_MAX;
        r->rounded = true;
    }
    *ret_count = first ? -count : count;
    return at == text.size;
}

/* "#", or "# " and anything but frames. */
static bool is_comment(struct cairn_span line)
{
    return line.size && line.data[0] == '#' &&
           (line.size == 1 || (line.data[1] == ' ' && !memchr(line.data, ';', line.size)));
}

static int add_line(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    r->line++;
    while (line.size && strchr(" \t\r", line.data[line.size - 1]) && line.data[line.size - 1])
        line.size--;
    if (line.size == 0 || is_comment(line))
        return CAIRN_OK;
    const uint8_t *blank = memrchr(line.data, ' ', line.size);
    size_t at = blank ? (size_t)(blank - line.data) : line.size;
    int64_t count;
    if (!blank || !parse_count(r, (struct cairn_span){blank + 1, line.size - at - 1}, &count)) {
        if (line.data[0] == '#')
            return CAIRN_OK;
        cairn_fail(err, CAIRN_E_FORMAT, "line %llu: no count behind the last blank",
                   (unsigned long long)r->line);
        cairn_hint(err, "collapsed stacks are lines of frame;frame;frame COUNT");
        return CAIRN_E_FORMAT;
    }
    int result = add_path(r, (struct cairn_span){line.data, at}, err);
    if (result < 0)
        return result;
    if (cairn_profile_add_sample(r->p, r->steps[r->n_steps - 1].stack, 0, &count) == UINT32_MAX)
        return cairn_fail_memory(err);
    return CAIRN_OK;
}

static int read_lines(struct reading *r, struct cairn_source *s, struct cairn_err *err)
{
    struct cairn_span line;
    int got;
    while ((got = cairn_source_line(s, &line, r->line + 1, err)) > 0) {
        int result = add_line(r, line, err);
        if (result < 0)
            return result;
    }
    return got;
}

static int read_collapsed(struct cairn_source *source, struct cairn_profile *p,
                          struct cairn_err *err)
{
    if (cairn_profile_add_type(p, "samples", "count") == UINT32_MAX)
        return cairn_fail_memory(err);
    struct reading r = {.p = p};
    int result = read_lines(&r, source, err);
    if (result == CAIRN_OK && r.rounded)
        cairn_log(CAIRN_LOG_WARNING, "counts with a fraction were rounded to whole numbers");
    done(&r);
    return result;
}

/* The first line with anything on it that is no comment; false where only the head's own end ends
 * it: then it is all that there is. */
static bool first_line(struct cairn_span head, struct cairn_span *ret_line)
{
    const uint8_t *end = NULL;
    do {
        while (head.size && (head.data[0] == '\n' || head.data[0] == '\r')) {
            head.data++;
            head.size--;
        }
        end = head.size ? memchr(head.data, '\n', head.size) : NULL;
        *ret_line = (struct cairn_span){head.data, end ? (size_t)(end - head.data) : head.size};
        head.data += ret_line->size;
        head.size -= ret_line->size;
    } while (end && is_comment(*ret_line));
    return end != NULL;
}

/* Text whose first line with anything on it ends in a blank and a number. */
static bool sniff(struct cairn_span head)
{
    struct cairn_span text;
    bool has_end = first_line(head, &text);
    if (!text.size || memchr(text.data, 0, text.size))
        return false;
    if (!has_end)
        return true; /* a first line longer than the head: the reader will say */
    struct reading ignored = {0};
    if (text.data[text.size - 1] == '\r')
        text.size--;
    const uint8_t *blank = text.size ? memrchr(text.data, ' ', text.size) : NULL;
    int64_t count;
    return blank &&
           parse_count(&ignored,
                       (struct cairn_span){blank + 1, (size_t)(text.data + text.size - blank - 1)},
                       &count);
}

static const char *const endings[] = {".collapsed", ".folded", ".txt", NULL};

const struct cairn_format_row cairn_format_collapsed = {
    .format = CAIRN_FORMAT_COLLAPSED,
    .name = "collapsed",
    .endings = endings,
    .sniff = sniff,
    .read = read_collapsed,
    .write = cairn_collapsed_write,
};
