/* SPDX-License-Identifier: MIT */
/* Work shared out among threads: each takes the next piece when it is done with one. */
#include "symbol/index_threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/alloc.h"

struct share {
    atomic_size_t next;
    size_t n;
    cairn_index_work work;
    cairn_index_take take; /* NULL: nobody takes */
    void *ctx;

    pthread_mutex_t lock; /* of the rest */
    bool *done;           /* by piece */
    size_t n_taken;
    bool is_taking; /* somebody is, without the lock */
    bool stopped;   /* nothing more is taken */
};

struct worker {
    struct share *share;
    pthread_t thread;
    unsigned number;
};

/* Piece `i` is done. Whoever takes already takes this one too, if it is its turn. */
static void take_ready(struct share *share, size_t i)
{
    pthread_mutex_lock(&share->lock);
    share->done[i] = true;
    bool was_taking = share->is_taking;
    share->is_taking = true;
    while (!was_taking && !share->stopped && share->n_taken < share->n &&
           share->done[share->n_taken]) {
        size_t turn = share->n_taken;
        pthread_mutex_unlock(&share->lock);
        bool taken = share->take(share->ctx, turn);
        pthread_mutex_lock(&share->lock);
        share->n_taken += taken;
        share->stopped = !taken;
    }
    share->is_taking = was_taking;
    pthread_mutex_unlock(&share->lock);
}

static void *take_pieces(void *ctx)
{
    const struct worker *worker = ctx;
    struct share *share = worker->share;
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
        if (i >= share->n)
            return NULL;
        share->work(share->ctx, i, worker->number);
        if (share->take)
            take_ready(share, i);
    }
}

static void run_workers(struct share *share, unsigned n_threads)
{
    struct worker workers[CAIRN_INDEX_THREADS_MAX];
    unsigned n_started = 0;
    if (n_threads > CAIRN_INDEX_THREADS_MAX)
        n_threads = CAIRN_INDEX_THREADS_MAX;
    for (unsigned i = 0; i < CAIRN_INDEX_THREADS_MAX; i++)
        workers[i] = (struct worker){.share = share, .number = i};
    /* Where no thread can be had the calling one does it all. */
    while (n_started + 1 < n_threads && n_started + 1 < share->n &&
           pthread_create(&workers[n_started + 1].thread, NULL, take_pieces,
                          &workers[n_started + 1]) == 0)
        n_started++;
    take_pieces(&workers[0]);
    for (; n_started; n_started--)
        pthread_join(workers[n_started].thread, NULL);
}

void cairn_index_share_out(unsigned n_threads, size_t n, cairn_index_work work, void *ctx)
{
    struct share share = {.n = n, .work = work, .ctx = ctx};
    run_workers(&share, n_threads);
}

size_t cairn_index_share_out_in_order(unsigned n_threads, size_t n, cairn_index_work work,
                                      cairn_index_take take, void *ctx)
{
    struct share share = {.n = n, .work = work, .take = take, .ctx = ctx};
    share.done = cairn_alloc(n ? n : 1, sizeof *share.done);
    if (!share.done)
        share.take = NULL; /* the work is done all the same, and everything stays */
    pthread_mutex_init(&share.lock, NULL);
    run_workers(&share, n_threads);
    pthread_mutex_destroy(&share.lock);
    cairn_free(share.done);
    return share.n_taken;
}

unsigned cairn_index_threads_of(unsigned asked)
{
    cpu_set_t cpus;
    if (asked)
        return asked;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return 1;
    int n = CPU_COUNT(&cpus);
    return n > 0 ? (unsigned)n : 1;
}
