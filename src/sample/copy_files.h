/* SPDX-License-Identifier: MIT */
/* Copy files: the ELF files behind the mappings of what is sampled, each opened once, whichever
 * process has it. */
#ifndef CAIRN_SAMPLE_COPY_FILES_H
#define CAIRN_SAMPLE_COPY_FILES_H

#include "debugfile/debugfile.h"
#include "sample/space.h"
#include "target/copied.h"

enum { CAIRN_COPY_FILES_MAX = 2048 }; /* more are not held at the same time */

struct cairn_copy_file;

struct cairn_copy_files {
    struct cairn_debugfile_finder *finder; /* made for the first file */
    struct cairn_table by_identity;        /* of a mapping's file -> number */
    struct cairn_copy_file **items;
    size_t n, cap;
};

void cairn_copy_files_done(struct cairn_copy_files *files); /* all-zero is fine */

/*
 * The file of a mapping, and where what it lacks is. Empty where there is none, it cannot be had,
 * or what has its path is another build. One that was deleted or replaced is had by the mapping
 * itself as long as the process lives, or is made of what memory holds of it. Borrowed until
 * cairn_copy_files_done().
 */
struct cairn_copied_file cairn_copy_files_get(struct cairn_copy_files *files,
                                              const struct cairn_spaces *spaces,
                                              struct cairn_space *space,
                                              const struct cairn_stream_map *map);

/* The number of a mapping's file in tables. A build ID alone is none: another user's program can
 * have a copy of it. */
uint64_t cairn_copy_files_identity(const struct cairn_space *space,
                                   const struct cairn_stream_map *map);

#endif /* CAIRN_SAMPLE_COPY_FILES_H */
