/* SPDX-License-Identifier: MIT */
/*
 * Away: have all other threads left a piece of code that nothing leads to any more? A thread that
 * sleeps tells its instruction pointer in /proc/self/task/TID/syscall, as the last number. Of one
 * that runs, schedstat tells for how long it has run: RUN_NS more, and it has left.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "embed/plan.h"
#include "rt/pages.h"
#include "rt/sys.h"

enum {
    RUN_NS = 100000,
    NAP_NS = 200000,
    NS_PER_MS = 1000000,
    MAX_THREADS = 1 << 16,
    TEXT_BYTES = 256,
    PATH_BYTES = 64,
    ENTRIES_BYTES = 4096
};

struct thread {
    uint32_t tid;
    uint64_t began_ns; /* how long it had run at first */
};

struct threads {
    struct thread *items;
    size_t n;
    uint64_t va, n_bytes; /* of the code */
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

/* UINT64_MAX: not known, or the thread is gone. */
static uint64_t ran_ns(uint32_t tid)
{
    char text[TEXT_BYTES];
    return read_text(tid, "schedstat", text) ? number(text, 10) : UINT64_MAX;
}

/* The last number, after "0x"; 0: it runs, or that is not told. */
static uint64_t sleeps_at(uint32_t tid)
{
    char text[TEXT_BYTES];
    const char *last = read_text(tid, "syscall", text) ? strrchr(text, ' ') : NULL;
    return last && last[1] == '0' && last[2] == 'x' ? number(last + 3, 16) : 0;
}

static bool is_away(const struct threads *threads, const struct thread *thread)
{
    const uint64_t ip = sleeps_at(thread->tid);
    if (ip)
        return ip - threads->va >= threads->n_bytes;
    const uint64_t now = ran_ns(thread->tid);
    return now == UINT64_MAX || now - thread->began_ns > RUN_NS;
}

static void add(struct threads *threads, const struct cairn_sys_entry *entry, uint32_t own)
{
    const uint32_t tid = (uint32_t)number(entry->name, 10);
    if (tid && tid != own && threads->n < MAX_THREADS)
        threads->items[threads->n++] = (struct thread){tid, ran_ns(tid)};
}

/* All but the calling one. False: they cannot be listed. */
static bool list(struct threads *threads)
{
    _Alignas(struct cairn_sys_entry) char entries[ENTRIES_BYTES];
    const uint32_t own = (uint32_t)syscall(SYS_gettid);
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

bool cairn_embed_are_away(uint64_t va, size_t n)
{
    const size_t bytes = MAX_THREADS * sizeof(struct thread);
    const uint64_t deadline_ns = now_ns() + (uint64_t)CAIRN_EMBED_AWAY_MS * NS_PER_MS;
    struct threads threads = {.items = cairn_pages_map(bytes), .va = va, .n_bytes = n};
    bool is_known = threads.items && list(&threads);
    while (is_known && threads.n) {
        look(&threads);
        if (!threads.n || now_ns() >= deadline_ns)
            break;
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    cairn_pages_unmap(threads.items, bytes);
    return is_known && !threads.n;
}
