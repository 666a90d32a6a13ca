/* SPDX-License-Identifier: MIT */
/*
 * What the heap tracker is held against: heap_programs CASE [ROUNDS]. A size tells which block it
 * is. ROUNDS: of the case that has many.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __GLIBC__
#define pvalloc valloc /* of which musl has none */
#endif

/* The compiler knows malloc, and would take out what leads to nothing. */
static void *volatile kept[16];

static void keep(unsigned at, void *block)
{
    kept[at] = block;
}

static void leak_each_way(void)
{
    void *aligned = NULL;
    for (int i = 0; i < 5; i++)
        keep(0, malloc(1001));
    keep(1, calloc(3, 334));
    keep(2, realloc(malloc(10), 1003));
    keep(3, memalign(64, 1004));
    if (posix_memalign(&aligned, 64, 1005) == 0)
        keep(4, aligned);
    keep(5, aligned_alloc(32, 1024));
    keep(6, reallocarray(NULL, 7, 149));
    keep(7, valloc(1007));
    keep(8, pvalloc(1008));
    keep(9, malloc(5 << 20));
    keep(10, realloc(realloc(malloc(6 << 20), 7 << 20), 1011));
    free(malloc(2001));
    void *none = realloc(malloc(2002), 0);
    if (none)
        free(none);
    keep(11, malloc(1012));
    /* One that fails leaves the block as it was. */
    void *volatile big = realloc(kept[11], SIZE_MAX / 8 * 7);
    if (big)
        _exit(9);
}

static unsigned rounds = 100000;

/* Leak-free: whoever tells a free behind the call takes it for one of the next owner's. */
static void *race(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < rounds; i++) {
        void *a = realloc(malloc(24 + i % 8), 2000 + i % 512);
        void *b = malloc(2000 + i % 512);
        free(a);
        free(b);
    }
    return NULL;
}

/* Never ends: blocks of many sizes come, move and go. */
static void *storm(void *arg)
{
    static __thread void *blocks[4096];
    unsigned seed = (unsigned)(uintptr_t)&arg;
    for (;;) {
        void **block = &blocks[(unsigned)rand_r(&seed) % 4096];
        *block = realloc(*block,
                         1 + (unsigned)rand_r(&seed) % 2 * 200000 + (unsigned)rand_r(&seed) % 500);
    }
    return NULL;
}

