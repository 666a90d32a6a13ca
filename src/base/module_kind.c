/* SPDX-License-Identifier: MIT */
#include "base/module_kind.h"

#include <string.h>

#include "base/shared_memory.h"

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
