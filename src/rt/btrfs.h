/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Btrfs: what keeps memory that is mapped of its files from a SIGBUS, where other file systems only
 * need the room to be allocated before. It writes each change to another place, which may not be
 * there any more, unless it is told not to; and where it keeps quotas each page that is written to
 * counts anew for a while.
 */
#ifndef CAIRN_RT_BTRFS_H
#define CAIRN_RT_BTRFS_H

#include <stdbool.h>

/* Of an empty file: false where nothing helps, for there are quotas (as far as /sys says it, of
 * Linux 5.9 or later). True too for a file of any other file system, to which nothing happens. */
bool cairn_btrfs_write_in_place(int fd);

#endif /* CAIRN_RT_BTRFS_H */
