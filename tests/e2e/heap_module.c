/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/*
 * What heap_module.sh attaches to: libraries that allocate, two threads that do so all the time by
 * each of them, and a main thread that does what stdin says, and answers each line:
 *
 *     make LIBRARY KIND N   N blocks more
 *     move LIBRARY          realloc of all of them by that library
 *     drop LIBRARY          all of them are freed by that library
 *     open FILE LIBRARY     dlopen(3)
 *     close LIBRARY         dlclose(3)
 *     turns                 how many blocks the threads made so far
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, BLOCKS = 100000 };

struct library {
    char name[32];
    void *handle;
    void *(*make)(const char *kind);
    void *(*move)(void *block);
    void (*drop)(void *block);
};

static struct library libraries[MOST];
static void *blocks[BLOCKS];
static size_t n_blocks;
static atomic_ulong n_turns;

static void *find(const struct library *l, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", l->name, what);
    return dlsym(l->handle, name);
}

static struct library *open_library(const char *file, const char *name)
{
    struct library *l = libraries;
    while (l->handle)
        l++;
    l->handle = dlopen(file, RTLD_LAZY);
    if (!l->handle)
        return NULL;
    snprintf(l->name, sizeof l->name, "%s", name);
    *(void **)&l->make = find(l, "make");
    *(void **)&l->move = find(l, "move");
    *(void **)&l->drop = find(l, "drop");
    return l;
}

static struct library *named(const char *name)
{
    for (struct library *l = libraries; l < libraries + MOST; l++)
        if (l->handle && strcmp(l->name, name) == 0)
            return l;
    fprintf(stderr, "no library %s\n", name);
    exit(1);
}

static void *turn(void *library)
{
    static const char *const kinds[] = {"malloc", "calloc", "realloc", "strdup", "memalign"};
    const struct library *l = library;
    for (unsigned long i = 0;; i++) {
        void *block = l->make(kinds[i % 5]);
        l->drop(i % 3 ? block : l->move(block));
        atomic_fetch_add(&n_turns, 1);
    }
    return NULL;
}

static void obey(char *line)
{
    char name[32] = "", word[256] = "";
    size_t n = 0;
    if (sscanf(line, "make %31s %255s %zu", name, word, &n) == 3) {
        while (n-- > 0)
            blocks[n_blocks++] = named(name)->make(word);
    } else if (sscanf(line, "move %31s", name) == 1) {
        for (size_t i = 0; i < n_blocks; i++)
            blocks[i] = named(name)->move(blocks[i]);
    } else if (sscanf(line, "drop %31s", name) == 1) {
        while (n_blocks > 0)
            named(name)->drop(blocks[--n_blocks]);
    } else if (sscanf(line, "open %255s %31s", word, name) == 2) {
        printf("%s\n", open_library(word, name) ? "done" : dlerror());
        return;
    } else if (sscanf(line, "close %31s", name) == 1) {
        struct library *l = named(name);
        dlclose(l->handle);
        l->handle = NULL;
    } else if (strcmp(line, "turns\n") == 0) {
        printf("%lu\n", atomic_load(&n_turns));
        return;
    }
    printf("done\n");
}

/* FILE NAME pairs: libraries that threads use from the start. */
int main(int argc, char **argv)
{
    char line[512];
    for (int i = 1; i + 1 < argc; i += 2) {
        pthread_t thread;
        struct library *l = open_library(argv[i], argv[i + 1]);
        if (!l || pthread_create(&thread, NULL, turn, l) != 0)
            return fprintf(stderr, "%s\n", dlerror()), 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin))
        obey(line);
    return 0;
}
