/* SPDX-License-Identifier: MIT */
/*
 * Zip archives (APPNOTE.TXT, 6.3.10), as far as Android's loader uses them: files that are stored
 * as they are and mapped from where they lie in the archive. Only who imports files unpacks others.
 *
 *     [prefix] | local header | name | extra | data | ... | directory | end
 *                ▲                             ▲            │
 *                │                             │            └─ entry: header, name, extra, comment
 *                │                             └─ the data starts after the local name and extra
 *                └─ the entry holds the offset of the local header
 *
 * The local extra field and the directory's extra field differ in size.
 *
 * Everything borrows from the bytes that cairn_archive_open() was given.
 */
#ifndef CAIRN_BASE_ARCHIVE_H
#define CAIRN_BASE_ARCHIVE_H

#include <cairn/error.h>

#include "base/buffer.h"

struct cairn_archive {
    struct cairn_span bytes, directory;
    uint64_t prefix_bytes; /* what stands before the archive proper: offsets do not count it */
    uint64_t n_entries;    /* as it claims */
};

struct cairn_archive_entry {
    struct cairn_span name; /* printable, relative, without "..": else the entry is passed over */
    uint16_t method;        /* 0: stored */
    bool encrypted;
    uint64_t packed_bytes, plain_bytes, header_off;
};

/* Do the bytes begin as an archive does? */
bool cairn_archive_is_one(struct cairn_span bytes);

/* Finds the directory, by zip64 too. CAIRN_E_FORMAT. */
int cairn_archive_open(struct cairn_span bytes, struct cairn_archive *ret_archive,
                       struct cairn_err *err);

/* The next entry of the directory from `*pos` on, which begins with 0; false past the last sound
 * one. Entries with names that no archive of programs has are passed over. */
bool cairn_archive_next(const struct cairn_archive *archive, size_t *pos,
                        struct cairn_archive_entry *ret_entry);

/* The first entry of that name. CAIRN_E_MISSING. */
int cairn_archive_find(const struct cairn_archive *archive, const char *name,
                       struct cairn_archive_entry *ret_entry, struct cairn_err *err);

/* Where an entry's bytes lie. CAIRN_E_SUPPORT: it is compressed or encrypted, so that nothing can
 * be mapped from it. CAIRN_E_FORMAT: they lie outside of the archive. */
int cairn_archive_data(const struct cairn_archive *archive, const struct cairn_archive_entry *entry,
                       struct cairn_span *ret_data, struct cairn_err *err);

/* Appends what an entry holds, stored or deflated, at most `limit` bytes of it (CAIRN_E_LIMIT).
 * CAIRN_E_SUPPORT: it is packed in another way, or encrypted. CAIRN_E_FORMAT: it is damaged. */
int cairn_archive_unpack(const struct cairn_archive *archive,
                         const struct cairn_archive_entry *entry, uint64_t limit,
                         struct cairn_buffer *ret_bytes, struct cairn_err *err);

/* The stored entry whose bytes hold the byte at `off` of the file. Where several claim it, the
 * first. */
bool cairn_archive_find_at(const struct cairn_archive *archive, uint64_t off,
                           struct cairn_archive_entry *ret_entry, struct cairn_span *ret_data);

/* The separator in "base.apk!/lib/arm64-v8a/libx.so", or NULL: the path of an archive stands before
 * it, an entry's name two characters behind. */
const char *cairn_archive_split(const char *path);

#endif /* CAIRN_BASE_ARCHIVE_H */
