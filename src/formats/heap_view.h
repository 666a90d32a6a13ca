/* SPDX-License-Identifier: MIT */
/*
 * Heap view: the state of a heap tracker (rt/heap_state.h) as who reads it sees it, with every
 * number held against the bytes that there are. The bytes are a copy: nobody changes them
 * meanwhile. But the process wrote on while they were copied, so that one part may be older than
 * another; and it may have scribbled over them, or lie. What makes no sense is passed over and
 * counted.
 */
#ifndef CAIRN_FORMATS_HEAP_VIEW_H
#define CAIRN_FORMATS_HEAP_VIEW_H

#include <cairn/error.h>

#include "base/span.h"
#include "base/table.h"
#include "rt/heap_state.h"

/* Chunks of one kind, in the order of their `arg`: what is one array over all of them. */
struct cairn_heap_parts {
    uint32_t *chunks; /* their numbers; 0: missing */
    size_t n, cap;
};

struct cairn_heap_view {
    struct cairn_span bytes; /* whole chunks. Borrowed */
    struct cairn_heap_header header;
    uint32_t n_chunks; /* that there are */
    uint32_t n_stacks; /* numbers below it can be asked for */
    struct cairn_heap_parts stacks, epochs, modules, large;
    struct cairn_table large_of; /* va -> where in `large` */
    uint64_t n_damaged;          /* rows, records and entries that make no sense */
};

/* Does a state begin here? */
bool cairn_heap_view_sniff(struct cairn_span head);

/* The state at the start of `bytes`; `ret_size` is where the next one would begin. CAIRN_E_FORMAT
 * for one that is none, is cut off within its header, of another version or another byte order. */
int cairn_heap_view_open(struct cairn_span bytes, struct cairn_heap_view *ret_view,
                         size_t *ret_size, struct cairn_err *err);
void cairn_heap_view_close(struct cairn_heap_view *view); /* all-zero is fine */

/* A stack's counts, without what threads have not handed in. False: there is no such number. */
bool cairn_heap_view_stack(const struct cairn_heap_view *view, uint32_t stack,
                           struct cairn_heap_stack *ret_stack);

/* A stack's own record, its return addresses outermost first, borrowed. False: none, or damaged. */
struct cairn_heap_record {
    const uint8_t *rets; /* head.n words of 8 bytes, unaligned perhaps */
    struct cairn_heap_log head;
};
bool cairn_heap_view_record(const struct cairn_heap_view *view, uint32_t stack,
                            struct cairn_heap_record *ret_record);
uint64_t cairn_heap_record_ret(const struct cairn_heap_record *record, uint32_t i);

struct cairn_heap_block {
    uint64_t va, size;
    uint32_t stack, epoch;
    unsigned kind; /* enum cairn_heap_kind */
};
typedef void (*cairn_heap_block_fn)(void *ctx, const struct cairn_heap_block *block);
/* Every live block, in no order of addresses. */
void cairn_heap_view_blocks(struct cairn_heap_view *view, cairn_heap_block_fn each, void *ctx);

/* The same, leaf after leaf in ascending order of addresses. CAIRN_E_NOMEM. */
int cairn_heap_view_sorted_blocks(struct cairn_heap_view *view, cairn_heap_block_fn each,
                                  void *ctx);

/* Every mapping that lives, in no order of addresses. */
typedef void (*cairn_heap_map_fn)(void *ctx, const struct cairn_heap_map *map);
void cairn_heap_view_maps(struct cairn_heap_view *view, cairn_heap_map_fn each, void *ctx);

/* What threads have not handed in. */
typedef void (*cairn_heap_delta_fn)(void *ctx, const struct cairn_heap_delta *delta);
void cairn_heap_view_deltas(struct cairn_heap_view *view, cairn_heap_delta_fn each, void *ctx);

/* False: there is none of that number, or it never began. */
bool cairn_heap_view_epoch(const struct cairn_heap_view *view, uint32_t epoch,
                           struct cairn_heap_epoch *ret_epoch);

struct cairn_heap_mapping {
    struct cairn_heap_module head;
    struct cairn_span build_id, path; /* borrowed */
};
typedef void (*cairn_heap_mapping_fn)(void *ctx, const struct cairn_heap_mapping *mapping);
void cairn_heap_view_mappings(struct cairn_heap_view *view, cairn_heap_mapping_fn each, void *ctx);

#endif /* CAIRN_FORMATS_HEAP_VIEW_H */
