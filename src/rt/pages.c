/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "rt/pages.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/seal.h"

enum {
/* 32-bit CPUs have mmap2, which counts a file's bytes by 4096. */
#ifdef SYS_mmap2
    MAP_CALL = SYS_mmap2,
    MAP_UNIT = 4096,
#else
    MAP_CALL = SYS_mmap,
    MAP_UNIT = 1,
#endif
    /* What older headers lack: of Linux 3.4, 4.14 and 5.14. */
    DONT_DUMP = 16,     /* MADV_DONTDUMP */
    WIPE_ON_FORK = 18,  /* MADV_WIPEONFORK */
    POPULATE_WRITE = 23 /* MADV_POPULATE_WRITE */
};

/* TSan must see who maps what, or it takes what the next one who has the same pages writes for a
 * race. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MAP_BY_LIBC
#endif
#endif

#ifdef MAP_BY_LIBC
static long map(size_t bytes)
{
    const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    return (long)mmap(NULL, bytes, prot, flags, -1, 0);
}
#else
/*
 * A hint for mmap(2) that is far from the program's mappings: three quarters of a stack address.
 * Without a hint the kernel may return a hole that the program has just unmapped. A second
 * munmap(2) of the program, or MAP_FIXED, would then destroy the tracker's memory. 0: a 32-bit
 * address space has no such place.
 *
 *     0    program, its heap          ours ──►          ◄── mappings, stack
 *     0x5555...                       0x5fff...             0x7fff...
 */
static uintptr_t place_of(size_t bytes)
{
    static _Atomic(uintptr_t) next;
    const uintptr_t page = cairn_pages_size(), none = 0;
    uintptr_t expected = none, first = (uintptr_t)__builtin_frame_address(0) / 4 * 3;
    if (sizeof(void *) < 8)
        return 0;
    atomic_compare_exchange_strong(&next, &expected, first / page * page);
    return atomic_fetch_add(&next, (bytes + page - 1) / page * page);
}

/* The kernel takes another place where that one is taken. */
static long map(size_t bytes)
{
    const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    return syscall(MAP_CALL, place_of(bytes), bytes, prot, flags, -1, 0L);
}
#endif

size_t cairn_pages_size(void)
{
    int saved = errno;
    size_t size = getauxval(AT_PAGESZ);
    errno = saved;
    return size ? size : 4096;
}

void *cairn_pages_map(size_t bytes)
{
    int saved = errno;
    long got = cairn_seal_forbids_maps() ? -1 : map(bytes);
    errno = saved;
    return got == -1 ? NULL : (void *)(uintptr_t)got;
}

void cairn_pages_unmap(void *pages, size_t bytes)
{
    int saved = errno;
    if (pages && !cairn_seal_forbids_maps())
        syscall(SYS_munmap, pages, bytes);
    errno = saved;
}

#ifdef MAP_BY_LIBC
static long move(void *pages, size_t bytes, size_t more)
{
    long larger = map(more);
    if (larger == -1)
        return larger;
    memcpy((void *)(uintptr_t)larger, pages, bytes);
    munmap(pages, bytes);
    return larger;
}
#else
static long move(void *pages, size_t bytes, size_t more)
{
    long place = map(more);
    if (place == -1)
        return place;
    long moved = syscall(SYS_mremap, pages, bytes, more, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (moved == -1)
        syscall(SYS_munmap, place, more);
    return moved;
}
#endif

void *cairn_pages_grow(void *pages, size_t bytes, size_t more)
{
    int saved = errno;
    bool forbidden = pages ? cairn_seal_forbids_files() : cairn_seal_forbids_maps();
    long got = forbidden ? -1 : pages ? move(pages, bytes, more) : map(more);
    errno = saved;
    return got == -1 ? NULL : (void *)(uintptr_t)got;
}

static bool advise(void *pages, size_t bytes, int what)
{
    int saved = errno;
    bool done = !cairn_seal_forbids_files() && syscall(SYS_madvise, pages, bytes, what) == 0;
    errno = saved;
    return done;
}

void cairn_pages_drop(void *pages, size_t bytes)
{
    advise(pages, bytes, MADV_DONTNEED);
}

bool cairn_pages_wipe_on_fork(void *pages, size_t bytes)
{
    return advise(pages, bytes, WIPE_ON_FORK);
}

void *cairn_pages_map_file(int fd, uint64_t off, size_t bytes, void *at, bool open)
{
    const int prot = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    const int flags = MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0);
    int saved = errno;
    long got = cairn_seal_forbids_files()
                   ? -1
                   : syscall(MAP_CALL, at, bytes, prot, flags, fd, (long)(off / MAP_UNIT));
    if (got != -1)
        syscall(SYS_madvise, got, bytes, DONT_DUMP);
    errno = saved;
    return got == -1 ? NULL : (void *)(uintptr_t)got;
}

bool cairn_pages_open(void *pages, size_t bytes)
{
    int saved = errno;
    bool done = !cairn_seal_forbids_files() &&
                syscall(SYS_mprotect, pages, bytes, PROT_READ | PROT_WRITE) == 0;
    errno = saved;
    return done;
}

bool cairn_pages_allocate(void *pages, size_t bytes)
{
    return advise(pages, bytes, POPULATE_WRITE);
}

bool cairn_pages_punch(void *pages, size_t bytes)
{
    return advise(pages, bytes, MADV_REMOVE);
}
