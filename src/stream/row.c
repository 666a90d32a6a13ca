/* SPDX-License-Identifier: MIT */
#include "stream/row.h"

#include "base/alloc.h"

int cairn_stream_row_add(struct cairn_stream *stream, const struct cairn_stream_row *row,
                         uint32_t *ret_number)
{
    const uint64_t what[] = {(uint64_t)row->stack << 32 | row->labels,
                             (uint64_t)row->event << 32 | (uint32_t)row->cpu,
                             row->has_time ? row->time_ns : 0, row->has_time};
    const uint64_t key = cairn_hash_bytes(what, sizeof what);
    uint32_t number;
    if (!cairn_table_find(&stream->by_what, key, &number)) {
        number = (uint32_t)stream->n_rows;
        if (cairn_grow((void **)&stream->rows, &stream->cap_rows, stream->n_rows + 1,
                       sizeof *stream->rows) < 0 ||
            cairn_table_set(&stream->by_what, key, number) < 0)
            return CAIRN_E_NOMEM;
        stream->rows[stream->n_rows++] = *row;
    } else {
        struct cairn_stream_row *old = &stream->rows[number];
        old->n += row->n;
        old->value = cairn_profile_add_clamped(old->value, row->value);
    }
    *ret_number = number;
    return CAIRN_OK;
}

int cairn_stream_add_value(struct cairn_stream *stream, uint32_t number, uint32_t event,
                           int64_t value)
{
    struct cairn_stream_row *row = &stream->rows[number];
    uint32_t at = row->others;
    while (at && stream->others[at - 1].event != event)
        at = stream->others[at - 1].next;
    if (!at) {
        if (stream->n_others == UINT32_MAX - 1 ||
            cairn_grow((void **)&stream->others, &stream->cap_others, stream->n_others + 1,
                       sizeof *stream->others) < 0)
            return CAIRN_E_NOMEM;
        stream->others[stream->n_others++] =
            (struct cairn_stream_other){.event = event, .next = row->others};
        row->others = at = (uint32_t)stream->n_others;
    }
    struct cairn_stream_other *other = &stream->others[at - 1];
    other->value = cairn_profile_add_clamped(other->value, value);
    return CAIRN_OK;
}

void cairn_stream_row_sums(const struct cairn_stream *stream, const struct cairn_stream_row *row,
                           int64_t *values)
{
    values[row->event] = row->value;
    for (uint32_t at = row->others; at; at = stream->others[at - 1].next)
        values[stream->others[at - 1].event] = cairn_profile_add_clamped(
            values[stream->others[at - 1].event], stream->others[at - 1].value);
}
