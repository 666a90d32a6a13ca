/* SPDX-License-Identifier: MIT */
#include "support/heapwriter.h"

#include <elf.h>
#include <string.h>

#include <cairn/unwind.h>

#include "support/test.h"

uint8_t *test_heap_chunk(struct test_heap *h, uint32_t chunk)
{
    return h->bytes.data + (size_t)chunk * CAIRN_HEAP_CHUNK;
}

struct cairn_heap_header *test_heap_header(struct test_heap *h)
{
    return (void *)h->bytes.data;
}

struct cairn_span test_heap_span(const struct test_heap *h)
{
    return cairn_buffer_span(&h->bytes);
}

struct cairn_heap_row *test_heap_row(struct test_heap *h, uint32_t chunk)
{
    assert_true(chunk < CAIRN_HEAP_TABLE_AT);
    return (struct cairn_heap_row *)(void *)(h->bytes.data + CAIRN_HEAP_HEADER_BYTES) + chunk;
}

static uint32_t grow(struct test_heap *h)
{
    uint32_t chunk = (uint32_t)(h->bytes.size / CAIRN_HEAP_CHUNK);
    assert_true(cairn_buffer_reserve(&h->bytes, CAIRN_HEAP_CHUNK));
    memset(h->bytes.data + h->bytes.size, 0, CAIRN_HEAP_CHUNK);
    h->bytes.size += CAIRN_HEAP_CHUNK;
    test_heap_header(h)->n_chunks = chunk + 1;
    return chunk;
}

uint32_t test_heap_add_chunk(struct test_heap *h, enum cairn_heap_chunk_kind kind, uint64_t arg)
{
    uint32_t chunk = grow(h);
    struct cairn_heap_row *row = test_heap_row(h, chunk);
    row->kind = (uint16_t)kind;
    row->granule_bits = (uint16_t)h->granule_bits;
    row->n = 1;
    row->arg = arg;
    return chunk;
}

static uint32_t need(struct test_heap *h, uint32_t *chunk, enum cairn_heap_chunk_kind kind)
{
    if (!*chunk)
        *chunk = test_heap_add_chunk(h, kind, 0);
    return *chunk;
}

void test_heap_begin(struct test_heap *h, unsigned granule)
{
    *h = (struct test_heap){.granule_bits = (unsigned)__builtin_ctz(granule)};
    grow(h);
    struct cairn_heap_header *header = test_heap_header(h);
    memcpy(header->magic, CAIRN_HEAP_MAGIC, sizeof CAIRN_HEAP_MAGIC);
    header->version = CAIRN_HEAP_VERSION;
    header->machine = EM_X86_64;
    header->word = 8;
    header->granule_bits = (uint8_t)h->granule_bits;
    header->pid = 42;
    header->begin_ns = 1000000000;
    header->n_stacks = 1;
    need(h, &h->stacks, CAIRN_HEAP_STACKS);
}

void test_heap_done(struct test_heap *h)
{
    cairn_buffer_done(&h->bytes);
}

struct cairn_heap_stack *test_heap_counts(struct test_heap *h, uint32_t stack)
{
    return (struct cairn_heap_stack *)(void *)test_heap_chunk(h, h->stacks) + stack;
}

struct cairn_heap_log *test_heap_log(struct test_heap *h, uint32_t stack)
{
    return (void *)(h->bytes.data + test_heap_counts(h, stack)->log);
}

uint32_t test_heap_stack(struct test_heap *h, uint32_t base, uint16_t n_shared,
                         const uint64_t *rets, uint16_t n)
{
    need(h, &h->log, CAIRN_HEAP_LOG);
    uint32_t stack = test_heap_header(h)->n_stacks++, at = h->log_used;
    struct cairn_heap_log *log = (void *)(test_heap_chunk(h, h->log) + at);
    *log = (struct cairn_heap_log){.base = base,
                                   .n_shared = n_shared,
                                   .n = n,
                                   .end = CAIRN_END_OUTERMOST,
                                   .n_modules = h->n_modules};
    if (n)
        memcpy(log->rets, rets, n * sizeof *rets);
    h->log_used += (uint32_t)sizeof *log + n * 8u;
    test_heap_counts(h, stack)->log = (uint64_t)h->log << CAIRN_HEAP_CHUNK_BITS | at;
    return stack;
}

