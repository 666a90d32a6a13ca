/* SPDX-License-Identifier: MIT */
/*
 * Preloaded before the heap tracker: the same accounts, kept by other means. Each allocation of the
 * program (operators new too, by malloc) goes through here to the tracker; its stack is walked by
 * libunwind's unw_step, and how many blocks and bytes each stack got and has is written to
 * AGREE_OUT as it happens, for heap_agree.py to hold against the tracker's state:
 *
 *     uint64_t from, to            where our functions are: the tracker's innermost frame is there
 *     struct account ...           until one with n 0
 *
 * One lock for all, two system calls a frame (libunwind's): nothing to have on but in a test.
 * Children of fork count nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unwind/libunwind.h"

enum {
    STACK_BITS = 22,
    BLOCK_BITS = 24,
    OWN_FRAMES = 2, /* libunwind_walk_here(), malloc() */
};
static const size_t out_bytes = (size_t)8 << 30; /* of addresses, not of disk */

struct account {
    uint64_t n, allocs, bytes, frees, freed_bytes;
    uint64_t pc[]; /* innermost first */
};

struct block {
    uint64_t va, bytes;
    struct account *account;
};

static struct {
    pthread_mutex_t lock;
    struct account **stacks; /* by their hash, 1 << STACK_BITS */
    struct block *blocks;    /* by their address, 1 << BLOCK_BITS */
    size_t n_stacks, n_blocks;
    char *out, *end; /* where the next account goes */
    atomic_bool on;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

static void *map(size_t bytes)
{
    void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        abort();
    return got;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* ---- accounts; all under the lock ---- */

static struct account *account_of(const uint64_t *pc, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = mix(hash, pc[i]);
    const size_t mask = ((size_t)1 << STACK_BITS) - 1;
    size_t at = hash & mask;
    for (; now.stacks[at]; at = (at + 1) & mask)
        if (now.stacks[at]->n == n && memcmp(now.stacks[at]->pc, pc, n * sizeof *pc) == 0)
            return now.stacks[at];
    struct account *made = (struct account *)(void *)now.end;
    now.end += sizeof *made + n * sizeof *pc;
    if (now.end + sizeof *made > now.out + out_bytes || ++now.n_stacks > mask / 2)
        abort();
    memcpy(made->pc, pc, n * sizeof *pc);
    made->n = n;
    now.stacks[at] = made;
    return made;
}

static size_t home_of(uint64_t va)
{
    return (size_t)(mix(0, va) >> (64 - BLOCK_BITS));
}

static struct block *find(uint64_t va)
{
    size_t at = home_of(va);
    while (now.blocks[at].va && now.blocks[at].va != va)
        at = (at + 1) & (((size_t)1 << BLOCK_BITS) - 1);
    return &now.blocks[at];
}

/* What follows in the same run moves up, so that there are no gaps to search over. */
static void take_out(struct block *gone)
{
    const size_t mask = ((size_t)1 << BLOCK_BITS) - 1;
    size_t hole = (size_t)(gone - now.blocks);
    for (size_t at = (hole + 1) & mask; now.blocks[at].va; at = (at + 1) & mask)
        if (((at - home_of(now.blocks[at].va)) & mask) >= ((at - hole) & mask)) {
            now.blocks[hole] = now.blocks[at];
            hole = at;
        }
    now.blocks[hole] = (struct block){0};
    now.n_blocks--;
}

static void born(const struct libunwind_stack *stack, const void *block, size_t bytes)
{
    pthread_mutex_lock(&now.lock);
    struct account *account = account_of(stack->pc + OWN_FRAMES, stack->n - OWN_FRAMES);
    account->allocs++;
    account->bytes += bytes;
    struct block *place = find((uintptr_t)block);
    if (!place->va && ++now.n_blocks > (size_t)1 << (BLOCK_BITS - 1))
        abort();
    *place = (struct block){(uintptr_t)block, bytes, account};
    pthread_mutex_unlock(&now.lock);
}

/* Of a block from before, or from a function that is not watched, nothing is known. */
static struct block died(const void *block)
{
    pthread_mutex_lock(&now.lock);
    struct block *place = find((uintptr_t)block), was = *place;
    if (was.va) {
        was.account->frees++;
        was.account->freed_bytes += was.bytes;
        take_out(place);
    }
    pthread_mutex_unlock(&now.lock);
    return was;
}

static void live_again(const struct block *was)
{
    pthread_mutex_lock(&now.lock);
    if (was->va) {
        was->account->frees--;
        was->account->freed_bytes -= was->bytes;
        *find(was->va) = *was;
        now.n_blocks++;
    }
    pthread_mutex_unlock(&now.lock);
}

/* ---- the functions in front ---- */

static struct {
    void *(*malloc)(size_t), *(*calloc)(size_t, size_t), *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t), *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *);
    bool known;
} next;

