/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_group.h"

#include "base/alloc.h"
#include "base/error.h"

enum { WORD = 8 };

void cairn_perf_data_group_done(struct cairn_perf_data_group *group)
{
    cairn_table_done(&group->by_counter);
    cairn_free(group->last);
    *group = (struct cairn_perf_data_group){0};
}

static int find(struct cairn_perf_data_group *group, uint64_t number, int tid, uint64_t **ret_last)
{
    const uint64_t what[] = {number, (uint32_t)tid};
    const uint64_t key = cairn_hash_bytes(what, sizeof what);
    uint32_t at;
    if (!cairn_table_find(&group->by_counter, key, &at)) {
        if (cairn_grow((void **)&group->last, &group->cap, group->n + 1, sizeof *group->last) < 0 ||
            cairn_table_set(&group->by_counter, key, (uint32_t)group->n) < 0)
            return CAIRN_E_NOMEM;
        group->last[at = (uint32_t)group->n++] = 0;
    }
    *ret_last = &group->last[at];
    return CAIRN_OK;
}

int cairn_perf_data_group_since(struct cairn_perf_data_group *group, uint64_t number, int tid,
                                uint64_t value, uint64_t *ret_since)
{
    uint64_t *last;
    if (find(group, number, tid, &last) < 0)
        return CAIRN_E_NOMEM;
    *ret_since = value > *last ? value - *last : 0; /* a sample may come out of its order */
    *last = value > *last ? value : *last;
    return CAIRN_OK;
}

bool cairn_perf_data_reading(const struct cairn_perf_data_readings *readings, bool swap,
                             size_t index, uint64_t *ret_value, uint64_t *ret_number)
{
    struct cairn_reader r = cairn_reader_of(readings->words, swap);
    if (!readings->id_at || index >= readings->n)
        return false;
    const uint64_t at = readings->first + index * readings->step;
    cairn_reader_seek(&r, at * WORD);
    *ret_value = cairn_reader_u64(&r);
    cairn_reader_seek(&r, (at + readings->id_at) * WORD);
    *ret_number = cairn_reader_u64(&r);
    return !r.failed;
}
