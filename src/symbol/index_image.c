/* SPDX-License-Identifier: MIT */
/* The head of an image, written and read. */
#include "symbol/index_image.h"

#include "base/alloc.h"
#include "base/error.h"

static const char magic[8] = {'c', 'a', 'i', 'r', 'n', 'i', 'd', 'x'};

enum {
    RECORD_KEYS,
    RECORD_BLOCKS,
    RECORD_DATA,
    NODE_BLOCKS,
    NODE_DATA,
    FUNCTION_BLOCKS,
    FUNCTION_DATA,
    SYMBOL_KEYS,
    SYMBOL_BLOCKS,
    SYMBOL_DATA,
    TEXT_BLOCKS,
    TEXT_DATA,
    PATH_BLOCKS,
    PATH_DATA,
    N_SECTIONS
};

enum {
    N_COUNTS = 6,
    AT_VERSION = 8,
    AT_HEAD_BYTES = 12,
    AT_IMAGE_BYTES = 16,
    AT_BASE = 24,
    AT_SYMBOL_BASE = 32,
    AT_COUNTS = 40,
    AT_SECTIONS = AT_COUNTS + 4 * N_COUNTS,
    AT_CHECKSUM = AT_SECTIONS + 16 * N_SECTIONS,
    HEAD_BYTES = AT_CHECKSUM + 8,
    ALIGN = 8,
    ROW_BYTES = 6 /* of large modules, about */
};

/* FNV-1a: against accidents, not against people. */
static uint64_t checksum(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * 0x100000001b3u;
    return sum;
}

/* Places of the spans in the order of the sections. */
static void list_sections(struct cairn_index *index, struct cairn_span **ret_spans)
{
    struct cairn_span *spans[N_SECTIONS] = {
        &index->records.keys,   &index->records.blocks, &index->records.data,
        &index->nodes.blocks,   &index->nodes.data,     &index->functions.blocks,
        &index->functions.data, &index->symbols.keys,   &index->symbols.blocks,
        &index->symbols.data,   &index->texts.blocks,   &index->texts.data,
        &index->paths.blocks,   &index->paths.data,
    };
    memcpy(ret_spans, spans, sizeof spans);
}

static bool read_sections(struct cairn_index *index)
{
    struct cairn_span *spans[N_SECTIONS];
    list_sections(index, spans);
    for (size_t i = 0; i < N_SECTIONS; i++) {
        const uint8_t *at = index->image.data + AT_SECTIONS + 16 * i;
        uint64_t off = cairn_le64(at), size = cairn_le64(at + 8);
        if (off % ALIGN || off < HEAD_BYTES || !cairn_span_slice(index->image, off, size, spans[i]))
            return false;
    }
    return cairn_columns_fit(&index->records, true) && cairn_columns_fit(&index->nodes, false) &&
           cairn_columns_fit(&index->functions, false) &&
           cairn_columns_fit(&index->symbols, true) && cairn_texts_fit(&index->texts) &&
           cairn_texts_fit(&index->paths);
}

