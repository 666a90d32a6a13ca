/* SPDX-License-Identifier: MIT */
/*
 * A chain of calls whose innermost one dumps its stacks. stack_dump.py builds it in many ways:
 *
 *     stack_chain TAG [LIBRARY]     with LIBRARY: through a copy of that, which is removed;
 *                                   irq_TAG, worker_TAG: from an interrupt, from a kernel thread
 *     stack_chain open              what a kprobe on the kernel's open sees
 *     stack_chain storm             more dumps than the module may print, then equal ones
 *     stack_chain threads           four threads at the same time
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stack_trigger.h"

enum { THREADS = 4, ROUNDS = 5 };

typedef void (*call_fn)(void (*back)(int device, const char *tag), int device, const char *tag);

static NOINLINE void inner(int device, const char *tag)
{
    trigger(device, tag);
    AFTER_CALL();
}

static NOINLINE void through_library(call_fn library, int device, const char *tag)
{
    library(inner, device, tag);
    AFTER_CALL();
}

static NOINLINE void outer(call_fn library, int device, const char *tag)
{
    if (library)
        through_library(library, device, tag);
    else
        inner(device, tag);
    AFTER_CALL();
}

static NOINLINE int open_inner(void)
{
    FRAME();
    int device = open_device();
    AFTER_CALL();
    return device;
}

static NOINLINE int open_outer(void)
{
    int device = open_inner();
    AFTER_CALL();
    return device;
}

static void set_limit(const char *dumps)
{
    FILE *file = fopen("/sys/module/cairn_stacks/parameters/limit", "we");
    if (!file || fputs(dumps, file) < 0 || fclose(file) != 0)
        exit(3);
}

/* Each round from another place, so that no two stacks are equal. */
static NOINLINE void storm(int device)
{
    set_limit("3");
    sleep(1);
    trigger(device, "storm");
    trigger(device, "storm");
    trigger(device, "storm");
    trigger(device, "storm");
    trigger(device, "storm");
    sleep(2);
    set_limit("0");
    for (volatile int i = 0; i < 3; i++)
        trigger(device, "equal");
}

#define WORK(n)                                                                                    \
    static NOINLINE void work_##n(int device)                                                      \
    {                                                                                              \
        trigger(device, "threads");                                                                \
        AFTER_CALL();                                                                              \
    }
WORK(0)
WORK(1)
WORK(2)
WORK(3)

static int shared_device;
static pthread_barrier_t together; /* who starts or ends a thread holds the mmap lock */

static void *run_thread(void *number)
{
    static void (*const works[THREADS])(int device) = {work_0, work_1, work_2, work_3};
    char name[] = "worker_0";
    name[7] = (char)('0' + (long)number);
    pthread_setname_np(pthread_self(), name);
    pthread_barrier_wait(&together);
    for (int i = 0; i < ROUNDS; i++)
        works[(long)number](shared_device);
    pthread_barrier_wait(&together);
    return NULL;
}

static void run_threads(int device)
{
    pthread_t threads[THREADS];
    shared_device = device;
    pthread_barrier_init(&together, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_thread, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

#ifdef WITH_LIBRARY
/* Its code stays mapped while its file has no name any more. */
static call_fn load_and_remove(const char *path)
{
    static const char gone[] = "/tmp/libstack_gone.so";
    char bytes[4096];
    size_t n;
    FILE *from = fopen(path, "re"), *to = fopen(gone, "we");
    while (from && to && (n = fread(bytes, 1, sizeof bytes, from)) > 0)
        fwrite(bytes, 1, n, to);
    if (!from || !to || fclose(to) != 0)
        exit(3);
    fclose(from);
    void *library = dlopen(gone, RTLD_NOW);
    unlink(gone);
    if (!library) {
        puts(dlerror());
        exit(3);
    }
    return (call_fn)dlsym(library, "library_call");
}
#else
static call_fn load_and_remove(const char *path)
{
    (void)path;
    exit(3);
}
#endif

int main(int argc, char **argv)
{
    char *what = argc > 1 ? argv[1] : (char[]){"chain"};
    int device = open_device();
    if (device < 0)
        return 2;
    if (strcmp(what, "open") == 0) {
        pthread_setname_np(pthread_self(), "opener");
        open_outer();
        trigger(device, "opener");
    } else if (strcmp(what, "storm") == 0) {
        storm(device);
    } else if (strcmp(what, "threads") == 0) {
        run_threads(device);
    } else {
        what[strcspn(what, "_")] = what[strcspn(what, "_")] ? ' ' : 0; /* "irq_TAG" */
        outer(argc > 2 ? load_and_remove(argv[2]) : NULL, device, what);
    }
    return 0;
}
