/* SPDX-License-Identifier: MIT */
/*
 * Collapsed stacks, line by line: everything is copied but the frames that get a name. The same
 * with the reports of allocation trackers, which have a frame a line. A line that is neither is
 * copied as it is.
 *
 * Where memory is bound, the addresses of each piece of the input are looked up in order before the
 * piece is written: neighbours share debug information, which so is read once and not once for each
 * time that the stacks come back to it. Where it is not, the modules hear of the addresses of the
 * first pieces before they are looked up.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "resolve/expected.h"
#include "resolve/resolver.h"
#include "resolve/stack_line.h"
#include "resolve/tracker_line.h"

enum {
    LINE_BYTES_MAX = 16 << 20,
    PIECE_BYTES = 1 << 20,
    STEP_BYTES = 1 << 16, /* reserved at a time: a short text touches no more memory */
    OUT_BYTES = 1 << 16,  /* handed on while they are in the CPU's cache */
    EXPECTED_MIN =
        64 /* new addresses of a piece; where there are fewer there will be hardly more */
};

struct text {
    struct cairn_resolver *resolver;
    cairn_write_fn write;
    void *write_ctx;
    struct cairn_buffer out;
    struct cairn_key *keys; /* to be looked up; of the present piece */
    size_t n_keys, cap_keys;
    struct cairn_expected expected;
    bool expects_no_more, in_report;
    const char *last_module; /* in the present line; of the token before */
    size_t last_module_size;
    uint32_t last_word;
    struct cairn_err *err;
};

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

/* The key of a frame that is an address in one form or the other. */
static int find_key(struct text *text, const struct cairn_stack_frame *frame,
                    struct cairn_key *ret_key)
{
    struct cairn_key key = {.value = frame->value, .kind = CAIRN_ADDRESS_RETURN};
    if (frame->leaf && text->resolver->leaf == CAIRN_LEAF_IP)
        key.kind = CAIRN_ADDRESS_EXACT;
    if (frame->is_function_start) {
        key.kind = CAIRN_ADDRESS_EXACT;
        key.is_function_start = true;
    }
    int result = frame->form == CAIRN_STACK_OFFSET
                     ? find_word(text, frame->text, frame->module_size, &key.word)
                     : CAIRN_OK;
    *ret_key = key;
    return result;
}

