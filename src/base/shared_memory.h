/* SPDX-License-Identifier: MIT */
/* Shared memory that the kernel lists with a path but that is no file: mappings of MAP_SHARED with
 * MAP_ANONYMOUS and of /dev/zero ("/dev/zero (deleted)"), and segments of shmget(2) ("/SYSV" and
 * the key in 8 hex digits). To whoever names code they are anonymous memory. */
#ifndef CAIRN_BASE_SHARED_MEMORY_H
#define CAIRN_BASE_SHARED_MEMORY_H

#include <stdbool.h>
#include <string.h>

/* With or without " (deleted)" behind the path. */
static inline bool cairn_is_shared_memory(const char *path)
{
    static const char zero[] = "/dev/zero", segment[] = "/SYSV";
    const char *rest = path;
    if (strncmp(path, zero, sizeof zero - 1) == 0) {
        rest += sizeof zero - 1;
    } else if (strncmp(path, segment, sizeof segment - 1) == 0) {
        rest += sizeof segment - 1;
        for (size_t i = 0; i < 8; i++, rest++)
            if (!*rest || !strchr("0123456789abcdef", *rest))
                return false;
    } else {
        return false;
    }
    return !*rest || strcmp(rest, " (deleted)") == 0;
}

#endif /* CAIRN_BASE_SHARED_MEMORY_H */
