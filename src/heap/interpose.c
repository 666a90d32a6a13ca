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

#define REAL   cairn_heap_real
#define CALLER ((struct cairn_local_frame_at)CAIRN_HEAP_CALLER)

/* musl has none of the first; the others are C23's, which no C library's headers have yet. */
void *pvalloc(size_t size);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

CAIRN_API void *malloc(size_t size)
{
    void *block = REAL.malloc(size);
    if (__builtin_expect(block != NULL, 1))
        return cairn_heap_born(block, size, CAIRN_HEAP_KIND_MALLOC);
    return NULL;
}

/* By its own name, which nobody comes before. */
__asm__(".hidden cairn_heap_our_malloc\n"
        ".globl cairn_heap_our_malloc\n"
        ".set cairn_heap_our_malloc, malloc");

__attribute__((noinline)) static void free_oddly(void *block)
{
    if (block && !atomic_load_explicit(&cairn_heap_off, memory_order_relaxed))
        cairn_heap_died_fully(block, CAIRN_HEAP_KIND_MALLOC);
    REAL.free(block);
}

CAIRN_API void free(void *block)
{
    struct cairn_heap_death death;
    if (__builtin_expect(cairn_heap_died_plainly(block, CAIRN_HEAP_KIND_MALLOC, &death), 1))
        REAL.free(block);
    else
        free_oddly(block);
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
        return cairn_heap_born(block, n * size, CAIRN_HEAP_KIND_MALLOC);
    return NULL;
}

/* Taken out before: another thread may have the address as soon as it is free. A size of 0 and NULL
 * is a free (C17 7.22.3.5 leaves it open, glibc does so). */
__attribute__((always_inline)) static inline void *reallocate(void *block, size_t size)
{
    struct cairn_heap_death death = {0};
    if (block)
        death = cairn_heap_died(block, CAIRN_HEAP_KIND_MALLOC);
    void *moved = REAL.realloc(block, size);
    if (__builtin_expect(moved != NULL, 1))
        return cairn_heap_born(moved, size, CAIRN_HEAP_KIND_MALLOC);
    if (size != 0 && death.entry != 0)
        cairn_heap_put_back(block, &death);
    return NULL;
}

CAIRN_API void *realloc(void *block, size_t size)
{
    return reallocate(block, size);
}

CAIRN_API void *reallocarray(void *block, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return reallocate(block, bytes);
}

/* The rarer ones. */
__attribute__((noinline)) static void *born(void *block, size_t size,
                                            struct cairn_local_frame_at caller)
{
    if (block)
        cairn_heap_born_fully(block, size, CAIRN_HEAP_KIND_MALLOC, caller.ret, caller.sp,
                              caller.fp);
    return block;
}

CAIRN_API int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    int code = REAL.posix_memalign(ret_block, alignment, size);
    if (code == 0)
        born(*ret_block, size, CALLER);
    return code;
}

CAIRN_API void *aligned_alloc(size_t alignment, size_t size)
{
    return born(REAL.aligned_alloc(alignment, size), size, CALLER);
}

CAIRN_API void *memalign(size_t alignment, size_t size)
{
    return born(REAL.memalign(alignment, size), size, CALLER);
}

CAIRN_API void *valloc(size_t size)
{
    return born(REAL.valloc(size), size, CALLER);
}

CAIRN_API void *pvalloc(size_t size)
{
    return born(REAL.pvalloc(size), size, CALLER);
}
