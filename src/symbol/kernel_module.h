/* SPDX-License-Identifier: MIT */
/*
 * Kernel module: the file of a part of the kernel that was loaded later (.ko), and where the loader
 * put its sections. Each section lies somewhere for itself, and an address counts from its start:
 * the first symbol of a section need not be at its start.
 *
 *     nf_tables.ko laid out:  .text 0 ...  .init.text ...     vaddr
 *                               │            │
 *     memory:         ffffffffc0a01000 ...   (gone)           va
 */
#ifndef CAIRN_SYMBOL_KERNEL_MODULE_H
#define CAIRN_SYMBOL_KERNEL_MODULE_H

#include <stdbool.h>

#include <cairn/symbolizer.h>

/* Where one section of code lies. */
struct cairn_kernel_section {
    uint64_t start, size; /* in memory */
    uint64_t vaddr;       /* in the file, laid out */
};

struct cairn_kernel_sections {
    struct cairn_kernel_section *sections;
    size_t n;
};

void cairn_kernel_sections_done(struct cairn_kernel_sections *sections); /* all-zero is fine */

/* As the kernel says it: `folder` has a file for each section, like /sys/module/NAME/sections.
 * Those that cannot be read are left out, so that there may be none. CAIRN_E_NOMEM. */
int cairn_kernel_sections_read(const struct cairn_module *file, const char *folder,
                               struct cairn_kernel_sections *ret_sections, struct cairn_err *err);

/*
 * As the kernel's list of symbols shows it: the address of a symbol, less its place in its section,
 * is where that begins. Most symbols of a section must say the same, else it is left out; there may
 * be none. CAIRN_E_NOMEM; damage of the file's symbol table is logged.
 */
int cairn_kernel_sections_reckon(const struct cairn_module *file, const struct cairn_module *list,
                                 const char *name, struct cairn_kernel_sections *ret_sections,
                                 struct cairn_err *err);

/* False: none of the sections holds `va`. */
bool cairn_kernel_sections_find(const struct cairn_kernel_sections *sections, uint64_t va,
                                uint64_t *ret_vaddr);

/* Do the list at `va` and the file at `vaddr` name one symbol? If not they are of two builds.
 * CAIRN_E_NOMEM. */
int cairn_kernel_module_agrees(struct cairn_module *file, uint64_t vaddr,
                               const struct cairn_module *list, uint64_t va, bool *ret_agrees,
                               struct cairn_err *err);

#endif /* CAIRN_SYMBOL_KERNEL_MODULE_H */