int cairn_index_open(struct cairn_span image, struct cairn_index *ret_index, struct cairn_err *err)
{
    if (image.size < HEAD_BYTES || memcmp(image.data, magic, sizeof magic) != 0)
        return cairn_fail(err, CAIRN_E_FORMAT, "no index: %zu bytes that do not begin as one",
                          image.size);
    uint32_t version = cairn_le32(image.data + AT_VERSION);
    if (version != CAIRN_INDEX_VERSION)
        return cairn_fail(err, CAIRN_E_FORMAT, "index of version %u, expected %d", version,
                          CAIRN_INDEX_VERSION);
    if (cairn_le32(image.data + AT_HEAD_BYTES) != HEAD_BYTES ||
        cairn_le64(image.data + AT_CHECKSUM) != checksum(image.data, AT_CHECKSUM))
        return cairn_fail(err, CAIRN_E_FORMAT, "index with a damaged head");
    if (cairn_le64(image.data + AT_IMAGE_BYTES) != image.size)
        return cairn_fail(err, CAIRN_E_FORMAT, "index of %zu bytes, expected %llu", image.size,
                          (unsigned long long)cairn_le64(image.data + AT_IMAGE_BYTES));
    const uint8_t *counts = image.data + AT_COUNTS;
    struct cairn_index index = {
        .image = image,
        .base = cairn_le64(image.data + AT_BASE),
        .symbol_base = cairn_le64(image.data + AT_SYMBOL_BASE),
        .records = {.n = cairn_le32(counts), .n_columns = CAIRN_RECORD_COLUMNS},
        .nodes = {.n = cairn_le32(counts + 4), .n_columns = CAIRN_NODE_COLUMNS},
        .functions = {.n = cairn_le32(counts + 8), .n_columns = CAIRN_FUNCTION_COLUMNS},
        .symbols = {.n = cairn_le32(counts + 12), .n_columns = CAIRN_SYMBOL_COLUMNS},
        .texts = {.n = cairn_le32(counts + 16)},
        .paths = {.n = cairn_le32(counts + 20)},
    };
    if (!read_sections(&index))
        return cairn_fail(err, CAIRN_E_FORMAT, "index whose tables do not fit its head");
    *ret_index = index;
    return CAIRN_OK;
}

void cairn_index_done(struct cairn_index *index)
{
    cairn_index_forget(index);
    *index = (struct cairn_index){0};
}

static const uint8_t zeros[HEAD_BYTES];

/* Makes room in the image. Not all of it may be used; where there is not that much it grows step by
 * step. */
static void expect(struct cairn_buffer *image, size_t bytes)
{
    bool failed = image->failed;
    if (cairn_buffer_reserve(image, bytes))
        cairn_advise_filled(image->data, image->cap);
    image->failed = failed;
}

static void align(const struct cairn_index_parts *p)
{
    cairn_buffer_add(p->image, zeros, -(p->image->size - p->start) & (ALIGN - 1));
}

void cairn_index_begin(struct cairn_index_parts *p, struct cairn_buffer *image,
                       size_t expected_bytes)
{
    p->records.n_columns = CAIRN_RECORD_COLUMNS;
    p->nodes.n_columns = CAIRN_NODE_COLUMNS;
    p->functions.n_columns = CAIRN_FUNCTION_COLUMNS;
    p->symbols.n_columns = CAIRN_SYMBOL_COLUMNS;
    p->image = image;
    p->start = image->size;
    expect(image, expected_bytes);
    cairn_buffer_add(image, zeros, HEAD_BYTES);
    cairn_columns_begin(&p->nodes, image);
    cairn_columns_begin(&p->functions, &p->function_data);
    cairn_columns_begin(&p->symbols, &p->symbol_data);
    cairn_texts_begin(&p->paths, &p->path_data);
}

int cairn_index_begin_records(struct cairn_index_parts *p, size_t n_records, struct cairn_err *err)
{
    int code = cairn_columns_finish(&p->nodes, err);
    align(p);
    expect(p->image, n_records * ROW_BYTES);
    cairn_columns_begin(&p->records, p->image);
    return code;
}

int cairn_index_begin_texts(struct cairn_index_parts *p, size_t bytes, struct cairn_err *err)
{
    int code = cairn_columns_finish(&p->records, err);
    align(p);
    expect(p->image, bytes);
    cairn_texts_begin(&p->texts, p->image);
    return code;
}

static int finish_parts(struct cairn_index_parts *p, struct cairn_err *err)
{
    int code = cairn_texts_finish(&p->texts, err);
    if (code == CAIRN_OK)
        code = cairn_columns_finish(&p->functions, err);
    if (code == CAIRN_OK)
        code = cairn_columns_finish(&p->symbols, err);
    return code == CAIRN_OK ? cairn_texts_finish(&p->paths, err) : code;
}

