/* SPDX-License-Identifier: MIT */
/* Writes a perf.data in memory, of either byte order, record by record. */
#ifndef CAIRN_TESTS_PERF_DATA_WRITER_H
#define CAIRN_TESTS_PERF_DATA_WRITER_H

#include "base/buffer.h"

enum { PERF_IP = 1, PERF_TID = 2, PERF_TIME = 4, PERF_CHAIN = 32, PERF_ID = 64, PERF_PERIOD = 256 };

struct perf_writer {
    bool big;             /* big-endian */
    size_t attr_size;     /* of an attribute alone; 0: 128 */
    uint32_t type;        /* of the events; 0: 1, software */
    uint64_t sample_type; /* 0: PERF_USUAL */
    uint64_t read_format, branch_type, regs_user, regs_intr, flags;
    unsigned n_events; /* 0: 1; number i has config i and the id 100 + i */
    struct cairn_buffer data;
    struct cairn_buffer features; /* the sections' table and what it leads to is made of these: */
    unsigned n_features, feature_bits[8];
    size_t feature_at[8], feature_size[8];
    size_t record; /* where the record that is written begins */
};

#define PERF_FIELDS      (PERF_IP | PERF_TID | PERF_TIME | PERF_CHAIN | PERF_ID | PERF_PERIOD)
#define PERF_USUAL       ((uint64_t)PERF_FIELDS)
#define PERF_MARK_KERNEL ((uint64_t)-128)
#define PERF_MARK_USER   ((uint64_t)-512)

static inline void perf_put(const struct perf_writer *w, struct cairn_buffer *b, uint64_t value,
                            size_t width)
{
    for (size_t i = 0; i < width; i++)
        cairn_buffer_char(b, (char)(value >> 8 * (w->big ? width - 1 - i : i)));
}

static inline void perf_u32(struct perf_writer *w, uint64_t value)
{
    perf_put(w, &w->data, value, 4);
}

static inline void perf_u64(struct perf_writer *w, uint64_t value)
{
    perf_put(w, &w->data, value, 8);
}

static inline void perf_text(struct perf_writer *w, const char *text)
{
    size_t size = strlen(text) + 1;
    cairn_buffer_add(&w->data, text, size);
    for (; size % 8; size++)
        cairn_buffer_char(&w->data, 0);
}

static inline void perf_begin(struct perf_writer *w, uint32_t type, uint16_t misc)
{
    w->record = w->data.size;
    perf_u32(w, type);
    perf_put(w, &w->data, misc, 2);
    perf_put(w, &w->data, 0, 2);
}

static inline void perf_set_size(struct perf_writer *w, size_t size)
{
    w->data.data[w->record + (w->big ? 6 : 7)] = (uint8_t)(size >> 8);
    w->data.data[w->record + (w->big ? 7 : 6)] = (uint8_t)size;
}

static inline void perf_end(struct perf_writer *w)
{
    perf_set_size(w, w->data.size - w->record);
}

/* A record that is no sample ends like this, where sample_id_all is set. */
static inline void perf_end_at(struct perf_writer *w, uint32_t pid, uint64_t time)
{
    perf_u32(w, pid);
    perf_u32(w, pid);
    perf_u64(w, time);
    perf_u64(w, 100);
    perf_end(w);
}

static inline void perf_comm(struct perf_writer *w, uint32_t pid, const char *name, bool exec,
                             uint64_t time)
{
    perf_begin(w, 3, exec ? 1 << 13 : 0);
    perf_u32(w, pid);
    perf_u32(w, pid);
    perf_text(w, name);
    perf_end_at(w, pid, time);
}

static inline void perf_mmap(struct perf_writer *w, uint32_t pid, uint64_t start, uint64_t size,
                             uint64_t off, const char *path, uint64_t time)
{
    perf_begin(w, 1, pid == UINT32_MAX ? 1 : 2);
    perf_u32(w, pid);
    perf_u32(w, pid);
    perf_u64(w, start);
    perf_u64(w, size);
    perf_u64(w, off);
    perf_text(w, path);
    perf_end_at(w, pid, time);
}

static inline void perf_fork(struct perf_writer *w, uint32_t type, uint32_t pid, uint32_t parent,
                             uint64_t time)
{
    perf_begin(w, type, 0);
    perf_u32(w, pid);
    perf_u32(w, parent);
    perf_u32(w, pid);
    perf_u32(w, parent);
    perf_u64(w, time);
    perf_end_at(w, pid, time);
}

