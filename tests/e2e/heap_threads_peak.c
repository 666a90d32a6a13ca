/* SPDX-License-Identifier: MIT */
/* heap_threads_peak THREADS BLOCKS BYTES: each thread has so many blocks, all threads at the same
 * time, and frees them. Without threads: the main thread does so alone. */
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t all;
static size_t n_blocks, n_bytes;

static void *live(void *waits)
{
    void **blocks = calloc(n_blocks, sizeof *blocks);
    for (size_t i = 0; i < n_blocks; i++)
        if (!(blocks[i] = malloc(n_bytes)))
            abort();
    if (waits)
        pthread_barrier_wait(&all);
    for (size_t i = 0; i < n_blocks; i++)
        free(blocks[i]);
    free(blocks);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned n = (unsigned)atoi(argv[1]);
    n_blocks = (size_t)atoi(argv[2]);
    n_bytes = (size_t)atoi(argv[3]);
    if (n == 0)
        return live(NULL) != NULL;
    pthread_t *threads = calloc(n, sizeof *threads);
    pthread_barrier_init(&all, NULL, n);
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, live, &all))
            abort();
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}
