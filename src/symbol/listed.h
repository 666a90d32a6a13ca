/* SPDX-License-Identifier: MIT */
/* Listed: modules whose names come from a symbol list and not from an ELF file. */
#ifndef CAIRN_SYMBOL_LISTED_H
#define CAIRN_SYMBOL_LISTED_H

#include <cairn/symbolizer.h>

#include "symlist/list.h"

struct cairn_frames;
struct cairn_frames_request;

/* Makes a module of `list`, which it takes over, and which is all-zero afterwards whatever happens.
 * `name` is what answers and messages call it. Defined where modules are kept. */
int cairn_symbolizer_add_list(struct cairn_symbolizer *symbolizer, const char *name,
                              struct cairn_symbol_list *list, struct cairn_module **ret_module,
                              struct cairn_err *err);

/* The frame of an address, or none; of a module that has a list. CAIRN_E_NOMEM. */
int cairn_listed_find(const struct cairn_frames_request *request, struct cairn_frames *frames,
                      struct cairn_err *err);

/* How many symbols the module's list has; 0 where it has none. */
size_t cairn_listed_count(const struct cairn_module *module);

/* Does one of them cover `va`? */
bool cairn_listed_covers(const struct cairn_module *module, uint64_t va);

/* The address of the kernel's _text as a list says it, or as a vmlinux was linked. */
bool cairn_module_kernel_text(const struct cairn_module *module, uint64_t *ret_vaddr);

#endif /* CAIRN_SYMBOL_LISTED_H */
