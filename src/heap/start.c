/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/start.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/count.h"
#include "heap/epoch.h"
#include "heap/settings.h"
#include "heap/tidy.h"
#include "rt/pages.h"
#include "rt/sys.h"

_Thread_local struct cairn_heap_own *cairn_heap_own
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

enum { PAGE = 4096, OWN_PAGES = (sizeof(struct cairn_heap_own) + PAGE - 1) / PAGE };
static struct cairn_thread_blocks blocks = {.bytes = OWN_PAGES * PAGE, .kept = CAIRN_HEAP_OWN_KEPT};

/* What a child of fork has a copy of. */
static struct {
    struct cairn_heap_settings settings;
    struct cairn_heap *heap; /* as cairn_heap_root has it, which is wiped */
    uint32_t pid;            /* whose it is */
    bool read;               /* settings are */
    bool wiped;              /* in children of fork cairn_heap_root is */
    atomic_bool off;         /* nothing is recorded */
} process;

/* Who makes the state. A copy of it that is held in a child is that of a thread which is not there:
 * so the number of the process goes with that of the thread. */
static struct {
    struct cairn_lock lock;
    _Atomic(uint32_t) pid, tid;
} starting;

unsigned cairn_heap_granule_bits = 3;
bool cairn_heap_wants_mappings;

static uint32_t this_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static bool have_settings(void)
{
    if (!process.read) {
        process.settings.granule_bits = cairn_heap_granule_bits;
        atomic_store(&process.off, !cairn_heap_settings_read(&process.settings));
        process.read = true;
        cairn_heap_wants_mappings = process.settings.mappings;
    }
    return !atomic_load(&process.off);
}

static struct cairn_heap *make(const struct cairn_heap_settings *settings)
{
    if (settings->own_dir)
        cairn_heap_tidy(settings->dir, settings->max_bytes / CAIRN_HEAP_TIDY_SHARE);
    struct cairn_heap *heap = cairn_heap_new(settings);
    if (!heap)
        return NULL;
    process.wiped = cairn_pages_wipe_on_fork(&cairn_heap_root, sizeof(cairn_heap_root));
    process.heap = heap;
    process.pid = (uint32_t)getpid();
    atomic_store_explicit(&cairn_heap_root.heap, heap, memory_order_release);
    return heap;
}

static struct cairn_heap *start_locked(void)
{
    struct cairn_heap *heap = atomic_load(&cairn_heap_root.heap);
    if (heap || !have_settings())
        return heap;
    if (process.heap) {
        process.settings.parent = process.pid;
        cairn_heap_leave(process.heap);
        process.heap = NULL;
    }
    heap = make(&process.settings);
    if (!heap)
        atomic_store(&process.off, true);
    return heap;
}

/* NULL also where this thread is just about it, and this is a signal handler. */
static struct cairn_heap *start_process(void)
{
    uint32_t tid = this_thread(), pid = (uint32_t)getpid();
    if (atomic_load(&process.off) || atomic_load(&starting.tid) == tid)
        return NULL;
    if (atomic_load(&starting.pid) != pid && atomic_load(&starting.pid) != 0)
        atomic_store(&starting.lock.word, 0);
    cairn_lock_take(&starting.lock);
    atomic_store(&starting.tid, tid);
    atomic_store(&starting.pid, pid);
    struct cairn_heap *heap = start_locked();
    atomic_store(&starting.tid, 0);
    cairn_lock_give(&starting.lock);
    return heap;
}

