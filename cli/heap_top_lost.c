/* SPDX-License-Identifier: MIT */
/*
 * cairn heap top --lost: a thread of its own looks for lost blocks again and again, as each look
 * takes a second or more. It has its own suppressions and names; what it found goes to the thread
 * of the screen, which alone knows the keys of stacks.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/heap_lost.h"
#include "cli/heap_top.h"

enum { BUSY_SHARE = 4 };

struct cli_heap_top_lost {
    pthread_t thread;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t changed;
    int pid;
    double seconds; /* between looks, at least */
    struct cli_heap_wanted wanted;
    bool is_over, is_paused;
    bool has_found; /* `found` is new */
    struct cairn_heap_lost found;
    uint64_t found_ns;    /* CLOCK_MONOTONIC */
    struct cairn_err err; /* of the last look, if that failed */
};

/* Until it is time for the next look, or over. The lock is held. */
static void wait_for_next(struct cli_heap_top_lost *l, uint64_t took_ns)
{
    uint64_t pause = (uint64_t)(l->seconds * 1e9), busy = took_ns * BUSY_SHARE;
    uint64_t due = cairn_now_ns() + (pause > busy ? pause : busy);
    const struct timespec at = {.tv_sec = (time_t)(due / 1000000000),
                                .tv_nsec = (long)(due % 1000000000)};
    int code = 0;
    while (!l->is_over && code == 0)
        code = pthread_cond_timedwait(&l->changed, &l->lock, &at);
    while (!l->is_over && l->is_paused)
        pthread_cond_wait(&l->changed, &l->lock);
}

/* The newest look takes the place of one that the screen has not taken. The lock is held. */
static void keep(struct cli_heap_top_lost *l, struct cairn_heap_lost *found, int code,
                 const struct cairn_err *err)
{
    if (code < 0) {
        l->err = *err;
        cairn_heap_lost_done(found);
        return;
    }
    cairn_heap_lost_done(&l->found);
    l->found = *found;
    l->found_ns = cairn_now_ns();
    l->has_found = true;
    l->err = (struct cairn_err){0};
}

static void *work(void *context)
{
    struct cli_heap_top_lost *l = context;
    const struct cairn_heap_lost_opts opts = {.size = sizeof opts};
    pthread_mutex_lock(&l->lock);
    while (!l->is_over) {
        struct cairn_heap_lost found = {0};
        struct cairn_err err = {0};
        pthread_mutex_unlock(&l->lock);
        uint64_t begin = cairn_now_ns();
        int code = cli_lost_look(&l->wanted, l->pid, &opts, &found, &err);
        pthread_mutex_lock(&l->lock);
        keep(l, &found, code, &err);
        wait_for_next(l, cairn_now_ns() - begin);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Signals are for the thread of the screen. The clock is that of cairn_now_ns(). */
static int start(struct cli_heap_top_lost *l)
{
    sigset_t all, before;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, &attr);
    pthread_condattr_destroy(&attr);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&l->thread, NULL, work, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int cli_heap_top_lost_start(struct cli_heap_top *top, struct cairn_err *err)
{
    struct cli_heap_top_lost *l = cairn_alloc(1, sizeof *l);
    if (!l)
        return cairn_fail_memory(err);
    l->pid = top->look.pid;
    l->seconds = top->seconds;
    l->wanted = (struct cli_heap_wanted){.filter = {.size = sizeof l->wanted.filter},
                                         .modules = top->wanted->modules,
                                         .suppressions_file = top->wanted->suppressions_file,
                                         .no_defaults = top->wanted->no_defaults,
                                         .names = top->wanted->names};
    int error = start(l);
    if (error) {
        cairn_free(l);
        return cairn_fail(err, CAIRN_E_IO, "--lost: no thread for it: %s", strerror(error));
    }
    top->lost.thread = l;
    return CAIRN_OK;
}

int cli_heap_top_lost_take(struct cli_heap_top *top, struct cairn_err *err)
{
    struct cli_heap_top_lost *l = top->lost.thread;
    struct cairn_heap_lost found = {0};
    int code = CAIRN_OK;
    if (!l)
        return CAIRN_OK;
    pthread_mutex_lock(&l->lock);
    bool has_found = l->has_found;
    if (has_found) {
        found = l->found;
        top->lost.time_ns = l->found_ns;
        memset(&l->found, 0, sizeof l->found);
        l->has_found = false;
    }
    top->lost.err = l->err;
    pthread_mutex_unlock(&l->lock);
    if (has_found) {
        cli_lost_keys_done(&top->lost.keys);
        code = cli_lost_keys_fill(top->keys, &found, &top->lost.keys, err);
        cli_lost_sum(found.lost, found.n_lost, &top->lost.bytes, &top->lost.blocks);
        memcpy(top->lost.unsure, found.unsure, sizeof top->lost.unsure);
        top->lost.is_known = true;
    }
    cairn_heap_lost_done(&found);
    return code;
}

void cli_heap_top_lost_pause(struct cli_heap_top *top, bool is_paused)
{
    struct cli_heap_top_lost *l = top->lost.thread;
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->is_paused = is_paused;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* A look that is under way ends first: threads of the process may be held for it. */
void cli_heap_top_lost_stop(struct cli_heap_top *top)
{
    struct cli_heap_top_lost *l = top->lost.thread;
    if (l) {
        pthread_mutex_lock(&l->lock);
        l->is_over = true;
        pthread_cond_signal(&l->changed);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
        cairn_heap_lost_done(&l->found);
        l->wanted.modules = l->wanted.names.symbol_dirs = (struct cli_list){0}; /* top's own */
        cli_heap_wanted_done(&l->wanted);
        pthread_cond_destroy(&l->changed);
        pthread_mutex_destroy(&l->lock);
        cairn_free(l);
        top->lost.thread = NULL;
    }
}
