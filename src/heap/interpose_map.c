/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Interpose maps: mmap(2), munmap(2), mremap(2), brk(2) and sbrk(3), recorded where CAIRN_HEAP_MMAP
 * asks for it. What libc maps for itself (its malloc, threads' stacks) does not come by these names
 * and is not seen. What another allocator maps is told apart by where its malloc is: its blocks are
 * recorded by themselves. In libcairn-heap alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <cairn/api.h>

#include "heap/caller.h"
#include "heap/map_calls.h"
#include "heap/next.h"
#include "heap/real.h"
#include "heap/start.h"

#define CALLER (&(struct cairn_local_frame_at)CAIRN_HEAP_CALLER)

/* Of newer headers. */
enum { DONT_UNMAP = 4 /* MREMAP_DONTUNMAP */, FAILED = -1 };

/* By names of our own: the headers may make mmap another function (_FILE_OFFSET_BITS; musl). */
#undef mmap64
CAIRN_API void *cairn_mmap(void *va, size_t bytes, int prot, int flags, int fd,
                           long off) __asm__("mmap");
CAIRN_API void *cairn_mmap64(void *va, size_t bytes, int prot, int flags, int fd,
                             int64_t off) __asm__("mmap64");
CAIRN_API void *cairn_mremap(void *va, size_t bytes, size_t wanted, int flags,
                             ...) __asm__("mremap");
CAIRN_API int cairn_munmap(void *va, size_t bytes) __asm__("munmap");
CAIRN_API int cairn_brk(void *va) __asm__("brk");
CAIRN_API void *cairn_sbrk(intptr_t bytes) __asm__("sbrk");

static struct {
    void *(*mmap)(void *, size_t, int, int, int, long);
    void *(*mmap64)(void *, size_t, int, int, int, int64_t);
    void *(*mremap)(void *, size_t, size_t, int, void *);
    int (*munmap)(void *, size_t);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t);
} real;

#define REAL(name) CAIRN_HEAP_NEXT(real, name)

static void *none(void)
{
    errno = ENOSYS;
    return MAP_FAILED;
}

static enum cairn_heap_map_kind kind_of(int flags, const struct cairn_local_frame_at *at)
{
    if (cairn_heap_real_has(at->ret))
        return CAIRN_HEAP_MAP_ALLOCATOR;
    return flags & MAP_ANONYMOUS ? CAIRN_HEAP_MAP_MEMORY : CAIRN_HEAP_MAP_FILE;
}

/* `call` of the real function, recorded; it may lie over others. */
#define MAP(call_of_real)                                                                          \
    do {                                                                                           \
        struct cairn_heap_map_call call;                                                           \
        const struct cairn_local_frame_at *at = CALLER;                                            \
        cairn_heap_map_begin(&call, at);                                                           \
        if (flags & MAP_FIXED)                                                                     \
            cairn_heap_map_lock(&call);                                                            \
        void *got = (call_of_real);                                                                \
        int code = errno;                                                                          \
        if (got != MAP_FAILED)                                                                     \
            cairn_heap_map_made(&call, (uintptr_t)got, bytes, kind_of(flags, at));                 \
        cairn_heap_map_end(&call);                                                                 \
        errno = code;                                                                              \
        return got;                                                                                \
    } while (0)

void *cairn_mmap(void *va, size_t bytes, int prot, int flags, int fd, long off)
{
    if (__builtin_expect(!REAL(mmap), 0))
        return none();
    if (!cairn_heap_wants_mappings)
        return real.mmap(va, bytes, prot, flags, fd, off);
    MAP(real.mmap(va, bytes, prot, flags, fd, off));
}

void *cairn_mmap64(void *va, size_t bytes, int prot, int flags, int fd, int64_t off)
{
    if (__builtin_expect(!REAL(mmap64), 0)) /* musl since 1.2.4 */
        return sizeof(long) == sizeof(off) ? cairn_mmap(va, bytes, prot, flags, fd, (long)off)
                                           : none();
    if (!cairn_heap_wants_mappings)
        return real.mmap64(va, bytes, prot, flags, fd, off);
    MAP(real.mmap64(va, bytes, prot, flags, fd, off));
}

