/* SPDX-License-Identifier: MIT */
/*
 * Collapsed stacks, line by line: everything is copied but the frames that get a name.
 *
 *     app;0x7f12a0;lib.so+0x1b0;0x7f12c4 17\r\n
 *     name  return   return       leaf  count: behind the last blank; the line's end is kept
 *
 * A line without a count is no stack and is copied as it is.
 */
#include <ctype.h>

#include "base/error.h"
#include "resolve/resolver.h"

enum { LINE_BYTES_MAX = 16 << 20, PIECE_BYTES = 1 << 20, ADDRESS_DIGITS_MAX = 16 };

struct text {
    struct cairn_resolver *resolver;
    cairn_write_fn write;
    void *write_ctx;
    struct cairn_buffer out;
    const char *last_module; /* in the current line; of the token before */
    size_t last_module_size;
    uint32_t last_word;
    struct cairn_err *err;
};

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

/* How many bytes of the line are frames, up to the blank before the count; 0 where it is no
 * stack. */
static size_t frames_size(const char *line, size_t size)
{
    if (size && line[size - 1] == '\r')
        size--;
    const char *blank = memrchr(line, ' ', size);
    return blank && is_count(blank + 1, line + size) ? (size_t)(blank - line) : 0;
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

/* "module+0xoff": `ret_size` is the length of the module's name. */
static bool read_offset(const char *p, const char *end, size_t *ret_size, uint64_t *ret_value)
{
    static const char deleted[] = " (deleted)";
    const char *digits = end;
    while (digits > p && hex_digits[(uint8_t)digits[-1]])
        digits--;
    if (digits == end || digits - p < 4 || memcmp(digits - 3, "+0x", 3) != 0)
        return false;
    size_t size = (size_t)(digits - 3 - p), tail = sizeof deleted - 1;
    if (size > tail && memcmp(p + size - tail, deleted, tail) == 0)
        size -= tail;
    *ret_size = size;
    return is_module_name(p, size) && read_hex(digits, end, ret_value) == end;
}

static int find_word(struct text *text, const char *module, size_t size, uint32_t *ret_word)
{
    bool same = text->last_module && text->last_module_size == size &&
                memcmp(text->last_module, module, size) == 0;
    if (!same) {
        int result = cairn_resolver_word(text->resolver, module, size, &text->last_word, text->err);
        if (result < 0)
            return result;
        text->last_module = module;
        text->last_module_size = size;
    }
    *ret_word = text->last_word;
    return CAIRN_OK;
}

/* The frame [p, end), an address, gets a name or keeps its text. */
static int put_address(struct text *text, struct cairn_key key, const char *p, const char *end)
{
    struct cairn_resolve_summary *summary = &text->resolver->summary;
    struct cairn_answer answer;
    int result = cairn_resolver_name(text->resolver, key, &answer, text->err);
    if (result < 0)
        return result;
    if (answer.cause == CAIRN_CAUSE_NONE) {
        summary->n_named++;
        cairn_buffer_add(&text->out, answer.text, answer.size);
    } else {
        summary->frames_by_cause[answer.cause]++;
        cairn_buffer_add(&text->out, p, (size_t)(end - p));
    }
    return CAIRN_OK;
}

/* In a line with two counts the first one stands behind the leaf: "0x12 3". */
static const char *leaf_end(const char *p, const char *end)
{
    const char *blank = memrchr(p, ' ', (size_t)(end - p));
    return blank && is_count(blank + 1, end) ? blank : end;
}

/* The frame [p, end). */
static int put_frame(struct text *text, enum cairn_address_kind kind, const char *p,
                     const char *end)
{
    struct cairn_key key = {.kind = kind};
    text->resolver->summary.n_frames++;
    bool bare = end - p > 2 && p[0] == '0' && p[1] == 'x';
    if (bare && read_hex(p + 2, end, &key.value) == end)
        return put_address(text, key, p, end);
    size_t size;
    if (!read_offset(p, end, &size, &key.value)) {
        cairn_buffer_add(&text->out, p, (size_t)(end - p));
        return CAIRN_OK;
    }
    int result = find_word(text, p, size, &key.word);
    return result < 0 ? result : put_address(text, key, p, end);
}

static int flush(struct text *text)
{
    if (text->out.failed)
        return cairn_fail_memory(text->err);
    if (text->out.size && text->write(text->write_ctx, text->out.data, text->out.size))
        return cairn_fail(text->err, CAIRN_E_IO, "cannot write the stacks");
    cairn_buffer_clear(&text->out);
    return CAIRN_OK;
}

/* The frames of a line; short ones that become long names may be many megabytes. */
static int put_frames(struct text *text, const char *p, const char *end)
{
    enum cairn_address_kind leaf_kind =
        text->resolver->leaf == CAIRN_LEAF_IP ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN;
    const char *stop;
    int result = CAIRN_OK;
    while (result == CAIRN_OK && (stop = memchr(p, ';', (size_t)(end - p)))) {
        result = put_frame(text, CAIRN_ADDRESS_RETURN, p, stop);
        cairn_buffer_char(&text->out, ';');
        p = stop + 1;
        if (result == CAIRN_OK && text->out.size >= PIECE_BYTES)
            result = flush(text);
    }
    if (result < 0)
        return result;
    stop = leaf_end(p, end);
    result = put_frame(text, leaf_kind, p, stop);
    cairn_buffer_add(&text->out, stop, (size_t)(end - stop));
    return result;
}

static bool is_empty(const char *line, size_t size)
{
    return size == 0 || (size == 1 && *line == '\r');
}

/* `size` bytes with the line break, where there is one. */
static int put_line(struct text *text, const char *line, size_t size)
{
    struct cairn_resolve_summary *summary = &text->resolver->summary;
    size_t bare = size - (size && line[size - 1] == '\n');
    size_t frames = frames_size(line, bare);
    int result = CAIRN_OK;
    summary->n_lines++;
    if (frames) {
        text->last_module = NULL;
        result = put_frames(text, line, line + frames);
    } else {
        summary->n_malformed += !is_empty(line, bare);
    }
    cairn_buffer_add(&text->out, line + frames, size - frames);
    return result;
}

/* Every whole line of `in`, and the rest too at the end of the input; what is left moves to the
 * front. */
static int put_lines(struct text *text, struct cairn_buffer *in, bool at_end)
{
    const char *p = cairn_buffer_text(in), *end = p + in->size;
    int result = CAIRN_OK;
    while (p < end && result == CAIRN_OK) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline && !at_end)
            break;
        size_t size = newline ? (size_t)(newline + 1 - p) : (size_t)(end - p);
        if (size > LINE_BYTES_MAX)
            return cairn_fail(text->err, CAIRN_E_LIMIT, "line %llu: longer than %d bytes",
                              (unsigned long long)text->resolver->summary.n_lines + 1,
                              LINE_BYTES_MAX);
        result = put_line(text, p, size);
        p += size;
        if (result == CAIRN_OK && text->out.size >= PIECE_BYTES)
            result = flush(text);
    }
    in->size = (size_t)(end - p);
    if (in->size)
        memmove(in->data, p, in->size);
    return result;
}

