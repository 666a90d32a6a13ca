/* SPDX-License-Identifier: MIT */
#include "dwarf/signature.h"

#include "base/error.h"
#include "dwarf/constants.h"

enum { CONTRIBUTED_MAX = 1024 }; /* units that one .dwo brings into a .dwp; nearly always one */

static bool is_type_unit(const struct cairn_dwarf_unit *unit)
{
    return unit->type == CAIRN_DW_UT_TYPE || unit->type == CAIRN_DW_UT_SPLIT_TYPE;
}

/* In version 4 the ID of a .dwo stands in the root DIE. */
static int need_signature(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                          struct cairn_err *err)
{
    struct cairn_err why;
    if (!units->d->is_dwo || unit->sizes.version >= 5 || is_type_unit(unit))
        return CAIRN_OK;
    return cairn_dwarf_unit_open(units, unit, &why) == CAIRN_E_NOMEM ? cairn_fail_memory(err)
                                                                     : CAIRN_OK;
}

static int read_signatures(struct cairn_dwarf_units *units, struct cairn_err *err)
{
    if (units->has_signatures)
        return CAIRN_OK;
    int code = cairn_dwarf_units_read_all(units, err);
    for (size_t i = 0; code == CAIRN_OK && i < units->n; i++) {
        struct cairn_dwarf_unit *unit = units->units[i];
        uint32_t known;
        code = need_signature(units, unit, err);
        if (code == CAIRN_OK && (is_type_unit(unit) || units->d->is_dwo) &&
            !cairn_table_find(&units->by_signature, unit->signature, &known) &&
            cairn_table_set(&units->by_signature, unit->signature, (uint32_t)i) < 0)
            code = cairn_fail_memory(err);
    }
    units->has_signatures = code == CAIRN_OK;
    return code;
}

static bool lies_in(uint64_t off, uint64_t size, struct cairn_span section)
{
    return off <= section.size && size <= section.size - off;
}

/* Tells a unit of a .dwp where its parts of the other sections begin; false where they do not lie
 * in them. */
static bool place(const struct cairn_dwarf *d, struct cairn_dwarf_unit *unit,
                  const struct cairn_dwarf_contribution *c)
{
    uint64_t abbrev = c->part[CAIRN_DWARF_PART_ABBREV].off,
             str_offsets = c->part[CAIRN_DWARF_PART_STR_OFFSETS].off,
             rnglists = c->part[CAIRN_DWARF_PART_RNGLISTS].off;
    if (!lies_in(abbrev, c->part[CAIRN_DWARF_PART_ABBREV].size, d->abbrev) ||
        !lies_in(str_offsets, c->part[CAIRN_DWARF_PART_STR_OFFSETS].size, d->str_offsets) ||
        !lies_in(rnglists, c->part[CAIRN_DWARF_PART_RNGLISTS].size, d->rnglists))
        return false;
    unit->abbrev_off += abbrev;
    unit->str_start = str_offsets;
    unit->ranges_start = rnglists;
    unit->is_placed = true;
    return true;
}

/* Is the unit the one that a row of the index speaks of? Then it is placed. The ID of version 4 can
 * be seen only in a unit that was; where it is another one's, that row has no say. */
static int take_unit(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                     uint64_t signature, bool of_type, const struct cairn_dwarf_contribution *c,
                     bool *ret_taken, struct cairn_err *err)
{
    bool in_header = unit->sizes.version >= 5 || is_type_unit(unit);
    uint64_t abbrev_off = unit->abbrev_off;
    *ret_taken = false;
    if (is_type_unit(unit) != of_type)
        return CAIRN_OK;
    if (unit->is_placed || in_header) {
        *ret_taken = unit->signature == signature && (unit->is_placed || place(units->d, unit, c));
        return CAIRN_OK;
    }
    if (unit->state != CAIRN_DWARF_UNIT_CLOSED || !place(units->d, unit, c))
        return CAIRN_OK;
    int code = need_signature(units, unit, err);
    *ret_taken = unit->state == CAIRN_DWARF_UNIT_OPEN && unit->signature == signature;
    if (!*ret_taken) {
        unit->is_placed = false;
        unit->abbrev_off = abbrev_off;
        unit->state = CAIRN_DWARF_UNIT_CLOSED;
    }
    return code;
}

