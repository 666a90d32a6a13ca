/* SPDX-License-Identifier: MIT */
/*
 * Kernel modules: lines and inline frames for the parts of a kernel that were loaded later, out of
 * their own files. The kernel's list says which module an address belongs to; the file is looked
 * for by build ID and name, and its sections lie where /sys/module, a copy of it, or the list says.
 * Where any of that is not to be had, or list and file do not agree, the list's name stands alone.
 */
#ifndef CAIRN_RESOLVE_KERNEL_MODULES_H
#define CAIRN_RESOLVE_KERNEL_MODULES_H

#include <stdbool.h>

#include <cairn/symbolizer.h>

struct cairn_kernel_modules;

struct cairn_kernel_module_places {
    const char *release; /* files are in /lib/modules/RELEASE too, here and in the debug folder; "":
                            unknown */
    const char *folder;  /* like /sys/module; NULL: none */
    bool is_live;        /* else /sys/module is that of another machine */
};

/* Texts are copied. CAIRN_E_NOMEM. */
int cairn_kernel_modules_new(struct cairn_symbolizer *symbolizer,
                             const struct cairn_kernel_module_places *places,
                             struct cairn_kernel_modules **ret_modules, struct cairn_err *err);
void cairn_kernel_modules_free(struct cairn_kernel_modules *modules); /* NULL is fine */

/* The answer out of the file of module `name`, for an address that `list` knows; false in
 * `ret_found`: there is none. The symbol is borrowed until the next call. Only lack of memory
 * fails. */
int cairn_kernel_modules_symbolize(struct cairn_kernel_modules *modules,
                                   struct cairn_symbolizer *symbolizer, const char *name,
                                   const struct cairn_module *list, uint64_t va, bool *ret_found,
                                   struct cairn_symbol *ret_symbol, struct cairn_err *err);

#endif /* CAIRN_RESOLVE_KERNEL_MODULES_H */
