/* SPDX-License-Identifier: MIT */
/*
 * heap_busy write | scribble: prints its pid, then threads allocate and free all the time until
 * stdin ends; "done" at the end. With scribble one more thread writes over the tracker's state.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2, SLOTS = 1000, HEADER = 16 };

static atomic_bool has_ended;

static unsigned draw(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

__attribute__((noinline)) static void *allocate(unsigned depth, size_t size)
{
    void *volatile block = depth ? allocate(depth - 1, size) : malloc(size);
    return block;
}

static void *work(void *seed)
{
    void *slots[SLOTS] = {0};
    unsigned state = (unsigned)(uintptr_t)seed;
    while (!has_ended) {
        void **slot = &slots[draw(&state) % SLOTS];
        free(*slot);
        *slot = allocate(draw(&state) % 20, draw(&state) % 3000);
    }
    for (unsigned i = 0; i < SLOTS; i++)
        free(slots[i]);
    return NULL;
}

/* Where the state is mapped, by the kernel. */
static unsigned char *find_state(size_t *ret_size)
{
    char line[4096];
    unsigned long from = 0, to = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, ".heap\n") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            break;
    if (maps)
        fclose(maps);
    *ret_size = to - from;
    return (unsigned char *)from;
}

/* Pages that are not there yet would be a bus error: only what is written already is changed. */
static void *scribble(void *unused)
{
    size_t size;
    unsigned char *state_bytes = find_state(&size);
    unsigned state = 1;
    (void)unused;
    size = size < 1 << 18 ? size : 1 << 18;
    while (!has_ended && state_bytes) {
        state_bytes[HEADER + draw(&state) % (size - HEADER)] = (unsigned char)draw(&state);
        if (draw(&state) % 100 == 0)
            usleep(100);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS + 1];
    unsigned n = argc > 1 && strcmp(argv[1], "scribble") == 0 ? THREADS + 1 : THREADS;
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, i < THREADS ? work : scribble,
                           (void *)(uintptr_t)(i + 1)))
            return 1;
    usleep(100000);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (getchar() != EOF)
        ;
    has_ended = true;
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
