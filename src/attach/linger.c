/* SPDX-License-Identifier: MIT */
/*
 * A thread that sleeps tells its instruction pointer in /proc/PID/task/TID/syscall, as the last
 * number; of one that runs schedstat tells for how long it has: RUN_NS more, and it is past a jump.
 */
#include "attach/linger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "proc/threads.h"

enum { RUN_NS = 100000, NAP_MS = 1, PATH_BYTES = 64, TEXT_BYTES = 256 };

static bool read_text(int pid, int tid, const char *name, char text[TEXT_BYTES])
{
    char path[PATH_BYTES];
    struct cairn_buffer bytes = {0};
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
    bool done = cairn_file_slurp(path, TEXT_BYTES - 1, &bytes, NULL) == CAIRN_OK;
    snprintf(text, TEXT_BYTES, "%s", done ? cairn_buffer_text(&bytes) : "");
    cairn_buffer_done(&bytes);
    return done;
}

/* 0: it runs, or that is not told. */
static uint64_t sleeps_at(int pid, int tid)
{
    char text[TEXT_BYTES];
    const char *last = read_text(pid, tid, "syscall", text) ? strrchr(text, ' ') : NULL;
    return last ? strtoull(last, NULL, 16) : 0;
}

static uint64_t ran_ns(int pid, int tid)
{
    char text[TEXT_BYTES];
    return read_text(pid, tid, "schedstat", text) ? strtoull(text, NULL, 10) : UINT64_MAX;
}

static bool is_in(uint64_t ip, const uint64_t *vas, size_t n, uint64_t bytes)
{
    for (size_t i = 0; i < n; i++)
        if (ip >= vas[i] && ip - vas[i] < bytes)
            return true;
    return false;
}

bool cairn_linger_away(int pid, const uint64_t *vas, size_t n, uint64_t bytes, int timeout_ms)
{
    const uint64_t deadline_ns = cairn_now_ns() + (uint64_t)timeout_ms * CAIRN_NS_PER_MS;
    struct cairn_threads threads = {0};
    if (cairn_threads_read(pid, &threads, NULL) < 0)
        return true; /* it has ended */
    uint64_t *began = cairn_alloc(threads.n + 1, sizeof *began);
    size_t left = began ? threads.n : SIZE_MAX;
    for (size_t i = 0; began && i < threads.n; i++)
        began[i] = ran_ns(pid, threads.tids[i]);
    while (began && left) {
        for (size_t i = 0; i < left;) {
            int tid = threads.tids[i];
            uint64_t ip = sleeps_at(pid, tid), now = ran_ns(pid, tid);
            bool away =
                ip ? !is_in(ip, vas, n, bytes) : now == UINT64_MAX || now - began[i] > RUN_NS;
            if (away) { /* for good: what leads there is gone */
                left--;
                threads.tids[i] = threads.tids[left];
                began[i] = began[left];
            } else
                i++;
        }
        if (left && cairn_now_ns() >= deadline_ns)
            break;
        if (left)
            nanosleep(&(struct timespec){.tv_nsec = NAP_MS * CAIRN_NS_PER_MS}, NULL);
    }
    cairn_free(began);
    cairn_threads_done(&threads);
    return left == 0;
}
