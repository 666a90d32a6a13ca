/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Where .eh_frame begins and ends, as .eh_frame_hdr says (LSB Core 5.0, 10.6.2): for images without
 * section headers. */
#ifndef CAIRN_DWARF_CFI_HDR_H
#define CAIRN_DWARF_CFI_HDR_H

#include "dwarf/cfi.h"

/* The vaddr of .eh_frame. False: `hdr` is no such header. */
bool cairn_cfi_hdr_section(const struct cairn_cfi *cfi, uint64_t *ret_vaddr);

/* Cuts `bytes`, which begin with .eh_frame and reach to the end of their segment, behind the last
 * entry that the table of the header lists. A length of 0 ends .eh_frame only where crtend.o was
 * linked. Without such a table nothing is cut. */
void cairn_cfi_hdr_cut(struct cairn_cfi *cfi);

#endif /* CAIRN_DWARF_CFI_HDR_H */
