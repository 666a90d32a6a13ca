/* SPDX-License-Identifier: MIT */
#include "symbol/index_strings.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/reader.h"
#include "symbol/index_columns.h"

enum { ENTRY_MIN_BYTES = 3 };

bool cairn_texts_fit(const struct cairn_texts *t)
{
    size_t n = t->n / CAIRN_TEXT_BLOCK + (t->n % CAIRN_TEXT_BLOCK != 0);
    return t->blocks.size == n * 4 && t->data.size / ENTRY_MIN_BYTES >= t->n;
}

/* What the next text of a block may begin with. */
struct before {
    const char *text;
    size_t size;
};

/* Reads what a text does not share with the one before it, and keeps the whole. False: damaged, or
 * `*failed`, memory is gone. */
static bool read_text(struct cairn_texts *t, struct cairn_reader *r, uint64_t shared,
                      struct before *before, bool *failed)
{
    uint64_t rest = cairn_reader_uleb(r);
    struct cairn_span bytes = cairn_reader_take(r, rest);
    if (r->failed || shared > before->size || shared + rest > CAIRN_TEXT_MAX_BYTES)
        return false;
    size_t size = (size_t)(shared + rest);
    char *text = cairn_arena_alloc(&t->arena, size + 1);
    if (!text) {
        *failed = true;
        return false;
    }
    if (shared)
        memcpy(text, before->text, (size_t)shared);
    if (rest)
        memcpy(text + shared, bytes.data, bytes.size);
    text[size] = '\0';
    *before = (struct before){text, size};
    return true;
}

/* Reads `n` texts of a block; those from the first damaged one on are "". False: memory is gone. */
static bool read_block(struct cairn_texts *t, struct cairn_reader *r, unsigned n,
                       struct cairn_index_text *ret_texts)
{
    struct before text = {"", 0}, readable = {"", 0};
    bool failed = false, sound = true;
    for (unsigned i = 0; i < n && !failed; i++) {
        struct cairn_index_text read = {"", ""};
        sound = sound && read_text(t, r, cairn_reader_uleb(r), &text, &failed);
        uint64_t shared = sound ? cairn_reader_uleb(r) : 0;
        sound = sound && (!shared || read_text(t, r, shared - 1, &readable, &failed));
        if (sound)
            read = (struct cairn_index_text){text.text,
                                             shared && readable.size ? readable.text : text.text};
        ret_texts[i] = read;
    }
    return !failed;
}

int cairn_texts_get(struct cairn_texts *t, uint32_t number, struct cairn_index_text *ret_text,
                    struct cairn_err *err)
{
    if (number == 0 || number > t->n) {
        *ret_text = (struct cairn_index_text){"", ""};
        return CAIRN_OK;
    }
    if (!t->read)
        t->read = cairn_alloc(t->n, sizeof *t->read);
    if (!t->read)
        return cairn_fail_memory(err);
    if (!t->read[number - 1].text) {
        struct cairn_index_text texts[CAIRN_TEXT_BLOCK];
        uint32_t block = (number - 1) / CAIRN_TEXT_BLOCK, first = block * CAIRN_TEXT_BLOCK;
        unsigned n = t->n - first < CAIRN_TEXT_BLOCK ? t->n - first : CAIRN_TEXT_BLOCK;
        struct cairn_reader r = cairn_reader_of(t->data, false);
        cairn_reader_seek(&r, cairn_le32(t->blocks.data + (size_t)block * 4));
        if (!read_block(t, &r, n, texts))
            return cairn_fail_memory(err);
        memcpy(t->read + first, texts, n * sizeof *texts);
    }
    *ret_text = t->read[number - 1];
    return CAIRN_OK;
}

void cairn_texts_forget(struct cairn_texts *t)
{
    cairn_free(t->read);
    t->read = NULL;
    cairn_arena_done(&t->arena);
}

static void add_number(struct cairn_buffer *out, uint64_t value)
{
    uint8_t bytes[10];
    unsigned n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    cairn_buffer_add(out, bytes, n);
}

static size_t n_shared(struct cairn_span a, struct cairn_span b)
{
    size_t n = a.size < b.size ? a.size : b.size, i = 0;
    while (i < n && a.data[i] == b.data[i])
        i++;
    return i;
}

static void add_rest(struct cairn_buffer *out, struct cairn_span text, size_t shared)
{
    add_number(out, text.size - shared);
    if (text.size > shared)
        cairn_buffer_add(out, text.data + shared, text.size - shared);
}

void cairn_texts_begin(struct cairn_texts_writer *w, struct cairn_buffer *data)
{
    w->data = data;
    w->start = data->size;
}

void cairn_texts_add(struct cairn_texts_writer *w, struct cairn_span text,
                     struct cairn_span readable)
{
    if (w->n % CAIRN_TEXT_BLOCK == 0) {
        cairn_buffer_le(&w->blocks, w->data->size - w->start, 4);
        w->text = w->readable = (struct cairn_span){0};
    }
    if (text.size > CAIRN_TEXT_MAX_BYTES || readable.size > CAIRN_TEXT_MAX_BYTES)
        w->too_long = true;
    size_t shared = n_shared(w->text, text);
    add_number(w->data, shared);
    add_rest(w->data, text, shared);
    w->text = text;
    if (readable.size) {
        shared = n_shared(w->readable, readable);
        add_number(w->data, 1 + shared);
        add_rest(w->data, readable, shared);
        w->readable = readable;
    } else {
        add_number(w->data, 0);
    }
    w->n++;
}

int cairn_texts_finish(struct cairn_texts_writer *w, struct cairn_err *err)
{
    if (w->blocks.failed || w->data->failed)
        return cairn_fail_memory(err);
    w->size = w->data->size - w->start;
    if (w->too_long || w->size > UINT32_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT,
                          w->too_long ? "the index would hold a name of more than %zu bytes"
                                      : "the names of the index are %zu bytes, more than 4 GiB",
                          w->too_long ? (size_t)CAIRN_TEXT_MAX_BYTES : w->size);
    return CAIRN_OK;
}

void cairn_texts_done(struct cairn_texts_writer *w)
{
    cairn_buffer_done(&w->blocks);
}
