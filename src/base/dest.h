/* SPDX-License-Identifier: MIT */
/*
 * Where a path to write to leads: a folder, held open, and a name in it.
 *
 * Links are followed as open(2) does under fs.protected_symlinks, whether the kernel has that set
 * or not: in a folder that all may write and that has the sticky bit, such as /tmp, only links of
 * ours or of the folder's owner, and none that dangles. Otherwise another user's link in /tmp would
 * choose which file root writes. Likewise a file or a pipe there counts only if it is ours, the
 * folder's owner's or, under sudo, the caller's (fs.protected_regular, fs.protected_fifos).
 */
#ifndef CAIRN_BASE_DEST_H
#define CAIRN_BASE_DEST_H

#include <stdbool.h>
#include <sys/stat.h>

#include <cairn/error.h>

struct cairn_dest {
    int folder;     /* O_PATH; -1: nothing was opened */
    char *path;     /* absolute, links resolved: for messages */
    size_t name_at; /* of the name in `path` */
    bool exists;    /* then `st` is filled, and */
    int file;       /* O_PATH descriptor of it; -1: does not exist */
    struct stat st;
};

/* CAIRN_E_MISSING: a folder on the way is missing. CAIRN_E_ARG: the path names a folder by its
 * form. CAIRN_E_ACCESS, also for what the rules above forbid. CAIRN_E_IO, CAIRN_E_NOMEM. */
int cairn_dest_find(const char *path, struct cairn_dest *ret_dest, struct cairn_err *err);

/* The name in the folder. */
const char *cairn_dest_name(const struct cairn_dest *target);

/* Closes and frees; a `folder` of -1 is fine. */
void cairn_dest_done(struct cairn_dest *target);

#endif /* CAIRN_BASE_DEST_H */
