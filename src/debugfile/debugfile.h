/* SPDX-License-Identifier: MIT */
/*
 * Finds the files of a module: the binary that the loader mapped (the image: its program headers
 * are right) and the file that names and lines come from.
 *
 *     build ID asked    DIR/.build-id/xx/yyy.debug      each symbol folder, then the debug folder
 *     image found       .gnu_debuglink                  beside it, .debug/, debug folder + its path
 *                       DIR/.build-id/xx/yyy        the same for binaries, after the path itself
 *                       STORE, FETCHED              folders of the whole program (by_id.h)
 *     by name           DIR/NAME, DIR/PATH, DIR/.../NAME  each symbol folder; then NAME.debug alike
 *     the path itself   ROOT/PATH, PATH                 alone where nothing else was found, for a
 *                                                       file of this machine may be another's
 *
 * A candidate whose build ID differs from the one that was asked for is passed over with a warning,
 * and so is a damaged one: the search goes on. One without a build ID, or where none is known, is
 * taken unverified.
 */
#ifndef CAIRN_DEBUGFILE_DEBUGFILE_H
#define CAIRN_DEBUGFILE_DEBUGFILE_H

#include <cairn/error.h>

#include "base/file.h"

/* Where to look; the same for all modules of a symbolizer. */
struct cairn_debugfile_places {
    const char *const *symbol_dirs; /* folders, or globs of folders, in order */
    size_t n_symbol_dirs;
    const char *debug_dir; /* NULL: /usr/lib/debug */
    const char *root;      /* NULL: none */
    bool allow_mismatch;   /* files of another build are taken where there is no other */
    bool no_local_files;   /* the path itself is tried for the build ID that was asked for alone */
    bool fetches;          /* what is lacking may be asked for over the network (by_id.h) */
};

/* The places with globs expanded, and what a walk through them found; not thread-safe. */
struct cairn_debugfile_finder;

/* The texts of `places` are copied. A symbol folder that is not there is warned of, no error. */
int cairn_debugfile_finder_new(const struct cairn_debugfile_places *places,
                               struct cairn_debugfile_finder **ret_finder, struct cairn_err *err);
void cairn_debugfile_finder_free(struct cairn_debugfile_finder *finder); /* NULL is fine */

/* The places themselves, for whoever looks for other files there; the root may be NULL. */
struct cairn_symbol_dirs *cairn_debugfile_finder_dirs(struct cairn_debugfile_finder *finder);
const char *cairn_debugfile_finder_debug_dir(const struct cairn_debugfile_finder *finder);
const char *cairn_debugfile_finder_root(const struct cairn_debugfile_finder *finder);

/* Did the user choose where this path lies: below a symbol folder or the debug folder? */
bool cairn_debugfile_finder_vouches(const struct cairn_debugfile_finder *finder, const char *path);

/* At least one of the two paths is set. */
struct cairn_debugfile_found {
    char *image_path; /* the binary itself; NULL: only a debug file was found. Offsets in the file
                         then mean nothing (its program headers lost them), addresses above the
                         load base still do: see cairn_elf_first_vaddr() */
    struct cairn_file image;
    char *debug_path; /* where names and lines are; NULL: in the image */
    struct cairn_file debug;
    bool verified;       /* the build ID that was asked for is theirs */
    bool mismatch;       /* it is not, and allow_mismatch took them; neither: unverified */
    bool is_relocatable; /* laid out: the image, or the debug file where there is none */
    bool image_vouched, debug_vouched; /* struct cairn_elf, is_vouched */
};

/*
 * The files of the module that a process knows as `path`; `build_id` is lower-case hex, NULL or ""
 * where it is unknown.
 *
 * CAIRN_E_MISSING: no such file anywhere. CAIRN_E_FORMAT: all there is is damaged. CAIRN_E_ARG:
 * only files of another build; the hint names --allow-mismatch.
 */
int cairn_debugfile_find(struct cairn_debugfile_finder *finder, const char *path,
                         const char *build_id, struct cairn_debugfile_found *ret_found,
                         struct cairn_err *err);

/* What cairn_debugfile_find() would lack, of CAIRN_LACKS_DEBUG and CAIRN_LACKS_IMAGE; nothing is
 * fetched. */
unsigned cairn_debugfile_lacks(struct cairn_debugfile_finder *finder, const char *path,
                               const char *build_id);

/* The same where the file is given: `file` is the image, or the debug file where it holds no code;
 * what belongs to it is looked for by its own build ID and debuglink, then by name in the symbol
 * folders. */
int cairn_debugfile_find_for(struct cairn_debugfile_finder *finder, const char *file,
                             struct cairn_debugfile_found *ret_found, struct cairn_err *err);

/* The same for a file that is open already; `name` is what it is called, its path where it has one.
 */
int cairn_debugfile_find_fd(struct cairn_debugfile_finder *finder, const char *name, int fd,
                            struct cairn_debugfile_found *ret_found, struct cairn_err *err);

/* Is there an image? `code` is what a search returned. A debug file alone is closed, because
 * offsets in it mean nothing. */
bool cairn_debugfile_has_image(int code, struct cairn_debugfile_found *found);

/* Closes both files and frees the paths; all-zero is fine. */
void cairn_debugfile_found_done(struct cairn_debugfile_found *found);

#endif /* CAIRN_DEBUGFILE_DEBUGFILE_H */
