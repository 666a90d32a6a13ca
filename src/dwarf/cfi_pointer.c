/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "dwarf/cfi_pointer.h"

enum cairn_cfi_damage cairn_cfi_read_number(struct cairn_reader *r, uint8_t encoding,
                                            uint8_t address_size, uint64_t *ret_value)
{
    unsigned width = cairn_cfi_pointer_width(encoding, address_size);
    uint64_t value;
    if (width)
        value = cairn_reader_word(r, width);
    else if ((encoding & CAIRN_DW_EH_PE_FORMAT) == CAIRN_DW_EH_PE_ULEB128)
        value = cairn_reader_uleb(r);
    else if ((encoding & CAIRN_DW_EH_PE_FORMAT) == CAIRN_DW_EH_PE_SLEB128)
        value = (uint64_t)cairn_reader_sleb(r);
    else
        return CAIRN_CFI_ENCODING;
    if (r->failed)
        return CAIRN_CFI_CUT;
    if ((encoding & CAIRN_DW_EH_PE_SIGNED) && width && width < 8 &&
        value >> (8 * width - 1)) /* its sign */
        value |= ~0ull << 8 * width;
    *ret_value = value;
    return CAIRN_CFI_SOUND;
}

enum cairn_cfi_damage cairn_cfi_read_pointer(struct cairn_reader *r, uint8_t encoding,
                                             const struct cairn_cfi_bases *bases,
                                             uint64_t *ret_vaddr)
{
    uint64_t base = 0, value = 0;
    if (encoding == CAIRN_DW_EH_PE_OMIT)
        return CAIRN_CFI_ENCODING;
    if (encoding & CAIRN_DW_EH_PE_INDIRECT)
        return CAIRN_CFI_INDIRECT;
    switch (encoding & CAIRN_DW_EH_PE_BASE) {
    case 0:
        break;
    case CAIRN_DW_EH_PE_PCREL:
        base = bases->vaddr + r->pos;
        break;
    case CAIRN_DW_EH_PE_TEXTREL:
        base = bases->text_vaddr;
        break;
    case CAIRN_DW_EH_PE_DATAREL:
        base = bases->data_vaddr;
        break;
    case CAIRN_DW_EH_PE_ALIGNED:
        cairn_reader_skip(r, -(bases->vaddr + r->pos) & (bases->address_size - 1u));
        break;
    default: /* funcrel: of which function? */
        return CAIRN_CFI_ENCODING;
    }
    if ((encoding & CAIRN_DW_EH_PE_BASE) >= CAIRN_DW_EH_PE_TEXTREL &&
        (encoding & CAIRN_DW_EH_PE_BASE) <= CAIRN_DW_EH_PE_DATAREL && !base)
        return CAIRN_CFI_ENCODING;
    enum cairn_cfi_damage damage = cairn_cfi_read_number(r, encoding, bases->address_size, &value);
    if (damage)
        return damage;
    /* 0 is no place, whatever it would be counted from. */
    *ret_vaddr = value ? cairn_cfi_address(base + value, bases->address_size) : 0;
    return CAIRN_CFI_SOUND;
}
