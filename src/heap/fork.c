/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/fork.h"

#include "heap/start.h"

/* The copy on its way from prepare to the child. Nobody else forks meanwhile: its lock is held. */
static struct {
    struct cairn_lock lock;
    struct cairn_heap *heap; /* NULL: there is no copy */
    int fd;
} copy;

/* All locks of a state, so that what they guard is whole in the copy. State's last: who holds one
 * of the others may wait for it. */
static void each_lock(struct cairn_heap *heap, void (*what)(struct cairn_lock *))
{
    struct cairn_lock *const locks[] = {&heap->empty.lock, &heap->shadow.lock, &heap->stacks.lock,
                                        &heap->epoch_lock, &heap->large.lock,  &heap->maps.lock};
    for (unsigned i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
        what(locks[i]);
    for (unsigned i = 0; i < CAIRN_HEAP_STRIPES; i++)
        what(&heap->stripes[i]);
    what(&heap->state.lock);
}

static void take(struct cairn_lock *lock)
{
    cairn_lock_take(lock);
}

static void give(struct cairn_lock *lock)
{
    cairn_lock_give(lock);
}

/* Of the child, who alone is there. */
static void clear(struct cairn_lock *lock)
{
    atomic_store(&lock->word, 0);
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_fork_prepare(void)
{
    struct cairn_heap *heap = cairn_heap_present();
    struct cairn_heap_own *own = cairn_heap_own;
    /* Not within a call, which may hold any lock. */
    if (!heap || !heap->settings.fork_copy || !own || !cairn_heap_is_idle(own))
        return;
    cairn_lock_take(&copy.lock);
    each_lock(heap, take);
    copy.fd = cairn_heap_state_copy(&heap->state, heap->settings.dir);
    copy.heap = copy.fd < 0 ? NULL : heap;
    if (copy.heap)
        return;
    each_lock(heap, give);
    cairn_lock_give(&copy.lock);
}

void cairn_heap_fork_parent(void)
{
    if (!copy.heap || copy.heap != cairn_heap_present())
        return;
    cairn_heap_file_close(copy.fd);
    each_lock(copy.heap, give);
    copy.heap = NULL;
    cairn_lock_give(&copy.lock);
}

void cairn_heap_fork_child(void)
{
    struct cairn_heap *heap = copy.heap;
    copy.heap = NULL;
    clear(&copy.lock);
    if (!heap) {
        cairn_heap_start_anew();
        return;
    }
    each_lock(heap, clear);
    if (cairn_heap_state_become(&heap->state, copy.fd, heap->settings.dir)) {
        cairn_heap_start_adopt(heap);
    } else {
        cairn_heap_file_close(copy.fd);
        cairn_heap_start_anew();
    }
}
