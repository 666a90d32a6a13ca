/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The symbols that a module exports, where they lie in memory: what is left of a file that was
 * deleted or replaced. Found by its program headers and PT_DYNAMIC, as the loader finds them
 * (System V ABI, chapter 5).
 */
#ifndef CAIRN_UNWIND_PRINT_DYNAMIC_H
#define CAIRN_UNWIND_PRINT_DYNAMIC_H

#include <link.h>

#include "unwind/print_source.h"

struct cairn_print_dynamic {
    uintptr_t bias;   /* added to every vaddr */
    ElfW(Shdr) table; /* as a file's section would be: sh_offset counts from the image, */
    ElfW(Shdr) names; /* and so does that of the string table */
};

/* Of the image at `from`, which is memory; `block` is for what is read, `block_bytes` of it. False:
 * no such tables, or they make no sense. */
bool cairn_print_dynamic_read(const struct cairn_print_source *from, void *block,
                              size_t block_bytes, struct cairn_print_dynamic *ret);

#endif /* CAIRN_UNWIND_PRINT_DYNAMIC_H */
