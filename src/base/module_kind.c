/* SPDX-License-Identifier: MIT */
#include "base/module_kind.h"

#include <string.h>

#include "base/shared_memory.h"
#include "base/table.h"

static bool begins_with_one(const char *path, const char *const *names)
{
    for (; *names; names++)
        if (strncmp(path, *names, strlen(*names)) == 0)
            return true;
    return false;
}

/* "[virtio_net]" is a module like others, though it begins as "[vdso]" does. */
static enum cairn_module_kind kind_of_bracketed(const char *path, uint64_t start)
{
    static const char *const kernels[] = {"[kernel", "[guest.kernel", NULL};
    static const char *const anonymous[] = {"[anon", "[heap]", "[stack", NULL};
    if (strcmp(path, "[vdso]") == 0)
        return CAIRN_MODULE_VDSO;
    if (strcmp(path, "[vsyscall]") == 0)
        return CAIRN_MODULE_VSYSCALL;
    if (start >> 63)
        return begins_with_one(path, kernels) ? CAIRN_MODULE_KERNEL : CAIRN_MODULE_KERNEL_MODULE;
    return begins_with_one(path, anonymous) ? CAIRN_MODULE_ANONYMOUS : CAIRN_MODULE_OTHER;
}

enum cairn_module_kind cairn_module_kind_of(const char *path, uint64_t start)
{
    static const char *const made[] = {"/memfd:", "/dev/shm/", NULL};
    if (*path == '[')
        return kind_of_bracketed(path, start);
    if (!*path || strncmp(path, "//anon", 6) == 0 || cairn_is_shared_memory(path))
        return CAIRN_MODULE_ANONYMOUS;
    return begins_with_one(path, made) ? CAIRN_MODULE_JIT : CAIRN_MODULE_FILE;
}

bool cairn_module_is_uprobes(const char *path)
{
    return strcmp(path, "[uprobes]") == 0;
}

size_t cairn_module_path_size(const char *path)
{
    static const char deleted[] = " (deleted)";
    size_t size = strlen(path), tail = sizeof deleted - 1;
    if (cairn_module_kind_of(path, 0) == CAIRN_MODULE_ANONYMOUS && *path != '[')
        return 0;
    return size > tail && strcmp(path + size - tail, deleted) == 0 ? size - tail : size;
}

uint64_t cairn_module_file_identity(struct cairn_span build_id, uint64_t dev, uint64_t inode)
{
    const uint64_t numbers[2] = {dev, inode};
    uint64_t hash = 0;
    if (build_id.size)
        hash = cairn_hash_bytes(build_id.data, build_id.size);
    else if (inode)
        hash = cairn_hash_bytes(numbers, sizeof numbers);
    else
        return 0;
    return hash ? hash : 1;
}
