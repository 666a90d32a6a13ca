/* SPDX-License-Identifier: MIT */
#include "embed/code.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "embed/embed.h"
#include "rt/own_maps.h"
#include "rt/pages.h"
#include "rt/sys.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
#ifdef SYS_mmap
    MMAP_CALL = SYS_mmap,
    OFF_UNIT = 1
#else
    MMAP_CALL = SYS_mmap2,
    OFF_UNIT = 4096 /* mmap2(2) */
#endif
};

enum {
    NEAR = 1 << 26, /* bytes that are tried around a function first */
    CODE_ALIGNMENT = 16,
    MAP_TRIES = 16 /* another thread may map a free page first */
};

int cairn_embed_memory_open(struct cairn_embed_memory *memory, struct cairn_err *err)
{
    memory->fd = cairn_sys_open("/proc/self/mem", O_RDWR, 0);
    if (memory->fd >= 0)
        return CAIRN_OK;
    int code = cairn_fail_os(err, -memory->fd, "cannot open /proc/self/mem");
    cairn_hint(err, "code is written through it: mount /proc, and let the process dump core "
                    "(prctl PR_SET_DUMPABLE)");
    return code;
}

void cairn_embed_memory_close(struct cairn_embed_memory *memory)
{
    cairn_sys_close(memory->fd);
}

bool cairn_embed_read(const struct cairn_embed_memory *memory, uint64_t va, void *to, size_t n)
{
    return cairn_sys_read_at(memory->fd, to, n, va) == (long)n;
}

bool cairn_embed_write(const struct cairn_embed_memory *memory, uint64_t va, const void *from,
                       size_t n)
{
    return cairn_sys_write_at(memory->fd, from, n, va) == (long)n &&
           memcmp((const void *)(uintptr_t)va, from, n) == 0;
}

uint64_t cairn_embed_find_free(void *context, uint64_t low, uint64_t high, uint64_t n_bytes)
{
    static struct cairn_own_maps_text text; /* under the room's lock */
    uint64_t found = cairn_own_maps_find_free(&text, low, high, n_bytes);
    (void)context;
    return found && found + n_bytes <= high ? found : 0;
}

void *cairn_embed_map_any(size_t n_bytes, int fd, uint64_t off)
{
    const int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
    const long got =
        syscall(MMAP_CALL, 0L, n_bytes, PROT_READ | PROT_EXEC, flags, fd, (long)(off / OFF_UNIT));
    return got == -1 ? NULL : (void *)(uintptr_t)got;
}

bool cairn_embed_map(uint64_t va, size_t n_bytes)
{
    const uint64_t page = cairn_pages_size(), from = va & ~(page - 1);
    const uint64_t bytes = ((va + n_bytes + page - 1) & ~(page - 1)) - from;
    long got = syscall(MMAP_CALL, from, bytes, PROT_READ | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0L);
    /* A kernel before 4.17 takes the address for a hint. */
    if (got != -1 && (unsigned long)got != from)
        syscall(SYS_munmap, got, bytes);
    return (unsigned long)got == from;
}

/* Pages that islands share. */
struct pool {
    struct pool *next;
    uint64_t at, end;
};
static struct pool *pools;

static uint64_t take_from(struct pool *pool, uint64_t low, uint64_t high, size_t n_bytes)
{
    if (pool->at < low || pool->at >= high || pool->end - pool->at < n_bytes)
        return 0;
    pool->at += n_bytes;
    return pool->at - n_bytes;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A page near the function, else anywhere in [low, high); 0: there is none. */
static uint64_t map_page(uint64_t low, uint64_t high, uint64_t near_va)
{
    const size_t page = cairn_pages_size();
    uint64_t from = near_va > NEAR ? near_va - NEAR : 0, to = near_va + NEAR;
    for (unsigned i = 0; i < MAP_TRIES; i++) {
        uint64_t at = cairn_embed_find_free(NULL, (max_u64(low, from) + page - 1) & ~(page - 1),
                                            min_u64(high, to), page);
        if (!at)
            at = cairn_embed_find_free(NULL, (low + page - 1) & ~(page - 1), high, page);
        if (!at || cairn_embed_map(at, page))
            return at;
    }
    return 0;
}

static struct pool *add_pool(uint64_t low, uint64_t high, uint64_t near_va)
{
    const size_t page = cairn_pages_size();
    struct pool *pool = cairn_embed_alloc(sizeof *pool);
    uint64_t at = pool ? map_page(low, high, near_va) : 0;
    if (!at)
        return NULL;
    *pool = (struct pool){pools, at, at + page};
    pools = pool;
    return pool;
}

uint64_t cairn_embed_take_code(uint64_t low, uint64_t high, uint64_t near_va, size_t n_bytes)
{
    uint64_t va = 0;
    n_bytes = (n_bytes + CODE_ALIGNMENT - 1) & ~(size_t)(CODE_ALIGNMENT - 1);
    low = max_u64(low, 0x10000); /* vm.mmap_min_addr */
    for (struct pool *pool = pools; pool && !va; pool = pool->next)
        va = take_from(pool, low, high, n_bytes);
    struct pool *pool = va ? NULL : add_pool(low, high, near_va);
    return pool ? take_from(pool, low, high, n_bytes) : va;
}
