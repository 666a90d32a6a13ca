/* SPDX-License-Identifier: MIT */
/* Import files: the ELF files behind the mappings of a recording, each looked for once. */
#ifndef CAIRN_IMPORT_FILES_H
#define CAIRN_IMPORT_FILES_H

#include <cairn/unwind.h>

#include "debugfile/debugfile.h"
#include "proc/kernel.h"
#include "stream/stream.h"
#include "target/copied.h"

enum { CAIRN_IMPORT_FILES_MAX = 2048 }; /* more are not held at the same time */

struct cairn_import_file;

struct cairn_import_files {
    struct cairn_debugfile_finder *finder;
    bool has_root;
    bool is_elsewhere, knows_where; /* was it recorded on another host? known at the first file */
    struct cairn_table by_key;      /* path and build ID, as texts of the profile -> number */
    struct cairn_import_file **items;
    size_t n, cap;
};

/* `opts` may be NULL: the places of this machine. */
int cairn_import_files_init(struct cairn_import_files *files, const struct cairn_unwind_opts *opts,
                            struct cairn_err *err);
void cairn_import_files_forget(struct cairn_import_files *files); /* what was found so far */
void cairn_import_files_done(struct cairn_import_files *files);   /* all-zero is fine */

/* The file of a mapping, and where what it lacks is. Empty where there is none of that build; where
 * no build is known, the path counts on the host that recorded it. Borrowed until forgotten. */
struct cairn_copied_file cairn_import_files_get(struct cairn_import_files *files,
                                                const struct cairn_stream *stream,
                                                const struct cairn_stream_map *map);

#endif /* CAIRN_IMPORT_FILES_H */
