/* SPDX-License-Identifier: MIT */
#include "formats/heap_make.h"

#include <string.h>

#include <cairn/unwind_end.h>

#include "base/error.h"

enum {
    CHUNK = CAIRN_HEAP_CHUNK,
    GRANULE_BITS = 5, /* the smallest block and its head */
    LEAF_BITS = GRANULE_BITS + CAIRN_HEAP_CHUNK_BITS - 3,
    STACKS = CHUNK / sizeof(struct cairn_heap_stack),
    LARGES = CHUNK / sizeof(struct cairn_heap_large)
};

static struct cairn_heap_header *header_of(struct cairn_heap_make *m)
{
    return (void *)m->bytes.data;
}

static void *chunk_at(struct cairn_heap_make *m, uint32_t chunk)
{
    return m->bytes.data + (size_t)chunk * CHUNK;
}

/* Every table of rows is in the chunk that its own first row is about. */
static struct cairn_heap_row *row_of(struct cairn_heap_make *m, uint32_t chunk)
{
    if (chunk < CAIRN_HEAP_TABLE_AT)
        return (struct cairn_heap_row *)(void *)(m->bytes.data + CAIRN_HEAP_HEADER_BYTES) + chunk;
    uint32_t i = (chunk - CAIRN_HEAP_TABLE_AT) % CAIRN_HEAP_TABLE_ROWS;
    return (struct cairn_heap_row *)chunk_at(m, chunk - i) + i;
}

/* 0: there is no room for it. */
static uint32_t append(struct cairn_heap_make *m, enum cairn_heap_chunk_kind kind, uint64_t arg)
{
    uint32_t chunk = (uint32_t)(m->bytes.size / CHUNK);
    if (chunk >= CAIRN_HEAP_MAX_CHUNKS || !cairn_buffer_reserve(&m->bytes, CHUNK)) {
        m->is_full = true;
        return 0;
    }
    memset(m->bytes.data + m->bytes.size, 0, CHUNK);
    m->bytes.size += CHUNK;
    header_of(m)->n_chunks = chunk + 1;
    if (chunk) {
        struct cairn_heap_row *row = row_of(m, chunk);
        row->granule_bits = GRANULE_BITS;
        row->n = 1;
        row->arg = arg;
        row->kind = (uint16_t)kind;
    }
    return chunk;
}

static uint32_t add_chunk(struct cairn_heap_make *m, enum cairn_heap_chunk_kind kind, uint64_t arg)
{
    uint32_t chunk = (uint32_t)(m->bytes.size / CHUNK);
    if (chunk >= CAIRN_HEAP_TABLE_AT && (chunk - CAIRN_HEAP_TABLE_AT) % CAIRN_HEAP_TABLE_ROWS == 0)
        append(m, CAIRN_HEAP_TABLE, 0);
    return m->is_full ? 0 : append(m, kind, arg);
}

void cairn_heap_make_begin(struct cairn_heap_make *make, uint16_t machine, uint32_t pid,
                           const char *command)
{
    *make = (struct cairn_heap_make){.n_stacks = 1};
    append(make, CAIRN_HEAP_TABLE, 0);
    make->stacks = make->is_full ? 0 : add_chunk(make, CAIRN_HEAP_STACKS, 0);
    if (make->is_full)
        return;
    struct cairn_heap_header *header = header_of(make);
    size_t size = strnlen(command, sizeof header->command - 1);
    memcpy(header->magic, CAIRN_HEAP_MAGIC, sizeof CAIRN_HEAP_MAGIC);
    memcpy(header->command, command, size);
    header->version = CAIRN_HEAP_VERSION;
    header->machine = machine;
    header->word = sizeof(uint64_t);
    header->granule_bits = GRANULE_BITS;
    header->pid = pid;
    header->flags = CAIRN_HEAP_UNSEEN;
    header->max_chunks = CAIRN_HEAP_MAX_CHUNKS;
}

void cairn_heap_make_done(struct cairn_heap_make *make)
{
    cairn_buffer_done(&make->bytes);
}

