/* SPDX-License-Identifier: MIT */
#include "proc/mapped_file.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool cairn_mapped_name(const struct cairn_mapped_file *file, enum cairn_mapped_by by,
                       struct cairn_buffer *ret_name)
{
    cairn_buffer_clear(ret_name);
    if ((by == CAIRN_MAPPED_BY_ROOT || by == CAIRN_MAPPED_BY_PATH) && *file->path != '/')
        return false;
    switch (by) {
    case CAIRN_MAPPED_BY_LINK:
        cairn_buffer_printf(ret_name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, file->pid,
                            file->start, file->end);
        break;
    case CAIRN_MAPPED_BY_EXE:
        cairn_buffer_printf(ret_name, "/proc/%d/exe", file->pid);
        break;
    case CAIRN_MAPPED_BY_ROOT:
        cairn_buffer_printf(ret_name, "/proc/%d/root%s", file->pid, file->path);
        break;
    case CAIRN_MAPPED_BY_PATH:
        cairn_buffer_printf(ret_name, "%s", file->path);
        break;
    case CAIRN_MAPPED_BY_NONE:
    case CAIRN_MAPPED_BY_MEMORY:
        break;
    }
    return !ret_name->failed;
}

enum cairn_mapped_by cairn_mapped_find(const struct cairn_mapped_file *file,
                                       const enum cairn_mapped_by *order, cairn_mapped_fn fn,
                                       void *ctx)
{
    struct cairn_buffer name = {0};
    enum cairn_mapped_by found = CAIRN_MAPPED_BY_NONE;
    for (; *order && !found; order++)
        if (cairn_mapped_name(file, *order, &name) && fn(ctx, *order, cairn_buffer_text(&name)))
            found = *order;
    cairn_buffer_done(&name);
    return found;
}

bool cairn_mapped_is_path(const char *link, const char *path)
{
    char target[PATH_MAX + sizeof " (deleted)"];
    const size_t size = strlen(path);
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    return size && strncmp(target, path, size) == 0 &&
           (!target[size] || strcmp(target + size, " (deleted)") == 0);
}
