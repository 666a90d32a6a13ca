/* SPDX-License-Identifier: MIT */
/*
 * unload_program ONE TWO: loads and unloads two modules in turn and captures stacks through them,
 * while other threads do the same with their own stacks. The loader puts them at the same place, so
 * that a rule which was kept over dlclose(3) is that of another frame. Held against libgcc's
 * unwinder. Linked to libcairn-unwind, whose dlclose comes before libc's, for the program and for a
 * library of others. UNLOAD_REFRESH=1: for a libc whose modules are known from a list, which is to
 * be taken anew after each dlopen(3).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#include <cairn/unwind.h>

enum { ROOM = 128, ROUNDS = 300, THREADS = 3 };

int unload_close(void *module); /* of unload_close.c */

static atomic_uint n_captures, n_wrong, n_stop;

struct frames {
    uintptr_t ips[ROOM];
    size_t n;
};

static _Unwind_Reason_Code add(struct _Unwind_Context *context, void *arg)
{
    struct frames *frames = arg;
    uintptr_t ip = _Unwind_GetIP(context);
    if (ip && frames->n < ROOM)
        frames->ips[frames->n++] = ip;
    return _URC_NO_REASON;
}

__attribute__((noinline)) static long capture(long value)
{
    struct frames theirs = {.n = 0};
    uintptr_t ours[ROOM];
    _Unwind_Backtrace(add, &theirs);
    size_t n = cairn_unwind_here(ours, ROOM, NULL);
    unsigned wrong = n != theirs.n;
    for (size_t i = 1; i < n && !wrong; i++)
        wrong = ours[i] != theirs.ips[i];
    n_captures++;
    n_wrong += wrong;
    return value;
}

static long recurse(long depth)
{
    return depth > 0 ? recurse(depth - 1) + 1 : capture(0);
}

static void *captures(void *arg)
{
    (void)arg;
    while (!n_stop)
        recurse(random() % 30);
    return NULL;
}

/* Returns where the module's function was. */
static void *once(const char *path)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    if (getenv("UNLOAD_REFRESH"))
        cairn_unwind_refresh();
    void *function = dlsym(module, "call_through");
    long (*call_through)(long (*)(long), long) = (long (*)(long (*)(long), long))function;
    for (int i = 0; i < 3; i++)
        call_through(capture, i);
    call_through(recurse, 5);
    static unsigned n_closed;
    if ((n_closed++ / 2 % 2 ? dlclose(module) : unload_close(module)) != 0)
        exit(2);
    return function;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    unsigned n_same = 0;
    if (argc != 3)
        return 2;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, captures, NULL) != 0)
            return 2;
    for (int i = 0; i < ROUNDS; i++) {
        const void *one = once(argv[1]);
        n_same += once(argv[2]) == one;
    }
    n_stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%u captures, %u wrong; %u of %u times at the same place\n", n_captures, n_wrong, n_same,
           ROUNDS);
    if (n_same == 0)
        printf("which tests nothing\n");
    return n_wrong != 0 || n_same == 0;
}
