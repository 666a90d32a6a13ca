/* SPDX-License-Identifier: MIT */
/*
 * From a module to its index:
 *
 *     open units ─► read, name (all threads) ─► number names ─► symbols ─► demangle (all threads)
 *                                                   └─► merge records by address ─► image
 *
 * The image is the same however many threads make it.
 */
#include <sched.h>

#include "base/alloc.h"
#include "base/error.h"
#include "symbol/index_merge.h"
#include "symbol/index_symbols.h"

static unsigned count_cpus(void)
{
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return 1;
    int n = CPU_COUNT(&cpus);
    return n > 0 ? (unsigned)n : 1;
}

static int take_units(struct cairn_index_units *units, struct cairn_index_names *names,
                      struct cairn_index_parts *parts, struct cairn_err *err)
{
    int code = CAIRN_OK;
    size_t n_records = 0, n_nodes = 0;
    for (size_t i = 0; i < units->n; i++) {
        n_records += units->units[i].n;
        n_nodes += units->units[i].n_nodes;
    }
    cairn_index_expect(parts, n_records, n_nodes);
    for (size_t i = 0; code == CAIRN_OK && i < units->n; i++) {
        code = cairn_index_names_take(names, &units->units[i], parts, err);
        cairn_arena_done(&units->units[i].texts);
    }
    return code;
}

static int build(struct cairn_module *m, unsigned n_threads, struct cairn_index_parts *parts,
                 struct cairn_err *err)
{
    struct cairn_index_units units = {0};
    struct cairn_index_names names = {0};
    int code = cairn_index_units_list(m, &units, err);
    if (code == CAIRN_OK)
        code = cairn_index_units_read(&units, n_threads, err);
    if (code == CAIRN_OK)
        code = take_units(&units, &names, parts, err);
    if (code == CAIRN_OK)
        code = cairn_index_merge(&units, parts, err);
    cairn_index_units_done(&units);
    if (code == CAIRN_OK)
        code = cairn_index_symbols_take(m, &names, parts, err);
    if (code == CAIRN_OK)
        code = cairn_index_names_write(&names, n_threads, parts, err);
    cairn_index_names_done(&names);
    return code;
}

int cairn_index_build(struct cairn_module *m, unsigned n_threads, struct cairn_buffer *ret_image,
                      struct cairn_err *err)
{
    struct cairn_index_parts *parts = cairn_alloc(1, sizeof *parts);
    if (!parts)
        return cairn_fail_memory(err);
    parts->records.n_columns = CAIRN_RECORD_COLUMNS;
    parts->nodes.n_columns = CAIRN_NODE_COLUMNS;
    parts->functions.n_columns = CAIRN_FUNCTION_COLUMNS;
    parts->symbols.n_columns = CAIRN_SYMBOL_COLUMNS;
    int code = build(m, n_threads ? n_threads : count_cpus(), parts, err);
    if (code == CAIRN_OK)
        code = cairn_index_write(parts, ret_image, err);
    cairn_index_parts_done(parts);
    cairn_free(parts);
    return code;
}
