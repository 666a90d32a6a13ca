/* SPDX-License-Identifier: MIT */
/*
 * Functions without a name: where the function that holds an address begins and ends, in a module
 * that was stripped. Unwind tables survive strip(1):
 *
 *     .eh_frame        one FDE a function, found by .eh_frame_hdr
 *     .debug_frame     the same
 *     .ARM.exidx       one entry a function, if the entry points into .ARM.extab
 *     .gopclntab       one entry a function of Go
 *
 * Code that a compiler split off a function (.text.unlikely: "name.cold") has an FDE of its own,
 * and so is a function of its own here. Linkers merge neighbours in .ARM.exidx whose instructions
 * are in the index itself, so such an entry may stand for several functions and says nothing.
 */
#ifndef CAIRN_SYMBOL_MODULE_FUNCTIONS_H
#define CAIRN_SYMBOL_MODULE_FUNCTIONS_H

#include "dwarf/cfi.h"
#include "dwarf/exidx.h"
#include "elf/go_table.h"

enum { CAIRN_MODULE_STUB_SECTIONS = 8 };

struct cairn_module_function {
    uint64_t from, to; /* vaddrs */
};

struct cairn_module_functions {
    bool opened;                                                    /* the sections are known */
    struct cairn_module_function stubs[CAIRN_MODULE_STUB_SECTIONS]; /* .plt, .plt.sec, ... */
    size_t n_stubs;
    struct cairn_cfi eh_frame, debug_frame;
    struct cairn_exidx exidx;
    struct cairn_go_table go;
    bool listed;                        /* the list is complete */
    struct cairn_module_function *list; /* sorted; of sections that no table is for */
    size_t n, cap;
};

/* Bytes of memory held, mapped files not counted. */
size_t cairn_module_functions_bytes(const struct cairn_module_functions *functions);

/* Drops the list; it comes back with the next question. All-zero is fine. */
void cairn_module_functions_done(struct cairn_module_functions *functions);

#endif /* CAIRN_SYMBOL_MODULE_FUNCTIONS_H */
