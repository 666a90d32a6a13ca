/* SPDX-License-Identifier: MIT */
/*
 * Where a file may lie that holds a part of a module's debug information, beside the two that
 * debugfile.h finds. Each list is tried in order until someone is content:
 *
 *     a .dwo     COMP_DIR/NAME (below the root first), NAME beside the binary and the debug file;
 *                DIR/COMP_DIR/NAME, DIR/NAME, DIR/.../NAME in each symbol folder
 *     the .dwp   FILE.dwp beside the binary and the debug file (with and without its .debug);
 *                DIR/PATH.dwp, DIR/NAME.dwp, DIR/.../NAME.dwp
 *     dwz's      the path in the link, absolute (below the root first) or from the file that has
 *                it; DIR/.build-id/xx/yyy.debug in each symbol folder and the debug folder,
 *                DEBUG_DIR/.dwz/NAME; DIR/PATH, DIR/NAME, DIR/.../NAME
 */
#ifndef CAIRN_DEBUGFILE_DWARF_PLACES_H
#define CAIRN_DEBUGFILE_DWARF_PLACES_H

#include "debugfile/debugfile.h"

/* 1: content, 0: go on, negative: a failure that ends the search (CAIRN_E_NOMEM). */
typedef int (*cairn_dwarf_try_fn)(void *ctx, const char *path);

/* Who asks, and for which module. Nothing is ever tried without a finder: a module out of memory
 * may not make us open files. */
struct cairn_dwarf_places {
    struct cairn_debugfile_finder *finder; /* NULL: none */
    const char *image_path, *debug_path;   /* of the module; NULL: none */
    cairn_dwarf_try_fn try_path;
    void *ctx;
};

/* What the last call of `try_path` gave, or CAIRN_E_NOMEM. `comp_dir` may be NULL. */
int cairn_dwarf_places_dwo(const struct cairn_dwarf_places *places, const char *comp_dir,
                           const char *name);
int cairn_dwarf_places_package(const struct cairn_dwarf_places *places);

/* `link` is how the file at `from` names it, `id` its build ID in hex or "". */
int cairn_dwarf_places_sup(const struct cairn_dwarf_places *places, const char *from,
                           const char *link, const char *id);

#endif /* CAIRN_DEBUGFILE_DWARF_PLACES_H */
