/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cairn/error.h>

enum { LARGE_PAGE = 2 << 20 };

static long fail_countdown = -1; /* tests only; negative: never fail */

static int must_fail(void)
{
    if (fail_countdown < 0)
        return 0;
    if (fail_countdown == 0)
        return 1;
    fail_countdown--;
    return 0;
}

void cairn_alloc_fail_after(long countdown)
{
    fail_countdown = countdown;
}

void *cairn_alloc(size_t n, size_t size)
{
    return must_fail() ? NULL : calloc(n ? n : 1, size ? size : 1);
}

void *cairn_realloc(void *old, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || must_fail())
        return NULL;
    return realloc(old, bytes ? bytes : 1);
}

void cairn_free(void *block)
{
    free(block);
}

char *cairn_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = cairn_alloc(size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

int cairn_grow(void **array, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return CAIRN_OK;
    size_t wanted = *cap ? *cap : 16;
    while (wanted < need) {
        if (wanted > SIZE_MAX / 2)
            return CAIRN_E_NOMEM;
        wanted *= 2;
    }
    void *grown = cairn_realloc(*array, wanted, size);
    if (!grown)
        return CAIRN_E_NOMEM;
    *array = grown;
    *cap = wanted;
    return CAIRN_OK;
}

void cairn_advise_filled(void *block, size_t bytes)
{
    uintptr_t first = ((uintptr_t)block + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)block + bytes) & ~(uintptr_t)(LARGE_PAGE - 1);
    if (bytes >= LARGE_PAGE && end > first) /* a refusal changes nothing */
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

bool cairn_alloc_apart(size_t bytes)
{
#ifdef M_MMAP_THRESHOLD
    return bytes <= INT_MAX && mallopt(M_MMAP_THRESHOLD, (int)bytes) == 1;
#else
    (void)bytes; /* musl, and Android's, do so from a size of theirs on */
    return false;
#endif
}
