/* SPDX-License-Identifier: MIT */
#include "formats/stack_text.h"

#include "base/alloc.h"
#include "base/error.h"

enum { LABEL_BYTES_MAX = 256, HEX_DIGITS_MAX = 16 };

void cairn_stack_text_done(struct cairn_stack_text *text)
{
    cairn_free(text->frames);
    cairn_free(text->rows);
    cairn_table_done(&text->by_what);
}

static uint32_t number_of(struct cairn_profile *p, struct cairn_span text)
{
    return text.size ? cairn_profile_text(p, (const char *)text.data, text.size) : 0;
}

static uint32_t module_of(struct cairn_profile *p, const struct cairn_text_frame *frame)
{
    char build_id[2 * 64];
    struct cairn_span id = frame->build_id;
    if (!frame->module.size && !id.size)
        return CAIRN_PROFILE_NO_MODULE;
    if (id.size > sizeof build_id)
        id.size = 0;
    for (size_t i = 0; i < id.size; i++)
        build_id[i] = (char)(id.data[i] >= 'A' && id.data[i] <= 'F' ? id.data[i] + 32 : id.data[i]);
    const struct cairn_profile_module module = {
        .end = frame->in_file ? UINT64_MAX : 0,
        .off = frame->begins,
        .path = number_of(p, frame->module),
        .build_id = number_of(p, (struct cairn_span){(const uint8_t *)build_id, id.size}),
    };
    if (module.path == UINT32_MAX || module.build_id == UINT32_MAX)
        return UINT32_MAX;
    return cairn_profile_add_module(p, &module);
}

/* A line of the frame's name; its function is UINT32_MAX where memory is gone. */
static struct cairn_profile_line line_of(struct cairn_profile *p, struct cairn_span name,
                                         const struct cairn_text_frame *frame)
{
    struct cairn_profile_line line = {.function = UINT32_MAX, .line = frame->line};
    struct cairn_profile_function function = {.name = number_of(p, name),
                                              .file = number_of(p, frame->file)};
    function.system_name = function.name;
    if (function.name != UINT32_MAX && function.file != UINT32_MAX)
        line.function = cairn_profile_add_function(p, &function);
    return line;
}

/* Makes the frame that was kept back. */
static int add_last(struct cairn_stack_text *text, struct cairn_err *err)
{
    if (!text->has_last)
        return CAIRN_OK;
    text->has_last = false;
    uint32_t frame = cairn_profile_add_frame(text->p, &text->last, &text->last_line,
                                             text->last_line.function ? 1 : 0);
    if (frame == UINT32_MAX || cairn_grow((void **)&text->frames, &text->cap_frames,
                                          text->n_frames + 1, sizeof *text->frames) < 0)
        return cairn_fail_memory(err);
    text->frames[text->n_frames++] = frame;
    return CAIRN_OK;
}

/* The addresses of a call that was inlined and of its caller are equal, as are those of recursion:
 * there the function is the same. */
static bool is_inlined(const struct cairn_stack_text *text, const struct cairn_text_frame *frame,
                       uint32_t function)
{
    const struct cairn_profile *p = text->p;
    return text->has_last && frame->pc && text->last_pc == frame->pc && function &&
           text->last_line.function &&
           p->functions[text->last_line.function].name != p->functions[function].name;
}

