/* SPDX-License-Identifier: MIT */
/*
 * Mapped file: the methods to reach a file that a process has mapped, also when its path leads to
 * another file by now, or to none. The caller gives their order.
 */
#ifndef CAIRN_PROC_MAPPED_FILE_H
#define CAIRN_PROC_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum cairn_mapped_by {
    CAIRN_MAPPED_BY_NONE,   /* ends a list */
    CAIRN_MAPPED_BY_LINK,   /* /proc/PID/map_files: the file itself; CAP_CHECKPOINT_RESTORE */
    CAIRN_MAPPED_BY_EXE,    /* /proc/PID/exe: the program itself, without a capability (proc(5)) */
    CAIRN_MAPPED_BY_ROOT,   /* its path below /proc/PID/root: as the process sees it */
    CAIRN_MAPPED_BY_PATH,   /* its path, as we see it */
    CAIRN_MAPPED_BY_MEMORY, /* no name: what the process's memory has of it */
};

struct cairn_mapped_file {
    int pid;
    uint64_t start, end; /* va of the mapping */
    const char *path;    /* without " (deleted)" */
};

/* False: memory is gone, or a path that is not absolute leads nowhere. */
bool cairn_mapped_name(const struct cairn_mapped_file *file, enum cairn_mapped_by by,
                       struct cairn_buffer *ret_name);

/* Is the wanted file there? */
typedef bool (*cairn_mapped_fn)(void *ctx, enum cairn_mapped_by by, const char *name);

/* Calls `fn` for each method of the list until it returns true. Returns that method, else
 * CAIRN_MAPPED_BY_NONE. */
enum cairn_mapped_by cairn_mapped_find(const struct cairn_mapped_file *file,
                                       const enum cairn_mapped_by *order, cairn_mapped_fn fn,
                                       void *ctx);

/* Had the file that a link of /proc leads to this path? It may have been deleted since. */
bool cairn_mapped_is_path(const char *link, const char *path);

#endif /* CAIRN_PROC_MAPPED_FILE_H */
