/* SPDX-License-Identifier: MIT */
/*
 * Lost: passes until nothing more is found to be held. The first and the last one are a second
 * apart at least: so old is what is judged.
 *
 * A pass misses a pointer that moves while it reads. A block whose pointer moves all the time may
 * be missed by several, so what counts is how many passes in a row found nothing: a few in a
 * process where no pass has ever found that the one before was wrong, more in any other.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "proc/threads.h"
#include "watch/core.h"
#include "watch/lost_pass.h"

enum {
    QUIET = 3,           /* passes in a row */
    QUIET_RESTLESS = 10, /* where a pass was wrong before */
    PASSES_LEAST = 2,    /* where doubtful pointers lead to blocks */
    PASSES_MAX = 48,
    PAUSE_MS = 350,
    PAUSE_RESTLESS_MS = 100,
    STOP_MS = 1000,
    EXIT_TRIES = 300,
    EXIT_PAUSE_MS = 10
};

static void add_text(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_text(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    used += (size_t)snprintf(text + used, size - used, "%s", used ? "; " : "");
    if (used >= size)
        return;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

static void pause_for(long ms)
{
    const struct timespec pause = {.tv_nsec = ms * CAIRN_NS_PER_MS};
    nanosleep(&pause, NULL);
}

/* True: the last passes say that what is left is lost. */
static bool pass_until_quiet(struct cairn_lost_search *s, int *ret_code, struct cairn_err *err)
{
    enum cairn_lost_stop stop = CAIRN_LOST_STOP_RUNNING;
    size_t quiet = 0, wrong = 0;
    while ((s->n_lost || (s->suspects.n && s->n_passes < PASSES_LEAST)) &&
           s->n_passes < PASSES_MAX) {
        size_t before = s->n_gone + s->n_saved;
        pause_for(wrong ? PAUSE_RESTLESS_MS : PAUSE_MS);
        *ret_code = cairn_lost_pass_next(s, stop, err);
        if (*ret_code < 0)
            return false;
        wrong += s->n_gone + s->n_saved - before;
        quiet = s->n_gone + s->n_saved == before ? quiet + 1 : 0;
        if (quiet < (wrong ? QUIET_RESTLESS : QUIET))
            continue;
        /* Once more, if there are registers that only a stop would show. */
        if (!s->threads.n_partly || stop == CAIRN_LOST_STOP_ANY)
            return true;
        stop = CAIRN_LOST_STOP_ANY;
    }
    return s->n_lost == 0;
}

/* Stops all threads, those that are born meanwhile too. One that is ending may stay in the list:
 * a main thread does so until the last of the others has ended. */
static int stop_all(struct cairn_tracer *tracer, struct cairn_err *err)
{
    bool changed = true;
    while (changed) {
        const struct cairn_tracee *tracees;
        changed = false;
        for (size_t i = 0, n; i < (n = cairn_tracer_threads(tracer, &tracees)); i++) {
            if (tracees[i].stopped)
                continue;
            int code = cairn_tracer_stop(tracer, tracees[i].tid, STOP_MS, err);
            if (code < 0 && code != CAIRN_E_MISSING)
                return code;
            changed |= code == CAIRN_OK || cairn_tracer_threads(tracer, &tracees) != n;
        }
    }
    return CAIRN_OK;
}

int cairn_lost_stop_process(struct cairn_lost_search *search, struct cairn_err *err)
{
    int code = cairn_tracer_new(search->pid, 0, &search->tracer, err);
    return code < 0 ? code : stop_all(search->tracer, err);
}

static int pass_stopped(struct cairn_lost_search *s, uint64_t *ret_ns, struct cairn_err *err)
{
    uint64_t begin = cairn_now_ns();
    int code = cairn_lost_stop_process(s, err);
    if (code == CAIRN_OK)
        code = cairn_lost_pass_first(s, err);
    /* The same for the suspects alone, so that both kinds of looks end with the same tables. */
    if (code == CAIRN_OK)
        code = cairn_lost_pass_next(s, CAIRN_LOST_STOP_RUNNING, err);
    cairn_tracer_free(s->tracer);
    s->tracer = NULL;
    *ret_ns = cairn_now_ns() - begin;
    return code;
}

/* Once its last thread but the main one is gone. */
static int pass_at_exit(struct cairn_lost_search *s, uint64_t *ret_ns, struct cairn_err *err)
{
    size_t n = 2;
    uint64_t begin = cairn_now_ns();
    s->threads.at_exit = true;
    for (int i = 0; n > 1 && i < EXIT_TRIES; i++) {
        struct cairn_threads list = {0};
        int code = cairn_threads_read(s->pid, &list, err);
        n = list.n;
        cairn_threads_done(&list);
        if (code < 0)
            return code;
        if (n > 1)
            pause_for(EXIT_PAUSE_MS);
    }
    if (n > 1)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "process %d is not at its end: its main thread has ended "
                          "(pthread_exit), and %zu other threads run on",
                          s->pid, n - 1);
    int code = cairn_lost_pass_first(s, err);
    if (code == CAIRN_OK)
        code = cairn_lost_pass_next(s, CAIRN_LOST_STOP_RUNNING, err);
    *ret_ns = cairn_now_ns() - begin;
    return code;
}

/* Nothing moves there. The second pass is for the tables alone, as in pass_stopped(). */
static int pass_core(struct cairn_lost_search *s, struct cairn_err *err)
{
    int code = cairn_lost_pass_first(s, err);
    return code < 0 ? code : cairn_lost_pass_next(s, CAIRN_LOST_STOP_RUNNING, err);
}

static void say_doubts(const struct cairn_lost_search *s, bool is_quiet,
                       struct cairn_heap_lost *lost)
{
    char *text = lost->unsure;
    const size_t size = sizeof lost->unsure;
    const struct cairn_unread *by_call = &s->space.mem.unread, *by_file = &s->space.file.unread;
    const struct cairn_unread *unread = by_call->why ? by_call : by_file;
    if (!is_quiet)
        add_text(text, size, "blocks were found to be held in nearly each of %zu passes",
                 s->n_passes);
    if (s->threads.n_unread)
        add_text(text, size, "the registers of %zu of %zu threads could not be read",
                 s->threads.n_unread, s->threads.n_threads);
    if (s->threads.n_partly)
        add_text(text, size,
                 "of %zu threads not all registers could be read without a stop that would end "
                 "their system calls",
                 s->threads.n_partly);
    if (unread->why)
        add_text(text, size, "memory at 0x%llx was not read: %s",
                 (unsigned long long)unread->why_va, unread->why);
    if (s->space.missing_bytes)
        add_text(text, size, "the core file ends before %llu kB of its memory",
                 (unsigned long long)s->space.missing_bytes / 1024);
    if (s->kernel.has_ring)
        add_text(text, size,
                 "it uses io_uring, where the kernel keeps pointers that it does not "
                 "show");
    if (!s->kernel.is_whole)
        add_text(text, size, "its descriptors, epoll sets or timers could not all be read");
}

static void say_notes(const struct cairn_lost_search *s, struct cairn_heap_lost *lost)
{
    char *text = lost->notes;
    const size_t size = sizeof lost->notes;
    if (s->has_gaps)
        add_text(text, size,
                 "the tracker may not know all blocks, so free memory counts as holding what it "
                 "points to");
    else if (!s->space.arenas.n && s->n_blocks)
        add_text(text, size,
                 "its malloc is not glibc's, so free memory counts as holding what it "
                 "points to");
    if (s->core)
        add_text(text, size,
                 "a core file does not have what the kernel keeps: blocks that only an epoll set, "
                 "a timer or io_uring points to are listed, and of alternate signal stacks' sizes "
                 "are possibly lost");
    else if (!s->threads.iterator)
        add_text(text, size,
                 "without BPF alternate signal stacks are not known, so lost blocks of "
                 "their sizes are possibly lost");
    if (s->space.untouched_bytes)
        add_text(text, size,
                 "%llu kB of shared memory that it has not touched itself were not read",
                 (unsigned long long)s->space.untouched_bytes / 1024);
    if (s->space.absent_bytes)
        add_text(text, size,
                 "%llu kB of writable memory are not in the core file: they were not touched, or "
                 "not to be written (core(5))",
                 (unsigned long long)s->space.absent_bytes / 1024);
    if (s->space.n_devices)
        add_text(text, size, "%llu mappings of devices were not read",
                 (unsigned long long)s->space.n_devices);
}

static int search(struct cairn_lost_search *s, const struct cairn_heap_lost_opts *opts,
                  struct cairn_heap_lost *lost, struct cairn_err *err)
{
    bool is_quiet = true;
    int code = cairn_lost_search_open(s, s->core, err);
    if (code < 0)
        return code;
    bool is_once = s->core || opts->consistent || opts->at_exit;
    if (s->core)
        code = pass_core(s, err);
    else if (opts->at_exit)
        code = pass_at_exit(s, &lost->stopped_ns, err);
    else if (opts->consistent)
        code = pass_stopped(s, &lost->stopped_ns, err);
    else
        code = cairn_lost_pass_first(s, err);
    if (code == CAIRN_OK && !is_once)
        is_quiet = pass_until_quiet(s, &code, err);
    if (code < 0)
        return code;
    say_doubts(s, is_quiet, lost);
    say_notes(s, lost);
    lost->n_blocks = s->n_blocks;
    lost->bytes = s->bytes;
    lost->n_passes = s->n_passes;
    lost->n_saved = s->n_saved;
    lost->read_bytes = s->space.n_bytes;
    lost->n_threads = s->threads.n_threads;
    lost->n_epoll_sets = s->kernel.n_sets;
    return cairn_lost_rows(s, opts->filter, !*lost->unsure, lost, err);
}

int cairn_heap_lost(int pid, const struct cairn_heap_lost_opts *opts,
                    struct cairn_heap_lost *ret_lost, struct cairn_err *err)
{
    struct cairn_heap_lost_opts all = {.size = sizeof all};
    struct cairn_heap_lost lost = {.size = ret_lost->size};
    struct cairn_heap_core *core = NULL;
    struct cairn_lost_search s = {.pid = pid};
    uint64_t begin = cairn_now_ns();
    if (opts)
        memcpy(&all, opts, opts->size < sizeof all ? opts->size : sizeof all);
    int code = all.core ? cairn_heap_core_open(all.core, &core, err) : CAIRN_OK;
    s.core = core;
    if (code == CAIRN_OK) {
        code = search(&s, &all, &lost, err);
        code = core && code < 0 ? cairn_fail_in(err, code, all.core) : code;
    }
    cairn_lost_search_done(&s);
    cairn_heap_core_close(core);
    lost.duration_ns = cairn_now_ns() - begin;
    if (code < 0) {
        cairn_heap_lost_done(&lost);
        return code;
    }
    memcpy(ret_lost, &lost, lost.size < sizeof lost ? lost.size : sizeof lost);
    return CAIRN_OK;
}

void cairn_heap_lost_done(struct cairn_heap_lost *lost)
{
    cairn_heap_leaks_free(lost->lost);
    cairn_heap_leaks_free(lost->possibly);
    cairn_profile_free(lost->profile);
    cairn_heap_free(lost->heap);
    lost->lost = lost->possibly = NULL;
    lost->profile = NULL;
    lost->heap = NULL;
    lost->n_lost = lost->n_possibly = 0;
}