int cairn_stack_text_frame(struct cairn_stack_text *text, const struct cairn_text_frame *frame,
                           struct cairn_err *err)
{
    struct cairn_profile_line line = {0};
    struct cairn_span name = frame->name;
    if (text->n_frames == CAIRN_PROFILE_DEPTH_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d frames", CAIRN_PROFILE_DEPTH_MAX);
    uint32_t module = module_of(text->p, frame);
    /* Where in the module is not said: no later step could name it. */
    if (!name.size && module && !frame->has_offset)
        name = cairn_span_of("[unknown]");
    if (name.size)
        line = line_of(text->p, name, frame);
    if (module == UINT32_MAX || line.function == UINT32_MAX)
        return cairn_fail_memory(err);
    if (is_inlined(text, frame, line.function))
        text->last.what = CAIRN_WHAT_INLINED;
    int code = add_last(text, err);
    text->last = (struct cairn_profile_frame){
        .address = frame->has_offset ? frame->offset
                   : name.size       ? 0
                                     : frame->pc,
        .module = module,
        .what = CAIRN_WHAT_NATIVE,
        .how = CAIRN_HOW_TEXT,
    };
    text->last_line = line;
    text->last_pc = frame->pc;
    text->has_last = true;
    return code;
}

static int add_row(struct cairn_stack_text *text, const struct cairn_text_row *row,
                   struct cairn_err *err)
{
    const uint32_t what[] = {row->stack, row->labels};
    const uint64_t key = cairn_hash_bytes(what, sizeof what);
    uint32_t number;
    if (cairn_table_find(&text->by_what, key, &number)) {
        struct cairn_text_row *old = &text->rows[number];
        old->n = cairn_profile_add_clamped(old->n, row->n);
        old->bytes = cairn_profile_add_clamped(old->bytes, row->bytes);
        old->objects = cairn_profile_add_clamped(old->objects, row->objects);
        return CAIRN_OK;
    }
    if (cairn_grow((void **)&text->rows, &text->cap_rows, text->n_rows + 1, sizeof *text->rows) <
            0 ||
        cairn_table_set(&text->by_what, key, (uint32_t)text->n_rows) < 0)
        return cairn_fail_memory(err);
    text->rows[text->n_rows++] = *row;
    return CAIRN_OK;
}

/* Ends the stack as the row has it, but for its stack. */
static int end_row(struct cairn_stack_text *text, struct cairn_text_row *row, struct cairn_err *err)
{
    int code = add_last(text, err);
    if (code < 0)
        return code;
    for (size_t i = text->n_frames; i > 0 && row->stack != UINT32_MAX; i--)
        row->stack = cairn_profile_add_stack(text->p, row->stack, text->frames[i - 1]);
    text->n_frames = 0;
    if (row->stack == UINT32_MAX || row->labels == UINT32_MAX)
        return cairn_fail_memory(err);
    return add_row(text, row, err);
}

int cairn_stack_text_end_counted(struct cairn_stack_text *text, uint32_t labels, int64_t n,
                                 struct cairn_err *err)
{
    return end_row(text, &(struct cairn_text_row){.labels = labels, .n = n}, err);
}

int cairn_stack_text_end(struct cairn_stack_text *text, uint32_t labels, int64_t bytes,
                         int64_t objects, struct cairn_err *err)
{
    struct cairn_text_row row = {.labels = labels, .n = 1};
    if (bytes >= 0) {
        row.bytes = bytes;
        row.objects = objects > 0 ? objects : 0;
        text->n_amounts++;
    }
    return end_row(text, &row, err);
}

int cairn_stack_text_finish(struct cairn_stack_text *text, struct cairn_err *err)
{
    struct cairn_profile *p = text->p;
    uint64_t n_stacks = 0;
    bool has_amounts = text->n_amounts > 0;
    if (cairn_profile_add_type(p, "samples", "count") == UINT32_MAX ||
        (has_amounts && (cairn_profile_add_type(p, "bytes", "bytes") == UINT32_MAX ||
                         cairn_profile_add_type(p, "objects", "count") == UINT32_MAX)))
        return cairn_fail_memory(err);
    for (size_t i = 0; i < text->n_rows; i++) {
        const struct cairn_text_row *row = &text->rows[i];
        const int64_t values[] = {row->n, row->bytes, row->objects};
        if (cairn_profile_add_sample(p, row->stack, row->labels, values) == UINT32_MAX)
            return cairn_fail_memory(err);
        n_stacks += (uint64_t)row->n; /* to compare with stacks that are counted one by one */
    }
    /* Where there is nothing but leaks, their size matters most. */
    if (has_amounts && text->n_amounts == n_stacks)
        p->default_type = p->types[1].type;
    return CAIRN_OK;
}

bool cairn_stack_text_label(struct cairn_profile *p, const char *key, struct cairn_span text,
                            struct cairn_profile_label *ret_label)
{
    size_t size = text.size;
    if (size > LABEL_BYTES_MAX) /* not within a character of UTF-8 */
        for (size = LABEL_BYTES_MAX; size && (text.data[size] & 0xc0) == 0x80;)
            size--;
    *ret_label = (struct cairn_profile_label){
        .key = cairn_profile_text(p, key, strlen(key)),
        .text = cairn_profile_text(p, (const char *)text.data, size),
    };
    return ret_label->key != UINT32_MAX && ret_label->text != UINT32_MAX;
}

bool cairn_stack_text_next(struct cairn_span *io_rest, struct cairn_span *ret_line)
{
    if (!io_rest->size)
        return false;
    const uint8_t *end = memchr(io_rest->data, '\n', io_rest->size);
    size_t size = end ? (size_t)(end - io_rest->data) : io_rest->size;
    *ret_line = (struct cairn_span){io_rest->data, size};
    size += end != NULL;
    *io_rest = (struct cairn_span){io_rest->data + size, io_rest->size - size};
    return true;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct cairn_span cairn_stack_text_trimmed_end(struct cairn_span text)
{
    while (text.size && is_blank(text.data[text.size - 1]))
        text.size--;
    return text;
}

size_t cairn_stack_text_find_last(struct cairn_span text, const char *mark)
{
    size_t size = strlen(mark);
    for (size_t at = text.size; at >= size; at--)
        if (memcmp(text.data + at - size, mark, size) == 0)
            return at - size;
    return text.size;
}

struct cairn_span cairn_stack_text_between(struct cairn_span text, const char *mark,
                                           const char *end)
{
    size_t at = cairn_span_find(text, mark);
    if (at == text.size)
        return (struct cairn_span){0};
    text = cairn_span_from(text, at + strlen(mark));
    return cairn_span_up_to(text, cairn_span_find(text, end));
}

struct cairn_span cairn_stack_text_trimmed(struct cairn_span text)
{
    text = cairn_stack_text_trimmed_end(text);
    while (text.size && is_blank(text.data[0]))
        text = (struct cairn_span){text.data + 1, text.size - 1};
    return text;
}

bool cairn_stack_text_group(struct cairn_span *io_text, struct cairn_span *ret_inside)
{
    struct cairn_span text = *io_text;
    size_t at = text.size, depth = 0;
    if (!text.size || text.data[text.size - 1] != ')')
        return false;
    while (at-- > 0) {
        depth += text.data[at] == ')';
        depth -= text.data[at] == '(';
        if (!depth)
            break;
    }
    if (depth || (at && text.data[at - 1] != ' '))
        return false;
    *ret_inside = (struct cairn_span){text.data + at + 1, text.size - at - 2};
    *io_text = cairn_stack_text_trimmed((struct cairn_span){text.data, at});
    return true;
}

/* Does the text end within the line that was read last? */
static bool is_cut(const struct cairn_source *source)
{
    return source->at_end && source->pos == source->ahead.size && source->pos &&
           source->ahead.data[source->pos - 1] != '\n';
}

int cairn_stack_text_read(struct cairn_source *source, uint64_t *line, cairn_stack_text_fn fn,
                          void *ctx, struct cairn_err *err)
{
    struct cairn_span text;
    int code = CAIRN_OK, got;
    while (code == CAIRN_OK && (got = cairn_source_line(source, &text, ++*line, err)) != 0)
        code = got < 0 ? got : fn(ctx, text, is_cut(source), err);
    return code;
}

bool cairn_stack_text_is_hex(struct cairn_span text)
{
    size_t i = 0;
    while (i < text.size && text.data[i] && strchr("0123456789abcdefABCDEF", text.data[i]))
        i++;
    return i == text.size;
}

bool cairn_stack_text_hex(struct cairn_span text, size_t *io_at, uint64_t *ret_number)
{
    size_t at = *io_at;
    uint64_t number = 0;
    for (; at < text.size && at - *io_at <= HEX_DIGITS_MAX; at++) {
        uint8_t c = (uint8_t)(text.data[at] | 0x20);
        if (c >= '0' && c <= '9')
            number = number << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            number = number << 4 | (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    if (at == *io_at || at - *io_at > HEX_DIGITS_MAX)
        return false;
    *io_at = at;
    *ret_number = number;
    return true;
}

bool cairn_stack_text_number(struct cairn_span text, size_t *io_at, uint64_t *ret_number)
{
    size_t at = *io_at;
    uint64_t number = 0;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.data[at] - '0', &number) || number > INT64_MAX)
            return false;
    if (at == *io_at)
        return false;
    *io_at = at;
    *ret_number = number;
    return true;
}

int64_t cairn_stack_text_before(struct cairn_span line, const char *mark)
{
    const uint8_t *end = memmem(line.data, line.size, mark, strlen(mark));
    size_t at = end ? (size_t)(end - line.data) : 0, first = at;
    int64_t number = 0;
    while (first && ((line.data[first - 1] >= '0' && line.data[first - 1] <= '9') ||
                     line.data[first - 1] == ','))
        first--;
    if (first == at)
        return -1;
    for (; first < at; first++)
        if (line.data[first] != ',' &&
            (__builtin_mul_overflow(number, 10, &number) ||
             __builtin_add_overflow(number, line.data[first] - '0', &number)))
            return INT64_MAX;
    return number;
}

bool cairn_stack_text_place(struct cairn_span line, struct cairn_span *ret_file, uint32_t *ret_line)
{
    struct cairn_span text = cairn_stack_text_trimmed(line);
    uint64_t numbers[2] = {0};
    size_t n = 0;
    while (n < 2) { /* the column, then the line */
        size_t at = text.size, digits;
        while (at && text.data[at - 1] >= '0' && text.data[at - 1] <= '9')
            at--;
        digits = at;
        if (at < 2 || text.data[at - 1] != ':' ||
            !cairn_stack_text_number(text, &digits, &numbers[n]) || numbers[n] > UINT32_MAX)
            break;
        text.size = at - 1;
        n++;
    }
    if (!n)
        return false;
    *ret_file = text;
    *ret_line = (uint32_t)numbers[n - 1];
    return true;
}
