/* SPDX-License-Identifier: MIT */
/* Texts of paths; nothing here looks at a file. */
#ifndef CAIRN_BASE_PATH_H
#define CAIRN_BASE_PATH_H

#include <stddef.h>
#include <string.h>

/* What `path` has behind the folder, from the slash on. NULL: it does not begin with the folder.
 * Slashes at the folder's end do not count, and so nothing is behind "" and "/". */
static inline const char *cairn_path_behind(const char *folder, const char *path)
{
    size_t size = strlen(folder);
    while (size && folder[size - 1] == '/')
        size--;
    return size && strncmp(path, folder, size) == 0 && path[size] == '/' ? path + size : NULL;
}

#endif /* CAIRN_BASE_PATH_H */
