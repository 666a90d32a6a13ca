/* SPDX-License-Identifier: MIT */
/*
 * Layout: gives a relocatable file (ET_REL: .o, and .ko of the kernel) what a linker would have
 * given it, so that it can be asked as any other file is. Its sections have no addresses, and each
 * has functions at 0; its debug sections have zeros where addresses belong.
 *
 *     .text   .init.text ...       |    .data  .rodata  .bss ...
 *     0       aligned, as listed   |    from the next page
 *     └────────── PT_LOAD, executable ──┘└── PT_LOAD ──┘
 *
 * So an address is an offset in .text where the file has code in no other section.
 */
#ifndef CAIRN_ELF_LAYOUT_H
#define CAIRN_ELF_LAYOUT_H

#include "elf/compressed.h"

/* Is it a file that must be laid out before it is asked? */
bool cairn_elf_is_relocatable(const struct cairn_elf *elf);

/*
 * Makes an ELF file of its own out of `elf`, of type ET_DYN: SHF_ALLOC sections have addresses, two
 * program headers span them, values of symbols are addresses, and relocations have been applied to
 * the sections that names and lines come from, which are not compressed any more; of several that
 * share a name (those of COMDAT groups) one was made. Where the same build was stripped or cut down
 * to its debug information the addresses are the same.
 *
 * Damage costs what it damages, and is logged once. CAIRN_E_SUPPORT: relocations of this machine
 * are not known. CAIRN_E_LIMIT: compressed sections that claim too much. CAIRN_E_FORMAT: debug
 * sections that lie in each other. CAIRN_E_NOMEM.
 */
int cairn_elf_lay_out(const struct cairn_elf *elf, struct cairn_elf_data *ret_file,
                      struct cairn_err *err);

#endif /* CAIRN_ELF_LAYOUT_H */
