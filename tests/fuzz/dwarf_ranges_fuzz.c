/* SPDX-License-Identifier: MIT */
/* Which unit covers what: aranges, ranges, rnglists. */
#include "support/dwarfpack.h"
#include "symbol/unit_finder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_map(const struct cairn_unit_map *map, size_t info_size)
{
    for (size_t i = 0; i < map->n; i++) {
        const struct cairn_unit_span *span = &map->spans[i];
        if (span->low >= span->high || span->unit >= info_size || span->reach < span->high ||
            (i && span->low < map->spans[i - 1].low))
            __builtin_trap();
    }
    for (uint32_t at = 0; at < 0x4000; at += 61) {
        size_t cursor = SIZE_MAX;
        uint32_t unit;
        for (int k = 0; k < 64 && cairn_unit_map_next(map, at, &cursor, &unit); k++)
            if (map->spans[cursor].low > at || map->spans[cursor].high <= at)
                __builtin_trap();
    }
}

/* Which units were named, and in which order. */
static int note(void *ctx, uint64_t unit_off, struct cairn_err *err)
{
    uint64_t *sum = ctx;
    (void)err;
    *sum = *sum * 31 + unit_off + 1;
    return 0;
}

/* The first questions are answered by other code than later ones. */
static void check_ways(struct cairn_dwarf_units *units)
{
    struct cairn_unit_finder f;
    cairn_unit_finder_init(&f, units);
    if (cairn_unit_finder_need_maps(&f, NULL) < 0)
        __builtin_trap();
    for (uint32_t at = 0x1000; at < 0x4000; at += 977) {
        uint64_t scanned = 0, walked = 0, by_aranges = 0, by_roots = 0;
        f.has_aranges = f.has_roots = false;
        f.n_scans = f.n_walks = 0;
        cairn_unit_finder_ask_aranges(&f, at, note, &scanned, NULL);
        cairn_unit_finder_ask_roots(&f, at, note, &walked, NULL);
        f.has_aranges = f.has_roots = true;
        cairn_unit_finder_ask_aranges(&f, at, note, &by_aranges, NULL);
        cairn_unit_finder_ask_roots(&f, at, note, &by_roots, NULL);
        if (scanned != by_aranges || walked != by_roots)
            __builtin_trap();
    }
    cairn_unit_finder_done(&f);
}

static void check_saved(const struct cairn_unit_map *map, const struct cairn_dwarf_units *units)
{
    struct cairn_buffer saved = {0};
    struct cairn_unit_map loaded;
    cairn_unit_map_save(map, &saved);
    if (cairn_unit_map_load(cairn_buffer_span(&saved), units, &loaded, NULL) < 0 ||
        loaded.n != map->n ||
        (map->n && memcmp(loaded.spans, map->spans, map->n * sizeof *map->spans) != 0))
        __builtin_trap();
    cairn_unit_map_done(&loaded);
    cairn_buffer_done(&saved);
}

static void check_load(const uint8_t *data, size_t size, const struct cairn_dwarf_units *units)
{
    struct cairn_unit_map loaded;
    for (size_t at = 0; at < size; at += 1 + size / 16)
        if (cairn_unit_map_load((struct cairn_span){data + at, (size - at) / 12 * 12}, units,
                                &loaded, NULL) == CAIRN_OK) {
            check_map(&loaded, units->d->info.size);
            cairn_unit_map_done(&loaded);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_dwarf d;
    struct cairn_dwarf_units units;
    struct cairn_err err;
    if (!test_dwarf_unpack(data, size, &d) || cairn_dwarf_units_init(&units, &d, &err) < 0)
        return 0;
    struct cairn_unit_map map = {0}, roots = {0};
    if (cairn_unit_map_read_aranges(&d, &map, &err) == CAIRN_OK)
        check_map(&map, d.info.size);
    if (cairn_unit_map_read_roots(&units, &roots, &err) == CAIRN_OK)
        check_map(&roots, d.info.size);
    check_ways(&units);
    check_saved(&roots, &units);
    check_load(data, size, &units);
    cairn_unit_map_done(&map);
    cairn_unit_map_done(&roots);
    cairn_dwarf_units_done(&units);

    struct cairn_dwarf_ranges ranges = {0};
    struct cairn_dwarf_unit alone = {.low_vaddr = 0x1000, .addr_base = 8, .rnglists_base = 12};
    for (uint16_t version = 4; version <= 5; version++)
        for (uint8_t width = 4; width <= 8; width += 4) {
            alone.sizes = (struct cairn_dwarf_sizes){version, width, width};
            cairn_dwarf_ranges_read(&d, &alone, CAIRN_DW_FORM_RNGLISTX, 0, &ranges, &err);
            cairn_dwarf_ranges_read(&d, &alone, CAIRN_DW_FORM_SEC_OFFSET, 0, &ranges, &err);
        }
    cairn_dwarf_ranges_done(&ranges);
    return 0;
}
