/* SPDX-License-Identifier: MIT */
/* Dump files: the ELF files behind the mappings of what is sampled, each opened once, whichever
 * process has it. */
#ifndef CAIRN_SAMPLE_DUMP_FILES_H
#define CAIRN_SAMPLE_DUMP_FILES_H

#include "base/file.h"
#include "sample/space.h"

enum { CAIRN_DUMP_FILES_MAX = 2048 }; /* more are not held at the same time */

struct cairn_dump_files {
    struct cairn_table by_identity; /* of a mapping's file -> number */
    struct cairn_file *items;       /* empty: it cannot be had */
    size_t n, cap;
};

void cairn_dump_files_done(struct cairn_dump_files *files); /* all-zero is fine */

/* The file of a mapping; empty where there is none, or it cannot be had, or the file of that path
 * is another one by now. Borrowed until cairn_dump_files_done(). */
struct cairn_span cairn_dump_file(struct cairn_dump_files *files, const struct cairn_spaces *spaces,
                                  const struct cairn_space *space,
                                  const struct cairn_space_map *map);

#endif /* CAIRN_SAMPLE_DUMP_FILES_H */
