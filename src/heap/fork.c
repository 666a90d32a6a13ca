/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/fork.h"

#include "heap/start.h"
#include "rt/sys.h"

/* The copy on its way from prepare to the child. Nobody else copies meanwhile: its lock is held.
 * But another thread may fork without, within a call. */
static struct {
    struct cairn_lock lock;
    struct cairn_tracked_heap *heap; /* NULL: there is no copy */
    int fd;
    uint64_t signals; /* that were held back before */
} copy;
static _Thread_local bool copies __attribute__((tls_model("initial-exec")));

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

static void end_copy(void)
{
    uint64_t signals = copy.signals;
    if (copy.fd >= 0)
        cairn_heap_file_close(copy.fd);
    cairn_heap_each_lock(copy.heap, give);
    copy.heap = NULL;
    copies = false;
    cairn_lock_give(&copy.lock);
    cairn_sys_release_signals(signals);
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_fork_prepare(void)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    struct cairn_heap_own *own = cairn_heap_mine;
    /* Not within a call, which may hold any lock. */
    if (!heap || !heap->settings.fork_copy || !own || !cairn_heap_is_idle(own))
        return;
    /* What a handler allocates would wait for locks of its own thread. */
    uint64_t signals = cairn_sys_hold_signals();
    cairn_lock_take(&copy.lock);
    cairn_heap_each_lock(heap, take); /* so that what they guard is whole in the copy */
    copy.fd = cairn_heap_state_copy(&heap->state, heap->settings.dir);
    copy.heap = heap;
    copy.signals = signals;
    copies = true;
    if (copy.fd < 0)
        end_copy();
}

void cairn_heap_fork_parent(void)
{
    if (copies)
        end_copy();
}

static void become_copy(struct cairn_tracked_heap *heap)
{
    cairn_heap_each_lock(heap, clear);
    if (cairn_heap_state_become(&heap->state, copy.fd, heap->settings.dir)) {
        cairn_heap_start_adopt(heap);
    } else {
        cairn_heap_file_close(copy.fd);
        cairn_heap_start_anew();
    }
    cairn_sys_release_signals(copy.signals);
}

void cairn_heap_fork_child(void)
{
    struct cairn_tracked_heap *heap = copies ? copy.heap : NULL;
    copy.heap = NULL;
    copies = false;
    clear(&copy.lock);
    if (heap)
        become_copy(heap);
    else
        cairn_heap_start_anew();
}
