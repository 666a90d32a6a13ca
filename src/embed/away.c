/* SPDX-License-Identifier: MIT */
/*
 * Away: have all other threads left a piece of code that nothing leads to any more?
 *
 * A thread that sleeps tells its instruction and stack pointer in /proc/self/task/TID/syscall. If
 * a signal handler interrupted the code, the code's address is on the stack above.
 *
 * One that runs has left after it ran twice for RUN_NS, as its clock says. The clock also counts
 * what an interrupt takes, or a hypervisor that runs others: so each time its CPU answers a
 * membarrier(2). No other number will do: schedstat is up to 4 ms old, and a thread that an
 * interrupt stopped in the code seemed to have run on. One that may be in a signal handler has to
 * be seen asleep.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "embed/code.h"
#include "embed/place.h"
#include "embed/plan.h"
#include "rt/pages.h"
#include "rt/sys.h"

#ifndef SYS_membarrier
#define SYS_membarrier (-1)
#endif

enum {
    RUN_NS = 100000,
    RUNS = 2,
    BARRIER = 1 << 3, /* MEMBARRIER_CMD_PRIVATE_EXPEDITED, Linux 4.14 */
    BARRIER_REGISTER = 1 << 4,
    NAP_NS = 200000,
    NS_PER_MS = 1000000,
    MAX_THREADS = 1 << 16,
    TEXT_BYTES = 4096, /* of status */
    STACK_MAX = 16 << 20,
    PATH_BYTES = 64,
    ENTRIES_BYTES = 4096
};

struct thread {
    uint32_t tid;
    unsigned runs;
    uint64_t ran_ns; /* when it was seen last, or its last run was counted */
};

