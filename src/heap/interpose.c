/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Interpose: C's allocation functions, before those of the C library or whoever else has them. In
 * libcairn-heap alone.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include <cairn/api.h>

#include "heap/caller.h"
#include "heap/real.h"
#include "heap/track.h"

#define REAL cairn_heap_real

/* C23's, which no C library's headers have yet. */
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

CAIRN_API void *malloc(size_t size)
{
    void *block = REAL.malloc(size);
    if (__builtin_expect(block != NULL, 1))
        cairn_heap_born(
            &(struct cairn_heap_birth){block, size, CAIRN_HEAP_KIND_MALLOC, CAIRN_HEAP_CALLER});
    return block;
}

CAIRN_API void free(void *block)
{
    if (__builtin_expect(block != NULL, 1))
        cairn_heap_died(block, CAIRN_HEAP_KIND_MALLOC);
    REAL.free(block);
}

CAIRN_API void free_sized(void *block, size_t size)
{
    (void)size;
    free(block);
}

CAIRN_API void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    free(block);
}

CAIRN_API void *calloc(size_t n, size_t size)
{
    void *block = REAL.calloc(n, size);
    if (__builtin_expect(block != NULL, 1))
        cairn_heap_born(
            &(struct cairn_heap_birth){block, n * size, CAIRN_HEAP_KIND_MALLOC, CAIRN_HEAP_CALLER});
    return block;
}

/* Taken out before: another thread may have the address as soon as it is free. A size of 0 and NULL
 * is a free (C17 7.22.3.5 leaves it open, glibc does so). */
__attribute__((always_inline)) static inline void *
reallocate(void *block, size_t size, const struct cairn_local_frame_at *caller)
{
    struct cairn_heap_death death = {0};
    if (block)
        death = cairn_heap_died(block, CAIRN_HEAP_KIND_MALLOC);
    void *moved = REAL.realloc(block, size);
    if (__builtin_expect(moved != NULL, 1))
        cairn_heap_born(&(struct cairn_heap_birth){moved, size, CAIRN_HEAP_KIND_MALLOC, *caller});
    else if (size != 0 && death.entry != 0)
        cairn_heap_put_back(block, &death);
    return moved;
}

CAIRN_API void *realloc(void *block, size_t size)
{
    return reallocate(block, size, &(struct cairn_local_frame_at)CAIRN_HEAP_CALLER);
}

CAIRN_API void *reallocarray(void *block, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return reallocate(block, bytes, &(struct cairn_local_frame_at)CAIRN_HEAP_CALLER);
}

CAIRN_API int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    int code = REAL.posix_memalign(ret_block, alignment, size);
    if (code == 0 && *ret_block)
        cairn_heap_born(&(struct cairn_heap_birth){*ret_block, size, CAIRN_HEAP_KIND_MALLOC,
                                                   CAIRN_HEAP_CALLER});
    return code;
}

#define ALIGNED(name)                                                                              \
    CAIRN_API void *name(size_t alignment, size_t size)                                            \
    {                                                                                              \
        void *block = REAL.name(alignment, size);                                                  \
        if (block)                                                                                 \
            cairn_heap_born(&(struct cairn_heap_birth){block, size, CAIRN_HEAP_KIND_MALLOC,        \
                                                       CAIRN_HEAP_CALLER});                        \
        return block;                                                                              \
    }
ALIGNED(aligned_alloc)
ALIGNED(memalign)

#define PAGES(name)                                                                                \
    CAIRN_API void *name(size_t size)                                                              \
    {                                                                                              \
        void *block = REAL.name(size);                                                             \
        if (block)                                                                                 \
            cairn_heap_born(&(struct cairn_heap_birth){block, size, CAIRN_HEAP_KIND_MALLOC,        \
                                                       CAIRN_HEAP_CALLER});                        \
        return block;                                                                              \
    }
PAGES(valloc)
PAGES(pvalloc)
