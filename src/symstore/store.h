/* SPDX-License-Identifier: MIT */
/*
 * The folder of the local store.
 *
 *     STORE/.build-id/ab/cdef01.debug        a debug file
 *                        cdef01              a binary
 *                        cdef01.debug.from   where it was added from, one line; its time of change
 *                                            is when the file was last used
 *                        .tmp-0123456789ab   being written; locked by its writer
 *
 * Folders and files are their owner's alone; base/own_folder.h says whom we trust.
 */
#ifndef CAIRN_SYMSTORE_STORE_H
#define CAIRN_SYMSTORE_STORE_H

#include <limits.h>

#include <cairn/symbols.h>

#include "debugfile/candidate.h"

enum { CAIRN_SYMSTORE_NAME_MAX = CAIRN_BUILD_ID_TEXT + sizeof ".debug" };

struct cairn_symstore {
    int fd; /* of STORE/.build-id; -1: closed */
    char path[PATH_MAX];
};

/* `folder` NULL: cairn_symbol_store_folder(). CAIRN_E_MISSING: it is not there, and `make` is not
 * set. */
int cairn_symstore_open(const char *folder, bool make, struct cairn_symstore *ret_store,
                        struct cairn_err *err);
void cairn_symstore_close(struct cairn_symstore *store);

/* The folder of a build ID, as a descriptor. -1 and errno. */
int cairn_symstore_folder_of(const struct cairn_symstore *store, const char *id, bool make);

/* STORE/.build-id/ab/NAME of a build ID, for messages; false where that is too long. */
bool cairn_symstore_path(const struct cairn_symstore *store, const char *id, bool is_debug,
                         char ret_path[PATH_MAX]);

/* Puts a file in place, whatever is there. `from` is where it comes from. `link`: a hard link to
 * `from` is tried first. */
int cairn_symstore_put(const struct cairn_symstore *store, const struct cairn_candidate *c,
                       const char *from, bool link, struct cairn_err *err);

/* One file of the store as its folder shows it. */
struct cairn_symstore_found {
    char id[CAIRN_BUILD_ID_TEXT];
    bool is_debug;
    uint64_t bytes;
    int64_t used_ns;
};

struct cairn_symstore_list {
    struct cairn_symstore_found *files; /* the one used last first */
    size_t n, cap;
    uint64_t bytes; /* of all */
};

/* `clean`: what a killed writer left is deleted on the way. */
int cairn_symstore_list(const struct cairn_symstore *store, bool clean,
                        struct cairn_symstore_list *ret_list, struct cairn_err *err);
void cairn_symstore_list_done(struct cairn_symstore_list *list);

int cairn_symstore_remove(const struct cairn_symstore *store,
                          const struct cairn_symstore_found *found, struct cairn_err *err);

#endif /* CAIRN_SYMSTORE_STORE_H */
