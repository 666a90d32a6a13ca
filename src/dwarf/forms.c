/* SPDX-License-Identifier: MIT */
/* Sizes of forms, and what raw values stand for. */
#include "dwarf/forms.h"

#include "dwarf/unit.h"

enum { STRING_MAX_BYTES = 1 << 16 };

int cairn_dwarf_form_size(uint64_t form, struct cairn_dwarf_sizes sizes)
{
    switch (form) {
    case CAIRN_DW_FORM_FLAG_PRESENT:
    case CAIRN_DW_FORM_IMPLICIT_CONST:
        return 0;
    case CAIRN_DW_FORM_DATA1:
    case CAIRN_DW_FORM_REF1:
    case CAIRN_DW_FORM_FLAG:
    case CAIRN_DW_FORM_STRX1:
    case CAIRN_DW_FORM_ADDRX1:
        return 1;
    case CAIRN_DW_FORM_DATA2:
    case CAIRN_DW_FORM_REF2:
    case CAIRN_DW_FORM_STRX2:
    case CAIRN_DW_FORM_ADDRX2:
        return 2;
    case CAIRN_DW_FORM_STRX3:
    case CAIRN_DW_FORM_ADDRX3:
        return 3;
    case CAIRN_DW_FORM_DATA4:
    case CAIRN_DW_FORM_REF4:
    case CAIRN_DW_FORM_STRX4:
    case CAIRN_DW_FORM_ADDRX4:
    case CAIRN_DW_FORM_REF_SUP4:
        return 4;
    case CAIRN_DW_FORM_DATA8:
    case CAIRN_DW_FORM_REF8:
    case CAIRN_DW_FORM_REF_SIG8:
    case CAIRN_DW_FORM_REF_SUP8:
        return 8;
    case CAIRN_DW_FORM_DATA16:
        return 16;
    case CAIRN_DW_FORM_ADDR:
        return sizes.address_size;
    case CAIRN_DW_FORM_REF_ADDR:
        return sizes.version < 3 ? sizes.address_size : sizes.offset_size;
    case CAIRN_DW_FORM_STRP:
    case CAIRN_DW_FORM_LINE_STRP:
    case CAIRN_DW_FORM_SEC_OFFSET:
    case CAIRN_DW_FORM_STRP_SUP:
    case CAIRN_DW_FORM_GNU_REF_ALT:
    case CAIRN_DW_FORM_GNU_STRP_ALT:
        return sizes.offset_size;
    default:
        return -1;
    }
}

uint64_t cairn_dwarf_form_read_rare(struct cairn_reader *r, uint16_t *form,
                                    struct cairn_dwarf_sizes sizes)
{
    uint64_t at = r->pos;
    switch (*form) {
    case CAIRN_DW_FORM_STRING:
        (void)cairn_reader_str(r);
        return at;
    case CAIRN_DW_FORM_BLOCK1:
        cairn_reader_skip(r, cairn_reader_u8(r));
        return 0;
    case CAIRN_DW_FORM_BLOCK2:
        cairn_reader_skip(r, cairn_reader_u16(r));
        return 0;
    case CAIRN_DW_FORM_BLOCK4:
        cairn_reader_skip(r, cairn_reader_u32(r));
        return 0;
    case CAIRN_DW_FORM_BLOCK:
    case CAIRN_DW_FORM_EXPRLOC:
        cairn_reader_skip(r, cairn_reader_uleb(r));
        return 0;
    case CAIRN_DW_FORM_DATA16:
        cairn_reader_skip(r, 16);
        return 0;
    case CAIRN_DW_FORM_INDIRECT: {
        uint64_t true_form = cairn_reader_uleb(r);
        /* An indirect form may be neither indirect again nor without data (7.5.3). */
        if (true_form == CAIRN_DW_FORM_INDIRECT || true_form == CAIRN_DW_FORM_IMPLICIT_CONST ||
            true_form > UINT16_MAX)
            break;
        *form = (uint16_t)true_form;
        return cairn_dwarf_form_read(r, form, 0, sizes);
    }
    default:
        break;
    }
    r->failed = true;
    return 0;
}

/* Entry `index` of a table of offsets that begins at `base` of a section. */
static bool read_entry(const struct cairn_dwarf *d, struct cairn_span section, uint64_t base,
                       uint64_t index, unsigned width, uint64_t *ret_value)
{
    uint64_t off;
    if (__builtin_mul_overflow(index, width, &off) || __builtin_add_overflow(off, base, &off))
        return false;
    struct cairn_reader r = cairn_reader_of(section, d->swap);
    cairn_reader_seek(&r, off);
    *ret_value = cairn_reader_word(&r, width);
    return !r.failed;
}