/* Where the next record of the log goes. False: there is no room. */
static bool place_record(struct cairn_heap_make *m, uint32_t size)
{
    if (!m->log || CHUNK - m->log_used < size) {
        m->log = add_chunk(m, CAIRN_HEAP_LOG, 0);
        m->log_used = 0;
    }
    return m->log != 0;
}

uint32_t cairn_heap_make_kind(struct cairn_heap_make *make, const char *text)
{
    const size_t size = strnlen(text, CAIRN_HEAP_MAKE_TEXT_MAX - 1);
    const uint16_t n = (uint16_t)(size / 8 + 1);
    const uint32_t bytes = (uint32_t)sizeof(struct cairn_heap_log) + n * 8u;
    uint32_t number = make->n_stacks;
    if (make->is_full || number >= CAIRN_HEAP_MAX_STACKS || !place_record(make, bytes))
        return 0;
    if (number % STACKS == 0 &&
        !(make->stacks = add_chunk(make, CAIRN_HEAP_STACKS, number / STACKS)))
        return 0;
    struct cairn_heap_log *log = (void *)((uint8_t *)chunk_at(make, make->log) + make->log_used);
    struct cairn_heap_stack *stack = chunk_at(make, make->stacks);
    *log =
        (struct cairn_heap_log){.n = n, .end = CAIRN_END_OUTERMOST, .flags = CAIRN_HEAP_LOG_KIND};
    memcpy(log->rets, text, size);
    stack[number % STACKS].log = (uint64_t)make->log << CAIRN_HEAP_CHUNK_BITS | make->log_used;
    make->log_used += bytes;
    make->n_stacks++;
    return number;
}

/* A size that has no room in its entry. */
static void add_large(struct cairn_heap_make *m, uint64_t va, uint64_t bytes)
{
    if (m->n_large % LARGES == 0)
        m->large = add_chunk(m, CAIRN_HEAP_LARGE, m->n_large_chunks++);
    if (!m->large)
        return;
    struct cairn_heap_large *large = chunk_at(m, m->large);
    large[m->n_large % LARGES].size = bytes;
    large[m->n_large++ % LARGES].va = va;
}

void cairn_heap_make_block(struct cairn_heap_make *make, uint64_t va, uint64_t bytes, uint32_t kind)
{
    uint64_t leaf_va = va >> LEAF_BITS << LEAF_BITS;
    if (!make->is_full && (!make->leaf || make->leaf_va != leaf_va)) {
        make->leaf = add_chunk(make, CAIRN_HEAP_LEAF, leaf_va);
        make->leaf_va = leaf_va;
    }
    uint32_t size = bytes < CAIRN_HEAP_SIZE_ASIDE ? (uint32_t)bytes : CAIRN_HEAP_SIZE_ASIDE;
    if (!make->is_full && size == CAIRN_HEAP_SIZE_ASIDE)
        add_large(make, va, bytes);
    if (make->is_full)
        return;
    uint64_t *entries = chunk_at(make, make->leaf);
    entries[(va - leaf_va) >> GRANULE_BITS] =
        cairn_heap_entry(va, kind, size, CAIRN_HEAP_KIND_MALLOC, 0);
    make->n_blocks++;
    make->n_bytes += bytes < UINT64_MAX - make->n_bytes ? bytes : UINT64_MAX - make->n_bytes;
}

int cairn_heap_make_end(struct cairn_heap_make *make, struct cairn_buffer *ret_bytes,
                        struct cairn_err *err)
{
    if (make->bytes.failed)
        return cairn_fail_memory(err);
    if (make->is_full)
        return cairn_fail(err, CAIRN_E_LIMIT, "more blocks than a state of %d chunks has room for",
                          CAIRN_HEAP_MAX_CHUNKS);
    struct cairn_heap_header *header = header_of(make);
    header->n_stacks = make->n_stacks;
    header->live_bytes = header->peak_bytes =
        (int64_t)(make->n_bytes < INT64_MAX ? make->n_bytes : INT64_MAX);
    *ret_bytes = make->bytes;
    make->bytes = (struct cairn_buffer){0};
    return CAIRN_OK;
}
