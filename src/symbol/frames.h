/* SPDX-License-Identifier: MIT */
/*
 * From a place in a module to named frames. DWARF knows lines, inline frames and most names, the
 * symbol table knows names that DWARF lacks, what the compiler cut out of a function, and which
 * functions share their code. The first source that answers gives the name:
 *
 *     the outermost    the symbol that starts in the same function, if no symbol there has the
 *     frame            linkage name (Crystal writes "new" for all constructors) or DWARF has no
 *                      linkage name
 *     any frame        DW_AT_linkage_name, demangled; in C the plain name
 *     any frame        the plain name, qualified by the namespaces and types around it
 *     no DIE           the symbol, with DWARF's line if there is one (assembly)
 */
#ifndef CAIRN_SYMBOL_FRAMES_H
#define CAIRN_SYMBOL_FRAMES_H

#include "symbol/demangle.h"
#include "symbol/module.h"

enum { CAIRN_FRAMES_MAX = 512 }; /* at one address; DIEs nest no deeper */

struct cairn_frames {
    struct cairn_symbol_frame *frames; /* innermost first */
    size_t n, cap;
};

struct cairn_frames_request {
    struct cairn_module *module;
    struct cairn_demangler *demangler;
    uint64_t vaddr;
    uint64_t now; /* the clock of the caches */
    bool no_inlines;
};

/* Replaces the contents of `frames`; none where nothing is known. CAIRN_E_NOMEM. */
int cairn_frames_find(const struct cairn_frames_request *request, struct cairn_frames *frames,
                      struct cairn_err *err);
void cairn_frames_done(struct cairn_frames *frames);

#endif /* CAIRN_SYMBOL_FRAMES_H */
