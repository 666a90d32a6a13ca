/* SPDX-License-Identifier: MIT */
/*
 * The folder that entries of the cache lie in, and who is trusted there.
 *
 *     FOLDER/symbols/v1/ab/abcdef0123.index      an entry; its name begins with that of its folder
 *                         .tmp-0123456789ab      one that is being written, locked by its writer
 *
 * Folders are made for their owner alone. An entry is used if it is a regular file, ours, and not
 * writable by others. Root uses no folder of another user (sudo with the caller's HOME), because
 * that user could write any entry. Below FOLDER no symlink is followed.
 *
 * Many processes may work in it at once: an entry appears whole, by a rename, and whoever has
 * mapped one keeps it though it is deleted. No call waits for another process.
 */
#ifndef CAIRN_CACHE_STORE_H
#define CAIRN_CACHE_STORE_H

#include "base/file.h"

enum { CAIRN_CACHE_NAME_MAX = 255 }; /* of an entry, without the NUL */

struct cairn_cache_store {
    int fd;     /* of FOLDER/symbols/v1; -1: closed */
    char *path; /* FOLDER/symbols/v1 */
    long mark;  /* of this boot: seal.h */
};

/*
 * Opens what is there, or makes what is missing: FOLDER and the folder that it is in, no further
 * up. CAIRN_E_MISSING: not there, and `make` is not set, or the rest of the path is missing too.
 * CAIRN_E_ACCESS: it is somebody else's, or may not be written. CAIRN_E_IO, CAIRN_E_NOMEM.
 */
int cairn_cache_store_open(const char *folder, bool make, struct cairn_cache_store *ret_store,
                           struct cairn_err *err);
void cairn_cache_store_close(struct cairn_cache_store *store);

/* Maps an entry, and notes that it was used where `use` says so. `*ret_sealed`: it is as it was
 * written or vouched for in this boot; never for root, who checks the sum each time.
 * CAIRN_E_MISSING: there is none. CAIRN_E_ACCESS: it is not to be trusted. CAIRN_E_IO,
 * CAIRN_E_NOMEM. */
int cairn_cache_store_map(const struct cairn_cache_store *store, const char *name, bool use,
                          struct cairn_file *ret_file, bool *ret_sealed, struct cairn_err *err);

/* Notes that an entry was found to be sound; where that cannot be, it is checked again next time.
 */
void cairn_cache_store_vouch(const struct cairn_cache_store *store, const char *name);

/* Writes an entry, head and body, and puts it in place. Whatever fails, an entry of that name stays
 * as it was, and nothing else is left behind. */
int cairn_cache_store_put(const struct cairn_cache_store *store, const char *name,
                          struct cairn_span head, struct cairn_span body, struct cairn_err *err);

/* Deletes an entry; that it is gone already is no failure. */
int cairn_cache_store_remove(const struct cairn_cache_store *store, const char *name,
                             struct cairn_err *err);

/* One entry as the folder shows it. */
struct cairn_cache_found {
    char name[CAIRN_CACHE_NAME_MAX + 1];
    uint64_t bytes;
    int64_t used_ns; /* since 1970 */
};

struct cairn_cache_list {
    struct cairn_cache_found *entries; /* the one used last first */
    size_t n, cap;
    uint64_t bytes; /* of all */
};

/* All entries; what a killed writer left is deleted on the way, if `clean` says so. CAIRN_E_IO,
 * CAIRN_E_NOMEM. */
int cairn_cache_store_list(const struct cairn_cache_store *store, bool clean,
                           struct cairn_cache_list *ret_list, struct cairn_err *err);
void cairn_cache_list_done(struct cairn_cache_list *list);

/* Deletes those not used for longest until the rest has at most `max_bytes`. Either count may be
 * NULL. */
int cairn_cache_store_trim(const struct cairn_cache_store *store, uint64_t max_bytes,
                           size_t *ret_n_deleted, uint64_t *ret_bytes_deleted,
                           struct cairn_err *err);

#endif /* CAIRN_CACHE_STORE_H */