static void in_threads(void *(*function)(void *), unsigned n)
{
    pthread_t threads[16];
    for (unsigned i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, function, NULL);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static pthread_key_t key;

static void at_end_of_thread(void *block)
{
    free(block);
    keep(0, malloc(3001));
}

static void *with_destructor(void *arg)
{
    (void)arg;
    pthread_setspecific(key, malloc(50));
    return NULL;
}

static void thousands_of_threads(void)
{
    pthread_key_create(&key, at_end_of_thread);
    for (int i = 0; i < 200; i++)
        in_threads(with_destructor, 8);
}

static void fork_once(void)
{
    keep(0, malloc(1001));
    pid_t child = fork();
    if (child == 0) {
        free(kept[0]);
        keep(1, malloc(2001));
        exit(0);
    }
    waitpid(child, NULL, 0);
}

/* Without libc: nobody is told of it. */
static void clone_once(void)
{
    keep(0, malloc(1001));
    for (int i = 0; i < 100; i++)
        free(malloc(64));
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        for (int i = 0; i < 300; i++)
            keep(1, malloc(2001));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    for (int i = 0; i < 200; i++)
        keep(2, malloc(1002));
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
    (void)number;
    n_signals++;
}

/* The handler does not allocate: malloc(3) is not for handlers. But it interrupts. */
static void interrupted(void)
{
    signal(SIGALRM, on_signal);
    ualarm(100, 100);
    for (int i = 0; n_signals < 200 && i < 100000000; i++)
        free(malloc(64));
    ualarm(0, 0);
    keep(0, malloc(1001));
}

static void allocate(int number)
{
    (void)number;
    for (int i = 0; i < 3; i++)
        keep((unsigned)i, malloc(1001));
    free(malloc(64));
}

/* A handler's stack that has little room beside the signal's own frame, and none behind it. */
static void on_small_stack(void)
{
    size_t page = 4096, room = (getauxval(AT_MINSIGSTKSZ) + 6144 + page - 1) / page * page;
    char *pages =
        mmap(NULL, page + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages, page, PROT_NONE);
    const stack_t stack = {.ss_sp = pages + page, .ss_size = room};
    const struct sigaction action = {.sa_handler = allocate, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

/* Somebody cleans up: the state's file, and the folder. */
static void vanish(void)
{
    char path[4200];
    DIR *folder = opendir(getenv("CAIRN_HEAP_DIR"));
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    snprintf(path, sizeof(path), "%s.gone", getenv("CAIRN_HEAP_DIR"));
    rename(getenv("CAIRN_HEAP_DIR"), path);
    for (int fd = 3; fd < 2000; fd++)
        close(fd);
}

__attribute__((noinline)) static int deep(int n)
{
    char room[16];
    memset(room, n, sizeof(room));
    if (n == 0)
        keep(0, malloc(1001));
    else if (deep(n - 1) < 0)
        return -1;
    return room[n % 16];
}

static void many(void)
{
    static void *blocks[20000];
    unsigned n = sizeof(blocks) / sizeof(blocks[0]);
    for (unsigned i = 0; i < n; i++)
        blocks[i] = malloc(1000);
    for (unsigned i = 0; i < n; i++)
        if (i % 2)
            free(blocks[i]);
    keep(0, blocks);
    printf("%u\n", n);
}

/* What is unmapped in parts, grows, is laid over another one; the break. */
static void map_each_way(void)
{
    const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *parts = mmap(NULL, 40960, prot, flags, -1, 0),
         *none = mmap(NULL, 8192, prot, flags, -1, 0);
    char *grown = mmap(NULL, 20480, prot, flags, -1, 0);
    munmap(parts + 8192, 4096);
    munmap(none, 8000);
    grown = mremap(grown, 20480, 61440, MREMAP_MAYMOVE);
    mmap(parts + 16384, 12288, prot, flags | MAP_FIXED, -1, 0);
    int fd = open("/proc/self/exe", O_RDONLY);
    void *file = mmap(NULL, 5000, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    char *end = sbrk(100000);
    if (sbrk(-50000) == (void *)-1 || brk(end + 40000) != 0)
        _exit(8);
    errno = 0;
    if (munmap((void *)1, 4096) != -1 || errno != EINVAL)
        _exit(7);
    errno = 0;
    if (mmap(NULL, SIZE_MAX / 2, prot, flags, -1, 0) != MAP_FAILED || errno != ENOMEM ||
        mremap(grown, 61440, SIZE_MAX / 2, MREMAP_MAYMOVE) != MAP_FAILED)
        _exit(6);
    if (file == MAP_FAILED || grown == MAP_FAILED || grown[61439])
        _exit(5);
    keep(0, malloc(1001));
}

/* Each unmaps what others get at once. */
static void *map_and_unmap(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i <= 5000; i++) {
        size_t bytes = 4096 * (1 + i % 5);
        char *block = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        block = mremap(block, bytes, bytes + 4096, MREMAP_MAYMOVE);
        munmap(block, 4096);
        munmap(block + 4096, bytes);
    }
    return NULL;
}

__attribute__((constructor)) static void before_main(void)
{
    keep(15, malloc(4001));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (argc > 2)
        rounds = (unsigned)atoi(argv[2]);
    if (strcmp(name, "leaks") == 0 || strcmp(name, "exit") == 0 || strcmp(name, "kill") == 0)
        leak_each_way();
    else if (strcmp(name, "race") == 0)
        in_threads(race, 4);
    else if (strcmp(name, "storm") == 0)
        in_threads(storm, 4);
    else if (strcmp(name, "threads") == 0)
        thousands_of_threads();
    else if (strcmp(name, "fork") == 0)
        fork_once();
    else if (strcmp(name, "clone") == 0)
        clone_once();
    else if (strcmp(name, "signals") == 0)
        interrupted();
    else if (strcmp(name, "many") == 0)
        many();
    else if (strcmp(name, "small_stack") == 0)
        on_small_stack();
    else if (strcmp(name, "vanish") == 0)
        vanish(), many(), fork_once();
    else if (strcmp(name, "maps") == 0)
        map_each_way();
    else if (strcmp(name, "map_race") == 0)
        in_threads(map_and_unmap, 4);
    else if (strcmp(name, "deep") == 0)
        deep(2000);
    else
        return 2;
    if (strcmp(name, "exit") == 0)
        _exit(0);
    if (strcmp(name, "kill") == 0)
        raise(SIGKILL);
    return 0;
}
