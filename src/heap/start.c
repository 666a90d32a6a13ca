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
#include "heap/untracked.h"
#include "rt/pages.h"
#include "rt/seal.h"
#include "rt/sys.h"

struct cairn_heap_own cairn_heap_nobody;
#ifndef CAIRN_NO_TLS
_Thread_local struct cairn_heap_own *cairn_heap_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
_Thread_local struct cairn_heap_own *cairn_heap_hot
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = &cairn_heap_nobody;
_Thread_local uintptr_t cairn_heap_starting_at
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
_Thread_local uint32_t cairn_heap_disabled
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

void cairn_heap_set_own(struct cairn_heap_own *own)
{
    cairn_heap_hot = own ? own : &cairn_heap_nobody;
    cairn_heap_mine = own;
}
#endif

enum { PAGE = 4096, OWN_PAGES = (sizeof(struct cairn_heap_own) + PAGE - 1) / PAGE };
struct cairn_thread_blocks cairn_heap_threads = {.bytes = OWN_PAGES * PAGE,
                                                 .kept = CAIRN_HEAP_OWN_KEPT};

/* What a child of fork has a copy of. */
static struct {
    struct cairn_heap_settings settings;
    struct cairn_tracked_heap *heap; /* as cairn_heap_root has it, which is wiped */
    uint32_t pid;                    /* whose it is */
    bool read;                       /* settings are */
    bool wiped;                      /* in children of fork cairn_heap_root is */
} process;

/* Who makes the state. A copy of the lock that is held in a child is that of a thread which is not
 * there: so the number of the process goes with it. */
static struct {
    struct cairn_lock lock;
    _Atomic(uint32_t) pid;
} starting;

atomic_bool cairn_heap_off;
unsigned cairn_heap_granule_bits = 3;
bool cairn_heap_wants_mappings, cairn_heap_starts_later;

static uint32_t this_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static bool have_settings(void)
{
    if (!process.read) {
        process.settings.granule_bits = cairn_heap_granule_bits;
        atomic_store(&cairn_heap_off, !cairn_heap_settings_read(&process.settings));
        process.read = true;
        cairn_heap_wants_mappings = process.settings.mappings;
    }
    return !atomic_load(&cairn_heap_off);
}

static struct cairn_tracked_heap *make(const struct cairn_heap_settings *settings)
{
    if (settings->own_dir)
        cairn_heap_tidy(settings->dir, settings->max_bytes / CAIRN_HEAP_TIDY_SHARE);
    struct cairn_tracked_heap *heap = cairn_heap_new(settings);
    if (!heap)
        return NULL;
    process.settings.fd_plus_1 = 0; /* not for children of fork */
    process.wiped = cairn_pages_wipe_on_fork(&cairn_heap_root, sizeof(cairn_heap_root));
    process.heap = heap;
    process.pid = (uint32_t)getpid();
    cairn_heap_set_turn(heap);
    atomic_store_explicit(&cairn_heap_root.heap, heap, memory_order_release);
    return heap;
}

/* A child of fork that has become another user, or lives below another root directory, may have no
 * state: its parent's says so, and stays for what the child starts. */
