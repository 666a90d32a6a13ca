/* SPDX-License-Identifier: MIT */
/*
 * Folders that we keep files in and later trust: those of the caller alone. Root uses no folder of
 * another user (sudo with the caller's HOME), because that user could put any file there, and none
 * that others can write. Folders are made for their owner alone.
 */
#ifndef CAIRN_BASE_OWN_FOLDER_H
#define CAIRN_BASE_OWN_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

#include <cairn/error.h>

/*
 * Opens FOLDER, or makes it, and at most `levels` folders in all: 0 makes none. A symlink in its
 * place is followed where we made it. CAIRN_E_MISSING: not there, or more of the path is missing.
 * CAIRN_E_ACCESS: it is somebody else's, or may not be written. CAIRN_E_ARG: it is no folder.
 */
int cairn_own_folder_open(const char *folder, unsigned levels, int *ret_fd, struct cairn_err *err);

/* Ours, and for root writable by nobody else? CAIRN_E_ACCESS. */
int cairn_own_folder_check(int fd, const char *folder, struct cairn_err *err);

/* A folder in an opened one, no symlink; made where `make` says so. -1 and errno. */
int cairn_own_folder_below(int parent, const char *name, bool make);

/* A file in such a folder: a regular one, ours, and not writable by others? */
bool cairn_own_folder_trusts(const struct stat *st);

#endif /* CAIRN_BASE_OWN_FOLDER_H */