/* The first unit of the contribution that has the number: a .dwo can have brought several. */
static int find_packed(struct cairn_dwarf_units *units, uint64_t signature, bool of_type,
                       struct cairn_dwarf_unit **ret_unit, struct cairn_err *err)
{
    const struct cairn_dwarf_package *package = units->package;
    struct cairn_dwarf_contribution c;
    if (!cairn_dwarf_split_index_find(of_type ? &package->types : &package->units, signature, &c))
        return CAIRN_OK;
    int part = units->d->is_types ? CAIRN_DWARF_PART_TYPES : CAIRN_DWARF_PART_INFO;
    uint64_t off = c.part[part].off, end = off + c.part[part].size;
    if (end > units->d->info.size)
        return CAIRN_OK;
    for (int i = 0; off < end && i < CONTRIBUTED_MAX; i++) {
        struct cairn_dwarf_unit *unit = cairn_dwarf_units_at(units, off);
        bool taken;
        if (!unit || unit->end > end)
            break;
        int code = take_unit(units, unit, signature, of_type, &c, &taken, err);
        if (code < 0)
            return code;
        if (taken) {
            *ret_unit = unit;
            return CAIRN_OK;
        }
        off = unit->end;
    }
    return cairn_dwarf_units_failed(units, err);
}

int cairn_dwarf_find_signature(struct cairn_dwarf_units *units, uint64_t signature, bool of_type,
                               struct cairn_dwarf_unit **ret_unit, struct cairn_err *err)
{
    uint32_t number;
    *ret_unit = NULL;
    if (units->package)
        return find_packed(units, signature, of_type, ret_unit, err);
    int code = read_signatures(units, err);
    if (code < 0 || !cairn_table_find(&units->by_signature, signature, &number))
        return code;
    if (is_type_unit(units->units[number]) == of_type)
        *ret_unit = units->units[number];
    return CAIRN_OK;
}

/* Places all units that an index names. */
static int prepare_packed(struct cairn_dwarf_units *units, bool of_type, struct cairn_err *err)
{
    const struct cairn_dwarf_package *package = units->package;
    uint32_t cursor = 0;
    uint64_t signature;
    int code = CAIRN_OK;
    while (code == CAIRN_OK &&
           cairn_dwarf_split_index_next(of_type ? &package->types : &package->units, &cursor,
                                        &signature)) {
        struct cairn_dwarf_unit *unit = NULL;
        code = find_packed(units, signature, of_type, &unit, err);
    }
    return code;
}

int cairn_dwarf_units_prepare(struct cairn_dwarf_units *units, struct cairn_err *err)
{
    int code = cairn_dwarf_units_read_all(units, err);
    if (code == CAIRN_OK && units->package) {
        code = prepare_packed(units, false, err);
        if (code == CAIRN_OK)
            code = prepare_packed(units, true, err);
    }
    for (size_t i = 0; code == CAIRN_OK && i < units->n; i++) {
        struct cairn_err why;
        if (cairn_dwarf_unit_open(units, units->units[i], &why) == CAIRN_E_NOMEM)
            code = cairn_fail_memory(err);
    }
    return code == CAIRN_OK && !units->package ? read_signatures(units, err) : code;
}

static int find_type(struct cairn_dwarf_units *units, uint64_t signature,
                     struct cairn_dwarf_spot *spot, struct cairn_err *err)
{
    struct cairn_dwarf_unit *unit = NULL;
    struct cairn_dwarf_units *home = units->types ? units->types : units;
    int code = cairn_dwarf_find_signature(home, signature, true, &unit, err);
    if (unit && unit->type_off > unit->dies - unit->off && unit->type_off < unit->end - unit->off)
        *spot = (struct cairn_dwarf_spot){home, unit->off + unit->type_off};
    return code;
}

int cairn_dwarf_follow(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit,
                       uint16_t form, uint64_t value, struct cairn_dwarf_spot *ret_spot,
                       struct cairn_err *err)
{
    struct cairn_dwarf_spot spot = {0};
    int code = CAIRN_OK;
    switch (form) {
    case CAIRN_DW_FORM_REF_SIG8:
        code = find_type(units, value, &spot, err);
        break;
    case CAIRN_DW_FORM_REF_SUP4:
    case CAIRN_DW_FORM_REF_SUP8:
    case CAIRN_DW_FORM_GNU_REF_ALT:
        spot = (struct cairn_dwarf_spot){units->alt, value};
        break;
    default:
        if (cairn_dwarf_reference(unit, form, value, &spot.die))
            spot.home = units;
    }
    *ret_spot = spot;
    return code;
}
