/* SPDX-License-Identifier: MIT */
/*
 * A thread that sleeps tells its instruction and stack pointer in /proc/PID/task/TID/syscall. One
 * that runs, or waits for a CPU, is held for a moment, for its registers: no clock tells whether it
 * went on, as time also passes for it where it stands, in a page fault or an interrupt. If a signal
 * handler interrupted the code, the code's address is on the stack above.
 */
#include "attach/linger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "attach/hold.h"
#include "attach/wait.h"
#include "base/clock.h"
#include "base/file.h"
#include "proc/threads.h"

enum {
    NAP_MS = 1,
    PATH_BYTES = 64,
    TEXT_BYTES = 4096, /* of status */
    STACK_MAX = 1 << 20,
    WORDS = 512
};

struct code {
    int pid;
    const uint64_t *vas;
    size_t n;
    uint64_t bytes;
    const struct cairn_maps *maps; /* for where stacks end; newer ones are not in it */
};

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

/* The last two numbers. False: it runs, or that is not told. */
static bool read_sleep(int pid, int tid, uint64_t *ret_sp, uint64_t *ret_ip)
{
    char text[TEXT_BYTES];
    char *last = read_text(pid, tid, "syscall", text) ? strrchr(text, ' ') : NULL;
    if (!last)
        return false;
    *last = 0;
    const char *sp = strrchr(text, ' ');
    *ret_ip = strtoull(last + 1, NULL, 16);
    *ret_sp = sp ? strtoull(sp, NULL, 16) : 0;
    return *ret_ip != 0;
}

/* Of a line of status, a bit for each signal; all if that is not told. */
static uint64_t read_signals(int pid, int tid, const char *line)
{
    char text[TEXT_BYTES];
    const char *at = read_text(pid, tid, "status", text) ? strstr(text, line) : NULL;
    return at ? strtoull(at + strlen(line), NULL, 16) : UINT64_MAX;
}

static bool is_in(const struct code *code, uint64_t ip)
{
    for (size_t i = 0; i < code->n; i++)
        if (ip >= code->vas[i] && ip - code->vas[i] < code->bytes)
            return true;
    return false;
}

/* From `sp` on, to where the stack's mapping ends. */
static bool is_on_stack(const struct code *code, uint64_t sp)
{
    const struct cairn_map *map = cairn_maps_find(code->maps, sp);
    const uint64_t bytes = map && map->end - sp < STACK_MAX ? map->end - sp : STACK_MAX;
    char path[PATH_BYTES];
    uint64_t words[WORDS];
    ssize_t got = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/mem", code->pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    for (uint64_t at = sp & ~(uint64_t)7; !found && at < sp + bytes; at += (uint64_t)got) {
        got = pread(fd, words, sizeof words, (off_t)at);
        if (got <= 0)
            break;
        for (size_t i = 0; i < (size_t)got / sizeof *words; i++)
            found |= is_in(code, words[i]);
    }
    close(fd);
    return found;
}

static bool is_away_at(const struct code *code, int tid, uint64_t ip, uint64_t sp)
{
    return !is_in(code, ip) && (!read_signals(code->pid, tid, "SigCgt:") || !is_on_stack(code, sp));
}

static bool has_ended(int pid, int tid)
{
    struct cairn_thread_stat stat;
    return cairn_thread_stat(pid, tid, &stat, NULL) < 0 || stat.state == 'Z' || stat.state == 'X';
}

static bool hold_and_look(const struct code *code, int tid)
{
    struct cairn_stilled held;
    struct cairn_hurry hurry;
    cairn_hurry_begin(&hurry);
    bool is_held = cairn_hold_begin(code->pid, tid, 0, false, &held, NULL) == CAIRN_OK;
    bool is =
        is_held && is_away_at(code, tid, cairn_cpu_ip(&held.saved), cairn_cpu_sp(&held.saved));
    if (is_held)
        cairn_hold_end(&held, NULL);
    cairn_hurry_end(&hurry);
    return is;
}

static bool is_away(const struct code *code, int tid)
{
    uint64_t sp, ip;
    if (has_ended(code->pid, tid))
        return true;
    return read_sleep(code->pid, tid, &sp, &ip) ? is_away_at(code, tid, ip, sp)
                                                : hold_and_look(code, tid);
}

bool cairn_linger_away(int pid, const uint64_t *vas, size_t n, uint64_t bytes, int timeout_ms)
{
    const uint64_t deadline_ns = cairn_now_ns() + (uint64_t)timeout_ms * CAIRN_NS_PER_MS;
    struct cairn_threads threads = {0};
    struct cairn_maps *maps = NULL;
    if (cairn_maps_read_pid(pid, &maps, NULL) < 0 || cairn_threads_read(pid, &threads, NULL) < 0) {
        cairn_maps_free(maps);
        return true; /* it has ended */
    }
    const struct code code = {pid, vas, n, bytes, maps};
    size_t left = threads.n;
    while (left) {
        for (size_t i = 0; i < left;)
            if (is_away(&code, threads.tids[i])) /* for good: what leads there is gone */
                threads.tids[i] = threads.tids[--left];
            else
                i++;
        if (left && cairn_now_ns() >= deadline_ns)
            break;
        if (left)
            nanosleep(&(struct timespec){.tv_nsec = NAP_MS * CAIRN_NS_PER_MS}, NULL);
    }
    cairn_threads_done(&threads);
    cairn_maps_free(maps);
    return left == 0;
}
