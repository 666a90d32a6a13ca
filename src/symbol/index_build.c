/* SPDX-License-Identifier: MIT */
/*
 * From a module to its index:
 *
 *     open units ─► read and name each (all threads) ─► number names, write nodes (in order)
 *                                                                  │
 *                   demangle (all threads) ◄── symbols ◄── merge records by address
 *
 * The image is the same however many threads make it.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "symbol/index_merge.h"
#include "symbol/index_symbols.h"

/* Where units go. */
struct taking {
    struct cairn_index_names names;
    struct cairn_index_parts *parts;
};

static int take_unit(void *ctx, struct cairn_index_unit *unit, struct cairn_err *err)
{
    struct taking *taking = ctx;
    return cairn_index_names_take(&taking->names, unit, taking->parts, err);
}

/* Records of all units in the order of addresses. */
static int merge(const struct cairn_index_units *units, struct cairn_index_parts *parts,
                 struct cairn_err *err)
{
    size_t n_records = 0;
    for (size_t i = 0; i < units->n; i++)
        n_records += units->units[i].n;
    int code = cairn_index_begin_records(parts, n_records, err);
    return code == CAIRN_OK ? cairn_index_merge(units, parts, err) : code;
}

/* About what the image will have; large programs in C++ and C have given 0.4 and 0.2 times the
 * bytes of .debug_info. */
static size_t expected_bytes(const struct cairn_module *m)
{
    return m->has_dwarf ? m->dwarf.info.size / 2 : 0;
}

static int build(struct cairn_module *m, unsigned n_threads, size_t memory_bytes,
                 struct cairn_index_parts *parts, struct cairn_buffer *image, struct cairn_err *err)
{
    struct cairn_index_units units = {0};
    struct cairn_index_budget budget;
    struct taking taking = {.parts = parts};
    int code = cairn_index_units_list(m, &units, err);
    if (code == CAIRN_OK)
        code = cairn_index_budget_init(&budget, m, &units, memory_bytes, err);
    units.budget = taking.names.budget = &budget;
    cairn_index_begin(parts, image, expected_bytes(m)); /* that the module has DWARF is known now */
    taking.names.str = m->has_dwarf ? m->dwarf.str : (struct cairn_span){0};
    if (code == CAIRN_OK)
        code = cairn_index_units_read(&units, n_threads, take_unit, &taking, err);
    if (code == CAIRN_OK)
        code = merge(&units, parts, err);
    cairn_index_units_done(&units);
    if (code == CAIRN_OK)
        code = cairn_index_symbols_take(m, &taking.names, parts, err);
    if (code == CAIRN_OK)
        code = cairn_index_names_write(&taking.names, n_threads, parts, err);
    cairn_index_names_done(&taking.names);
    return code;
}

int cairn_index_build(struct cairn_module *m, unsigned n_threads, size_t memory_bytes,
                      struct cairn_buffer *ret_image, struct cairn_err *err)
{
    struct cairn_index_parts *parts = cairn_alloc(1, sizeof *parts);
    size_t start = ret_image->size;
    if (!parts)
        return cairn_fail_memory(err);
    int code = build(m, cairn_index_threads_of(n_threads), memory_bytes, parts, ret_image, err);
    if (code == CAIRN_OK)
        code = cairn_index_end(parts, err);
    if (code < 0)
        ret_image->size = start;
    cairn_index_parts_done(parts);
    cairn_free(parts);
    return code;
}