/* What a call that was left behind may hold. */
static void break_locks(struct cairn_heap *heap)
{
    struct cairn_lock *const locks[] = {&heap->state.lock,  &heap->stacks.lock, &heap->large.lock,
                                        &heap->shadow.lock, &heap->epoch_lock,  &heap->maps.lock};
    for (unsigned i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
        cairn_lock_break(locks[i]);
    for (unsigned i = 0; i < CAIRN_HEAP_STRIPES; i++)
        cairn_lock_break(&heap->stripes[i]);
}

/* A block of another state, before a fork or a test's, has deltas that are not ours. */
CAIRN_THREAD_BLOCK_ACCESS static bool set_up(struct cairn_heap *heap, struct cairn_heap_own *own)
{
    if (own->heap != heap)
        own->shared = NULL;
    own->heap = heap;
    own->until_tick = CAIRN_HEAP_TICK;
    own->n_conflicts = 0;
    own->ready = heap->settings.sample_bytes ? CAIRN_HEAP_IDLE_SAMPLES : CAIRN_HEAP_IDLE;
    if (heap->settings.sample_bytes)
        cairn_heap_sample_begin(&own->sampler, heap->settings.sample_bytes,
                                cairn_heap_epoch_now_ns() ^ (uint64_t)this_thread() << 40);
    return cairn_heap_count_begin(heap, own);
}

/* The call under way was left by longjmp(3) out of a signal handler, if none that it could be
 * interrupted by is: a handler's frames are below a signal's, which takes more than so much, or on
 * the stack that is kept for handlers. */
static bool was_left(uintptr_t call, uintptr_t sp)
{
    enum { LESS_THAN_SIGNAL_FRAME = 512 };
    stack_t other;
    if (cairn_sys_signal_stack(&other) < 0 || other.ss_flags & SS_ONSTACK)
        return false;
    bool was_on_other =
        !(other.ss_flags & SS_DISABLE) && call - (uintptr_t)other.ss_sp < other.ss_size;
    return was_on_other || sp + LESS_THAN_SIGNAL_FRAME > call;
}

/* A block whose head reads zero was wiped by a fork. */
CAIRN_THREAD_BLOCK_ACCESS struct cairn_heap_own *
cairn_heap_start_thread(struct cairn_heap **ret_heap, uintptr_t sp)
{
    struct cairn_heap *heap = atomic_load_explicit(&cairn_heap_root.heap, memory_order_acquire);
    *ret_heap = heap ? heap : start_process();
    struct cairn_heap_own *own = cairn_heap_own;
    if (!*ret_heap)
        return NULL;
    if (own && atomic_load_explicit(&own->head.owner, memory_order_relaxed) != 0 &&
        own->heap == *ret_heap) {
        if (own->idle <= CAIRN_HEAP_IDLE_SAMPLES || !was_left(own->idle, sp))
            return NULL;
        own->idle = sp;
        break_locks(*ret_heap);
        return own;
    }
    own = cairn_thread_claim(&blocks);
    if (!own)
        return NULL;
    cairn_lock_number = this_thread();
    bool done = set_up(*ret_heap, own);
    if (done) /* never idle if it has no deltas */
        own->idle = sp;
    atomic_signal_fence(memory_order_seq_cst);
    cairn_heap_own = own;
    return done ? own : NULL;
}

CAIRN_THREAD_BLOCK_ACCESS bool cairn_heap_start(const struct cairn_heap_settings *settings)
{
    if (cairn_heap_own)
        cairn_heap_own->idle = 0;
    memcpy(&process.settings, settings, sizeof(*settings));
    process.read = true;
    cairn_heap_wants_mappings = settings->mappings;
    atomic_store(&process.off, false);
    return make(&process.settings) != NULL;
}

void cairn_heap_start_anew(void)
{
    if (!cairn_heap_present())
        return;
    cairn_heap_own = NULL;
    atomic_store(&cairn_heap_root.heap, NULL);
}

void cairn_heap_start_adopt(struct cairn_heap *heap)
{
    heap->settings.parent = process.settings.parent = process.pid;
    process.heap = heap;
    process.pid = (uint32_t)getpid();
    atomic_store_explicit(&cairn_heap_root.heap, heap, memory_order_release);
}

void cairn_heap_start_look(void)
{
    if (!process.wiped && process.heap && process.pid != (uint32_t)getpid())
        cairn_heap_start_anew();
}

struct cairn_heap *cairn_heap_present(void)
{
    return atomic_load_explicit(&cairn_heap_root.heap, memory_order_acquire);
}
