/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_joined.h"

#include <cairn/error.h>

enum { WORD = 8, FRAMES_MAX = 1 << 13 };
static const size_t bytes_max = (size_t)256 << 20;

void cairn_perf_data_joined_done(struct cairn_perf_data_joined *joined)
{
    cairn_buffer_done(&joined->bytes);
    cairn_table_done(&joined->at);
}

static uint64_t key_of(uint32_t tid, uint64_t time)
{
    const uint64_t what[] = {tid, time};
    return cairn_hash_bytes(what, sizeof what);
}

/* {u32 pid, tid; u64 type, time, n; addresses; stack pointers} */
int cairn_perf_data_joined_add(struct cairn_perf_data_joined *joined, struct cairn_span body,
                               bool swap)
{
    struct cairn_reader r = cairn_reader_of(body, swap);
    cairn_reader_skip(&r, 4);
    const uint32_t tid = cairn_reader_u32(&r);
    cairn_reader_skip(&r, WORD);
    const uint64_t time = cairn_reader_u64(&r), n = cairn_reader_u64(&r);
    const size_t at = joined->bytes.size;
    if (r.failed || !n || n > FRAMES_MAX || n * WORD > cairn_reader_left(&r) || at > bytes_max)
        return 0;
    const struct cairn_span ips = cairn_reader_take(&r, n * WORD);
    cairn_buffer_add(&joined->bytes, &n, sizeof n);
    cairn_buffer_add(&joined->bytes, ips.data, ips.size);
    if (joined->bytes.failed ||
        cairn_table_set(&joined->at, key_of(tid, time), (uint32_t)(at / WORD)) < 0)
        return CAIRN_E_NOMEM;
    return 1;
}

struct cairn_span cairn_perf_data_joined_find(const struct cairn_perf_data_joined *joined, int tid,
                                              uint64_t time)
{
    uint32_t at;
    uint64_t n;
    if (!joined->at.n || !cairn_table_find(&joined->at, key_of((uint32_t)tid, time), &at))
        return (struct cairn_span){0};
    const uint8_t *found = joined->bytes.data + (size_t)at * WORD;
    memcpy(&n, found, sizeof n);
    return (struct cairn_span){found + sizeof n, (size_t)n * WORD};
}
