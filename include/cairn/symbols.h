/* SPDX-License-Identifier: MIT */
/*
 * The local store of symbols: binaries and debug files by build ID, in the layout that gdb and
 * others know as a debug folder. Every search for the files of a module looks there too, once
 * cairn_symbol_store_use() was called.
 *
 * Threads and processes: all of this may be called by many at once, but cairn_symbol_store_use()
 * while no other thread names addresses. A file appears whole, by a rename.
 */
#ifndef CAIRN_SYMBOLS_H
#define CAIRN_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The folder that is used where none is given: $CAIRN_SYMBOLS, else $XDG_DATA_HOME/cairn/symbols,
 * else $HOME/.local/share/cairn/symbols. CAIRN_E_MISSING: none of them holds an absolute path. */
CAIRN_API int cairn_symbol_store_folder(char *ret_path, size_t size, struct cairn_err *err);

/* From now on every search of this program looks into `folder` too, which need not be there; NULL:
 * into none. Only files count that belong to the caller and that nobody else can write. */
CAIRN_API int cairn_symbol_store_use(const char *folder, struct cairn_err *err);

/* Zero means the default. */
struct cairn_symbol_add_opts {
    size_t size;        /* of this struct */
    int link;           /* nonzero: hard links instead of copies, where that is safe */
    uint64_t max_bytes; /* of the whole store; files not used for longest go first. 0: no bound */
    void (*progress)(void *ctx, const char *path); /* each file looked at; NULL: nobody asks */
    void *ctx;
    int64_t keep_since_ns; /* for max_bytes: files used since then stay; 0: since this call */
};

/* What became of the files; counts add up over several calls. */
struct cairn_symbol_added {
    size_t size;
    uint64_t n_seen;       /* ELF files, those in archives too */
    uint64_t n_added;      /* new in the store, or better than what it had */
    uint64_t n_held;       /* it had them, or as good ones */
    uint64_t n_without_id; /* they have no build ID */
    uint64_t n_damaged;    /* no sound ELF file, or not to be read; each is warned of */
    uint64_t bytes_added;
    uint64_t n_removed, bytes_removed; /* for max_bytes */
};

/*
 * Adds a file, or every file below a folder: ELF files, and those inside zip archives (APKs).
 * Links to folders are not followed. CAIRN_E_MISSING: no such path. CAIRN_E_LIMIT: what was added
 * is more than max_bytes. CAIRN_E_ACCESS, CAIRN_E_IO: the store cannot be written.
 */
CAIRN_API int cairn_symbol_store_add(const char *folder, const char *path,
                                     const struct cairn_symbol_add_opts *opts,
                                     struct cairn_symbol_added *added, struct cairn_err *err);

struct cairn_symbol_entry {
    size_t size;          /* of this struct */
    const char *file;     /* in the store */
    const char *build_id; /* lower-case hex */
    const char *from;     /* where it was added from; "": unknown */
    const char *kind;     /* "binary", "debug file", "damaged" (also: not ours) */
    const char *has;      /* "lines", "symbols", "exports"; "" where it is damaged */
    uint64_t bytes;
    int64_t used_ns; /* when it was last added or used: nanoseconds since 1970 */
};

/* Nonzero stops. The entry is borrowed until the function returns. */
typedef int (*cairn_symbol_entry_fn)(void *ctx, const struct cairn_symbol_entry *entry);

/* Each file of the store (NULL: cairn_symbol_store_folder()), the one used last first. A folder
 * that is not there has none. Returns what `each` returned; CAIRN_E_ACCESS, CAIRN_E_IO. */
CAIRN_API int cairn_symbol_store_each(const char *folder, cairn_symbol_entry_fn each, void *ctx,
                                      struct cairn_err *err);

/* Which files go. Zero means: none for this reason. */
struct cairn_symbol_trim_opts {
    size_t size;
    int64_t unused_since_ns; /* those not used since then */
    int has_max_bytes;       /* nonzero: and then those not used for longest, until the rest has */
    uint64_t max_bytes;      /* at most so many bytes */
    int dry_run;             /* nonzero: nothing is deleted, only told */
    cairn_symbol_entry_fn each; /* each that goes; NULL: nobody asks */
    void *ctx;
};

/* Deletes files of the store, and what a killed writer left. Either count may be NULL. */
CAIRN_API int cairn_symbol_store_trim(const char *folder, const struct cairn_symbol_trim_opts *opts,
                                      uint64_t *ret_n, uint64_t *ret_bytes, struct cairn_err *err);

struct cairn_symbol_pack_opts {
    size_t size;                    /* of this struct */
    const char *const *symbol_dirs; /* folders with symbols, in order */
    size_t n_symbol_dirs;
    const char *debug_dir; /* NULL: /usr/lib/debug */
    void (*missing)(void *ctx, const char *path, const char *build_id,
                    const char *why); /* each module that is not in; NULL: nobody asks */
    void *ctx;
};

struct cairn_symbol_packed {
    size_t size;        /* of this struct */
    uint64_t n_modules; /* whose files are in */
    uint64_t n_files, bytes;
    uint64_t n_missing; /* modules with samples whose files are not */
};

/* Writes a tar archive with the files that naming the profile's samples needs, by build ID, in the
 * layout of perf's folder ~/.debug. Equal files give equal bytes. CAIRN_E_IO: `write` failed. */
CAIRN_API int cairn_symbol_pack(const struct cairn_profile *profile,
                                const struct cairn_symbol_pack_opts *opts, cairn_write_fn write,
                                void *ctx, struct cairn_symbol_packed *packed,
                                struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_SYMBOLS_H */
