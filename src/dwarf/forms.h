/* SPDX-License-Identifier: MIT */
/*
 * Forms (DWARF 5, 7.5.6): how the value of an attribute is written. Reading gives the raw number
 * (an index, an offset, the position of a string); what it stands for is asked for afterwards, and
 * only where someone wants to know.
 */
#ifndef CAIRN_DWARF_FORMS_H
#define CAIRN_DWARF_FORMS_H

#include "dwarf/abbrev.h"
#include "dwarf/constants.h"

struct cairn_dwarf_unit;

/* Bytes that a form takes, or -1 where that stands in the data (or the form is unknown). */
int cairn_dwarf_form_size(uint64_t form, struct cairn_dwarf_sizes sizes);

/* The rarer forms: those of variable size but LEB128, and those that are none (the reader fails).
 * `*form` becomes the true form behind DW_FORM_indirect. */
uint64_t cairn_dwarf_form_read_rare(struct cairn_reader *r, uint16_t *form,
                                    struct cairn_dwarf_sizes sizes);

/*
 * The raw value at the cursor, which moves behind it. Strings in place give their position; blocks
 * give 0. `*form` is updated behind DW_FORM_indirect.
 */
static inline uint64_t cairn_dwarf_form_read(struct cairn_reader *r, uint16_t *form,
                                             int64_t implicit, struct cairn_dwarf_sizes sizes)
{
    switch (*form) {
    case CAIRN_DW_FORM_DATA1:
    case CAIRN_DW_FORM_REF1:
    case CAIRN_DW_FORM_FLAG:
    case CAIRN_DW_FORM_STRX1:
    case CAIRN_DW_FORM_ADDRX1:
        return cairn_reader_u8(r);
    case CAIRN_DW_FORM_DATA2:
    case CAIRN_DW_FORM_REF2:
    case CAIRN_DW_FORM_STRX2:
    case CAIRN_DW_FORM_ADDRX2:
        return cairn_reader_u16(r);
    case CAIRN_DW_FORM_STRX3:
    case CAIRN_DW_FORM_ADDRX3:
        return cairn_reader_u24(r);
    case CAIRN_DW_FORM_DATA4:
    case CAIRN_DW_FORM_REF4:
    case CAIRN_DW_FORM_STRX4:
    case CAIRN_DW_FORM_ADDRX4:
    case CAIRN_DW_FORM_REF_SUP4:
        return cairn_reader_u32(r);
    case CAIRN_DW_FORM_DATA8:
    case CAIRN_DW_FORM_REF8:
    case CAIRN_DW_FORM_REF_SIG8:
    case CAIRN_DW_FORM_REF_SUP8:
        return cairn_reader_u64(r);
    case CAIRN_DW_FORM_ADDR:
        return cairn_reader_word(r, sizes.address_size);
    case CAIRN_DW_FORM_STRP:
    case CAIRN_DW_FORM_LINE_STRP:
    case CAIRN_DW_FORM_SEC_OFFSET:
    case CAIRN_DW_FORM_STRP_SUP:
    case CAIRN_DW_FORM_GNU_REF_ALT:
    case CAIRN_DW_FORM_GNU_STRP_ALT:
        return cairn_reader_word(r, sizes.offset_size);
    case CAIRN_DW_FORM_REF_ADDR: /* DWARF 2 wrote an address here */
        return cairn_reader_word(r, sizes.version < 3 ? sizes.address_size : sizes.offset_size);
    case CAIRN_DW_FORM_UDATA:
    case CAIRN_DW_FORM_REF_UDATA:
    case CAIRN_DW_FORM_STRX:
    case CAIRN_DW_FORM_ADDRX:
    case CAIRN_DW_FORM_LOCLISTX:
    case CAIRN_DW_FORM_RNGLISTX:
    case CAIRN_DW_FORM_GNU_ADDR_INDEX:
    case CAIRN_DW_FORM_GNU_STR_INDEX:
        return cairn_reader_uleb(r);
    case CAIRN_DW_FORM_SDATA:
        return (uint64_t)cairn_reader_sleb(r);
    case CAIRN_DW_FORM_IMPLICIT_CONST:
        return (uint64_t)implicit;
    case CAIRN_DW_FORM_FLAG_PRESENT:
        return 1;
    default:
        return cairn_dwarf_form_read_rare(r, form, sizes);
    }
}

/* A string in .debug_info, .debug_str, .debug_line_str or through .debug_str_offsets; `home` is the
 * section that a string in place stands in; or in the supplementary file. NULL: damaged. */
const char *cairn_dwarf_string(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                               struct cairn_span home, uint16_t form, uint64_t value);

/* Looks at all of .debug_str once, so that no text of it need be looked at when it is found: for
 * whoever asks for very many. */
void cairn_dwarf_check_texts(struct cairn_dwarf *d);

/* The same for .debug_line_str, which is small, and holds the few names that every unit repeats. */
void cairn_dwarf_check_line_texts(struct cairn_dwarf *d);

/* Is the form one of an address (rather than of a number)? */
bool cairn_dwarf_form_is_address(uint16_t form);

/* An address, or number `index` of the unit's part of .debug_addr. False where that is damaged. */
bool cairn_dwarf_address(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                         uint16_t form, uint64_t value, uint64_t *ret_vaddr);
bool cairn_dwarf_indexed_address(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                 uint64_t index, uint64_t *ret_vaddr);

/* Where in .debug_info a reference points to; false for one to a type unit or to another file,
 * which cairn_dwarf_follow() knows. */
bool cairn_dwarf_reference(const struct cairn_dwarf_unit *unit, uint16_t form, uint64_t value,
                           uint64_t *ret_off);

#endif /* CAIRN_DWARF_FORMS_H */
