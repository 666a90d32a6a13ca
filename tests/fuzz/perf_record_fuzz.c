/* SPDX-License-Identifier: MIT */
/* What a perf ring buffer holds, as it stands there: taken apart, queued, handed out by time. */
#include <stdlib.h>

#include "sample/perf_ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t time_ns;
    size_t n, n_text;
    struct cairn_perf_chain chain;
};

static int on_record(void *ctx, const struct cairn_perf_record *record)
{
    struct seen *seen = ctx;
    if (record->time_ns < seen->time_ns)
        abort(); /* out of order */
    seen->time_ns = record->time_ns;
    seen->n_text += strlen(record->text);
    if (record->build_id.size > CAIRN_PERF_BUILD_ID_MAX)
        abort();
    cairn_perf_chain_split(record->chain, &seen->chain);
    if (seen->chain.n_kernel + seen->chain.n_user > record->chain.size / sizeof(uint64_t))
        abort();
    seen->n++;
    return 0;
}

static void take_all(const uint8_t *data, size_t size, bool has_raw)
{
    static struct seen seen;
    struct cairn_perf_queue queue = {.has_raw = has_raw};
    seen.time_ns = seen.n = 0;
    cairn_perf_queue_add(&queue, (struct cairn_span){data, size});
    size_t n_queued = queue.n;
    cairn_perf_queue_flush(&queue, UINT64_MAX / 2, on_record, &seen);
    cairn_perf_queue_flush(&queue, UINT64_MAX, on_record, &seen);
    if (seen.n != n_queued || queue.n != 0)
        abort(); /* one was lost on the way */
    cairn_perf_queue_done(&queue);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    take_all(data, size, false);
    take_all(data, size, true);
    return 0;
}