/* The string at `off`; NULL where it has no end within the limit. Without one, a table of names
 * that all point into one endless string would be searched to its end for each. */
static const char *read_string(struct cairn_span section, uint64_t off)
{
    struct cairn_span rest;
    if (off >= section.size || !cairn_span_slice(section, off, section.size - off, &rest))
        return NULL;
    if (rest.size > STRING_MAX_BYTES)
        rest.size = STRING_MAX_BYTES;
    return cairn_span_str(rest, 0);
}

/* Does every text of the section end, and within the limit? */
static bool are_sound(struct cairn_span section)
{
    for (size_t at = 0; at < section.size;) {
        size_t left = section.size - at;
        const void *end =
            memchr(section.data + at, 0, left < STRING_MAX_BYTES ? left : STRING_MAX_BYTES);
        if (!end)
            return false;
        at = (size_t)((const uint8_t *)end - section.data) + 1;
    }
    return true;
}

void cairn_dwarf_check_texts(struct cairn_dwarf *d)
{
    d->str_is_sound = are_sound(d->str);
    cairn_dwarf_check_line_texts(d);
}

void cairn_dwarf_check_line_texts(struct cairn_dwarf *d)
{
    d->line_str_is_sound = are_sound(d->line_str);
}

const char *cairn_dwarf_string(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                               struct cairn_span home, uint16_t form, uint64_t value)
{
    switch (form) {
    case CAIRN_DW_FORM_STRING:
        return read_string(home, value);
    case CAIRN_DW_FORM_STRP:
        if (d->str_is_sound && value < d->str.size)
            return (const char *)d->str.data + value;
        return read_string(d->str, value);
    case CAIRN_DW_FORM_LINE_STRP:
        if (d->line_str_is_sound && value < d->line_str.size)
            return (const char *)d->line_str.data + value;
        return read_string(d->line_str, value);
    case CAIRN_DW_FORM_STRP_SUP:
    case CAIRN_DW_FORM_GNU_STRP_ALT:
        return read_string(d->alt_str, value);
    case CAIRN_DW_FORM_STRX:
    case CAIRN_DW_FORM_STRX1:
    case CAIRN_DW_FORM_STRX2:
    case CAIRN_DW_FORM_STRX3:
    case CAIRN_DW_FORM_STRX4:
    case CAIRN_DW_FORM_GNU_STR_INDEX:
        return read_entry(d, d->str_offsets, unit->str_base, value, unit->sizes.offset_size, &value)
                   ? read_string(d->str, value)
                   : NULL;
    default:
        return NULL;
    }
}

bool cairn_dwarf_form_is_address(uint16_t form)
{
    switch (form) {
    case CAIRN_DW_FORM_ADDR:
    case CAIRN_DW_FORM_ADDRX:
    case CAIRN_DW_FORM_ADDRX1:
    case CAIRN_DW_FORM_ADDRX2:
    case CAIRN_DW_FORM_ADDRX3:
    case CAIRN_DW_FORM_ADDRX4:
    case CAIRN_DW_FORM_GNU_ADDR_INDEX:
        return true;
    default:
        return false;
    }
}

bool cairn_dwarf_indexed_address(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                 uint64_t index, uint64_t *ret_vaddr)
{
    return read_entry(d, d->addr, unit->addr_base, index, unit->sizes.address_size, ret_vaddr);
}

bool cairn_dwarf_address(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                         uint16_t form, uint64_t value, uint64_t *ret_vaddr)
{
    if (!cairn_dwarf_form_is_address(form))
        return false;
    if (form != CAIRN_DW_FORM_ADDR)
        return cairn_dwarf_indexed_address(d, unit, value, ret_vaddr);
    *ret_vaddr = value;
    return true;
}

bool cairn_dwarf_reference(const struct cairn_dwarf_unit *unit, uint16_t form, uint64_t value,
                           uint64_t *ret_off)
{
    switch (form) {
    case CAIRN_DW_FORM_REF1:
    case CAIRN_DW_FORM_REF2:
    case CAIRN_DW_FORM_REF4:
    case CAIRN_DW_FORM_REF8:
    case CAIRN_DW_FORM_REF_UDATA:
        if (value >= unit->end - unit->off)
            return false;
        *ret_off = unit->off + value;
        return true;
    case CAIRN_DW_FORM_REF_ADDR:
        *ret_off = value;
        return true;
    default: /* ref_sig8: a type; ref_sup and GNU_ref_alt: the supplementary file */
        return false;
    }
}