static bool is_shut_out(struct cairn_tracked_heap *parents)
{
    if (process.pid == (uint32_t)getpid() || cairn_heap_file_may_make(process.settings.dir))
        return false;
    char path[CAIRN_HEAP_PATH];
    long n = cairn_sys_read_link("/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = 0;
    process.heap = parents;
    cairn_heap_untracked_note(CAIRN_PROGRAM_UNREACHABLE, path);
    return true;
}

static struct cairn_tracked_heap *start_locked(void)
{
    struct cairn_tracked_heap *heap = atomic_load(&cairn_heap_root.heap);
    if (heap || !have_settings())
        return heap;
    struct cairn_tracked_heap *old = process.heap;
    process.heap = NULL; /* before it is left, for this may be left itself, and be done again */
    if (old && is_shut_out(old)) {
        atomic_store(&cairn_heap_off, true);
        return NULL;
    }
    if (old) {
        if (process.pid != (uint32_t)getpid())
            process.settings.parent = process.pid;
        cairn_heap_set_turn(NULL);
        cairn_heap_leave(old);
    }
    heap = make(&process.settings);
    if (!heap)
        atomic_store(&cairn_heap_off, true);
    return heap;
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

/* A child of fork whose parent had sealed itself has the same filter, which may end it at any call
 * that a state needs. Its parent's says so, once. */
static void shut_out_sealed(void)
{
    if (!atomic_exchange(&cairn_heap_off, true) && process.heap)
        cairn_heap_untracked_note(CAIRN_PROGRAM_SEALED, process.heap->state.header->command);
}

/* NULL also where this thread is just about it, and this is a signal handler. */
static struct cairn_tracked_heap *start_process(uintptr_t sp)
{
    if (atomic_load(&cairn_heap_off) || cairn_heap_starts_later ||
        (cairn_heap_starting_at && !was_left(cairn_heap_starting_at, sp)))
        return NULL;
    if (cairn_seal_forbids_files()) {
        shut_out_sealed();
        return NULL;
    }
    uint32_t pid = (uint32_t)getpid(), before = atomic_exchange(&starting.pid, pid);
    if (before != pid && before != 0)
        atomic_store(&starting.lock.word, 0);
    /* Before the lock is taken, so that there is no moment at which nobody knows who holds it. */
    cairn_lock_number = this_thread();
    cairn_heap_starting_at = sp;
    atomic_signal_fence(memory_order_seq_cst);
    cairn_lock_break(&starting.lock);
    cairn_lock_take(&starting.lock);
    struct cairn_tracked_heap *heap = start_locked();
    cairn_lock_give(&starting.lock);
    atomic_signal_fence(memory_order_seq_cst);
    cairn_heap_starting_at = 0;
    return heap;
}

/* The rest is done while it is known that a call is under way: for it takes a lock. */
CAIRN_THREAD_BLOCK_ACCESS static bool set_up(struct cairn_tracked_heap *heap,
                                             struct cairn_heap_own *own)
{
    own->until_tick = CAIRN_HEAP_TICK;
    own->n_conflicts = 0;
    if (heap->settings.sample_bytes)
        cairn_heap_sample_begin(&own->sampler, heap->settings.sample_bytes,
                                cairn_heap_epoch_now_ns() ^ (uint64_t)this_thread() << 40);
    if (!cairn_heap_count_begin(heap, own)) {
        own->idle = 0; /* never idle if it has no deltas */
        return false;
    }
    atomic_signal_fence(memory_order_seq_cst);
    cairn_heap_count_look(heap, own);
    return true;
}

/* The calling thread's, of which a handler sees from its first lock on that a call is under way. */
CAIRN_THREAD_BLOCK_ACCESS static struct cairn_heap_own *claim(struct cairn_tracked_heap *heap,
                                                              uintptr_t sp)
{
    struct cairn_heap_own *own = cairn_thread_claim(&cairn_heap_threads);
    if (!own)
        return NULL;
    cairn_lock_number = this_thread();
    /* A block of another state, before a fork or a test's, has deltas that are not ours. */
    if (own->heap != heap)
        own->shared = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    own->heap = heap;
    own->idle = sp;
    atomic_signal_fence(memory_order_seq_cst);
    cairn_heap_set_own(own);
    atomic_signal_fence(memory_order_seq_cst);
    return own;
}

/* A block whose head reads zero was wiped by a fork. */
CAIRN_THREAD_BLOCK_ACCESS struct cairn_heap_own *
cairn_heap_start_thread(struct cairn_tracked_heap **ret_heap, uintptr_t sp)
{
    struct cairn_tracked_heap *heap =
        atomic_load_explicit(&cairn_heap_root.heap, memory_order_acquire);
    *ret_heap = heap = heap ? heap : start_process(sp);
    struct cairn_heap_own *own = cairn_heap_mine;
    if (!heap)
        return NULL;
    if (own && atomic_load_explicit(&own->head.owner, memory_order_relaxed) != 0 &&
        own->heap == heap) {
        if (own->idle == 0 || cairn_heap_is_idle(own) || !was_left(own->idle, sp))
            return NULL;
        own->idle = sp;
        own->same = own->generation = 0; /* frames may have been compared, but not hashed yet */
        cairn_heap_each_lock(heap, cairn_lock_break); /* what that one may hold */
    } else if (!(own = claim(heap, sp))) {
        return NULL;
    }
    return own->ready || set_up(heap, own) ? own : NULL;
}

CAIRN_THREAD_BLOCK_ACCESS bool cairn_heap_start(const struct cairn_heap_settings *settings)
{
    if (cairn_heap_mine)
        cairn_heap_mine->idle = 0;
    memcpy(&process.settings, settings, sizeof(*settings));
    process.read = true;
    cairn_heap_wants_mappings = settings->mappings;
    atomic_store(&cairn_heap_off, false);
    return make(&process.settings) != NULL;
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_start_anew(void)
{
    if (!cairn_heap_present())
        return;
    /* The next state may lie where this one does. */
    if (cairn_heap_mine)
        cairn_heap_mine->heap = NULL;
    cairn_heap_set_own(NULL);
    atomic_store(&cairn_heap_root.heap, NULL);
}

void cairn_heap_start_adopt(struct cairn_tracked_heap *heap)
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

struct cairn_tracked_heap *cairn_heap_start_last(void)
{
    return process.heap;
}

bool cairn_heap_start_is_lent(void)
{
    return cairn_heap_present() && process.pid != (uint32_t)getpid();
}

struct cairn_tracked_heap *cairn_heap_present(void)
{
    return atomic_load_explicit(&cairn_heap_root.heap, memory_order_acquire);
}
