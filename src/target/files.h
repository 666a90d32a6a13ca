/* SPDX-License-Identifier: MIT */
/* The files of a target's mappings: which one is right, and where none is, what memory has of it.
 */
#ifndef CAIRN_TARGET_FILES_H
#define CAIRN_TARGET_FILES_H

#include "target/target.h"

/* The file of a mapping with code, opened at the first call; NULL for other mappings, or where
 * memory is gone. One that could not be had has an empty image. */
const struct cairn_target_file *cairn_target_file_of(struct cairn_target *target,
                                                     struct cairn_target_map *map);
void cairn_target_file_free(struct cairn_target_file *file);

/* The offset in a made image of what lies at `va`. */
uint64_t cairn_target_made_off(const struct cairn_target_file *file, uint64_t va);

#endif /* CAIRN_TARGET_FILES_H */
