/* SPDX-License-Identifier: MIT */
/* Makes the map of units out of .debug_aranges and root DIEs. */
#include "symbol/unit_map.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dwarf/aranges.h"
#include "dwarf/constants.h"

struct making {
    const struct cairn_dwarf *d;
    struct cairn_dwarf_units *units;
    struct cairn_unit_map map;
    struct cairn_dwarf_ranges ranges; /* of one root DIE; counts the entries of all */
    size_t n_damaged;                 /* root DIEs; the first one's fault is in `damage` */
    struct cairn_err damage;
    struct cairn_err *err;
};

static int add(struct making *m, uint64_t unit_off, struct cairn_dwarf_range range)
{
    struct cairn_unit_map *map = &m->map;
    struct cairn_unit_span span = {.unit = (uint32_t)unit_off};
    if (!cairn_dwarf_place(m->d, range.low, range.high, &span.low, &span.high))
        return CAIRN_OK;
    if (cairn_grow((void **)&map->spans, &map->cap, map->n + 1, sizeof *map->spans) < 0)
        return cairn_fail_memory(m->err);
    map->spans[map->n++] = span;
    return CAIRN_OK;
}

static int add_arange(void *ctx, uint64_t unit_off, struct cairn_dwarf_range range)
{
    return add(ctx, unit_off, range);
}

static int add_root(struct making *m, struct cairn_dwarf_unit *unit)
{
    struct cairn_err why;
    if (unit->type != CAIRN_DW_UT_COMPILE && unit->type != CAIRN_DW_UT_SKELETON)
        return CAIRN_OK;
    m->ranges.n = 0;
    int code = cairn_dwarf_unit_open(m->units, unit, &why);
    if (code == CAIRN_OK)
        code = cairn_dwarf_unit_ranges(m->d, unit, &m->ranges, &why);
    if (code < 0 && code != CAIRN_E_NOMEM) {
        if (code != CAIRN_E_MISSING && !m->n_damaged++)
            m->damage = why;
        code = CAIRN_OK; /* ranges in front of the damage are good */
    }
    for (size_t i = 0; code == CAIRN_OK && i < m->ranges.n; i++)
        code = add(m, unit->off, m->ranges.ranges[i]);
    return code == CAIRN_OK ? code : cairn_fail_memory(m->err);
}

static int finish(struct making *m, struct cairn_unit_map *ret_map)
{
    struct cairn_unit_map *map = &m->map;
    if (cairn_dwarf_sort(map->spans, map->n, sizeof *map->spans) < 0)
        return cairn_fail_memory(m->err);
    uint32_t reach = 0;
    for (size_t i = 0; i < map->n; i++) {
        if (map->spans[i].high > reach)
            reach = map->spans[i].high;
        map->spans[i].reach = reach;
    }
    *ret_map = *map;
    return CAIRN_OK;
}

/* A file that was cut short has thousands of such units: one line speaks for all. */
static void tell_damage(const struct making *m)
{
    if (m->n_damaged)
        cairn_log(CAIRN_LOG_WARNING, "%s: %s%s", cairn_dwarf_path(m->d), m->damage.msg,
                  m->n_damaged > 1 ? ", and others too" : "");
}

int cairn_unit_map_read_aranges(const struct cairn_dwarf *d, struct cairn_unit_map *ret_map,
                                struct cairn_err *err)
{
    struct making m = {.d = d, .err = err};
    int code = cairn_dwarf_aranges_each(d, add_arange, &m);
    if (code == CAIRN_OK)
        code = finish(&m, ret_map);
    if (code < 0)
        cairn_free(m.map.spans);
    return code;
}

int cairn_unit_map_read_roots(struct cairn_dwarf_units *units, struct cairn_unit_map *ret_map,
                              struct cairn_err *err)
{
    struct making m = {.d = units->d, .units = units, .err = err};
    int code = cairn_dwarf_units_read_all(units, err);
    for (size_t i = 0; code == CAIRN_OK && i < units->n_sorted; i++)
        code = add_root(&m, units->sorted[i]);
    tell_damage(&m);
    if (code == CAIRN_OK)
        code = finish(&m, ret_map);
    if (code < 0)
        cairn_free(m.map.spans);
    cairn_dwarf_ranges_done(&m.ranges);
    return code;
}

void cairn_unit_map_done(struct cairn_unit_map *map)
{
    cairn_free(map->spans);
    *map = (struct cairn_unit_map){0};
}

/* The number of spans that begin at or below `at`. */
static size_t count_below(const struct cairn_unit_map *map, uint32_t at)
{
    size_t low = 0, high = map->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (map->spans[mid].low <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool cairn_unit_map_next(const struct cairn_unit_map *map, uint32_t at, size_t *cursor,
                         uint32_t *ret_unit)
{
    if (*cursor == SIZE_MAX)
        *cursor = count_below(map, at);
    while (*cursor && map->spans[*cursor - 1].reach > at) {
        const struct cairn_unit_span *span = &map->spans[--*cursor];
        if (span->high > at) {
            *ret_unit = span->unit;
            return true;
        }
    }
    *cursor = 0;
    return false;
}
