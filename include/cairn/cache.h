/* SPDX-License-Identifier: MIT */
/*
 * The cache of indexes: what the symbolizer found out about a module, kept for the next run.
 * Entries are files of their own, named after build IDs; each can be deleted at any time.
 *
 * Threads and processes: all of this may be called by many at once. An entry is written beside its
 * place and renamed, a reader keeps what it has mapped, and no call waits for another process.
 */
#ifndef CAIRN_CACHE_H
#define CAIRN_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_cache_entry {
    size_t size;        /* of this struct */
    const char *file;   /* the entry itself */
    const char *module; /* path of the module it was made from; "" where the entry cannot be read */
    const char *build_id; /* lower-case hex, or "" */
    const char *kind;     /* "index", "unit map", "other version", "damaged" (also: not ours) */
    uint64_t bytes;
    int64_t used_ns; /* when it was last made or used: nanoseconds since 1970 */
};

/* The folder that is used where none is given: $XDG_CACHE_HOME/cairn, else $HOME/.cache/cairn.
 * Fills `ret_path` (of at least `size` bytes); returns 0, or CAIRN_E_MISSING where neither variable
 * holds an absolute path. */
CAIRN_API int cairn_cache_folder(char *ret_path, size_t size, struct cairn_err *err);

/* Nonzero stops. The entry is borrowed until the function returns. */
typedef int (*cairn_cache_fn)(void *ctx, const struct cairn_cache_entry *entry);

/* Each entry of the folder (NULL: cairn_cache_folder()), the one used last first. A folder that is
 * not there has none. Returns what `each` returned; CAIRN_E_IO, CAIRN_E_NOMEM. */
CAIRN_API int cairn_cache_each(const char *folder, cairn_cache_fn each, void *ctx,
                               struct cairn_err *err);

/* Deletes entries, those not used for longest first, until all together have at most `max_bytes`
 * (0: all of them), and temporary files that a killed writer left. Nothing but entries is touched.
 * Either count may be NULL. */
CAIRN_API int cairn_cache_trim(const char *folder, uint64_t max_bytes, size_t *ret_n_deleted,
                               uint64_t *ret_bytes_deleted, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_CACHE_H */
