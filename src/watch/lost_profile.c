/* SPDX-License-Identifier: MIT */
/* The rows of lost blocks as a profile: for flame graphs and other tools. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "watch/heap.h"

enum { LOST_SPACE, LOST_OBJECTS, POSSIBLY_SPACE, POSSIBLY_OBJECTS, N_VALUES };

static int64_t value_of(uint64_t n)
{
    return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

/* Drops the samples of the state, whose values mean something else. */
static int set_types(struct cairn_profile *p, struct cairn_err *err)
{
    static const struct cairn_value_type types[N_VALUES] = {
        [LOST_SPACE] = {"lost_space", "bytes"},
        [LOST_OBJECTS] = {"lost_objects", "count"},
        [POSSIBLY_SPACE] = {"possibly_space", "bytes"},
        [POSSIBLY_OBJECTS] = {"possibly_objects", "count"}};
    bool *dropped = cairn_alloc(p->n_samples + p->n_markers + 1, sizeof *dropped);
    if (!dropped)
        return cairn_fail_memory(err);
    memset(dropped, true, p->n_samples + p->n_markers);
    cairn_profile_drop_samples(p, dropped);
    cairn_free(dropped);
    p->n_types = 0;
    for (size_t i = 0; i < N_VALUES; i++)
        if (cairn_profile_add_type(p, types[i].type, types[i].unit) == UINT32_MAX)
            return cairn_fail_memory(err);
    return cairn_profile_set_default_value(p, LOST_SPACE, err);
}

/* What hangs on a head counts there: its own stack is of no help. */
static int add_rows(struct cairn_profile *p, const struct cairn_heap_leak *rows, size_t n,
                    size_t space, struct cairn_err *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t values[N_VALUES] = {0};
        const char *cut = rows[i].cut ? rows[i].cut : "";
        values[space] = value_of(rows[i].bytes + rows[i].indirect_bytes);
        values[space + 1] = value_of(rows[i].n_blocks + rows[i].n_indirect);
        uint32_t text = cairn_profile_text(p, cut, strlen(cut));
        uint32_t labels =
            text == UINT32_MAX ? text : cairn_profile_add_label_set(p, NULL, 0, text, 0);
        if (labels == UINT32_MAX ||
            cairn_profile_sum_sample(p, rows[i].stack, labels, values) == UINT32_MAX)
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

int cairn_heap_lost_make_profile(struct cairn_heap_lost *lost, struct cairn_err *err)
{
    int code = set_types(lost->profile, err);
    if (code == CAIRN_OK)
        code = add_rows(lost->profile, lost->lost, lost->n_lost, LOST_SPACE, err);
    if (code == CAIRN_OK)
        code = add_rows(lost->profile, lost->possibly, lost->n_possibly, POSSIBLY_SPACE, err);
    return code;
}
