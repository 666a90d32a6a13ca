/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The stack of another thread of this process: it is sent a signal, and walks itself in the
 * handler. Whoever asks waits for that, but not longer than was said: the thread may block the
 * signal, be stopped, or end. So a request lies on pages that stay, and its state says whose it is:
 *
 *            asker                    handler                 asker
 *     FREE --------> WANTED --------------------> WALKING
 *      ^               | too late                  |   | too late
 *      |<--------------+                           |   +--------> LEFT --+  handler
 *      |<------------------------ DONE <-----------+                     |
 *      |<----------------------------------------------------------------+
 *
 * Beside it stands how often the place was taken, so that a handler which comes late meets no other
 * request than its own thread's. Which signal: thread_signal.h.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "rt/pages.h"
#include "unwind/thread_signal.h"

enum {
    REQUESTS = 32,
    TEXT_BYTES = 4096,
    SLICE_NS = 5 * 1000 * 1000 /* how often it is asked whether the thread still lives */
};

enum phase { FREE, FILLING, WANTED, WALKING, LEFT, DONE };
enum { PHASE_BITS = 3 };

struct request {
    _Atomic(uint32_t) state; /* enum phase, and above it how often the place was taken */
    _Atomic(int) tid;
    size_t n, max;
    struct cairn_unwind_info info;
    uint8_t how[CAIRN_MAX_FRAMES];
    uintptr_t ips[CAIRN_MAX_FRAMES];
    char text[TEXT_BYTES]; /* of /proc, for who asks */
};

static _Atomic(struct request *) requests; /* REQUESTS of them; NULL until somebody asks */

static enum phase phase_of(uint32_t state)
{
    return (enum phase)(state & ((1u << PHASE_BITS) - 1));
}

static uint32_t in_phase(uint32_t state, enum phase phase)
{
    return (state & ~((1u << PHASE_BITS) - 1)) | phase;
}

static bool move(struct request *request, uint32_t from, enum phase to)
{
    return atomic_compare_exchange_strong(&request->state, &from, in_phase(from, to));
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The kernel's timespec of this call has two longs, whatever the C library's has. */
static void wait_for(_Atomic(uint32_t) *word, uint32_t state, int64_t ns)
{
    long timeout[2] = {(long)(ns / 1000000000), (long)(ns % 1000000000)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, state, timeout, NULL, 0);
}

static void answer(struct request *request, uint32_t state, const void *ucontext)
{
    request->info = (struct cairn_unwind_info){.size = sizeof request->info, .how = request->how};
    request->n = cairn_unwind_context(ucontext, request->ips, request->max, &request->info);
    uint32_t walking = in_phase(state, WALKING);
    if (move(request, walking, DONE))
        syscall(SYS_futex, &request->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    else
        move(request, in_phase(state, LEFT), FREE);
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    int saved = errno;
    struct request *list = atomic_load(&requests);
    int tid = (int)syscall(SYS_gettid);
    (void)number;
    (void)info;
    for (unsigned i = 0; list && i < REQUESTS; i++) {
        uint32_t state = atomic_load(&list[i].state);
        if (phase_of(state) == WANTED && atomic_load(&list[i].tid) == tid &&
            move(&list[i], state, WALKING))
            answer(&list[i], state, ucontext);
    }
    errno = saved;
}

static struct request *get_requests(void)
{
    const size_t bytes = REQUESTS * sizeof(struct request);
    struct request *list = atomic_load(&requests), *none = NULL;
    if (list)
        return list;
    list = cairn_pages_map(bytes);
    if (!list)
        return NULL;
    cairn_pages_wipe_on_fork(list, bytes); /* those who asked are not in the child */
    if (atomic_compare_exchange_strong(&requests, &none, list))
        return list;
    cairn_pages_unmap(list, bytes);
    return none;
}

static struct request *take_free(struct request *list, uint32_t *ret_state)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        uint32_t state = atomic_load(&list[i].state);
        uint32_t next = in_phase(state + (1u << PHASE_BITS), FILLING);
        if (phase_of(state) == FREE &&
            atomic_compare_exchange_strong(&list[i].state, &state, next)) {
            *ret_state = next;
            return &list[i];
        }
    }
    return NULL;
}

