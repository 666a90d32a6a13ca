/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_ELF_MINIDEBUG_H
#define CAIRN_ELF_MINIDEBUG_H

#include "elf/compressed.h"

/*
 * .gnu_debugdata ("MiniDebugInfo", as Fedora and Android write it): an ELF file, packed by xz,
 * whose .symtab names the functions that strip took out of the image's. Where there is none,
 * `ret_file` is empty and the answer CAIRN_OK; the file is freed with cairn_elf_data_done().
 *
 * CAIRN_E_FORMAT, CAIRN_E_SUPPORT: cairn_xz_unpack() says which. CAIRN_E_LIMIT: a bomb, by the rule
 * of compressed sections.
 */
int cairn_elf_read_minidebug(const struct cairn_elf *elf, struct cairn_elf_data *ret_file,
                             struct cairn_err *err);

#endif /* CAIRN_ELF_MINIDEBUG_H */
