/* SPDX-License-Identifier: MIT */
/*
 * The cache of one symbolizer: entries by module and kind, checked against the files that they were
 * made from.
 *
 *     key ──► name ──► cache_store: bytes ──► cache_entry: header ──► files as they are now?
 *
 * Nothing here fails: what cannot be loaded is made anew, what cannot be stored is not. A damaged
 * entry is told once, as a warning, and deleted; that there is no room, no home or no permission is
 * told once, as information.
 */
#ifndef CAIRN_CACHE_CACHE_H
#define CAIRN_CACHE_CACHE_H

#include "base/file.h"
#include "cache/entry.h"

struct cairn_cache;

/* `folder` NULL: cairn_cache_folder(); `max_bytes` 0: the default. CAIRN_E_NOMEM; a folder that
 * cannot be used gives a cache that is always empty. */
int cairn_cache_new(const char *folder, uint64_t max_bytes, struct cairn_cache **ret_cache,
                    struct cairn_err *err);

/* Accepts NULL. Trims the folder where anything was stored. */
void cairn_cache_free(struct cairn_cache *cache);

/* What a module is to the cache. */
struct cairn_cache_key {
    const char *path;     /* absolute, of the image; or "" */
    const char *build_id; /* lower-case hex; or "" */
    const struct cairn_cache_file *files;
    size_t n_files;
};

struct cairn_cache_hit {
    struct cairn_file file; /* the caller closes it */
    struct cairn_span payload;
};

/*
 * Finds an entry that was made from just these files. Those of `key` are the ones in hand: image
 * and debug file; the entry may name others, which are looked at where they lay. False: there is
 * none.
 */
bool cairn_cache_load(struct cairn_cache *cache, const struct cairn_cache_key *key,
                      enum cairn_cache_kind kind, struct cairn_cache_hit *ret_hit);

/* Keeps `payload`. `key` has all files that went into it. False: it could not be kept. */
bool cairn_cache_store(struct cairn_cache *cache, const struct cairn_cache_key *key,
                       enum cairn_cache_kind kind, struct cairn_span payload);

/* The payload turned out to be damaged: tells so, and deletes the entry. */
void cairn_cache_discard(struct cairn_cache *cache, const struct cairn_cache_key *key,
                         enum cairn_cache_kind kind, const struct cairn_err *why);

/* Fills size, times and identity of the file at file->path, or marks it as absent. */
void cairn_cache_file_stat(struct cairn_cache_file *file);

#endif /* CAIRN_CACHE_CACHE_H */
