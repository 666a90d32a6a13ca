/* SPDX-License-Identifier: MIT */
/* Folders of symbols: globs expanded, and the files below each by name, walked once when asked. */
#ifndef CAIRN_DEBUGFILE_SYMBOL_DIR_H
#define CAIRN_DEBUGFILE_SYMBOL_DIR_H

#include <cairn/error.h>

#include "base/arena.h"
#include "base/span.h"

struct cairn_symbol_file {
    const char *path; /* with the folder's own path before it */
    const char *name; /* the last part of it */
};

struct cairn_symbol_dir {
    char *path;
    bool walked;
    struct cairn_symbol_file *files; /* sorted by name, equal names by path */
    size_t n_files, cap_files;
    struct cairn_arena texts;
};

struct cairn_symbol_dirs {
    struct cairn_symbol_dir *dirs; /* in the order of the patterns; those of a glob sorted */
    size_t n, cap;
};

/* A pattern that is a folder's name is that folder, whatever characters it holds. One that matches
 * no folder is warned of. */
int cairn_symbol_dirs_open(const char *const *patterns, size_t n,
                           struct cairn_symbol_dirs *ret_dirs, struct cairn_err *err);
void cairn_symbol_dirs_done(struct cairn_symbol_dirs *dirs);

/*
 * The files of that name anywhere below the folder; returns their number, 0 for none. Links to
 * files count, links to folders are not followed (so no walk goes in circles or leaves the folder),
 * .build-id is left out: its names are build IDs. The first call walks; a walk that reaches a limit
 * (64 levels, 1,048,576 files) stops there and warns. CAIRN_E_NOMEM.
 */
int cairn_symbol_dir_find(struct cairn_symbol_dir *dir, const char *name,
                          const struct cairn_symbol_file **ret_first, size_t *ret_n,
                          struct cairn_err *err);

#endif /* CAIRN_DEBUGFILE_SYMBOL_DIR_H */
