/* SPDX-License-Identifier: MIT */
/*
 * One entry of the cache: what was found out about a module, and all that it was made from. A
 * header of its own says what the payload is good for; docs/formats/cache.md has its fields.
 *
 *     | magic, sizes, checksum | texts | dependency, dependency, ... | 0 ... | payload |
 *     0                                                   header_size   multiple of 64
 *
 * Little-endian, wherever it was written. This file knows bytes only, and opens none.
 */
#ifndef CAIRN_CACHE_ENTRY_H
#define CAIRN_CACHE_ENTRY_H

#include <cairn/error.h>

#include "base/buffer.h"

enum cairn_cache_kind {
    CAIRN_CACHE_INDEX = 1,    /* made by cairn_index_build() */
    CAIRN_CACHE_UNIT_MAP = 2, /* made by cairn_unit_map_save() */
    CAIRN_CACHE_UNPACKED = 3  /* that a run had to unpack it: in one byte */
};

/* What a file was to the module. */
enum cairn_cache_role {
    CAIRN_CACHE_IMAGE = 1,
    CAIRN_CACHE_DEBUG = 2, /* the debug file, where it is not the image */
    CAIRN_CACHE_OTHER = 3  /* a .dwo, a .dwp, an alt file: opened on the way */
};

/*
 * A file that went into an entry. Build ID, size and section layout identify a file wherever it
 * lies, if only root and we could write it; without a build ID, its path and time of change do.
 * Another user can forge all of these, so a file that is not guarded is identified by device,
 * inode, owner and both times: no user sets the time of the last inode change.
 */
struct cairn_cache_file {
    uint8_t role;
    bool absent;          /* was looked for at `path`, and was not there */
    bool is_guarded;      /* nobody but root and us could write it: base/open.h */
    const char *path;     /* absolute, or "" for bytes in memory */
    const char *build_id; /* lower-case hex, or "" */
    uint64_t size, mtime_ns;
    uint64_t layout;               /* hash of its table of sections; 0: not known */
    uint64_t dev, inode, ctime_ns; /* inode 0: bytes in memory */
    uint32_t uid;
};

struct cairn_cache_entry_header {
    enum cairn_cache_kind kind;
    const char *module;   /* path of the module, as far as it has one */
    const char *build_id; /* lower-case hex, or "" */
    const struct cairn_cache_file *files;
    size_t n_files;
};

/* Appends the header and what pads it; the payload goes behind it. The buffer's `failed` says
 * whether there was memory. */
void cairn_cache_entry_write(const struct cairn_cache_entry_header *header,
                             struct cairn_span payload, struct cairn_buffer *out);

/* An entry that was read: texts and payload point into its bytes. */
struct cairn_cache_entry_read {
    struct cairn_cache_entry_header header; /* `files` is on the heap */
    struct cairn_cache_file *files;         /* the same */
    struct cairn_span payload;
    uint64_t payload_sum; /* what cairn_cache_sum() must say of it */
};

/*
 * Checks all of an entry but its payload. CAIRN_E_FORMAT: damaged. CAIRN_E_SUPPORT: sound as far as
 * one can tell, but written by another version of cairn. CAIRN_E_NOMEM.
 */
int cairn_cache_entry_read(struct cairn_span bytes, struct cairn_cache_entry_read *ret_entry,
                           struct cairn_err *err);
void cairn_cache_entry_done(struct cairn_cache_entry_read *entry); /* all-zero is fine */

/* Device, inode, owner and both times are equal, and known. */
bool cairn_cache_file_identical(const struct cairn_cache_file *a, const struct cairn_cache_file *b);

/* Is it the same file, as far as one can tell without reading it? */
bool cairn_cache_file_equal(const struct cairn_cache_file *a, const struct cairn_cache_file *b);

/* A hash that is the same in every process and on every machine (FNV-1a). */
uint64_t cairn_cache_hash(struct cairn_span bytes);

#endif /* CAIRN_CACHE_ENTRY_H */
