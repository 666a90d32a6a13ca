/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Encoded pointers of .eh_frame and .eh_frame_hdr (LSB Core 5.0, 10.5). */
#ifndef CAIRN_DWARF_CFI_POINTER_H
#define CAIRN_DWARF_CFI_POINTER_H

#include "base/reader.h"
#include "dwarf/cfi.h"
#include "dwarf/cfi_constants.h"

/* What pointers of a section are counted from. */
struct cairn_cfi_bases {
    uint64_t vaddr; /* of the reader's first byte */
    uint64_t text_vaddr, data_vaddr;
    uint8_t address_size;
};

/* How many bytes a pointer of that format takes; 0 where it varies or there is no such format. */
static inline unsigned cairn_cfi_pointer_width(uint8_t encoding, uint8_t address_size)
{
    switch (encoding & CAIRN_DW_EH_PE_FORMAT) {
    case CAIRN_DW_EH_PE_ABSPTR:
    case CAIRN_DW_EH_PE_SIGNED:
        return address_size;
    case CAIRN_DW_EH_PE_UDATA2:
    case CAIRN_DW_EH_PE_SDATA2:
        return 2;
    case CAIRN_DW_EH_PE_UDATA4:
    case CAIRN_DW_EH_PE_SDATA4:
        return 4;
    case CAIRN_DW_EH_PE_UDATA8:
    case CAIRN_DW_EH_PE_SDATA8:
        return 8;
    default:
        return 0;
    }
}

static inline uint64_t cairn_cfi_address(uint64_t value, uint8_t address_size)
{
    return address_size >= 8 ? value : value & ((1ull << 8 * address_size) - 1);
}

/* The number alone: what it is counted from is left out. */
enum cairn_cfi_damage cairn_cfi_read_number(struct cairn_reader *r, uint8_t encoding,
                                            uint8_t address_size, uint64_t *ret_value);

/* A whole pointer; CAIRN_CFI_INDIRECT where it lies in the program's memory. */
enum cairn_cfi_damage cairn_cfi_read_pointer(struct cairn_reader *r, uint8_t encoding,
                                             const struct cairn_cfi_bases *bases,
                                             uint64_t *ret_vaddr);

#endif /* CAIRN_DWARF_CFI_POINTER_H */