static int copy_lines(struct text *text, struct cairn_buffer *in, cairn_read_fn read,
                      void *read_ctx)
{
    long got;
    int result;
    do {
        if (in->size > LINE_BYTES_MAX)
            return cairn_fail(text->err, CAIRN_E_LIMIT, "line %llu: longer than %d bytes",
                              (unsigned long long)text->resolver->summary.n_lines + 1,
                              LINE_BYTES_MAX);
        if (!cairn_buffer_reserve(in, PIECE_BYTES))
            return cairn_fail_memory(text->err);
        got = read(read_ctx, in->data + in->size, PIECE_BYTES);
        if (got < 0)
            return cairn_fail(text->err, CAIRN_E_IO, "cannot read the stacks");
        in->size += (size_t)got;
        result = put_lines(text, in, got == 0);
    } while (got > 0 && result == CAIRN_OK);
    return result == CAIRN_OK ? flush(text) : result;
}

int cairn_resolve_text(struct cairn_resolver *resolver, cairn_read_fn read, void *read_ctx,
                       cairn_write_fn write, void *write_ctx, struct cairn_err *err)
{
    struct text text = {.resolver = resolver, .write = write, .write_ctx = write_ctx, .err = err};
    struct cairn_buffer in = {0};
    int result = copy_lines(&text, &in, read, read_ctx);
    cairn_buffer_done(&in);
    cairn_buffer_done(&text.out);
    if (result == CAIRN_OK)
        cairn_resolver_report(resolver);
    return result;
}
