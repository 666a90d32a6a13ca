/* SPDX-License-Identifier: MIT */
/*
 * The calling thread opens units and tells of damage; the others only read, each the units that it
 * takes, and write to what is that unit's own. Names that lie in other files are left to the
 * calling thread, because units of those may still have to be opened.
 *
 * A unit is taken as soon as it is read and all before it were: the memory that it was read in is
 * then used for the next one, while it is warm. Only records are kept, until they can be put in the
 * order of addresses.
 */
#include "symbol/index_units.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/signature.h"

static int compare_u32(const void *left, const void *right)
{
    uint32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

/* Offsets of the units of both maps, each once, sorted. */
static int list_offsets(const struct cairn_module *m, uint32_t **ret_offsets, size_t *ret_n,
                        struct cairn_err *err)
{
    const struct cairn_unit_map *aranges = &m->unit_finder.aranges, *roots = &m->unit_finder.roots;
    size_t n = aranges->n + roots->n, kept = 0;
    uint32_t *offsets = cairn_realloc(NULL, n ? n : 1, sizeof *offsets);
    if (!offsets)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        uint32_t off = i < aranges->n ? aranges->spans[i].unit : roots->spans[i - aranges->n].unit;
        if (!kept || offsets[kept - 1] != off)
            offsets[kept++] = off;
    }
    n = kept;
    kept = 0;
    qsort(offsets, n, sizeof *offsets, compare_u32);
    for (size_t i = 0; i < n; i++)
        if (!kept || offsets[kept - 1] != offsets[i])
            offsets[kept++] = offsets[i];
    *ret_offsets = offsets;
    *ret_n = kept;
    return CAIRN_OK;
}

/* Finds the unit, and where its functions are. A damaged one stays in the list, described nowhere.
 */
static int list_unit(struct cairn_module *m, uint32_t off, struct cairn_index_units *units,
                     struct cairn_err *err)
{
    struct cairn_err why = {0};
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_at(&m->units, off);
    if (!unit)
        return cairn_dwarf_units_failed(&m->units, err);
    struct cairn_index_unit *u = &units->units[units->n++];
    u->unit = unit;
    int code = cairn_dwarf_unit_open(&m->units, unit, &why);
    if (code == CAIRN_OK)
        code = cairn_module_find_home(m, unit, &u->home, &u->described, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0)
        return cairn_module_tell_damage(m, unit, &why, err);
    return CAIRN_OK;
}

/* Threads follow references to anywhere in the file and its supplement: nothing there may have to
 * be opened then. */
static int prepare(struct cairn_dwarf_units *units, struct cairn_err *err)
{
    int code = cairn_dwarf_units_prepare(units, err);
    if (code == CAIRN_OK && units->types)
        code = cairn_dwarf_units_prepare(units->types, err);
    if (code == CAIRN_OK && units->alt)
        code = cairn_dwarf_units_prepare(units->alt, err);
    return code;
}

int cairn_index_units_list(struct cairn_module *m, struct cairn_index_units *ret_units,
                           struct cairn_err *err)
{
    struct cairn_index_units units = {.module = m};
    uint32_t *offsets = NULL;
    size_t n = 0;
    int code = cairn_module_need_maps(m, err);
    if (code == CAIRN_OK)
        code = list_offsets(m, &offsets, &n, err);
    if (code < 0)
        return code;
    units.units = cairn_alloc(n ? n : 1, sizeof *units.units);
    if (!units.units)
        code = cairn_fail_memory(err);
    for (size_t i = 0; code == CAIRN_OK && i < n; i++)
        code = list_unit(m, offsets[i], &units, err);
    if (code == CAIRN_OK)
        code = prepare(&m->units, err);
    cairn_free(offsets);
    if (code < 0)
        cairn_index_units_done(&units);
    else
        *ret_units = units;
    return code;
}

struct cairn_index_unit *cairn_index_units_at(const struct cairn_index_units *units, uint32_t off)
{
    size_t low = 0, high = units->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (units->units[mid].unit->off < off)
            low = mid + 1;
        else if (units->units[mid].unit->off > off)
            high = mid;
        else
            return &units->units[mid];
    }
    return NULL;
}

struct reading {
    struct cairn_index_units *units;
    cairn_index_unit_take take;
    void *ctx;
    struct cairn_err *err;
    int code; /* of `take` */
};

