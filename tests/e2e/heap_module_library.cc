// SPDX-License-Identifier: MIT
/* A library that allocates in every way: heap_module.sh makes several of it, each with a NAME. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

extern "C" __attribute__((noinline)) void *JOIN(NAME, _make)(const char *kind)
{
    if (strcmp(kind, "malloc") == 0)
        return malloc(100);
    if (strcmp(kind, "calloc") == 0)
        return calloc(10, 10);
    if (strcmp(kind, "realloc") == 0)
        return realloc(malloc(10), 5000);
    if (strcmp(kind, "strdup") == 0)
        return strdup("as long as a line");
    if (strcmp(kind, "new") == 0)
        return new int[20];
    void *block = nullptr;
    return posix_memalign(&block, 64, 200) == 0 ? block : nullptr;
}

extern "C" void *JOIN(NAME, _move)(void *block)
{
    return realloc(block, 9000);
}

extern "C" void JOIN(NAME, _drop)(void *block)
{
    free(block);
}
