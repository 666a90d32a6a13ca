/* SPDX-License-Identifier: MIT */
#include "cli/writer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct cli_writer {
    int (*put)(void *ctx, const void *bytes, size_t size);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const void *bytes; /* to be written; NULL: idle */
    size_t size;
    bool ends;
    int result; /* the first failure */
};

static void *work(void *arg)
{
    struct cli_writer *writer = arg;
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        while (!writer->bytes && !writer->ends)
            pthread_cond_wait(&writer->changed, &writer->lock);
        if (!writer->bytes)
            break;
        int result = writer->result;
        pthread_mutex_unlock(&writer->lock);
        if (result == 0)
            result = writer->put(writer->ctx, writer->bytes, writer->size);
        pthread_mutex_lock(&writer->lock);
        writer->result = result;
        writer->bytes = NULL;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

/* Signals are for the thread that knows what to do about them. SIGPIPE alone is raised by the one
 * that writes. */
static int start_thread(struct cli_writer *writer)
{
    sigset_t most, before;
    sigfillset(&most);
    sigdelset(&most, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &most, &before);
    int error = pthread_create(&writer->thread, NULL, work, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static bool has_another_cpu(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

struct cli_writer *cli_writer_start(int (*put)(void *ctx, const void *bytes, size_t size),
                                    void *ctx)
{
    struct cli_writer *writer = has_another_cpu() ? calloc(1, sizeof *writer) : NULL;
    if (!writer)
        return NULL;
    writer->put = put;
    writer->ctx = ctx;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    if (start_thread(writer) == 0)
        return writer;
    free(writer);
    return NULL;
}

int cli_writer_give(struct cli_writer *writer, const void *bytes, size_t size)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->bytes)
        pthread_cond_wait(&writer->changed, &writer->lock);
    int result = writer->result;
    if (result == 0) {
        writer->bytes = bytes;
        writer->size = size;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->lock);
    return result;
}

int cli_writer_end(struct cli_writer *writer)
{
    if (!writer)
        return 0;
    pthread_mutex_lock(&writer->lock);
    writer->ends = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    int result = writer->result;
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
    return result;
}
