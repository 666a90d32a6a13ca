/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/real.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "heap/start.h"
#include "rt/pages.h"
#include "unwind/loader.h"
#include "unwind/modules.h"

enum {
    /* Its smallest chunk: four words. With 32 bits blocks begin at any multiple of 8, and an entry
     * could not say at which. */
    GLIBC_GRANULE_BITS = sizeof(void *) == 8 ? 5 : 3,
    MUSL_GRANULE_BITS = 4, /* its smallest slot */
    OTHER_GRANULE_BITS = 3
};

static void *first_malloc(size_t size)
{
    cairn_heap_real_find();
    return cairn_heap_real.malloc(size);
}

static void first_free(void *block)
{
    cairn_heap_real_find();
    cairn_heap_real.free(block);
}

static void *first_calloc(size_t n, size_t size)
{
    cairn_heap_real_find();
    return cairn_heap_real.calloc(n, size);
}

static void *first_realloc(void *block, size_t size)
{
    cairn_heap_real_find();
    return cairn_heap_real.realloc(block, size);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t size)
{
    cairn_heap_real_find();
    return cairn_heap_real.posix_memalign(ret, alignment, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
    cairn_heap_real_find();
    return cairn_heap_real.aligned_alloc(alignment, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
    cairn_heap_real_find();
    return cairn_heap_real.memalign(alignment, size);
}

static void *first_valloc(size_t size)
{
    cairn_heap_real_find();
    return cairn_heap_real.valloc(size);
}

static void *first_pvalloc(size_t size)
{
    cairn_heap_real_find();
    return cairn_heap_real.pvalloc(size);
}

struct cairn_heap_real cairn_heap_real = {
    first_malloc,        first_free,     first_calloc, first_realloc, first_posix_memalign,
    first_aligned_alloc, first_memalign, first_valloc, first_pvalloc,
};

/* For what an allocator lacks. */
static void *by_posix_memalign(size_t alignment, size_t size)
{
    void *block = NULL;
    int code = cairn_heap_real.posix_memalign(
        &block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size);
    if (code != 0)
        errno = code;
    return code == 0 ? block : NULL;
}

static void *page_aligned(size_t size)
{
    return by_posix_memalign(cairn_pages_size(), size);
}

static void *whole_pages(size_t size)
{
    size_t page = cairn_pages_size();
    if (size > SIZE_MAX - page) {
        errno = ENOMEM;
        return NULL;
    }
    return by_posix_memalign(page, (size + page - 1) / page * page);
}

/* musl's functions call each other by their names, which are ours: a block would be born twice. Its
 * malloc and aligned_alloc call none. */
static int by_aligned_alloc(void **ret, size_t alignment, size_t size)
{
    if (alignment < sizeof(void *))
        return EINVAL;
    int before = errno;
    void *block = cairn_heap_real.aligned_alloc(alignment, size);
    int code = block ? 0 : errno;
    errno = before;
    if (block)
        *ret = block;
    return code;
}

/* Of a large block pages that were never touched stay so: they are zero. */
static void clear(void *block, size_t bytes)
{
    enum { LARGE = 1 << 17, STEP = 4096 };
    uint64_t *at = block, *end = at + bytes / sizeof(*at);
    memset(end, 0, bytes % sizeof(*at));
    if (bytes < LARGE) {
        memset(at, 0, bytes);
        return;
    }
    for (size_t n = STEP / sizeof(*at); at < end; at += n) {
        n = n < (size_t)(end - at) ? n : (size_t)(end - at);
        for (size_t i = 0; i < n; i++)
            if (at[i]) {
                memset(at, 0, n * sizeof(*at));
                break;
            }
    }
}

static void *cleared(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = cairn_heap_real.malloc(bytes);
    if (block)
        clear(block, bytes);
    return block;
}

static void *nothing(size_t size)
{
    (void)size;
    errno = ENOMEM;
    return NULL;
}

/* Where its code is; [0, 0) where libc is the allocator. */
static struct {
    _Atomic(uintptr_t) from, to;
} allocator;

bool cairn_heap_real_has(uintptr_t va)
{
    return va >= atomic_load_explicit(&allocator.from, memory_order_relaxed) &&
           va < atomic_load_explicit(&allocator.to, memory_order_relaxed);
}

static void note_allocator(uintptr_t of_malloc)
{
    struct cairn_local_module module;
    if (!of_malloc || !cairn_modules_find(of_malloc, &module))
        return;
    atomic_store_explicit(&allocator.from, module.from, memory_order_relaxed);
    atomic_store_explicit(&allocator.to, module.to, memory_order_relaxed);
}

/* Whoever has malloc has free. Two threads that come here at once find the same. */
#define FIND(name, otherwise)                                                                      \
    do {                                                                                           \
        uintptr_t va_ = cairn_loader_next(#name);                                                  \
        cairn_heap_real.name = va_ ? (__typeof__(cairn_heap_real.name))va_ : (otherwise);          \
    } while (0)

static void take_musls(void)
{
    cairn_heap_granule_bits = MUSL_GRANULE_BITS;
    cairn_heap_real.posix_memalign = by_aligned_alloc;
    cairn_heap_real.memalign = cairn_heap_real.aligned_alloc;
    cairn_heap_real.valloc = page_aligned;
    cairn_heap_real.calloc = cleared;
}

/* In a program with gcc's libtsan: which stands before libc for much more than malloc, and crashes
 * when that is called before its constructor was. */
extern void __tsan_init(void) __attribute__((weak));

__attribute__((cold, noinline)) void cairn_heap_real_find(void)
{
    cairn_heap_starts_later = __tsan_init;
    FIND(posix_memalign, NULL);
    FIND(aligned_alloc, by_posix_memalign);
    FIND(memalign, by_posix_memalign);
    FIND(valloc, page_aligned);
    FIND(pvalloc, whole_pages);
    FIND(realloc, NULL);
    FIND(calloc, NULL);
    FIND(free, NULL);
    uintptr_t next = cairn_loader_next("malloc");
    cairn_heap_granule_bits = OTHER_GRANULE_BITS;
    if (next && next == cairn_loader_libc("malloc"))
        cairn_heap_granule_bits = GLIBC_GRANULE_BITS;
    else if (next && next == cairn_loader_musl("malloc"))
        take_musls();
    else
        note_allocator(next);
    FIND(malloc, nothing);
}
