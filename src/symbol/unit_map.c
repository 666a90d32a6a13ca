/* SPDX-License-Identifier: MIT */
/* Makes the map of units out of .debug_aranges and root DIEs. */
#include "symbol/unit_map.h"

#include <endian.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/aranges.h"
#include "dwarf/unit_roots.h"

enum { SAVED_BYTES = 12 }; /* a span in a file */

struct making {
    const struct cairn_dwarf *d;
    struct cairn_unit_map map;
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

/* Of sorted spans. */
static void set_reaches(struct cairn_unit_map *map)
{
    uint32_t reach = 0;
    for (size_t i = 0; i < map->n; i++) {
        if (map->spans[i].high > reach)
            reach = map->spans[i].high;
        map->spans[i].reach = reach;
    }
}

static int finish(struct making *m, struct cairn_unit_map *ret_map)
{
    struct cairn_unit_map *map = &m->map;
    if (cairn_dwarf_sort(map->spans, map->n, sizeof *map->spans) < 0)
        return cairn_fail_memory(m->err);
    set_reaches(map);
    *ret_map = *map;
    return CAIRN_OK;
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
    struct making m = {.d = units->d, .err = err};
    struct cairn_dwarf_roots roots;
    int code;
    cairn_dwarf_roots_begin(&roots, units);
    while ((code = cairn_dwarf_roots_next(&roots, err)) == 1) {
        for (size_t i = 0; code == 1 && i < roots.ranges.n; i++)
            code = add(&m, roots.unit.off, roots.ranges.ranges[i]) < 0 ? CAIRN_E_NOMEM : 1;
        if (code < 0)
            break;
    }
    cairn_dwarf_roots_done(&roots);
    if (code == CAIRN_OK)
        code = finish(&m, ret_map);
    if (code < 0)
        cairn_free(m.map.spans);
    return code;
}

void cairn_unit_map_save(const struct cairn_unit_map *map, struct cairn_buffer *out)
{
    if (!cairn_buffer_reserve(out, map->n * SAVED_BYTES))
        return;
    for (size_t i = 0; i < map->n; i++) {
        const struct cairn_unit_span *span = &map->spans[i];
        uint32_t words[3] = {htole32(span->low), htole32(span->high), htole32(span->unit)};
        cairn_buffer_add(out, words, sizeof words);
    }
}

int cairn_unit_map_load(struct cairn_span saved, const struct cairn_dwarf_units *units,
                        struct cairn_unit_map *ret_map, struct cairn_err *err)
{
    struct cairn_unit_map map = {.n = saved.size / SAVED_BYTES, .cap = saved.size / SAVED_BYTES};
    if (saved.size % SAVED_BYTES)
        return cairn_fail(err, CAIRN_E_FORMAT, "unit map of %zu bytes, expected a multiple of %d",
                          saved.size, SAVED_BYTES);
    map.spans = cairn_realloc(NULL, map.n ? map.n : 1, sizeof *map.spans);
    if (!map.spans)
        return cairn_fail_memory(err);
    struct cairn_reader r = cairn_reader_of(saved, __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
    for (size_t i = 0; i < map.n; i++) {
        struct cairn_unit_span *span = &map.spans[i];
        span->low = cairn_reader_u32(&r);
        span->high = cairn_reader_u32(&r);
        span->unit = cairn_reader_u32(&r);
        if (span->low >= span->high || (i && span->low < span[-1].low) ||
            span->unit >= units->d->info.size) {
            cairn_fail(err, CAIRN_E_FORMAT,
                       "unit map: span %zu is [0x%x, 0x%x) of the unit at 0x%x", i, span->low,
                       span->high, span->unit);
            cairn_free(map.spans);
            return CAIRN_E_FORMAT;
        }
    }
    set_reaches(&map);
    *ret_map = map;
    return CAIRN_OK;
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
