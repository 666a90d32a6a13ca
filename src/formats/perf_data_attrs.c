/* SPDX-License-Identifier: MIT */
/* Events of a file: their attributes, by number, and what a pipe says of them later. */
#include "base/alloc.h"
#include "base/error.h"
#include "formats/perf_data.h"

int cairn_perf_data_add_attr(struct cairn_perf_data *d, struct cairn_span bytes,
                             struct cairn_span ids, struct cairn_err *err)
{
    enum { IDS_MAX = 1 << 24 }; /* all attributes of a file may point to the same large section */
    struct cairn_perf_data_attr attr;
    struct cairn_reader r = cairn_reader_of(ids, d->swap);
    if (!cairn_perf_data_attr_parse(bytes, d->swap, &attr))
        return cairn_fail(err, CAIRN_E_FORMAT, "an event's attribute has %zu bytes, expected %d",
                          bytes.size, CAIRN_PERF_DATA_ATTR_MIN);
    if (d->n_attrs == CAIRN_PROFILE_NUMBERS_MAX ||
        cairn_grow((void **)&d->attrs, &d->cap_attrs, d->n_attrs + 1, sizeof *d->attrs) < 0)
        return cairn_fail_memory(err);
    d->n_ids += ids.size / sizeof(uint64_t);
    if (d->n_ids > IDS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "perf.data: more than %d numbers of events", IDS_MAX);
    d->attrs[d->n_attrs++] = attr;
    while (cairn_reader_left(&r) >= sizeof(uint64_t))
        if (cairn_table_set(&d->by_id, cairn_reader_u64(&r), (uint32_t)(d->n_attrs - 1)) < 0)
            return cairn_fail_memory(err);
    return CAIRN_OK;
}

struct cairn_perf_data_attr *cairn_perf_data_attr_of(struct cairn_perf_data *d, uint64_t id)
{
    uint32_t number;
    if (d->n_attrs == 1)
        return d->attrs;
    return cairn_table_find(&d->by_id, id, &number) ? &d->attrs[number] : NULL;
}

/* The attribute of a pipe's record is as long as it says itself; its numbers follow. */
int cairn_perf_data_take_attr(struct cairn_perf_data *d, struct cairn_span body,
                              struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    cairn_reader_skip(&r, 4);
    uint32_t size = cairn_reader_u32(&r);
    cairn_reader_seek(&r, size);
    if (r.failed || size < CAIRN_PERF_DATA_ATTR_MIN) {
        d->counts.n_damaged++;
        return CAIRN_OK;
    }
    const struct cairn_span attr = {body.data, size};
    return cairn_perf_data_add_attr(d, attr, cairn_reader_take(&r, cairn_reader_left(&r)), err);
}

int cairn_perf_data_take_update(struct cairn_perf_data *d, struct cairn_span body,
                                struct cairn_err *err)
{
    struct cairn_reader r = cairn_reader_of(body, d->swap);
    uint64_t type = cairn_reader_u64(&r);
    struct cairn_perf_data_attr *attr = cairn_perf_data_attr_of(d, cairn_reader_u64(&r));
    if (type == PERF_DATA_UPDATE_SCALE && attr)
        attr->is_scaled = true;
    bool is_text = type == PERF_DATA_UPDATE_NAME || type == PERF_DATA_UPDATE_UNIT;
    const char *name = is_text && attr ? cairn_reader_str(&r) : "";
    if (r.failed || !*name)
        return CAIRN_OK;
    uint32_t text = cairn_profile_text(d->stream.profile, name, strlen(name));
    if (text == UINT32_MAX)
        return cairn_fail_memory(err);
    *(type == PERF_DATA_UPDATE_NAME ? &attr->name : &attr->unit) = text;
    return CAIRN_OK;
}