struct threads {
    struct thread *items;
    size_t n;
    uint64_t va, n_bytes; /* of the code */
    const struct cairn_embed_memory *memory;
    bool has_barrier;
    bool nests;      /* a handler leaves its own signal unblocked */
    uint64_t caught; /* signals with a handler */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t number(const char *text, unsigned base)
{
    uint64_t value = 0;
    for (;; text++) {
        const unsigned c = (unsigned char)*text;
        unsigned digit = c - '0';
        if (digit > 9)
            digit = base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10 : base;
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

/* False: the thread has ended, or the kernel does not tell. */
static bool read_text(uint32_t tid, const char *name, char text[TEXT_BYTES])
{
    char path[PATH_BYTES] = "/proc/self/task/";
    char digits[16], *at = digits + sizeof digits;
    size_t n = strlen(path);
    do
        *--at = (char)('0' + tid % 10);
    while (tid /= 10);
    memcpy(path + n, at, (size_t)(digits + sizeof digits - at));
    n += (size_t)(digits + sizeof digits - at);
    path[n++] = '/';
    memcpy(path + n, name, strlen(name) + 1);
    return cairn_sys_read_file(path, text, TEXT_BYTES - 1) > 0;
}

/* CPU time of a thread, up to now; UINT64_MAX: the thread is gone. The clock of a thread is as in
 * pthread_getcpuclockid(3). */
static uint64_t ran_ns(uint32_t tid)
{
    struct timespec ran;
    const clockid_t clock = (clockid_t)(~tid << 3 | 6);
    return clock_gettime(clock, &ran) == 0
               ? (uint64_t)ran.tv_sec * 1000000000u + (uint64_t)ran.tv_nsec
               : UINT64_MAX;
}

/* The signals of a line of status, a bit each; all if that is not told. */
static uint64_t read_signals(uint32_t tid, const char *line)
{
    char text[TEXT_BYTES];
    const char *at = read_text(tid, "status", text) ? strstr(text, line) : NULL;
    return at ? number(at + strlen(line), 16) : UINT64_MAX;
}

/* Signals whose handlers can run, and whether one can without a sign in the signal mask. */
static void note_handlers(struct threads *threads, uint32_t own)
{
    struct sigaction action;
    threads->caught = read_signals(own, "SigCgt:\t");
    for (int sig = 1; sig <= 64; sig++)
        if (threads->caught >> (sig - 1) & 1 && sigaction(sig, NULL, &action) == 0)
            threads->nests |= (action.sa_flags & SA_NODEFER) != 0;
}

static bool may_be_in_handler(const struct threads *threads, uint32_t tid)
{
    return threads->caught && (threads->nests || read_signals(tid, "SigBlk:\t") & threads->caught);
}

/* Is an address of the code in the stack from `sp` on? What cannot be read counts as that. */
static bool is_on_stack(const struct threads *threads, uint64_t sp)
{
    static uint64_t words[2048]; /* these two under the room's lock */
    static struct cairn_embed_place place;
    if (!cairn_embed_place_find(sp, &place) || place.to - sp > STACK_MAX)
        return true;
    for (uint64_t at = sp & ~(uint64_t)7; at < place.to; at += sizeof words) {
        const size_t n = place.to - at < sizeof words ? (size_t)(place.to - at) : sizeof words;
        if (!cairn_embed_read(threads->memory, at, words, n))
            return true;
        for (size_t i = 0; i < n / sizeof *words; i++)
            if (words[i] - threads->va < threads->n_bytes)
                return true;
    }
    return false;
}

/* The last two numbers of a thread that sleeps, after "0x". False: it runs, or that is not told. */
static bool read_sleep(uint32_t tid, uint64_t *ret_sp, uint64_t *ret_ip)
{
    char text[TEXT_BYTES];
    char *last = read_text(tid, "syscall", text) ? strrchr(text, ' ') : NULL;
    if (!last || last[1] != '0' || last[2] != 'x')
        return false;
    *last = 0;
    const char *sp = strrchr(text, ' ');
    if (!sp || sp[1] != '0' || sp[2] != 'x')
        return false;
    *ret_ip = number(last + 3, 16);
    *ret_sp = number(sp + 3, 16);
    return true;
}

static bool is_away(const struct threads *threads, struct thread *thread)
{
    uint64_t sp, ip;
    if (read_sleep(thread->tid, &sp, &ip))
        return ip - threads->va >= threads->n_bytes &&
               (!threads->caught || !is_on_stack(threads, sp));
    const uint64_t now = ran_ns(thread->tid);
    if (now == UINT64_MAX)
        return true;
    if (now - thread->ran_ns < RUN_NS || !threads->has_barrier)
        return false;
    thread->ran_ns = now;
    return ++thread->runs >= RUNS && !may_be_in_handler(threads, thread->tid);
}

static void add(struct threads *threads, const struct cairn_sys_entry *entry, uint32_t own)
{
    const uint32_t tid = (uint32_t)number(entry->name, 10);
    if (tid && tid != own && threads->n < MAX_THREADS)
        threads->items[threads->n++] = (struct thread){tid, 0, ran_ns(tid)};
}

/* All but the calling one. False: they cannot be listed. */
static bool list(struct threads *threads, uint32_t own)
{
    _Alignas(struct cairn_sys_entry) char entries[ENTRIES_BYTES];
    const int folder = cairn_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
    long got = folder < 0 ? -1 : 0;
    while (folder >= 0 && (got = cairn_sys_list(folder, entries, sizeof entries)) > 0)
        for (long at = 0; at < got;) {
            const struct cairn_sys_entry *entry = (const void *)(entries + at);
            add(threads, entry, own);
            at += entry->size;
        }
    if (folder >= 0)
        cairn_sys_close(folder);
    return got == 0 && threads->n < MAX_THREADS;
}

/* Leaves those that were not seen elsewhere. */
static void look(struct threads *threads)
{
    for (size_t i = 0; i < threads->n;)
        if (is_away(threads, &threads->items[i]))
            threads->items[i] = threads->items[--threads->n];
        else
            i++;
}

bool cairn_embed_are_away(const struct cairn_embed_memory *memory, uint64_t va, size_t n)
{
    const size_t bytes = MAX_THREADS * sizeof(struct thread);
    const uint64_t deadline_ns = now_ns() + (uint64_t)CAIRN_EMBED_AWAY_MS * NS_PER_MS;
    const uint32_t own = (uint32_t)syscall(SYS_gettid);
    struct threads threads = {
        .items = cairn_pages_map(bytes), .va = va, .n_bytes = n, .memory = memory};
    bool is_known = threads.items && list(&threads, own);
    threads.has_barrier = syscall(SYS_membarrier, BARRIER_REGISTER, 0, 0) == 0;
    note_handlers(&threads, own);
    while (is_known && threads.n) {
        look(&threads);
        if (!threads.n || now_ns() >= deadline_ns)
            break;
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        threads.has_barrier = threads.has_barrier && syscall(SYS_membarrier, BARRIER, 0, 0) == 0;
    }
    cairn_pages_unmap(threads.items, bytes);
    return is_known && !threads.n;
}
