/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late C: the replacements of C's allocation functions (heap/late.h). In libcairn-track alone.
 */
#include <errno.h>
#include <stdint.h>

#include "heap/late_call.h"
#include "heap/late_originals.h"
#include "heap/late_rows.h"
#include "heap/within.h"

#define REAL   cairn_heap_real
#define MORE   cairn_late_more
#define CALLER ((struct cairn_local_frame_at)CAIRN_HEAP_CALLER)
#define KIND   CAIRN_HEAP_KIND_MALLOC

struct cairn_heap_real cairn_heap_real;
struct cairn_late_more cairn_late_more;
atomic_bool cairn_late_records, cairn_late_is_chosen;

/* A thread without an entry, or without an own yet, or within a call. */
__attribute__((noinline, cold)) struct cairn_heap_death cairn_late_died_slowly(const void *block)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    if (!cairn_mine_is_none(cairn_mine()))
        return cairn_heap_died_if_known(block);
    return heap ? cairn_heap_died_within(heap, block) : (struct cairn_heap_death){0};
}

void *cairn_late_malloc(size_t size)
{
    void *block = REAL.malloc(size);
    if (__builtin_expect(block && cairn_late_wants_birth(), 1))
        return cairn_heap_born(block, size, KIND);
    return block;
}

void *cairn_late_calloc(size_t n, size_t size)
{
    void *block = REAL.calloc(n, size);
    if (__builtin_expect(block && cairn_late_wants_birth(), 1))
        return cairn_heap_born(block, n * size, KIND);
    return block;
}

void cairn_late_free(void *block)
{
    if (block)
        cairn_late_died(block);
    REAL.free(block);
}

void cairn_late_free_sized(void *block, size_t size)
{
    if (block)
        cairn_late_died(block);
    MORE.free_sized(block, size);
}

void cairn_late_free_aligned_sized(void *block, size_t alignment, size_t size)
{
    if (block)
        cairn_late_died(block);
    MORE.free_aligned_sized(block, alignment, size);
}

void cairn_late_cfree(void *block)
{
    if (block)
        cairn_late_died(block);
    MORE.cfree(block);
}

/* A block that was not freed lives as before (heap/interpose.c: realloc). */
static void *settle(void *block, void *moved, size_t size, const struct cairn_heap_death *death)
{
    if (!moved && size != 0 && death->entry != 0)
        cairn_heap_put_back(block, death);
    return moved;
}

/* As the replacement that it is in: the caller is that one's. */
CAIRN_HEAP_HOT void *move(void *block, size_t size)
{
    struct cairn_heap_death death = {0};
    if (block)
        death = cairn_late_died(block);
    struct cairn_mine *mine = cairn_late_enter();
    void *moved = REAL.realloc(block, size);
    cairn_late_leave(mine);
    if (__builtin_expect(moved && mine, 1))
        return cairn_heap_born(moved, size, KIND);
    return settle(block, moved, size, &death);
}

CAIRN_HEAP_HOT void *move_array(void *block, size_t n, size_t size)
{
    struct cairn_heap_death death = {0};
    if (block)
        death = cairn_late_died(block);
    struct cairn_mine *mine = cairn_late_enter();
    void *moved = MORE.reallocarray(block, n, size);
    cairn_late_leave(mine);
    if (moved && mine)
        return cairn_heap_born(moved, n * size, KIND);
    return settle(block, moved, n && size, &death);
}

static bool is_chosen(void)
{
    return __builtin_expect(atomic_load_explicit(&cairn_late_is_chosen, memory_order_relaxed), 0);
}

void *cairn_late_realloc(void *block, size_t size)
{
    return is_chosen() ? cairn_late_realloc_elsewhere(block, size) : move(block, size);
}

void *cairn_late_reallocarray(void *block, size_t n, size_t size)
{
    return is_chosen() ? cairn_late_reallocarray_elsewhere(block, n, size)
                       : move_array(block, n, size);
}

void *cairn_late_realloc_chosen(void *block, size_t size)
{
    return move(block, size);
}

void *cairn_late_reallocarray_chosen(void *block, size_t n, size_t size)
{
    return move_array(block, n, size);
}

/* For callers whose blocks are not recorded. A hooked library's block that they move is theirs. */
void *cairn_late_realloc_elsewhere(void *block, size_t size)
{
    struct cairn_heap_death death = {0};
    if (block)
        death = cairn_late_died(block);
    return settle(block, REAL.realloc(block, size), size, &death);
}

void *cairn_late_reallocarray_elsewhere(void *block, size_t n, size_t size)
{
    struct cairn_heap_death death = {0};
    if (block)
        death = cairn_late_died(block);
    return settle(block, MORE.reallocarray(block, n, size), n && size, &death);
}

static void *born(struct cairn_mine *mine, void *block, size_t size,
                  struct cairn_local_frame_at caller)
{
    if (block && mine)
        cairn_heap_born_fully(block, size, KIND, caller.ret, caller.sp, caller.fp);
    return block;
}

int cairn_late_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    struct cairn_mine *mine = cairn_late_enter();
    int code = REAL.posix_memalign(ret_block, alignment, size);
    cairn_late_leave(mine);
    if (code == 0)
        born(mine, *ret_block, size, CALLER);
    return code;
}

/* `call` of the original, as the outermost call. */
#define BORN_BY(call, size)                                                                        \
    do {                                                                                           \
        struct cairn_mine *mine_ = cairn_late_enter();                                             \
        void *block_ = (call);                                                                     \
        cairn_late_leave(mine_);                                                                   \
        return born(mine_, block_, size, CALLER);                                                  \
    } while (0)

void *cairn_late_aligned_alloc(size_t alignment, size_t size)
{
    BORN_BY(REAL.aligned_alloc(alignment, size), size);
}

void *cairn_late_memalign(size_t alignment, size_t size)
{
    BORN_BY(REAL.memalign(alignment, size), size);
}

void *cairn_late_valloc(size_t size)
{
    BORN_BY(REAL.valloc(size), size);
}

void *cairn_late_pvalloc(size_t size)
{
    BORN_BY(REAL.pvalloc(size), size);
}
