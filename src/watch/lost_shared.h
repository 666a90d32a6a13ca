/* SPDX-License-Identifier: MIT */
/*
 * Lost shared: shared memory of a process, read through its file in memory (tmpfs: MAP_SHARED with
 * MAP_ANONYMOUS, memfd_create(2), shmget(2), /dev/shm). The process may lack page tables for pages
 * that have pointers of its own: fork(2) does not copy them, madvise(2) and the kernel drop them. A
 * read of its memory would make pages of holes; a read of the file does not.
 */
#ifndef CAIRN_WATCH_LOST_SHARED_H
#define CAIRN_WATCH_LOST_SHARED_H

#include "watch/lost_space.h"

/* As cairn_lost_space_each(), of one mapping. `*ret_is_read`: false if it is private or a file on a
 * disk, or its file cannot be opened, which takes CAP_CHECKPOINT_RESTORE (proc(5), map_files). */
int cairn_lost_shared_each(struct cairn_lost_space *space, const struct cairn_lost_map *map,
                           cairn_lost_piece_fn each, void *ctx, bool *ret_is_read);

#endif /* CAIRN_WATCH_LOST_SHARED_H */
