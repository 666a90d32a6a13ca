/* SPDX-License-Identifier: MIT */
/*
 * Root: small files of an installation, the host's or that of a container whose root somebody else
 * fills. No link leads out of it, no device or pipe is opened, and nothing below another mount of a
 * foreign root is read, because a file system of that user's own could make a read wait for ever.
 */
#ifndef CAIRN_DEBUGFILE_ROOT_H
#define CAIRN_DEBUGFILE_ROOT_H

#include <dirent.h>

#include "base/buffer.h"

struct cairn_root {
    int fd; /* -1: closed */
    bool is_foreign;
};

/* "" or "/": the host's own. False where it cannot be opened. */
bool cairn_root_open(const char *path, struct cairn_root *ret_root);
void cairn_root_close(struct cairn_root *root);

/* A folder, as opendir(3) gives it; its path is relative to the root. NULL: no such folder. */
DIR *cairn_root_list(const struct cairn_root *root, const char *path);

/* Replaces the contents of `out` by a regular file's, found from the folder `folder` (-1: the
 * root). False: there is none, it has more than `limit` bytes, or it cannot be read. */
bool cairn_root_read(const struct cairn_root *root, int folder, const char *path, size_t limit,
                     struct cairn_buffer *out);

#endif /* CAIRN_DEBUGFILE_ROOT_H */
