/* SPDX-License-Identifier: MIT */
#include "dwarf/prototype.h"

#include <string.h>

#include "dwarf/constants.h"
#include "dwarf/entry.h"

enum {
    HOPS_MAX = 16,      /* of typedefs and qualifiers, and of origins */
    CHILDREN_MAX = 4096 /* of a DIE that are looked at */
};

/* The address where a subprogram begins: of a range list its first. */
static bool begins_at(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                      const struct cairn_dwarf_die *die, uint64_t vaddr,
                      struct cairn_dwarf_ranges *ranges)
{
    ranges->n = 0;
    return cairn_dwarf_die_ranges(d, unit, die, ranges, NULL) == CAIRN_OK && ranges->n &&
           ranges->ranges[0].low == vaddr;
}

bool cairn_dwarf_subprogram_at(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                               uint64_t vaddr, uint64_t *ret_die)
{
    struct cairn_reader r = cairn_dwarf_unit_reader(d, unit, unit->dies);
    struct cairn_dwarf_ranges ranges = {0};
    struct cairn_dwarf_die die;
    bool found = false;
    while (!found && cairn_reader_more(&r) && cairn_dwarf_die_begin(&r, unit, &die)) {
        if (!die.abbrev)
            continue;
        if (die.abbrev->tag != CAIRN_DW_TAG_SUBPROGRAM) {
            cairn_dwarf_die_cross(&r, unit, &die);
            continue;
        }
        cairn_dwarf_die_values(&r, unit, &die);
        found = !r.failed && begins_at(d, unit, &die, vaddr, &ranges);
    }
    cairn_dwarf_ranges_done(&ranges);
    *ret_die = die.off;
    return found;
}

static bool is_char(const struct cairn_dwarf_units *home, const struct cairn_dwarf_unit *unit,
                    const struct cairn_dwarf_entry *entry)
{
    if (entry->tag != CAIRN_DW_TAG_BASE_TYPE ||
        !cairn_dwarf_entry_has(entry, CAIRN_DWARF_ENTRY_NAME))
        return false;
    const char *name =
        cairn_dwarf_string(home->d, unit, home->d->info, entry->form[CAIRN_DWARF_ENTRY_NAME],
                           entry->value[CAIRN_DWARF_ENTRY_NAME]);
    return name && strcmp(name, "char") == 0;
}

/* The type behind typedefs and qualifiers. CAIRN_E_MISSING: void, which no DIE says, or damage. */
static int find_type(struct cairn_dwarf_spot *spot, struct cairn_dwarf_unit **ret_unit,
                     struct cairn_dwarf_entry *ret_entry)
{
    int code = CAIRN_E_MISSING;
    for (unsigned i = 0; i < HOPS_MAX; i++) {
        code = cairn_dwarf_entry_at(spot, ret_unit, ret_entry);
        if (code < 0)
            return code;
        switch (ret_entry->tag) {
        case CAIRN_DW_TAG_TYPEDEF:
        case CAIRN_DW_TAG_CONST_TYPE:
        case CAIRN_DW_TAG_VOLATILE_TYPE:
        case CAIRN_DW_TAG_RESTRICT_TYPE:
        case CAIRN_DW_TAG_ATOMIC_TYPE:
            code = cairn_dwarf_entry_follow(spot->home, *ret_unit, ret_entry,
                                            CAIRN_DWARF_ENTRY_TYPE, spot);
            break;
        default:
            return CAIRN_OK;
        }
        if (code < 0 || !spot->home)
            return code < 0 ? code : CAIRN_E_MISSING;
    }
    return CAIRN_E_MISSING;
}

/* What a pointer points to. */
static int read_pointer(struct cairn_dwarf_units *home, const struct cairn_dwarf_unit *unit,
                        const struct cairn_dwarf_entry *pointer, struct cairn_dwarf_type *type)
{
    struct cairn_dwarf_spot spot;
    struct cairn_dwarf_unit *to_unit;
    struct cairn_dwarf_entry to;
    type->what = CAIRN_DWARF_POINTER;
    int code = cairn_dwarf_entry_follow(home, unit, pointer, CAIRN_DWARF_ENTRY_TYPE, &spot);
    if (code == CAIRN_OK)
        code = find_type(&spot, &to_unit, &to);
    if (code == CAIRN_OK && pointer->tag == CAIRN_DW_TAG_POINTER_TYPE &&
        is_char(spot.home, to_unit, &to))
        type->what = CAIRN_DWARF_TEXT;
    return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
}