static void set_le(uint8_t *at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

void cairn_index_seal(uint8_t *image, size_t size)
{
    if (size < HEAD_BYTES)
        return;
    set_le(image + AT_IMAGE_BYTES, size, 8);
    set_le(image + AT_CHECKSUM, checksum(image, AT_CHECKSUM), 8);
}

static void write_head(uint8_t *head, const struct cairn_index_parts *p)
{
    const uint32_t counts[N_COUNTS] = {p->records.n, p->nodes.n, p->functions.n,
                                       p->symbols.n, p->texts.n, p->paths.n};
    memcpy(head, magic, sizeof magic);
    set_le(head + AT_VERSION, CAIRN_INDEX_VERSION, 4);
    set_le(head + AT_HEAD_BYTES, HEAD_BYTES, 4);
    set_le(head + AT_BASE, p->base, 8);
    set_le(head + AT_SYMBOL_BASE, p->symbol_base, 8);
    for (size_t i = 0; i < N_COUNTS; i++)
        set_le(head + AT_COUNTS + 4 * i, counts[i], 4);
}

/* A section whose bytes are in the image, or are appended now. */
static void place_section(const struct cairn_index_parts *p, uint8_t *head, unsigned section,
                          const struct cairn_buffer *bytes, size_t start, size_t size)
{
    if (bytes != p->image) {
        align(p);
        start = p->image->size;
        size = bytes->size;
        cairn_buffer_add(p->image, bytes->data, bytes->size);
    }
    set_le(head + AT_SECTIONS + 16 * (size_t)section, start - p->start, 8);
    set_le(head + AT_SECTIONS + 16 * (size_t)section + 8, size, 8);
}

static void place_columns(const struct cairn_index_parts *p, uint8_t *head, unsigned first_section,
                          const struct cairn_columns_writer *w, bool has_keys)
{
    if (has_keys)
        place_section(p, head, first_section++, &w->keys, 0, 0);
    place_section(p, head, first_section++, &w->blocks, 0, 0);
    place_section(p, head, first_section, w->data, w->start, w->size);
}

static void place_texts(const struct cairn_index_parts *p, uint8_t *head, unsigned first_section,
                        const struct cairn_texts_writer *w)
{
    place_section(p, head, first_section, &w->blocks, 0, 0);
    place_section(p, head, first_section + 1, w->data, w->start, w->size);
}

int cairn_index_end(struct cairn_index_parts *p, struct cairn_err *err)
{
    uint8_t head[HEAD_BYTES] = {0};
    int code = finish_parts(p, err);
    if (code < 0)
        return code;
    place_columns(p, head, RECORD_KEYS, &p->records, true);
    place_columns(p, head, NODE_BLOCKS, &p->nodes, false);
    place_columns(p, head, FUNCTION_BLOCKS, &p->functions, false);
    place_columns(p, head, SYMBOL_KEYS, &p->symbols, true);
    place_texts(p, head, TEXT_BLOCKS, &p->texts);
    place_texts(p, head, PATH_BLOCKS, &p->paths);
    if (p->image->failed)
        return cairn_fail_memory(err);
    write_head(head, p);
    memcpy(p->image->data + p->start, head, HEAD_BYTES);
    cairn_index_seal(p->image->data + p->start, p->image->size - p->start);
    return CAIRN_OK;
}

void cairn_index_parts_done(struct cairn_index_parts *p)
{
    cairn_columns_done(&p->records);
    cairn_columns_done(&p->nodes);
    cairn_columns_done(&p->functions);
    cairn_columns_done(&p->symbols);
    cairn_texts_done(&p->texts);
    cairn_texts_done(&p->paths);
    cairn_buffer_done(&p->function_data);
    cairn_buffer_done(&p->symbol_data);
    cairn_buffer_done(&p->path_data);
}
