/* SPDX-License-Identifier: MIT */
/*
 * Builds the state of a heap tracker in memory:
 *
 *     struct test_heap h = {0};
 *     test_heap_begin(&h, 16);
 *     test_heap_module(&h, 0x400000, 0x500000, 0, "/bin/app");
 *     uint32_t stack = test_heap_stack(&h, 0, 0, (uint64_t[]){0x400100, 0x400200}, 2);
 *     uint64_t va = 0x10000;
 *     test_heap_block(&h, va, cairn_heap_entry(va, stack, 64, CAIRN_HEAP_KIND_MALLOC, 0));
 *     ... test_heap_span(&h) ...
 *     test_heap_done(&h);
 */
#ifndef CAIRN_TESTS_HEAPWRITER_H
#define CAIRN_TESTS_HEAPWRITER_H

#include "base/buffer.h"
#include "rt/heap_state.h"

struct test_heap {
    struct cairn_buffer bytes;
    unsigned granule_bits;
    uint32_t log, stacks, epochs, modules, large, deltas, maps; /* chunks; 0: not made yet */
    uint32_t log_used, modules_used, n_large, n_deltas, n_modules, n_maps;
};

void test_heap_begin(struct test_heap *h, unsigned granule);
void test_heap_done(struct test_heap *h);
struct cairn_span test_heap_span(const struct test_heap *h);
/* Valid until the next chunk is made. */
struct cairn_heap_header *test_heap_header(struct test_heap *h);
struct cairn_heap_row *test_heap_row(struct test_heap *h, uint32_t chunk);
uint8_t *test_heap_chunk(struct test_heap *h, uint32_t chunk);

/* A new chunk of that kind. */
uint32_t test_heap_add_chunk(struct test_heap *h, enum cairn_heap_chunk_kind kind, uint64_t arg);
/* A stack of the first n_shared frames of `base` and `n` more, outermost first; its number. */
uint32_t test_heap_stack(struct test_heap *h, uint32_t base, uint16_t n_shared,
                         const uint64_t *rets, uint16_t n);
struct cairn_heap_log *test_heap_log(struct test_heap *h, uint32_t stack);
struct cairn_heap_stack *test_heap_counts(struct test_heap *h, uint32_t stack);
void test_heap_block(struct test_heap *h, uint64_t va, uint64_t entry);
void test_heap_large(struct test_heap *h, uint64_t va, uint64_t size);
void test_heap_epoch(struct test_heap *h, uint32_t epoch, uint64_t begin_ns, int64_t live,
                     uint32_t mark);
void test_heap_map(struct test_heap *h, const struct cairn_heap_map *map);
void test_heap_delta(struct test_heap *h, uint32_t stack, uint32_t peak, uint64_t allocs,
                     uint64_t frees);
void test_heap_module(struct test_heap *h, uint64_t from, uint64_t to, uint64_t off,
                      const char *path);

#endif /* CAIRN_TESTS_HEAPWRITER_H */
