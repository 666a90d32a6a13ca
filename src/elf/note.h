/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_ELF_NOTE_H
#define CAIRN_ELF_NOTE_H

#include "elf/image.h"

/*
 * The GNU build ID, from the PT_NOTE segments, else from the SHT_NOTE sections. `*ret_id` borrows
 * from the image. CAIRN_E_MISSING: sound notes without one. CAIRN_E_FORMAT: damaged notes.
 */
int cairn_elf_build_id(const struct cairn_elf *elf, struct cairn_span *ret_id,
                       struct cairn_err *err);

/* The same in the bytes of one segment or section; `align` as it says (4 or 8). */
int cairn_elf_find_build_id(struct cairn_span notes, size_t align, bool swap,
                            struct cairn_span *ret_id, struct cairn_err *err);

/* .gnu_debuglink: file name (borrowed) and CRC of the debug file. False where there is none or it
 * is damaged. */
bool cairn_elf_debuglink(const struct cairn_elf *elf, const char **ret_name, uint32_t *ret_crc);

/* The CRC that .gnu_debuglink uses (CRC-32, IEEE polynomial). */
uint32_t cairn_elf_debuglink_crc(uint32_t before, struct cairn_span bytes);

#endif /* CAIRN_ELF_NOTE_H */