int cairn_munmap(void *va, size_t bytes)
{
    struct cairn_heap_map_call call;
    if (__builtin_expect(!REAL(munmap), 0))
        return (int)(intptr_t)none();
    if (!cairn_heap_wants_mappings)
        return real.munmap(va, bytes);
    cairn_heap_map_begin(&call, NULL);
    cairn_heap_map_lock(&call);
    int result = real.munmap(va, bytes);
    int code = errno;
    if (result == 0)
        cairn_heap_map_gone(&call, (uintptr_t)va, bytes);
    cairn_heap_map_end(&call);
    errno = code;
    return result;
}

/* The old place stays mapped, empty, with MREMAP_DONTUNMAP; and where its size is given as 0, which
 * asks for a second view of it. */
static void *remap(void *va, size_t bytes, size_t wanted, int flags, void *place,
                   const struct cairn_local_frame_at *at)
{
    struct cairn_heap_map_call call;
    const uintptr_t from = (uintptr_t)va;
    cairn_heap_map_begin(&call, at);
    cairn_heap_map_lock(&call);
    void *got = real.mremap(va, bytes, wanted, flags, place);
    int code = errno;
    if (got != MAP_FAILED) {
        const struct cairn_heap_range range = {
            .from = from,
            .to = flags & DONT_UNMAP ? from : from + bytes,
            .kind = kind_of(MAP_ANONYMOUS, at),
        };
        cairn_heap_map_moved(&call, &range, (uintptr_t)got, wanted);
    }
    cairn_heap_map_end(&call);
    errno = code;
    return got;
}

void *cairn_mremap(void *va, size_t bytes, size_t wanted, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *place = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    if (__builtin_expect(!REAL(mremap), 0))
        return none();
    if (!cairn_heap_wants_mappings)
        return real.mremap(va, bytes, wanted, flags, place);
    return remap(va, bytes, wanted, flags, place, CALLER);
}

/* From `before` to `after`. */
static void moved_break(struct cairn_heap_map_call *call, uintptr_t before, uintptr_t after,
                        const struct cairn_local_frame_at *at)
{
    if (after > before)
        cairn_heap_map_made(call, before, after - before,
                            cairn_heap_real_has(at->ret) ? CAIRN_HEAP_MAP_ALLOCATOR
                                                         : CAIRN_HEAP_MAP_BREAK);
    else if (after < before)
        cairn_heap_map_gone(call, after, before - after);
}

int cairn_brk(void *va)
{
    struct cairn_heap_map_call call;
    const struct cairn_local_frame_at *at = CALLER;
    if (__builtin_expect(!REAL(brk) || !REAL(sbrk), 0))
        return (int)(intptr_t)none();
    if (!cairn_heap_wants_mappings)
        return real.brk(va);
    cairn_heap_map_begin(&call, at);
    cairn_heap_map_lock(&call);
    uintptr_t before = (uintptr_t)real.sbrk(0);
    int result = real.brk(va);
    int code = errno;
    if (result == 0)
        moved_break(&call, before, (uintptr_t)va, at);
    cairn_heap_map_end(&call);
    errno = code;
    return result;
}

void *cairn_sbrk(intptr_t bytes)
{
    struct cairn_heap_map_call call;
    const struct cairn_local_frame_at *at = CALLER;
    if (__builtin_expect(!REAL(sbrk), 0))
        return none();
    if (!cairn_heap_wants_mappings || bytes == 0)
        return real.sbrk(bytes);
    cairn_heap_map_begin(&call, at);
    cairn_heap_map_lock(&call);
    void *before = real.sbrk(bytes);
    int code = errno;
    if (before != MAP_FAILED)
        moved_break(&call, (uintptr_t)before, (uintptr_t)before + (uintptr_t)bytes, at);
    cairn_heap_map_end(&call);
    errno = code;
    return before;
}
