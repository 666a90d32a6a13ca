/* SPDX-License-Identifier: MIT */
/* A library that knows nothing of ours, and so asks for the dlclose of libc's version. */
#include <dlfcn.h>

__attribute__((visibility("default"))) int unload_close(void *module);

int unload_close(void *module)
{
    return dlclose(module);
}
