/* SPDX-License-Identifier: MIT */
/*
 * unload_program ONE TWO: loads and unloads two modules in turn and captures stacks through them,
 * while other threads do the same with their own stacks. The loader puts them at the same place, so
 * that a rule which was kept over dlclose(3) is that of another frame. Held against libgcc's
 * unwinder. Linked to libcairn-unwind, whose dlclose comes before libc's, for the program and for a
 * library of others, and which hears of what libc unloads by itself. UNLOAD_REFRESH=1: for a libc
 * whose modules are known from a list, which is to be taken anew after each dlopen(3).
 */
#include <dlfcn.h>
#include <iconv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#include <cairn/unwind.h>

enum { ROOM = 128, ROUNDS = 300, THREADS = 3, WAYS = 3 };

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

/* As the program does, as a library does that does not know of us, and as libc does by itself. */
static int (*ways[WAYS])(void *) = {dlclose, unload_close, NULL};

static void find_libc_close(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *found = libc ? dlsym(libc, "dlclose") : NULL;
    if (!found && (libc = dlopen("libdl.so.2", RTLD_NOW | RTLD_NOLOAD))) /* before glibc 2.34 */
        found = dlsym(libc, "dlclose");
    if (!found)
        exit(2);
    ways[WAYS - 1] = (int (*)(void *))found;
}

/* Converters that libc loads, and unloads once it has not used them for a while. False: none was
 * unloaded, or one was and nobody noticed. */
static bool converters_are_noticed(void)
{
    static const char *const names[] = {"ISO-2022-KR", "EUC-KR", "BIG5", "SJIS", "KOI8-R", "CP932"};
    uint64_t before = cairn_unwind_refresh();
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        iconv_t converter = iconv_open(names[i], "UTF-8");
        if (converter == (iconv_t)-1) {
            printf("no converter for %s here\n", names[i]);
            return true;
        }
        iconv_close(converter);
    }
    uintptr_t ips[ROOM];
    struct cairn_unwind_info info = {.size = sizeof info};
    cairn_unwind_here(ips, ROOM, &info);
    printf("%llu converters noticed\n", (unsigned long long)(info.generation - before));
    return info.generation != before;
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
    if (ways[n_closed++ / 2 % WAYS](module) != 0)
        exit(2);
    return function;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    unsigned n_same = 0;
    if (argc != 3)
        return 2;
    find_libc_close();
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
    return n_wrong != 0 || n_same == 0 || !converters_are_noticed();
}
