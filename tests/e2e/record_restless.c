/* SPDX-License-Identifier: MIT */
/*
 * Programs that are hard to record, busy until they are killed. Built without frame pointers; with
 * -DLIBRARY it is the library that one of them loads.
 *
 *     exec      becomes itself anew every 2 ms
 *     fork      children that are busy for a moment, by the thousand
 *     swap      goes round between stacks of its own making (swapcontext)
 *     load LIB  loads a library, is busy in it, unloads it; maps code elsewhere meanwhile
 *     maps      60,000 mappings
 *     apart     goes to and fro between stacks at both ends of its memory
 *     loop      code that nothing describes, with frames that lead back to themselves, to each
 *               other, downwards, to nowhere, and into a mapping larger than the machine
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    TURN_US = 2000,
    CHILDREN = 50,
    STACKS = 8,
    STACK_BYTES = 64 << 10,
    MAPS = 60000,
    PAGE = 4096,
    DEEP = 20,
    WORDS = 1 << 13
};

void restless_busy(unsigned us);

static volatile unsigned long sink;

__attribute__((noinline, visibility("default"))) void restless_busy(unsigned us)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 1000; i++)
            sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

#ifndef LIBRARY

static __attribute__((noinline)) int dive(int n)
{
    if (n == 0)
        restless_busy(TURN_US);
    return n ? dive(n - 1) + 1 : 0;
}

static void exec_again(char **argv)
{
    char *again[] = {argv[0], argv[1], "again", NULL};
    dive(DEEP);
    execv("/proc/self/exe", again);
    exit(1);
}

static void fork_many(void)
{
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            restless_busy(i % 10 ? 0 : TURN_US);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static ucontext_t contexts[STACKS];

static void go_round(int i)
{
    for (;;) {
        dive(i);
        swapcontext(&contexts[i], &contexts[(i + 1) % STACKS]);
    }
}

static void start_round(void *const *stacks, size_t n)
{
    for (size_t i = 0; i < STACKS; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i % n];
        contexts[i].uc_stack.ss_size = STACK_BYTES;
        makecontext(&contexts[i], (void (*)(void))go_round, 1, (int)i);
    }
    setcontext(&contexts[0]);
    exit(1);
}

static void *map(void *at, size_t bytes, int protection, int flags)
{
    void *got = mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (got == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return got;
}

static void swap(void)
{
    void *stacks[STACKS];
    for (int i = 0; i < STACKS; i++)
        stacks[i] = map(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, 0);
    start_round(stacks, STACKS);
}

/* Every second one lies elsewhere: as low, and nearly as high, as there is memory. */
static void apart(void)
{
    static char *const places[STACKS] = {(char *)0x10000000,     (char *)0x7e0000000000,
                                         (char *)0x20000000,     (char *)0x7d0000000000,
                                         (char *)0x100000000000, (char *)0x30000000,
                                         (char *)0x7c0000000000, (char *)0x200000000000};
    void *stacks[STACKS];
    for (int i = 0; i < STACKS; i++)
        stacks[i] = map(places[i], STACK_BYTES, PROT_READ | PROT_WRITE, 0);
    start_round(stacks, STACKS);
}

static void load(const char *path, int fd)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*busy)(unsigned) = library ? (void (*)(unsigned))dlsym(library, "restless_busy") : NULL;
    void *elsewhere = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (!busy || elsewhere == MAP_FAILED)
        exit(1);
    busy(TURN_US);
    dlclose(library);
    munmap(elsewhere, PAGE);
}

/* Neighbours that may not do the same do not become one. */
static void map_many(void)
{
    char *at = map(NULL, (size_t)MAPS * PAGE, PROT_READ, MAP_NORESERVE);
    for (size_t i = 0; i < MAPS; i += 2)
        if (mprotect(at + i * PAGE, PAGE, i % 4 ? PROT_NONE : PROT_READ | PROT_EXEC) < 0)
            exit(1);
}

/* Takes the stack pointer and the frame pointer, and stays. */
#if defined(__x86_64__)
static const uint8_t code[] = {0x48, 0x89, 0xfc, 0x48, 0x89, 0xf5, 0xeb, 0xfe};
#else
static const uint8_t code[] = {0x1f, 0x00, 0x00, 0x91, 0xfd, 0x03,
                               0x01, 0xaa, 0x00, 0x00, 0x00, 0x14};
#endif

typedef void (*stay_fn)(void *sp, void *fp);

static stay_fn stay;

struct fake {
    uintptr_t *sp, *fp;
};

static void *run_fake(void *arg)
{
    const struct fake *fake = arg;
    stay(fake->sp, fake->fp);
    return NULL;
}

/* A frame: who is above, and where to return. */
static void make_frame(uintptr_t *at, const void *above)
{
    at[0] = (uintptr_t)above;
    at[1] = (uintptr_t)(void *)stay + sizeof code;
}

static void loop(void)
{
    static uintptr_t words[5][WORDS] __attribute__((aligned(16)));
    static struct fake fakes[8];
    uint8_t *at = map(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, 0);
    uintptr_t *huge = map(NULL, (size_t)1 << 40, PROT_READ, MAP_NORESERVE);
    size_t n = 0;
    pthread_t thread;
    memcpy(at, code, sizeof code);
    __builtin___clear_cache((char *)at, (char *)at + sizeof code);
    stay = (stay_fn)(void *)at;
    make_frame(words[0], words[0]); /* itself */
    fakes[n++] = (struct fake){words[0], words[0]};
    make_frame(words[1], words[1] + 8); /* each other */
    make_frame(words[1] + 8, words[1]);
    fakes[n++] = (struct fake){words[1], words[1]};
    for (int i = 0; i < WORDS; i += 2) { /* more than there may be, upwards and downwards */
        make_frame(words[2] + i, words[2] + (i + 2) % WORDS);
        make_frame(words[3] + i, words[3] + (i + WORDS - 2) % WORDS);
    }
    fakes[n++] = (struct fake){words[2], words[2]};
    fakes[n++] = (struct fake){words[3], words[3] + WORDS - 2};
    make_frame(words[4], (void *)UINTPTR_MAX);
    fakes[n++] = (struct fake){words[4], words[4]};
    fakes[n++] = (struct fake){(void *)0x10, (void *)UINTPTR_MAX};
    fakes[n++] = (struct fake){huge + ((size_t)1 << 30), huge + ((size_t)1 << 30)};
    for (size_t i = 0; i < n; i++)
        if (pthread_create(&thread, NULL, run_fake, &fakes[i]))
            exit(1);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (strcmp(what, "maps") == 0)
        map_many();
    else if (strcmp(what, "loop") == 0)
        loop();
    if ((argc == 2 || strcmp(what, "load") == 0) && write(1, "up\n", 3) != 3)
        return 1;
    if (strcmp(what, "swap") == 0)
        swap();
    else if (strcmp(what, "apart") == 0)
        apart();
    for (;;) {
        if (strcmp(what, "exec") == 0)
            exec_again(argv);
        else if (strcmp(what, "fork") == 0)
            fork_many();
        else if (strcmp(what, "load") == 0 && argc > 2)
            load(argv[2], fd);
        else
            dive(DEEP);
    }
}

#endif