static enum cairn_dwarf_what what_of_base(uint64_t encoding)
{
    switch (encoding) {
    case CAIRN_DW_ATE_SIGNED:
    case CAIRN_DW_ATE_SIGNED_CHAR:
        return CAIRN_DWARF_SIGNED;
    case CAIRN_DW_ATE_BOOLEAN:
    case CAIRN_DW_ATE_UNSIGNED:
    case CAIRN_DW_ATE_UNSIGNED_CHAR:
    case CAIRN_DW_ATE_UTF:
        return CAIRN_DWARF_UNSIGNED;
    case CAIRN_DW_ATE_FLOAT:
        return CAIRN_DWARF_REAL;
    default:
        return CAIRN_DWARF_STRANGE;
    }
}

static enum cairn_dwarf_what what_of(const struct cairn_dwarf_entry *entry)
{
    switch (entry->tag) {
    case CAIRN_DW_TAG_BASE_TYPE:
        return what_of_base(entry->value[CAIRN_DWARF_ENTRY_ENCODING]);
    case CAIRN_DW_TAG_ENUMERATION_TYPE:
        return CAIRN_DWARF_ENUM;
    case CAIRN_DW_TAG_STRUCTURE_TYPE:
    case CAIRN_DW_TAG_CLASS_TYPE:
    case CAIRN_DW_TAG_UNION_TYPE:
    case CAIRN_DW_TAG_ARRAY_TYPE:
        return CAIRN_DWARF_RECORD;
    default:
        return CAIRN_DWARF_STRANGE;
    }
}

/* The type that the value of an entry leads to; without one it is void. */
static int read_type(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit,
                     const struct cairn_dwarf_entry *of, struct cairn_dwarf_type *ret_type)
{
    struct cairn_dwarf_spot spot;
    struct cairn_dwarf_unit *home;
    struct cairn_dwarf_entry entry;
    *ret_type = (struct cairn_dwarf_type){.what = CAIRN_DWARF_VOID};
    if (!cairn_dwarf_entry_has(of, CAIRN_DWARF_ENTRY_TYPE))
        return CAIRN_OK;
    ret_type->what = CAIRN_DWARF_STRANGE;
    int code = cairn_dwarf_entry_follow(units, unit, of, CAIRN_DWARF_ENTRY_TYPE, &spot);
    if (code == CAIRN_OK)
        code = find_type(&spot, &home, &entry);
    if (code < 0)
        return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
    ret_type->bytes = entry.value[CAIRN_DWARF_ENTRY_BYTES];
    ret_type->spot = spot;
    ret_type->what = what_of(&entry);
    switch (entry.tag) {
    case CAIRN_DW_TAG_POINTER_TYPE:
    case CAIRN_DW_TAG_REFERENCE_TYPE:
    case CAIRN_DW_TAG_RVALUE_REFERENCE_TYPE:
        return read_pointer(spot.home, home, &entry, ret_type);
    default:
        return CAIRN_OK;
    }
}