/* Waits for a free place and for the handler: both are only ever held for a moment. */
static struct request *take(int64_t deadline, uint32_t *ret_state, int *ret_signal)
{
    static _Atomic(uint32_t) never;
    struct request *list = get_requests(), *request = NULL;
    while (list) {
        *ret_signal = cairn_thread_signal_get(on_signal);
        if (*ret_signal)
            request = take_free(list, ret_state);
        if (request || now_ns() >= deadline)
            break;
        wait_for(&never, 0, 100 * 1000);
    }
    return request;
}

/* 0, or what errno would be. */
static int send(int number, int tid)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)&requests;
    return syscall(SYS_rt_tgsigqueueinfo, (long)getpid(), (long)tid, (long)number, &info) == 0
               ? 0
               : errno;
}

static bool lives(int tid)
{
    return syscall(SYS_tgkill, (long)getpid(), (long)tid, 0L) == 0 || errno != ESRCH;
}

/* Until it is DONE; anything else: the request was given up, and is not ours any more. */
static enum cairn_unwind_end await(struct request *request, uint32_t state, int tid,
                                   int64_t deadline)
{
    enum cairn_unwind_end why = CAIRN_END_TIMEOUT;
    for (;;) {
        uint32_t now = atomic_load(&request->state);
        if (phase_of(now) == DONE)
            return CAIRN_END_OUTERMOST;
        int64_t left = deadline - now_ns();
        if (left <= 0 || (phase_of(now) == WANTED && !lives(tid)))
            break;
        wait_for(&request->state, now, left < SLICE_NS ? left : SLICE_NS);
    }
    if (!lives(tid))
        why = CAIRN_END_NO_THREAD;
    if (move(request, in_phase(state, WANTED), FREE) ||
        move(request, in_phase(state, WALKING), LEFT))
        return why;
    return CAIRN_END_OUTERMOST; /* it was done in the last moment */
}

static size_t copy_out(struct request *request, uintptr_t *ret_ips,
                       struct cairn_unwind_info *ret_info)
{
    size_t n = request->n;
    memcpy(ret_ips, request->ips, n * sizeof *ret_ips);
    if (!ret_info)
        return n;
    struct cairn_unwind_info info = request->info;
    info.size = ret_info->size;
    info.how = info.size > offsetof(struct cairn_unwind_info, how) ? ret_info->how : NULL;
    if (info.how)
        memcpy(info.how, request->how, n);
    memcpy(ret_info, &info, info.size < sizeof info ? info.size : sizeof info);
    return n;
}

static size_t fail(enum cairn_unwind_end why, struct cairn_unwind_info *ret_info)
{
    if (ret_info &&
        ret_info->size >= offsetof(struct cairn_unwind_info, end) + sizeof ret_info->end)
        ret_info->end = why;
    return 0;
}

static size_t ask(int tid, int64_t deadline, uintptr_t *ret_ips, size_t max,
                  struct cairn_unwind_info *ret_info)
{
    uint32_t state;
    int number;
    struct request *request = take(deadline, &state, &number);
    if (!request)
        return fail(CAIRN_END_BUSY, ret_info);
    atomic_store(&request->tid, tid);
    request->max = max < CAIRN_MAX_FRAMES ? max : CAIRN_MAX_FRAMES;
    atomic_store(&request->state, in_phase(state, WANTED));
    /* One that is left from before runs the handler after this, and serves this request too. */
    bool is_left = cairn_thread_signal_is_left(number, tid, request->text, sizeof request->text);
    int error = is_left ? 0 : send(number, tid);
    if (error && move(request, in_phase(state, WANTED), FREE))
        return fail(error == ESRCH || error == EINVAL ? CAIRN_END_NO_THREAD : CAIRN_END_BUSY,
                    ret_info);
    enum cairn_unwind_end end = await(request, state, tid, deadline);
    if (end != CAIRN_END_OUTERMOST) {
        cairn_thread_signal_leave(number, tid);
        return fail(end, ret_info);
    }
    size_t n = copy_out(request, ret_ips, ret_info);
    move(request, in_phase(state, DONE), FREE);
    return n;
}

CAIRN_API size_t cairn_unwind_thread(int tid, uint64_t timeout_ns, uintptr_t *ret_ips, size_t max,
                                     struct cairn_unwind_info *ret_info)
{
    int saved = errno;
    int64_t start = now_ns();
    int64_t most = INT64_MAX - start;
    int64_t deadline = start + (timeout_ns < (uint64_t)most ? (int64_t)timeout_ns : most);
    size_t n = ask(tid, deadline, ret_ips, max, ret_info);
    errno = saved;
    return n;
}
