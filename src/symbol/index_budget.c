/* SPDX-License-Identifier: MIT */
#include "symbol/index_budget.h"

#include "base/error.h"
#include "symbol/index_units.h"

enum {
    BYTES_FACTOR = 16, /* rows of lines alone take 6 times their programs; C++ with all names 1 */
    BYTES_FLOOR = 64 << 20,
    BOUND_FLOOR = 16 << 20, /* for any module, however small the user's bound is */
    WORK_FACTOR = 16,       /* each byte is read once, but for what units share */
    WORK_FLOOR = 16 << 20,
    COUNT_STEP = 1 << 16 /* bytes: names are many and short, and each count has two atomic steps */
};

static uint64_t dwarf_bytes(const struct cairn_dwarf *d)
{
    return (uint64_t)d->info.size + d->line.size + d->str.size + d->line_str.size + d->ranges.size +
           d->rnglists.size;
}

static uint64_t file_bytes(const struct cairn_module *m)
{
    uint64_t bytes = m->image.bytes.size + m->symbols.minidebug.bytes.size;
    if (m->debug.bytes.data != m->image.bytes.data)
        bytes += m->debug.bytes.size;
    if (!m->has_dwarf)
        return bytes;
    bytes += dwarf_bytes(&m->dwarf);
    return m->units.alt ? bytes + dwarf_bytes(m->units.alt->d) : bytes;
}

/* The .dwo files, each once. */
static int add_homes(const struct cairn_module *m, const struct cairn_index_units *units,
                     uint64_t *bytes, struct cairn_err *err)
{
    struct cairn_table seen = {0};
    uint32_t number;
    int code = CAIRN_OK;
    for (size_t i = 0; code == CAIRN_OK && i < units->n; i++) {
        const struct cairn_dwarf_units *home = units->units[i].home;
        if (!home || home == &m->units || cairn_table_find(&seen, (uintptr_t)home, &number))
            continue;
        *bytes += dwarf_bytes(home->d);
        if (cairn_table_set(&seen, (uintptr_t)home, 1) < 0)
            code = cairn_fail_memory(err);
    }
    cairn_table_done(&seen);
    return code;
}

uint64_t cairn_index_memory_max(uint64_t bytes, unsigned factor, size_t memory_bytes)
{
    uint64_t most = bytes * factor + BYTES_FLOOR;
    uint64_t bound = memory_bytes > BOUND_FLOOR ? memory_bytes : BOUND_FLOOR;
    return most < bound ? most : bound;
}

int cairn_index_budget_init(struct cairn_index_budget *ret_budget, const struct cairn_module *m,
                            const struct cairn_index_units *units, size_t memory_bytes,
                            struct cairn_err *err)
{
    uint64_t bytes = file_bytes(m);
    int code = add_homes(m, units, &bytes, err);
    if (code < 0)
        return code;
    *ret_budget = (struct cairn_index_budget){
        .bytes_max = cairn_index_memory_max(bytes, BYTES_FACTOR, memory_bytes),
        .work_max = bytes * WORK_FACTOR + WORK_FLOOR,
    };
    return CAIRN_OK;
}

bool cairn_index_spend(struct cairn_index_budget *budget, uint64_t bytes, uint64_t work)
{
    uint64_t all_bytes = atomic_fetch_add(&budget->bytes, bytes) + bytes;
    uint64_t all_work = atomic_fetch_add(&budget->work, work) + work;
    return all_bytes <= budget->bytes_max && all_work <= budget->work_max;
}

void cairn_index_give_back(struct cairn_index_budget *budget, uint64_t bytes)
{
    atomic_fetch_sub(&budget->bytes, bytes);
}

bool cairn_index_spend_grown(struct cairn_index_budget *budget, size_t bytes)
{
    if (bytes < budget->counted + COUNT_STEP)
        return true;
    size_t more = bytes - budget->counted;
    budget->counted = bytes;
    return cairn_index_spend(budget, more, 0);
}

int cairn_index_fail_budget(const struct cairn_index_budget *budget, struct cairn_err *err)
{
    if (atomic_load(&budget->work) > budget->work_max)
        return cairn_fail(
            err, CAIRN_E_LIMIT,
            "its units share so much of their debug information that it would be read "
            "more than %d times",
            WORK_FACTOR);
    return cairn_fail(err, CAIRN_E_LIMIT, "an index would take more than %llu MB of memory",
                      (unsigned long long)budget->bytes_max / 1000000);
}