/* An address gets its name, or keeps its text. */
static int put_address(struct text *text, const struct cairn_stack_frame *frame)
{
    struct cairn_resolve_summary *summary = &text->resolver->summary;
    struct cairn_key key;
    struct cairn_answer answer;
    int result = find_key(text, frame, &key);
    if (result == CAIRN_OK)
        result = cairn_resolver_name(text->resolver, key, &answer, text->err);
    if (result < 0)
        return result;
    if (answer.cause == CAIRN_CAUSE_NONE) {
        summary->n_named++;
        cairn_buffer_add(&text->out, answer.text, answer.size);
    } else {
        summary->frames_by_cause[answer.cause]++;
        /* Where its function begins, in place of the offset or of the whole. */
        size_t kept = !answer.text ? frame->size : key.word ? frame->base_size : 0;
        cairn_buffer_add(&text->out, frame->text, kept);
        cairn_buffer_add(&text->out, answer.text, answer.text ? answer.size : 0);
    }
    return CAIRN_OK;
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
static int put_frames(struct text *text, struct cairn_stack_line *line)
{
    struct cairn_stack_frame frame;
    int result = CAIRN_OK;
    while (result == CAIRN_OK && cairn_stack_line_next(line, &frame)) {
        text->resolver->summary.n_frames++;
        if (frame.form == CAIRN_STACK_NAME)
            cairn_buffer_add(&text->out, frame.text, frame.size);
        else
            result = put_address(text, &frame);
        const char *end = frame.text + frame.size, *next = line->next ? line->next : line->end;
        cairn_buffer_add(&text->out, end, (size_t)(next - end));
        if (result == CAIRN_OK && text->out.size >= OUT_BYTES)
            result = flush(text);
    }
    return result;
}

/* Without the line break. */
static size_t bare_size(const char *line, size_t size)
{
    return size - (size && line[size - 1] == '\n');
}

static bool is_empty(const char *line, size_t size)
{
    return size == 0 || (size == 1 && *line == '\r');
}

static int find_tracker_key(struct text *text, const struct cairn_tracker_line *line,
                            struct cairn_key *ret_key)
{
    struct cairn_key key = {.value = line->va, .kind = CAIRN_ADDRESS_RETURN};
    int result = CAIRN_OK;
    if (line->module_size) {
        key.value = line->rel;
        result = find_word(text, line->module, line->module_size, &key.word);
    }
    *ret_key = key;
    return result;
}

/* A line is one function: that which the address is in. Where lines are asked for, what was inlined
 * into it follows. */
static void put_name(struct text *text, const struct cairn_answer *answer)
{
    const char *end = memchr(answer->text, ';', answer->size), *at = answer->text;
    const char *behind = answer->text + answer->size;
    cairn_buffer_str(&text->out, " (");
    cairn_buffer_add(&text->out, at, (size_t)((end ? end : behind) - at));
    while (end && text->resolver->lines) {
        at = end + 1;
        end = memchr(at, ';', (size_t)(behind - at));
        cairn_buffer_str(&text->out, " > ");
        cairn_buffer_add(&text->out, at, (size_t)((end ? end : behind) - at));
    }
    cairn_buffer_char(&text->out, ')');
}

/* A frame of a report, as it was but for its name. */
static int put_tracker_line(struct text *text, const char *line,
                            const struct cairn_tracker_line *tracker)
{
    struct cairn_resolve_summary *summary = &text->resolver->summary;
    struct cairn_key key;
    struct cairn_answer answer;
    int result = find_tracker_key(text, tracker, &key);
    if (result == CAIRN_OK)
        result = cairn_resolver_name(text->resolver, key, &answer, text->err);
    if (result < 0)
        return result;
    summary->n_frames++;
    cairn_buffer_add(&text->out, line, tracker->head);
    if (answer.cause == CAIRN_CAUSE_NONE) {
        summary->n_named++;
        put_name(text, &answer);
    } else {
        summary->frames_by_cause[answer.cause]++;
        cairn_buffer_add(&text->out, line + tracker->head, tracker->tail - tracker->head);
    }
    return CAIRN_OK;
}

/* What is no stack: of a report, or anything. */
static int put_other_line(struct text *text, const char *line, size_t bare, size_t *ret_done)
{
    struct cairn_tracker_line tracker;
    if (cairn_tracker_line_read(line, bare, &tracker)) {
        *ret_done = tracker.tail;
        return put_tracker_line(text, line, &tracker);
    }
    text->in_report |= cairn_tracker_line_begins(line, bare);
    text->resolver->summary.n_malformed += !is_empty(line, bare) && !text->in_report;
    return CAIRN_OK;
}

/* `size` bytes with the line break, where there is one. */
static int put_line(struct text *text, const char *line, size_t size)
{
    struct cairn_resolve_summary *summary = &text->resolver->summary;
    struct cairn_stack_line stack;
    size_t bare = bare_size(line, size), done = cairn_stack_line_open(line, bare, &stack);
    summary->n_lines++;
    text->last_module = NULL;
    int result = done ? put_frames(text, &stack) : put_other_line(text, line, bare, &done);
    cairn_buffer_add(&text->out, line + done, size - done);
    return result;
}

static int collect_key(struct text *text, struct cairn_key key)
{
    if (!text->resolver->names.max_bytes)
        return cairn_expected_add(&text->expected, text->resolver, key, text->err);
    if (cairn_resolver_knows(text->resolver, key))
        return CAIRN_OK;
    if (cairn_grow((void **)&text->keys, &text->cap_keys, text->n_keys + 1, sizeof key) < 0)
        return cairn_fail_memory(text->err);
    text->keys[text->n_keys++] = key;
    return CAIRN_OK;
}

static int collect_line(struct text *text, const char *line, size_t size)
{
    struct cairn_stack_line stack;
    struct cairn_stack_frame frame;
    struct cairn_tracker_line tracker;
    struct cairn_key key;
    size_t bare = bare_size(line, size);
    int result = CAIRN_OK;
    text->last_module = NULL;
    if (!cairn_stack_line_open(line, bare, &stack)) {
        if (!cairn_tracker_line_read(line, bare, &tracker))
            return CAIRN_OK;
        result = find_tracker_key(text, &tracker, &key);
        return result < 0 ? result : collect_key(text, key);
    }
    while (result == CAIRN_OK && cairn_stack_line_next(&stack, &frame)) {
        if (frame.form == CAIRN_STACK_NAME)
            continue;
        result = find_key(text, &frame, &key);
        if (result == CAIRN_OK)
            result = collect_key(text, key);
    }
    return result;
}

static int by_module_and_address(const void *left, const void *right)
{
    const struct cairn_key *a = left, *b = right;
    if (a->word != b->word)
        return a->word < b->word ? -1 : 1;
    return a->value == b->value ? 0 : a->value < b->value ? -1 : 1;
}

static int look_up_keys(struct text *text)
{
    struct cairn_answer answer;
    int result = CAIRN_OK;
    if (text->n_keys)
        qsort(text->keys, text->n_keys, sizeof *text->keys, by_module_and_address);
    for (size_t i = 0; i < text->n_keys && result == CAIRN_OK; i++)
        result = cairn_resolver_name(text->resolver, text->keys[i], &answer, text->err);
    text->n_keys = 0;
    return result;
}

static int too_long(const struct text *text)
{
    return cairn_fail(text->err, CAIRN_E_LIMIT, "line %llu: longer than %d bytes",
                      (unsigned long long)text->resolver->summary.n_lines + 1, LINE_BYTES_MAX);
}

typedef int (*line_fn)(struct text *text, const char *line, size_t size);

/* Every whole line of `in`, and the rest too at the end of the input. `ret_left` are the bytes of a
 * line that has no end yet. */
static int each_line(struct text *text, const struct cairn_buffer *in, bool at_end, line_fn fn,
                     size_t *ret_left)
{
    const char *p = cairn_buffer_text(in), *end = p + in->size;
    int result = CAIRN_OK;
    while (p < end && result == CAIRN_OK) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline && !at_end)
            break;
        size_t size = newline ? (size_t)(newline + 1 - p) : (size_t)(end - p);
        result = size > LINE_BYTES_MAX ? too_long(text) : fn(text, p, size);
        p += size;
        if (result == CAIRN_OK && text->out.size >= OUT_BYTES)
            result = flush(text);
    }
    *ret_left = (size_t)(end - p);
    return result;
}

