/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_deferred.h"

#include "base/alloc.h"
#include "base/error.h"

void cairn_perf_data_deferred_done(struct cairn_perf_data_deferred *deferred)
{
    cairn_free(deferred->items);
    cairn_buffer_done(&deferred->bytes);
    *deferred = (struct cairn_perf_data_deferred){0};
}

int cairn_perf_data_deferred_add(struct cairn_perf_data_deferred *deferred, uint64_t cookie,
                                 struct cairn_span record)
{
    enum { BYTES_MAX = 64 << 20 };
    if (!deferred->n)
        cairn_buffer_clear(&deferred->bytes);
    if (deferred->n == CAIRN_PERF_DATA_DEFERRED_MAX || deferred->bytes.size > BYTES_MAX)
        return 0;
    if (cairn_grow((void **)&deferred->items, &deferred->cap, deferred->n + 1,
                   sizeof *deferred->items) < 0)
        return CAIRN_E_NOMEM;
    deferred->items[deferred->n] = (struct cairn_perf_data_waiting_sample){
        .cookie = cookie, .at = deferred->bytes.size, .size = record.size};
    cairn_buffer_add(&deferred->bytes, record.data, record.size);
    if (deferred->bytes.failed)
        return CAIRN_E_NOMEM;
    deferred->n++;
    return 1;
}

struct cairn_span cairn_perf_data_deferred_take(struct cairn_perf_data_deferred *deferred,
                                                uint64_t cookie, bool is_any)
{
    for (size_t i = 0; i < deferred->n; i++) {
        const struct cairn_perf_data_waiting_sample item = deferred->items[i];
        if (!is_any && item.cookie != cookie)
            continue;
        deferred->n--;
        memmove(deferred->items + i, deferred->items + i + 1,
                (deferred->n - i) * sizeof *deferred->items);
        return (struct cairn_span){deferred->bytes.data + item.at, item.size};
    }
    return (struct cairn_span){0};
}