void test_heap_block(struct test_heap *h, uint64_t va, uint64_t entry)
{
    const uint64_t covered = (uint64_t)CAIRN_HEAP_CHUNK / 8 << h->granule_bits;
    uint64_t from = va & ~(covered - 1);
    uint32_t chunk = 0, n = test_heap_header(h)->n_chunks;
    for (uint32_t i = 1; i < n && !chunk; i++)
        if (test_heap_row(h, i)->kind == CAIRN_HEAP_LEAF && test_heap_row(h, i)->arg == from)
            chunk = i;
    if (!chunk)
        chunk = test_heap_add_chunk(h, CAIRN_HEAP_LEAF, from);
    memcpy(test_heap_chunk(h, chunk) + ((va - from) >> h->granule_bits) * 8, &entry, sizeof entry);
}

void test_heap_large(struct test_heap *h, uint64_t va, uint64_t size)
{
    need(h, &h->large, CAIRN_HEAP_LARGE);
    struct cairn_heap_large *large = (void *)test_heap_chunk(h, h->large);
    large[h->n_large].va = va;
    large[h->n_large++].size = size;
}

void test_heap_epoch(struct test_heap *h, uint32_t epoch, uint64_t begin_ns, int64_t live,
                     uint32_t mark)
{
    need(h, &h->epochs, CAIRN_HEAP_EPOCHS);
    struct cairn_heap_epoch *epochs = (void *)test_heap_chunk(h, h->epochs);
    epochs[epoch].begin_ns = begin_ns;
    epochs[epoch].live_bytes = live;
    epochs[epoch].rss_bytes = -1;
    epochs[epoch].mark = mark;
    if (test_heap_header(h)->epoch < epoch)
        test_heap_header(h)->epoch = epoch;
    if (test_heap_header(h)->n_marks < mark)
        test_heap_header(h)->n_marks = mark;
}

void test_heap_delta(struct test_heap *h, uint32_t stack, uint32_t peak, uint64_t allocs,
                     uint64_t frees)
{
    need(h, &h->deltas, CAIRN_HEAP_DELTAS);
    struct cairn_heap_thread *thread = (void *)test_heap_chunk(h, h->deltas);
    thread->n_deltas = 16;
    thread->deltas[h->n_deltas].key = (uint64_t)peak << 32 | stack;
    thread->deltas[h->n_deltas].allocs = allocs;
    thread->deltas[h->n_deltas++].frees = frees;
}

void test_heap_map(struct test_heap *h, const struct cairn_heap_map *map)
{
    need(h, &h->maps, CAIRN_HEAP_MAPS);
    memcpy(test_heap_chunk(h, h->maps) + h->n_maps++ * sizeof *map, map, sizeof *map);
}

void test_heap_module(struct test_heap *h, uint64_t from, uint64_t to, uint64_t off,
                      const char *path)
{
    static const uint8_t build_id[4] = {0xab, 0xcd, 0xef, 0x01};
    need(h, &h->modules, CAIRN_HEAP_MODULES);
    uint8_t *at = test_heap_chunk(h, h->modules) + h->modules_used;
    size_t n_path = strlen(path);
    struct cairn_heap_module module = {.bytes = (uint32_t)(sizeof module + 4 + n_path + 7) & ~7u,
                                       .from = from,
                                       .to = to,
                                       .off = off,
                                       .n_build_id = sizeof build_id,
                                       .n_path = (uint16_t)n_path};
    memcpy(at, &module, sizeof module);
    memcpy(at + sizeof module, build_id, sizeof build_id);
    memcpy(at + sizeof module + sizeof build_id, path, n_path);
    h->modules_used += module.bytes;
    h->n_modules++;
}
