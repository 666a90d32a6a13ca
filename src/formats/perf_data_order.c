/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_order.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

void cairn_perf_data_order_done(struct cairn_perf_data_order *order)
{
    cairn_buffer_done(&order->bytes);
    cairn_free(order->items);
    *order = (struct cairn_perf_data_order){0};
}

int cairn_perf_data_order_add(struct cairn_perf_data_order *order, uint64_t time,
                              struct cairn_span record, uint64_t off)
{
    struct cairn_perf_data_waiting item = {.time = time,
                                           .number = order->n_ever++,
                                           .off = off,
                                           .at = order->bytes.size,
                                           .size = record.size};
    if (cairn_grow((void **)&order->items, &order->cap, order->n + 1, sizeof *order->items) < 0)
        return CAIRN_E_NOMEM;
    cairn_buffer_add(&order->bytes, record.data, record.size);
    if (order->bytes.failed)
        return CAIRN_E_NOMEM;
    order->items[order->n++] = item;
    order->n_late += time < order->gone;
    order->newest = time > order->newest ? time : order->newest;
    return CAIRN_OK;
}

static int compare(const void *a, const void *b)
{
    const struct cairn_perf_data_waiting *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Moves what stays to the front, in both arrays. */
static int keep_from(struct cairn_perf_data_order *order, size_t first)
{
    struct cairn_buffer kept = {0};
    size_t n = order->n - first;
    for (size_t i = 0; i < n; i++) {
        struct cairn_perf_data_waiting item = order->items[first + i];
        const uint8_t *bytes = order->bytes.data + item.at;
        item.at = kept.size;
        cairn_buffer_add(&kept, bytes, item.size);
        order->items[i] = item;
    }
    order->n = n;
    if (kept.failed) {
        cairn_buffer_done(&kept);
        return CAIRN_E_NOMEM;
    }
    cairn_buffer_done(&order->bytes);
    order->bytes = kept;
    return CAIRN_OK;
}

/* The items before `last` go out; they are sorted. */
static int send(struct cairn_perf_data_order *order, size_t last, cairn_perf_data_out_fn out,
                void *ctx, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < last && code == CAIRN_OK; i++) {
        const struct cairn_perf_data_waiting *item = &order->items[i];
        order->gone = item->time > order->gone ? item->time : order->gone;
        code =
            out(ctx, (struct cairn_span){order->bytes.data + item->at, item->size}, item->off, err);
    }
    if (code < 0)
        return code;
    return last && keep_from(order, last) < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static void sort(struct cairn_perf_data_order *order)
{
    if (order->n)
        qsort(order->items, order->n, sizeof *order->items, compare);
}

bool cairn_perf_data_order_is_full(const struct cairn_perf_data_order *order)
{
    size_t max = order->bytes_max ? order->bytes_max : CAIRN_PERF_DATA_ORDER_BYTES;
    return order->bytes.size + order->n * sizeof *order->items > max;
}

int cairn_perf_data_order_relieve(struct cairn_perf_data_order *order, cairn_perf_data_out_fn out,
                                  void *ctx, struct cairn_err *err)
{
    sort(order);
    return send(order, order->n / 2 + 1 < order->n ? order->n / 2 + 1 : order->n, out, ctx, err);
}

int cairn_perf_data_order_round(struct cairn_perf_data_order *order, cairn_perf_data_out_fn out,
                                void *ctx, struct cairn_err *err)
{
    size_t last = 0;
    sort(order);
    while (last < order->n && order->items[last].time <= order->round_end)
        last++;
    order->round_end = order->newest;
    return send(order, last, out, ctx, err);
}

int cairn_perf_data_order_end(struct cairn_perf_data_order *order, cairn_perf_data_out_fn out,
                              void *ctx, struct cairn_err *err)
{
    sort(order);
    return send(order, order->n, out, ctx, err);
}
