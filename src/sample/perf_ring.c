/* SPDX-License-Identifier: MIT */
#include "sample/perf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cairn/error.h>

#include "base/alloc.h"

int cairn_perf_ring_map(int fd, size_t pages, struct cairn_perf_ring *ret_ring)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; pages > 0; pages /= 2) {
        void *base = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (base != MAP_FAILED) {
            *ret_ring = (struct cairn_perf_ring){base, pages * page};
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM) /* these two mean: less, please */
            break;
    }
    return -errno;
}

void cairn_perf_ring_unmap(struct cairn_perf_ring *ring)
{
    if (ring->base)
        munmap(ring->base, ring->data_bytes + (size_t)sysconf(_SC_PAGESIZE));
    *ring = (struct cairn_perf_ring){0};
}

void cairn_perf_ring_drain(struct cairn_perf_ring *ring, struct cairn_buffer *bytes)
{
    struct perf_event_mmap_page *control = ring->base;
    const uint8_t *data = (const uint8_t *)ring->base + (size_t)sysconf(_SC_PAGESIZE);
    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = control->data_tail;
    size_t left = (size_t)(head - tail);
    size_t from = (size_t)(tail & (ring->data_bytes - 1));
    if (left > ring->data_bytes) /* cannot be; nothing in there can be trusted then */
        left = 0;
    size_t first = left < ring->data_bytes - from ? left : ring->data_bytes - from;
    cairn_buffer_add(bytes, data + from, first);
    cairn_buffer_add(bytes, data, left - first);
    __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
}

void cairn_perf_queue_done(struct cairn_perf_queue *queue)
{
    cairn_buffer_done(&queue->bytes);
    cairn_free(queue->entries);
    *queue = (struct cairn_perf_queue){0};
}

static void enter(struct cairn_perf_queue *queue, struct cairn_span bytes)
{
    struct cairn_perf_record record;
    struct cairn_queue_entry entry = {.off = queue->bytes.size, .size = (uint32_t)bytes.size};
    if (!cairn_perf_record_parse(bytes, queue->has_raw, &record) ||
        queue->bytes.size > CAIRN_QUEUE_BYTES_MAX - bytes.size ||
        !cairn_buffer_reserve(&queue->bytes, bytes.size) ||
        cairn_grow((void **)&queue->entries, &queue->cap, queue->n + 1, sizeof entry) < 0) {
        queue->bytes.failed = false;
        queue->n_bad++;
        return;
    }
    entry.time_ns = record.time_ns;
    cairn_buffer_add(&queue->bytes, bytes.data, bytes.size);
    queue->entries[queue->n++] = entry;
}

void cairn_perf_queue_add(struct cairn_perf_queue *queue, struct cairn_span bytes)
{
    struct cairn_span record;
    size_t pos = 0;
    int more;
    while ((more = cairn_perf_record_next(bytes, &pos, &record)) > 0)
        enter(queue, record);
    queue->n_bad += more < 0;
}

/* By time; what came at the same time stays as it came. */
static int compare_entries(const void *a, const void *b)
{
    const struct cairn_queue_entry *left = a, *right = b;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return left->off < right->off ? -1 : left->off > right->off;
}

/* Moves what still waits to the front. */
static void keep_rest(struct cairn_perf_queue *queue)
{
    struct cairn_buffer kept = {0};
    size_t first = queue->n_taken;
    for (size_t i = first; i < queue->n; i++) {
        struct cairn_queue_entry entry = queue->entries[i];
        size_t off = kept.size;
        cairn_buffer_add(&kept, queue->bytes.data + entry.off, entry.size);
        entry.off = off;
        queue->entries[i - first] = entry;
    }
    if (kept.failed) { /* no memory for the copy: these are lost, and counted */
        queue->n_bad += queue->n - first;
        first = queue->n;
        cairn_buffer_clear(&kept);
    }
    queue->n -= first;
    queue->n_sorted = queue->n;
    queue->n_taken = 0;
    cairn_buffer_done(&queue->bytes);
    queue->bytes = kept;
}

void cairn_perf_queue_peek(struct cairn_perf_queue *queue, size_t first, cairn_perf_record_fn fn,
                           void *ctx)
{
    if (first < queue->n)
        qsort(queue->entries + first, queue->n - first, sizeof *queue->entries, compare_entries);
    for (size_t i = first; i < queue->n; i++) {
        struct cairn_perf_record record;
        struct cairn_span bytes = {queue->bytes.data + queue->entries[i].off,
                                   queue->entries[i].size};
        if (cairn_perf_record_parse(bytes, queue->has_raw, &record) && fn(ctx, &record) < 0)
            return;
    }
}

/* Between two stacks that were walked elsewhere there are few records of thousands that wait: what
 * waits is sorted once, and moved when an eighth as much was taken as waits yet. */
int cairn_perf_queue_flush(struct cairn_perf_queue *queue, uint64_t until_ns,
                           cairn_perf_record_fn fn, void *ctx)
{
    int code = CAIRN_OK;
    if (queue->n_sorted < queue->n)
        qsort(queue->entries + queue->n_taken, queue->n - queue->n_taken, sizeof *queue->entries,
              compare_entries);
    queue->n_sorted = queue->n;
    while (queue->n_taken < queue->n && code >= 0) {
        const struct cairn_queue_entry *entry = &queue->entries[queue->n_taken];
        struct cairn_span bytes = {queue->bytes.data + entry->off, entry->size};
        struct cairn_perf_record record;
        if (entry->time_ns > until_ns)
            break;
        queue->n_taken++;
        if (cairn_perf_record_parse(bytes, queue->has_raw, &record))
            code = fn(ctx, &record);
    }
    if (queue->n_taken && queue->n_taken >= (queue->n - queue->n_taken) / 8)
        keep_rest(queue);
    return code;
}
