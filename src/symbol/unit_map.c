/* SPDX-License-Identifier: MIT */
/* Makes the map of units out of .debug_aranges and root DIEs. */
#include "symbol/unit_map.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dwarf/aranges.h"
#include "dwarf/constants.h"

struct making {
    struct cairn_dwarf_units *units;
    struct cairn_unit_map map;
    uint8_t *mapped;                  /* by unit: aranges speak of it */
    struct cairn_dwarf_ranges ranges; /* of one root DIE; counts the entries of all */
    size_t n_damaged;                 /* root DIEs; the first one's fault is in `damage` */
    struct cairn_err damage;
    struct cairn_err *err;
};

static int add(struct making *m, size_t unit, struct cairn_dwarf_range range)
{
    struct cairn_unit_map *map = &m->map;
    struct cairn_unit_span span = {.unit = (uint32_t)unit};
    if (!cairn_dwarf_place(m->units->d, range.low, range.high, &span.low, &span.high))
        return CAIRN_OK;
    if (cairn_grow((void **)&map->spans, &map->cap, map->n + 1, sizeof *map->spans) < 0)
        return cairn_fail_memory(m->err);
    map->spans[map->n++] = span;
    return CAIRN_OK;
}

static int add_arange(void *ctx, const struct cairn_dwarf_unit *unit,
                      struct cairn_dwarf_range range)
{
    struct making *m = ctx;
    size_t index = (size_t)(unit - m->units->units);
    m->mapped[index] = 1;
    return add(m, index, range);
}

static int add_root(struct making *m, size_t index)
{
    struct cairn_dwarf_unit *unit = &m->units->units[index];
    struct cairn_err why;
    if (unit->type != CAIRN_DW_UT_COMPILE && unit->type != CAIRN_DW_UT_SKELETON)
        return CAIRN_OK;
    m->ranges.n = 0;
    int code = cairn_dwarf_unit_open(m->units, unit, &why);
    if (code == CAIRN_OK)
        code = cairn_dwarf_unit_ranges(m->units->d, unit, &m->ranges, &why);
    if (code < 0 && code != CAIRN_E_NOMEM) {
        if (code != CAIRN_E_MISSING && !m->n_damaged++)
            m->damage = why;
        code = CAIRN_OK; /* ranges in front of the damage are good */
    }
    for (size_t i = 0; code == CAIRN_OK && i < m->ranges.n; i++)
        code = add(m, index, m->ranges.ranges[i]);
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
        cairn_log(CAIRN_LOG_WARNING, "%s: %s%s", cairn_dwarf_path(m->units->d), m->damage.msg,
                  m->n_damaged > 1 ? ", and others too" : "");
}

static int make(struct cairn_dwarf_units *units, bool by_aranges, struct cairn_unit_map *ret_map,
                struct cairn_err *err)
{
    struct making m = {.units = units, .err = err};
    int code = CAIRN_OK;
    m.mapped = cairn_alloc(units->n ? units->n : 1, 1);
    if (!m.mapped)
        return cairn_fail_memory(err);
    if (by_aranges)
        code = cairn_dwarf_aranges_each(units->d, units, add_arange, &m);
    for (size_t i = 0; code == CAIRN_OK && i < units->n; i++)
        if (!m.mapped[i])
            code = add_root(&m, i);
    tell_damage(&m);
    if (code == CAIRN_OK)
        code = finish(&m, ret_map);
    if (code < 0)
        cairn_free(m.map.spans);
    cairn_dwarf_ranges_done(&m.ranges);
    cairn_free(m.mapped);
    return code;
}

int cairn_unit_map_read(struct cairn_dwarf_units *units, struct cairn_unit_map *ret_map,
                        struct cairn_err *err)
{
    return make(units, true, ret_map, err);
}

int cairn_unit_map_read_roots(struct cairn_dwarf_units *units, struct cairn_unit_map *ret_map,
                              struct cairn_err *err)
{
    return make(units, false, ret_map, err);
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
