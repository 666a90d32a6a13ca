/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * An ELF file of this process as who looks for names in it wants it: opened if it is the one that
 * is mapped, its headers held against what this process can have loaded, its tables of symbols one
 * by one.
 */
#ifndef CAIRN_UNWIND_PRINT_FILE_H
#define CAIRN_UNWIND_PRINT_FILE_H

#include <link.h>

#include "unwind/print_source.h"

/* What mapped it, as /proc/self/maps has it. */
struct cairn_print_mapped {
    const char *path;
    uintptr_t from, to;
    uint64_t inode;
};

/* A descriptor of the file that was mapped, also where it was deleted or replaced, as far as the
 * kernel lets us have it; -1: another one is there now, or none. */
int cairn_print_file_open(const struct cairn_print_mapped *mapped);

/* False: no ELF file of this process's class. */
bool cairn_print_file_head(const struct cairn_print_source *from, ElfW(Ehdr) * ret_head);

/* The vaddr of what lies at `off` of the file. */
bool cairn_print_file_vaddr(const struct cairn_print_source *from, const ElfW(Ehdr) * head,
                            uint64_t off, uintptr_t *ret_vaddr);

/* The next table of symbols of that type (SHT_*) from section *at on, and its names; *at is behind
 * it then. False: there is none. */
bool cairn_print_file_table(const struct cairn_print_source *from, const ElfW(Ehdr) * head,
                            uint32_t type, unsigned *at, ElfW(Shdr) * ret_table,
                            ElfW(Shdr) * ret_names);

/* A symbol of code that has a name and says how long it is may be asked where it starts: on arm bit
 * 0 of its value says Thumb. */
bool cairn_print_file_is_code(const ElfW(Sym) * symbol);
uintptr_t cairn_print_file_start(const ElfW(Ehdr) * head, const ElfW(Sym) * symbol);

/* What there is of the name at `at` of the names, at most `room` bytes with a NUL; "" if nothing.
 */
void cairn_print_file_name(const struct cairn_print_source *from, const ElfW(Shdr) * names,
                           uint64_t at, char *ret_name, size_t room);

#endif /* CAIRN_UNWIND_PRINT_FILE_H */
