/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/*
 * What heap_attach_busy.sh attaches to: threads that do nothing but allocate, fill, check and free,
 * until stdin ends. The exit status is 0 if every block held what was written there, and every
 * thread was busy all the time. The last line says how many blocks they made.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 32, BYTES_MAX = 256 };

static atomic_int is_over, n_wrong;
static atomic_ulong n_blocks;

struct slot {
    unsigned char *block;
    size_t bytes;
    unsigned char mark;
};

/* All functions of the allocator in turn. */
static void *make(unsigned kind, size_t bytes)
{
    void *block = NULL;
    switch (kind % 4) {
    case 0:
        return malloc(bytes);
    case 1:
        return calloc(1, bytes);
    case 2:
        return posix_memalign(&block, 64, bytes) == 0 ? block : NULL;
    default:
        return realloc(malloc(8), bytes);
    }
}

static void drop(struct slot *slot)
{
    for (size_t i = 0; slot->block && i < slot->bytes; i++)
        if (slot->block[i] != slot->mark)
            atomic_fetch_add(&n_wrong, 1);
    free(slot->block);
}

static void *work(void *arg)
{
    struct slot slots[SLOTS] = {{0}};
    unsigned random = (unsigned)(size_t)arg + 1;
    unsigned long n = 0;
    for (; !atomic_load(&is_over); n++) {
        random = random * 1103515245 + 12345;
        struct slot *slot = &slots[random >> 16 & (SLOTS - 1)];
        drop(slot);
        *slot = (struct slot){.bytes = 1 + (random >> 8 & (BYTES_MAX - 1)),
                              .mark = (unsigned char)(random >> 24)};
        slot->block = make(random >> 21, slot->bytes);
        if (!slot->block)
            abort();
        memset(slot->block, slot->mark, slot->bytes);
    }
    for (size_t i = 0; i < SLOTS; i++)
        drop(&slots[i]);
    atomic_fetch_add(&n_blocks, n);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    char byte;
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    atomic_store(&is_over, 1);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%lu blocks, %d wrong bytes\n", atomic_load(&n_blocks), atomic_load(&n_wrong));
    return atomic_load(&n_wrong) != 0;
}