static void find_next(void)
{
    next.known = true;
    *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
}

/* Is this call one to keep accounts of? */
static bool enter(void)
{
    if (!next.known)
        find_next();
    if (!atomic_load_explicit(&now.on, memory_order_relaxed) || inside)
        return false;
    inside = true;
    return true;
}

static void leave(void)
{
    inside = false;
}

#define WATCHED __attribute__((section("watched"), visibility("default"), noinline))
#define QUIET   __attribute__((noinline)) static

/* The tracker's innermost frame tells calls that were watched from those that were not: these
 * functions lie elsewhere. */
QUIET void *quiet_malloc(size_t size)
{
    void *block = next.malloc(size);
    __asm__ volatile("" ::: "memory"); /* no tail call */
    return block;
}

QUIET void *quiet_calloc(size_t n, size_t size)
{
    void *block = next.calloc(n, size);
    __asm__ volatile("" ::: "memory");
    return block;
}

QUIET void *quiet_realloc(void *block, size_t size)
{
    void *moved = next.realloc(block, size);
    __asm__ volatile("" ::: "memory");
    return moved;
}

/* `call`, between the walk before it and the entry behind it. */
#define ALLOCATE(bytes, quiet, call)                                                               \
    do {                                                                                           \
        if (!enter())                                                                              \
            return quiet;                                                                          \
        struct libunwind_stack stack;                                                              \
        libunwind_walk_here(&stack);                                                               \
        void *block_ = call;                                                                       \
        int error = errno;                                                                         \
        if (block_)                                                                                \
            born(&stack, block_, bytes);                                                           \
        errno = error;                                                                             \
        leave();                                                                                   \
        return block_;                                                                             \
    } while (0)

WATCHED void *malloc(size_t size)
{
    ALLOCATE(size, quiet_malloc(size), next.malloc(size));
}

WATCHED void *calloc(size_t n, size_t size)
{
    ALLOCATE(n * size, quiet_calloc(n, size), next.calloc(n, size));
}

WATCHED void *realloc(void *block, size_t size)
{
    if (!enter())
        return quiet_realloc(block, size);
    struct libunwind_stack stack;
    libunwind_walk_here(&stack);
    struct block was = {0};
    if (block)
        was = died(block);
    void *moved = next.realloc(block, size);
    int error = errno;
    if (moved)
        born(&stack, moved, size);
    else if (size != 0)
        live_again(&was);
    errno = error;
    leave();
    return moved;
}

WATCHED void *memalign(size_t alignment, size_t size)
{
    ALLOCATE(size, quiet_malloc(size), next.memalign(alignment, size));
}

WATCHED void *aligned_alloc(size_t alignment, size_t size)
{
    ALLOCATE(size, quiet_malloc(size), next.aligned_alloc(alignment, size));
}

WATCHED int posix_memalign(void **ret, size_t alignment, size_t size)
{
    if (!enter())
        return next.posix_memalign(ret, alignment, size);
    struct libunwind_stack stack;
    libunwind_walk_here(&stack);
    int code = next.posix_memalign(ret, alignment, size);
    if (code == 0)
        born(&stack, *ret, size);
    leave();
    return code;
}

static void forget(void *block)
{
    if (block && enter()) {
        died(block);
        leave();
    }
}

WATCHED void free(void *block)
{
    int error = errno;
    forget(block);
    errno = error;
    if (!next.known)
        find_next();
    next.free(block);
}

/* ---- the beginning ---- */

static void in_child(void)
{
    atomic_store(&now.on, false);
}

extern const char watched_from[] __asm__("__start_watched"), watched_to[] __asm__("__stop_watched");

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("AGREE_OUT");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || !libunwind_find() || ftruncate(fd, (off_t)out_bytes) != 0)
        return; /* a program that it started, or there is nothing to compare with */
    now.out = mmap(NULL, out_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    if (now.out == MAP_FAILED)
        abort();
    const uint64_t range[] = {(uintptr_t)watched_from, (uintptr_t)watched_to};
    memcpy(now.out, range, sizeof range);
    now.end = now.out + sizeof range;
    now.stacks = map(sizeof *now.stacks << STACK_BITS);
    now.blocks = map(sizeof *now.blocks << BLOCK_BITS);
    pthread_atfork(NULL, NULL, in_child);
    struct libunwind_stack stack;
    libunwind_use_cache();
    libunwind_walk_here(&stack); /* what it needs at first */
    atomic_store(&now.on, true);
}
