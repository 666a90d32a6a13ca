/* SPDX-License-Identifier: MIT */
/* Work shared out among threads: each takes the next piece when it is done with one. */
#include "symbol/index_threads.h"

#include <pthread.h>
#include <stdatomic.h>

struct share {
    atomic_size_t next;
    size_t n;
    cairn_index_work work;
    void *ctx;
};

struct worker {
    struct share *share;
    pthread_t thread;
    unsigned number;
};

static void *take_pieces(void *ctx)
{
    const struct worker *worker = ctx;
    struct share *share = worker->share;
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
        if (i >= share->n)
            return NULL;
        share->work(share->ctx, i, worker->number);
    }
}

void cairn_index_share_out(unsigned n_threads, size_t n, cairn_index_work work, void *ctx)
{
    struct share share = {.n = n, .work = work, .ctx = ctx};
    struct worker workers[CAIRN_INDEX_THREADS_MAX];
    unsigned n_started = 0;
    if (n_threads > CAIRN_INDEX_THREADS_MAX)
        n_threads = CAIRN_INDEX_THREADS_MAX;
    for (unsigned i = 0; i < CAIRN_INDEX_THREADS_MAX; i++)
        workers[i] = (struct worker){.share = &share, .number = i};
    /* Where no thread can be had the calling one does it all. */
    while (n_started + 1 < n_threads && n_started + 1 < n &&
           pthread_create(&workers[n_started + 1].thread, NULL, take_pieces,
                          &workers[n_started + 1]) == 0)
        n_started++;
    take_pieces(&workers[0]);
    for (; n_started; n_started--)
        pthread_join(workers[n_started].thread, NULL);
}