/* The lines that `in` holds; what is left moves to the front. */
static int put_piece(struct text *text, struct cairn_buffer *in, bool at_end)
{
    bool bounded = text->resolver->names.max_bytes;
    size_t left = 0;
    int result = CAIRN_OK;
    if (bounded || !text->expects_no_more)
        result = each_line(text, in, at_end, collect_line, &left);
    if (result == CAIRN_OK && bounded) {
        result = look_up_keys(text);
    } else if (result == CAIRN_OK) {
        text->expects_no_more |= text->expected.n < EXPECTED_MIN;
        result = cairn_expected_tell(&text->expected, text->resolver, text->err);
    }
    if (result == CAIRN_OK)
        result = each_line(text, in, at_end, put_line, &left);
    if (result < 0)
        return result;
    if (left)
        memmove(in->data, in->data + in->size - left, left);
    in->size = left;
    return left > LINE_BYTES_MAX ? too_long(text) : CAIRN_OK;
}

/* Reads until a piece is full or the input ends: from a piece of a few lines the modules would
 * learn little of what will be looked up. `ret_at_end` tells which. */
static int read_piece(struct text *text, struct cairn_buffer *in, cairn_read_fn read,
                      void *read_ctx, bool *ret_at_end)
{
    long got = 1;
    for (size_t room = PIECE_BYTES; room && got > 0; room -= (size_t)got) {
        size_t step = room < STEP_BYTES ? room : STEP_BYTES;
        if (!cairn_buffer_reserve(in, step))
            return cairn_fail_memory(text->err);
        got = read(read_ctx, in->data + in->size, step);
        if (got < 0)
            return cairn_fail(text->err, CAIRN_E_IO, "cannot read the stacks");
        in->size += (size_t)got;
    }
    *ret_at_end = got == 0;
    return CAIRN_OK;
}

static int copy_lines(struct text *text, struct cairn_buffer *in, cairn_read_fn read,
                      void *read_ctx)
{
    bool at_end = false;
    int result = CAIRN_OK;
    while (!at_end && result == CAIRN_OK) {
        result = read_piece(text, in, read, read_ctx, &at_end);
        if (result == CAIRN_OK)
            result = put_piece(text, in, at_end);
    }
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
    cairn_free(text.keys);
    cairn_expected_done(&text.expected);
    if (result == CAIRN_OK)
        cairn_resolver_report(resolver, false);
    return result;
}