/* Name and type of a parameter, or the type of a subprogram's result, through its origins. */
static int read_value(const struct cairn_dwarf_spot *at, struct cairn_dwarf_parameter *ret_value)
{
    struct cairn_dwarf_spot spot = *at;
    struct cairn_dwarf_unit *unit;
    struct cairn_dwarf_entry entry;
    bool has_type = false;
    *ret_value = (struct cairn_dwarf_parameter){0};
    for (unsigned i = 0; i < HOPS_MAX && spot.home; i++) {
        int code = cairn_dwarf_entry_at(&spot, &unit, &entry);
        if (code < 0)
            return code;
        if (!ret_value->name && cairn_dwarf_entry_has(&entry, CAIRN_DWARF_ENTRY_NAME))
            ret_value->name = cairn_dwarf_string(spot.home->d, unit, spot.home->d->info,
                                                 entry.form[CAIRN_DWARF_ENTRY_NAME],
                                                 entry.value[CAIRN_DWARF_ENTRY_NAME]);
        if (!has_type && cairn_dwarf_entry_has(&entry, CAIRN_DWARF_ENTRY_TYPE)) {
            code = read_type(spot.home, unit, &entry, &ret_value->type);
            has_type = true;
        }
        if (code == CAIRN_OK)
            code =
                cairn_dwarf_entry_follow(spot.home, unit, &entry, CAIRN_DWARF_ENTRY_ORIGIN, &spot);
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

static int read_parameters(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit,
                           uint64_t first, struct cairn_dwarf_prototype *prototype)
{
    struct cairn_dwarf_entry entry = {.next = first};
    for (unsigned i = 0; i < CHILDREN_MAX; i++) {
        if (!cairn_dwarf_entry_read(units->d, unit, entry.next, &entry) || !entry.tag ||
            entry.children)
            return CAIRN_OK; /* parameters come first */
        if (entry.tag != CAIRN_DW_TAG_FORMAL_PARAMETER)
            continue;
        if (prototype->n == CAIRN_DWARF_PARAMETERS_MAX)
            return CAIRN_OK;
        const struct cairn_dwarf_spot spot = {units, entry.off};
        const int code = read_value(&spot, &prototype->items[prototype->n]);
        if (code < 0)
            return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
        prototype->n++;
    }
    return CAIRN_OK;
}

int cairn_dwarf_prototype_read(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                               uint64_t die, struct cairn_dwarf_prototype *ret_prototype)
{
    const struct cairn_dwarf_spot spot = {units, die};
    struct cairn_dwarf_parameter result;
    struct cairn_dwarf_entry entry;
    *ret_prototype = (struct cairn_dwarf_prototype){.is_c = unit->is_c};
    if (!cairn_dwarf_entry_read(units->d, unit, die, &entry))
        return CAIRN_OK;
    ret_prototype->is_by_the_abi =
        unit->is_c_family && (!cairn_dwarf_entry_has(&entry, CAIRN_DWARF_ENTRY_CONVENTION) ||
                              entry.value[CAIRN_DWARF_ENTRY_CONVENTION] == CAIRN_DW_CC_NORMAL);
    int code = read_value(&spot, &result);
    if (code == CAIRN_OK) {
        ret_prototype->result = result.type;
        code = entry.children ? read_parameters(units, unit, entry.next, ret_prototype) : CAIRN_OK;
    }
    return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
}

int cairn_dwarf_enumerators(const struct cairn_dwarf_spot *spot,
                            int (*fn)(void *ctx, const char *name, uint64_t value), void *ctx)
{
    struct cairn_dwarf_unit *unit;
    struct cairn_dwarf_entry entry;
    int code = cairn_dwarf_entry_at(spot, &unit, &entry);
    if (code < 0 || !entry.children)
        return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
    const struct cairn_dwarf *d = spot->home->d;
    for (unsigned i = 0; i < CAIRN_DWARF_ENUMERATORS_MAX && code == CAIRN_OK; i++) {
        if (!cairn_dwarf_entry_read(d, unit, entry.next, &entry) || !entry.tag || entry.children)
            return CAIRN_OK;
        if (entry.tag != CAIRN_DW_TAG_ENUMERATOR ||
            !cairn_dwarf_entry_has(&entry, CAIRN_DWARF_ENTRY_CONST) ||
            !cairn_dwarf_entry_has(&entry, CAIRN_DWARF_ENTRY_NAME))
            continue;
        const char *name = cairn_dwarf_string(d, unit, d->info, entry.form[CAIRN_DWARF_ENTRY_NAME],
                                              entry.value[CAIRN_DWARF_ENTRY_NAME]);
        code = name ? fn(ctx, name, entry.value[CAIRN_DWARF_ENTRY_CONST]) : CAIRN_OK;
    }
    return code;
}
