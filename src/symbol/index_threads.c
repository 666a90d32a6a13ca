/* SPDX-License-Identifier: MIT */
/* Work shared out among threads: each takes the next piece when it is done with one. */
#include <pthread.h>
#include <stdatomic.h>

#include "symbol/index_units.h"

enum { THREADS_MAX = 64 };

struct share {
    atomic_size_t next;
    size_t n;
    void (*work)(void *ctx, size_t i);
    void *ctx;
};

static void *take_pieces(void *ctx)
{
    struct share *share = ctx;
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
        if (i >= share->n)
            return NULL;
        share->work(share->ctx, i);
    }
}

void cairn_index_share_out(unsigned n_threads, size_t n, void (*work)(void *ctx, size_t i),
                           void *ctx)
{
    struct share share = {.n = n, .work = work, .ctx = ctx};
    pthread_t threads[THREADS_MAX];
    unsigned n_started = 0;
    if (n_threads > THREADS_MAX)
        n_threads = THREADS_MAX;
    /* Where no thread can be had the calling one does it all. */
    while (n_started + 1 < n_threads && n_started + 1 < n &&
           pthread_create(&threads[n_started], NULL, take_pieces, &share) == 0)
        n_started++;
    take_pieces(&share);
    while (n_started)
        pthread_join(threads[--n_started], NULL);
}
