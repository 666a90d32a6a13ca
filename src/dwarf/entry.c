/* SPDX-License-Identifier: MIT */
#include "dwarf/entry.h"

#include "dwarf/constants.h"

static int value_of(uint64_t attribute)
{
    switch (attribute) {
    case CAIRN_DW_AT_NAME:
        return CAIRN_DWARF_ENTRY_NAME;
    case CAIRN_DW_AT_TYPE:
        return CAIRN_DWARF_ENTRY_TYPE;
    case CAIRN_DW_AT_ABSTRACT_ORIGIN:
    case CAIRN_DW_AT_SPECIFICATION:
        return CAIRN_DWARF_ENTRY_ORIGIN;
    case CAIRN_DW_AT_BYTE_SIZE:
        return CAIRN_DWARF_ENTRY_BYTES;
    case CAIRN_DW_AT_ENCODING:
        return CAIRN_DWARF_ENTRY_ENCODING;
    case CAIRN_DW_AT_CALLING_CONVENTION:
        return CAIRN_DWARF_ENTRY_CONVENTION;
    case CAIRN_DW_AT_CONST_VALUE:
        return CAIRN_DWARF_ENTRY_CONST;
    default:
        return -1;
    }
}

struct attribute {
    uint64_t name;
    uint16_t form;
    int64_t implicit;
};

/* False: the list has ended, or is cut off. */
static bool next_attribute(struct cairn_reader *abbrev, struct attribute *ret_attribute)
{
    ret_attribute->name = cairn_reader_uleb(abbrev);
    const uint64_t form = cairn_reader_uleb(abbrev);
    ret_attribute->form = form <= UINT16_MAX ? (uint16_t)form : 0;
    ret_attribute->implicit = form == CAIRN_DW_FORM_IMPLICIT_CONST ? cairn_reader_sleb(abbrev) : 0;
    return !abbrev->failed && (ret_attribute->name || form);
}

/* Leaves `abbrev` at the attributes of the abbreviation. */
static bool find_abbrev(struct cairn_reader *abbrev, uint64_t wanted,
                        struct cairn_dwarf_entry *entry)
{
    struct attribute attribute;
    while (cairn_reader_more(abbrev)) {
        const uint64_t code = cairn_reader_uleb(abbrev);
        if (!code)
            return false;
        const uint64_t tag = cairn_reader_uleb(abbrev);
        entry->tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
        entry->children = cairn_reader_u8(abbrev) != 0;
        if (code == wanted)
            return !abbrev->failed && entry->tag;
        while (next_attribute(abbrev, &attribute))
            ;
    }
    return false;
}

bool cairn_dwarf_entry_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                            uint64_t off, struct cairn_dwarf_entry *ret_entry)
{
    struct cairn_reader r = cairn_dwarf_unit_reader(d, unit, off);
    struct cairn_reader abbrev = cairn_reader_of(d->abbrev, d->swap);
    struct attribute attribute;
    *ret_entry = (struct cairn_dwarf_entry){.off = off};
    const uint64_t code = cairn_reader_uleb(&r);
    cairn_reader_seek(&abbrev, unit->abbrev_off);
    if (r.failed || (code && !find_abbrev(&abbrev, code, ret_entry)))
        return false;
    while (code && next_attribute(&abbrev, &attribute)) {
        const int at = value_of(attribute.name);
        uint16_t form = attribute.form;
        const uint64_t value = cairn_dwarf_form_read(&r, &form, attribute.implicit, unit->sizes);
        if (r.failed)
            return false;
        if (at < 0)
            continue;
        ret_entry->present |= 1u << at;
        ret_entry->form[at] = form;
        ret_entry->value[at] = value;
    }
    ret_entry->next = r.pos;
    return !abbrev.failed;
}

int cairn_dwarf_entry_at(const struct cairn_dwarf_spot *spot, struct cairn_dwarf_unit **ret_unit,
                         struct cairn_dwarf_entry *ret_entry)
{
    if (!spot->home)
        return CAIRN_E_MISSING;
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_find(spot->home, spot->die);
    if (!unit)
        return cairn_dwarf_units_failed(spot->home, NULL) < 0 ? CAIRN_E_NOMEM : CAIRN_E_MISSING;
    const int code = cairn_dwarf_unit_open(spot->home, unit, NULL);
    if (code == CAIRN_E_NOMEM)
        return code;
    *ret_unit = unit;
    return code == CAIRN_OK && cairn_dwarf_entry_read(spot->home->d, unit, spot->die, ret_entry)
               ? CAIRN_OK
               : CAIRN_E_MISSING;
}

int cairn_dwarf_entry_follow(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit,
                             const struct cairn_dwarf_entry *entry,
                             enum cairn_dwarf_entry_value value, struct cairn_dwarf_spot *ret_spot)
{
    *ret_spot = (struct cairn_dwarf_spot){0};
    if (!cairn_dwarf_entry_has(entry, value))
        return CAIRN_OK;
    return cairn_dwarf_follow(units, unit, entry->form[value], entry->value[value], ret_spot, NULL);
}
