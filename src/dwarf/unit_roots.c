/* SPDX-License-Identifier: MIT */
/* From header to header, with a look at the first DIE behind each. */
#include "dwarf/unit_roots.h"

#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "dwarf/constants.h"

void cairn_dwarf_roots_begin(struct cairn_dwarf_roots *roots, struct cairn_dwarf_units *units)
{
    *roots = (struct cairn_dwarf_roots){.units = units};
}

static bool is_remembered(const struct cairn_dwarf_roots *roots, uint64_t code)
{
    const struct cairn_dwarf_unit *unit = &roots->unit;
    return roots->one.made.n && roots->one_off == unit->abbrev_off && roots->one_code == code &&
           roots->one_sizes.version == unit->sizes.version &&
           roots->one_sizes.offset_size == unit->sizes.offset_size &&
           roots->one_sizes.address_size == unit->sizes.address_size;
}

/* Finds the abbreviation of the root DIE. Units that were linked as one share a table: the last
 * answer is remembered. Where a table is crossed again and again all the same (dwz makes one for
 * units of several kinds, hostile ones overlap), tables are compiled whole, each once. */
static int find_abbrev(struct cairn_dwarf_roots *roots, uint64_t code,
                       const struct cairn_dwarf_abbrev **ret_abbrev, struct cairn_err *err)
{
    const struct cairn_dwarf *d = roots->units->d;
    struct cairn_dwarf_unit *unit = &roots->unit;
    int result = CAIRN_OK;
    unit->abbrevs = &roots->one.made;
    if (is_remembered(roots, code)) {
        *ret_abbrev = roots->one.made.abbrevs;
    } else if (roots->crossed > d->abbrev.size) {
        result = cairn_dwarf_unit_read_abbrevs(roots->units, unit, err);
        *ret_abbrev = result < 0 ? NULL : cairn_dwarf_abbrevs_find(unit->abbrevs, code);
    } else {
        uint64_t crossed;
        result = cairn_dwarf_abbrevs_read_one(d, unit->abbrev_off, unit->sizes, code, &roots->one,
                                              &crossed, err);
        roots->crossed += crossed;
        roots->one_off = unit->abbrev_off;
        roots->one_code = code;
        roots->one_sizes = unit->sizes;
        *ret_abbrev = roots->one.made.abbrevs;
    }
    return result;
}

/*
 * What the sequences of a unit's line program cover, if the unit has a low address but no end. The
 * partial units of dwz have no address: they cover no code, and their programs are those of other
 * units. Reading stops when more bytes were read than .debug_line has, because units can share one
 * program.
 */
static int read_line_ranges(struct cairn_dwarf_roots *roots, struct cairn_err *err)
{
    const struct cairn_dwarf *d = roots->units->d;
    const struct cairn_dwarf_unit *unit = &roots->unit;
    struct cairn_dwarf_lines *l = &roots->lines;
    if (!unit->has_low || unit->ranges_form || unit->high_form || unit->is_split ||
        unit->line_off == UINT64_MAX || roots->n_line_bytes > d->line.size)
        return CAIRN_OK;
    int code = cairn_dwarf_lines_read_again(d, unit, l, NULL);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    roots->n_line_bytes += l->n_bytes;
    uint64_t base = cairn_dwarf_base(d);
    for (size_t i = 0, first = 0; i < l->n_rows; i++) {
        if (l->rows[i].file != (uint32_t)CAIRN_DWARF_NO_FILE)
            continue;
        if (cairn_dwarf_ranges_add(d, &roots->ranges, base + l->rows[first].low,
                                   base + l->rows[i].low, err) < 0)
            return CAIRN_E_NOMEM;
        first = i + 1;
    }
    return CAIRN_OK; /* damage is reported when the unit itself is read */
}

static int fail_root(const struct cairn_dwarf_roots *roots, struct cairn_err *err)
{
    return cairn_fail(err, CAIRN_E_FORMAT, "its first entry, at 0x%llx, is damaged",
                      (unsigned long long)roots->unit.dies);
}

static int read_root(struct cairn_dwarf_roots *roots, struct cairn_err *err)
{
    const struct cairn_dwarf *d = roots->units->d;
    struct cairn_dwarf_unit *unit = &roots->unit;
    struct cairn_reader r = cairn_dwarf_unit_reader(d, unit, unit->dies);
    struct cairn_dwarf_die root = {.off = unit->dies};
    uint64_t code = cairn_reader_uleb(&r);
    if (r.failed || !code)
        return fail_root(roots, err);
    int result = find_abbrev(roots, code, &root.abbrev, err);
    if (result < 0)
        return result;
    if (root.abbrev)
        cairn_dwarf_die_values(&r, unit, &root);
    unit->abbrevs = NULL;
    if (r.failed || !root.abbrev)
        return fail_root(roots, err);
    cairn_dwarf_unit_note_numbers(d, unit, &root);
    result = cairn_dwarf_unit_ranges(d, unit, &roots->ranges, err);
    return result < 0 ? result : read_line_ranges(roots, err);
}

/* A file that was cut short has thousands of such units: one line speaks for all. */
static void note_damage(struct cairn_dwarf_roots *roots, const struct cairn_err *why)
{
    if (!roots->n_damaged++)
        roots->damage = *why;
}

int cairn_dwarf_roots_next(struct cairn_dwarf_roots *roots, struct cairn_err *err)
{
    struct cairn_dwarf_units *units = roots->units;
    struct cairn_err why;
    while (roots->next < units->d->info.size) {
        struct cairn_dwarf_unit *unit = &roots->unit;
        uint64_t at = roots->next;
        roots->next = units->d->info.size;
        if (!cairn_dwarf_units_see(units, at, unit))
            break;
        roots->next = unit->end;
        if (unit->state == CAIRN_DWARF_UNIT_DAMAGED ||
            (unit->type != CAIRN_DW_UT_COMPILE && unit->type != CAIRN_DW_UT_SKELETON))
            continue;
        roots->ranges.n = 0;
        int code = read_root(roots, &why);
        if (code == CAIRN_E_NOMEM)
            return cairn_fail_memory(err);
        if (code < 0) {
            char who[64];
            snprintf(who, sizeof who, ".debug_info: unit at 0x%llx", (unsigned long long)at);
            cairn_fail_in(&why, code, who);
            note_damage(roots, &why); /* ranges in front of the damage are good */
        }
        return 1;
    }
    return 0;
}

void cairn_dwarf_roots_done(struct cairn_dwarf_roots *roots)
{
    if (roots->n_damaged && !roots->units->told_roots) {
        roots->units->told_roots = true;
        cairn_log(CAIRN_LOG_WARNING, "%s: %s%s", cairn_dwarf_path(roots->units->d),
                  roots->damage.msg, roots->n_damaged > 1 ? ", and others too" : "");
    }
    cairn_dwarf_abbrev_maker_done(&roots->one);
    cairn_dwarf_ranges_done(&roots->ranges);
    cairn_dwarf_lines_done(&roots->lines);
}
