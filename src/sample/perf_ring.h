/* SPDX-License-Identifier: MIT */
/*
 * Perf rings: one ring buffer per CPU, read into one queue in the order of time.
 *
 *     data_tail ──►[ record | record | rec..  ..ord ]◄── data_head      wraps at the end
 */
#ifndef CAIRN_SAMPLE_PERF_RING_H
#define CAIRN_SAMPLE_PERF_RING_H

#include "base/buffer.h"
#include "proc/perf_record.h"

enum { CAIRN_QUEUE_BYTES_MAX = 1 << 28 };

struct cairn_perf_ring {
    void *base; /* the control page, then the data; NULL: not mapped */
    size_t data_bytes;
};

/* Maps the ring of `fd` with at most `pages` data pages (a power of two), fewer where the limit of
 * locked memory forbids; the number is in ret_ring->data_bytes. Returns 0 or a negative errno. */
int cairn_perf_ring_map(int fd, size_t pages, struct cairn_perf_ring *ret_ring);
void cairn_perf_ring_unmap(struct cairn_perf_ring *ring);

/* Appends what the kernel has written to `bytes` and gives the room back. */
void cairn_perf_ring_drain(struct cairn_perf_ring *ring, struct cairn_buffer *bytes);

struct cairn_queue_entry {
    uint64_t time_ns;
    size_t off;
    uint32_t size;
};

/* Records that wait for their turn. */
struct cairn_perf_queue {
    struct cairn_buffer bytes;
    struct cairn_queue_entry *entries;
    size_t n, cap;
    size_t n_taken;  /* the first of them were handed over, and are not moved away yet */
    size_t n_sorted; /* the first of them are in the order of time */
    bool has_raw;    /* samples are of tracepoints, and have their records */
    uint64_t n_bad;  /* records that made no sense, or for which there was no room */
};
void cairn_perf_queue_done(struct cairn_perf_queue *queue);

/* Enters all records that stand in `bytes`. */
void cairn_perf_queue_add(struct cairn_perf_queue *queue, struct cairn_span bytes);

typedef int (*cairn_perf_record_fn)(void *ctx, const struct cairn_perf_record *record);

/* Hands over the records from number `first` on, which were added last, oldest first, without
 * taking them out. A child's fork is behind its parent's, whichever ring had it. */
void cairn_perf_queue_peek(struct cairn_perf_queue *queue, size_t first, cairn_perf_record_fn fn,
                           void *ctx);

/* Hands over all records up to `until_ns`, oldest first; a negative answer stops and comes back. */
int cairn_perf_queue_flush(struct cairn_perf_queue *queue, uint64_t until_ns,
                           cairn_perf_record_fn fn, void *ctx);

#endif /* CAIRN_SAMPLE_PERF_RING_H */