/* What reading the unit has cost, and what its records will; the table goes with the unit. */
static bool spend_unit(struct cairn_index_units *units, struct cairn_index_unit *u, unsigned thread)
{
    const struct cairn_unit_scratch *scratch = &units->scratches[thread];
    uint64_t records = u->table ? u->table->n : 0;
    size_t grown = cairn_unit_scratch_bytes(scratch) - units->n_scratch_bytes[thread];
    units->n_scratch_bytes[thread] += grown;
    u->n_lent += u->table ? u->table->block_bytes : 0;
    return cairn_index_spend(u->budget,
                             grown + u->n_lent + records * (sizeof *u->starts + sizeof *u->records),
                             u->described->end - u->described->off + scratch->lines.n_bytes +
                                 scratch->functions.n_ranges_read);
}

/* One unit, by whichever thread took it. */
static void read_unit(void *ctx, size_t i, unsigned thread)
{
    const struct reading *reading = ctx;
    struct cairn_index_units *units = reading->units;
    struct cairn_index_unit *u = &units->units[i];
    struct cairn_err why = {0};
    if (!u->described)
        return;
    u->budget = units->budget;
    if (!cairn_index_spend(u->budget, 0, 0)) {
        u->code = CAIRN_E_LIMIT;
        return;
    }
    int code = cairn_unit_table_new_in(&units->module->dwarf, u->unit, u->home, u->described,
                                       &units->scratches[thread], &u->table, &why);
    if (code < 0 && code != CAIRN_E_NOMEM) {
        u->damage = cairn_alloc(1, sizeof *u->damage);
        if (u->damage)
            *u->damage = why;
        code = u->damage ? CAIRN_OK : CAIRN_E_NOMEM;
    }
    if (code == CAIRN_OK && !spend_unit(units, u, thread))
        code = CAIRN_E_LIMIT;
    if (code == CAIRN_OK && u->table && u->home == &units->module->units) {
        code = cairn_index_unit_name(u, NULL);
        if (code == CAIRN_OK && cairn_index_unit_is_named(u))
            code = cairn_index_unit_settle(u, &units->memories[thread]);
    }
    u->code = code;
}

static int fail_unit(const struct cairn_index_units *units, int code, struct cairn_err *err)
{
    return code == CAIRN_OK        ? CAIRN_OK
           : code == CAIRN_E_LIMIT ? cairn_index_fail_budget(units->budget, err)
                                   : cairn_fail_memory(err);
}

/* What was left to the calling thread: names in other files, and those that other units qualify. */
static int finish_unit(struct cairn_index_units *units, struct cairn_index_unit *u,
                       struct cairn_err *err)
{
    int code = fail_unit(units, u->code, err);
    if (code == CAIRN_OK && u->damage)
        code = cairn_module_tell_damage(units->module, u->unit, u->damage, err);
    if (code < 0 || !u->table)
        return code;
    if (u->home != &units->module->units)
        code = cairn_index_unit_name(u, err);
    if (code == CAIRN_OK)
        code = cairn_index_unit_name_rest(u, units->module, err);
    return code < 0 ? code : fail_unit(units, cairn_index_unit_settle(u, &units->memories[0]), err);
}

/* False: it is for the calling thread, and so is all that follows. */
static bool take_unit(void *ctx, size_t i)
{
    struct reading *reading = ctx;
    struct cairn_index_unit *u = &reading->units->units[i];
    if (u->code < 0 || u->damage || u->table)
        return false;
    reading->code = reading->take(reading->ctx, u, reading->err);
    cairn_index_unit_drop(u);
    return reading->code == CAIRN_OK;
}

int cairn_index_units_read(struct cairn_index_units *units, unsigned n_threads,
                           cairn_index_unit_take take, void *ctx, struct cairn_err *err)
{
    struct reading reading = {.units = units, .take = take, .ctx = ctx, .err = err};
    cairn_dwarf_check_texts(&units->module->dwarf);
    cairn_index_memory_warm();
    size_t n = cairn_index_share_out_in_order(n_threads, units->n, read_unit, take_unit, &reading);
    int code = reading.code;
    for (size_t i = n; code == CAIRN_OK && i < units->n; i++) {
        code = finish_unit(units, &units->units[i], err);
        if (code == CAIRN_OK)
            code = take(ctx, &units->units[i], err);
        cairn_index_unit_drop(&units->units[i]);
    }
    return code;
}

void cairn_index_units_done(struct cairn_index_units *units)
{
    for (size_t i = 0; i < units->n; i++)
        cairn_index_unit_drop(&units->units[i]);
    for (unsigned i = 0; i < CAIRN_INDEX_THREADS_MAX; i++) {
        cairn_index_memory_done(&units->memories[i]);
        cairn_unit_scratch_done(&units->scratches[i]);
    }
    cairn_free(units->units);
    *units = (struct cairn_index_units){0};
}