/* A sample of PERF_USUAL. */
static inline void perf_sample(struct perf_writer *w, uint32_t pid, uint64_t time, unsigned event,
                               uint64_t period, const uint64_t *chain, size_t n)
{
    perf_begin(w, 9, 2);
    perf_u64(w, n ? chain[n > 1 ? 1 : 0] : 0);
    perf_u32(w, pid);
    perf_u32(w, pid);
    perf_u64(w, time);
    perf_u64(w, 100 + event);
    perf_u64(w, period);
    perf_u64(w, n);
    for (size_t i = 0; i < n; i++)
        perf_u64(w, chain[i]);
    perf_end(w);
}

static inline void perf_round(struct perf_writer *w)
{
    perf_begin(w, 68, 0);
    perf_end(w);
}

/* In the order of their bits. */
static inline void perf_feature(struct perf_writer *w, unsigned bit, struct cairn_span bytes)
{
    w->feature_bits[w->n_features] = bit;
    w->feature_at[w->n_features] = w->features.size;
    w->feature_size[w->n_features++] = bytes.size;
    cairn_buffer_add(&w->features, bytes.data, bytes.size);
}

static inline void perf_put_attr(const struct perf_writer *w, struct cairn_buffer *b,
                                 unsigned event)
{
    size_t size = w->attr_size ? w->attr_size : 128, at = b->size;
    uint64_t flags = w->flags ? w->flags : UINT64_C(1) << 18;
    perf_put(w, b, w->type ? w->type : 1, 4);
    perf_put(w, b, size, 4);
    perf_put(w, b, event, 8);
    perf_put(w, b, 1, 8);
    perf_put(w, b, w->sample_type ? w->sample_type : PERF_USUAL, 8);
    perf_put(w, b, w->read_format, 8);
    for (unsigned i = 0; i < 8; i++) { /* bit fields: from the other end on a big-endian CPU */
        uint8_t byte = (uint8_t)(flags >> 8 * i), turned = 0;
        for (unsigned bit = 0; bit < 8; bit++)
            turned = (uint8_t)(turned | (byte >> bit & 1) << (7 - bit));
        cairn_buffer_char(b, (char)(w->big ? turned : byte));
    }
    while (b->size - at < 72)
        cairn_buffer_char(b, 0);
    perf_put(w, b, w->branch_type, 8);
    perf_put(w, b, w->regs_user, 8);
    perf_put(w, b, 0, 8);
    perf_put(w, b, w->regs_intr, 8);
    while (b->size - at < size)
        cairn_buffer_char(b, 0);
    b->size = at + size;
}

/* The whole file; cairn_buffer_done() frees it. */
static inline struct cairn_buffer perf_file(const struct perf_writer *w)
{
    enum { HEADER = 104 };
    struct cairn_buffer b = {0};
    unsigned n = w->n_events ? w->n_events : 1;
    size_t entry = (w->attr_size ? w->attr_size : 128) + 16;
    uint64_t attrs = HEADER + 8 * n, data = attrs + n * entry, table = data + w->data.size;
    uint64_t bits[4] = {0};
    cairn_buffer_add(&b, w->big ? "2ELIFREP" : "PERFILE2", 8);
    const uint64_t header[] = {HEADER, entry, attrs, n * entry, data, w->data.size, 0, 0};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        perf_put(w, &b, header[i], 8);
    for (unsigned i = 0; i < w->n_features; i++)
        bits[w->feature_bits[i] / 64] |= UINT64_C(1) << w->feature_bits[i] % 64;
    for (size_t i = 0; i < 4; i++)
        perf_put(w, &b, bits[i], 8);
    for (unsigned i = 0; i < n; i++)
        perf_put(w, &b, 100 + i, 8);
    for (unsigned i = 0; i < n; i++) {
        perf_put_attr(w, &b, i);
        perf_put(w, &b, HEADER + 8 * i, 8);
        perf_put(w, &b, 8, 8);
    }
    cairn_buffer_add(&b, w->data.data, w->data.size);
    for (unsigned i = 0; i < w->n_features; i++) {
        perf_put(w, &b, table + 16 * w->n_features + w->feature_at[i], 8);
        perf_put(w, &b, w->feature_size[i], 8);
    }
    cairn_buffer_add(&b, w->features.data, w->features.size);
    return b;
}

static inline void perf_done(struct perf_writer *w)
{
    cairn_buffer_done(&w->data);
    cairn_buffer_done(&w->features);
}

#endif /* CAIRN_TESTS_PERF_DATA_WRITER_H */
