/* SPDX-License-Identifier: MIT */
/*
 * A program that uses LeakSanitizer's interface, with blocks whose fate is known: hold_...() keep
 * theirs, lose_...() lose them; each size is one function's. heap_lsan all TLS_LIBRARY makes all of
 * them and asks once; heap_lsan check asks for a check that ends it; heap_lsan thread asks from a
 * second thread while the main one runs. Prints what it is told.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

__attribute__((weak)) void __lsan_disable(void);
__attribute__((weak)) void __lsan_enable(void);
__attribute__((weak)) void __lsan_do_leak_check(void);
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

enum { KEYS = 900, STACK_BYTES = 1 << 16 };

#ifdef OFF
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}
#endif
#ifdef SUPPRESS
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:lose_one\n";
}
#endif

static void *volatile by_destructor, *volatile in_cycle, *volatile inside, *volatile large;
static _Thread_local void *volatile own;
static pthread_key_t keys[KEYS];
static ucontext_t outer, inner;
static atomic_bool stop, begun;

static void *get(size_t bytes)
{
    void *block = malloc(bytes);
    return block ? memset(block, 0, bytes) : abort(), block;
}

static void lose_one(void)
{
    void *volatile block = get(111);
    block = NULL;
}

/* Of no size that a stack for signal handlers might have: without BPF that would be in doubt. */
static void lose_large(void)
{
    void *volatile block = get((1 << 20) + 40);
    block = NULL;
}

static void lose_cycle(void)
{
    void **volatile first = get(121), **second = get(122);
    *first = second;
    *second = (void *)first;
    first = NULL;
}

static void hold_cycle(void)
{
    void **first = get(131), **second = get(132);
    *first = second;
    *second = first;
    in_cycle = second;
}

static void hold_inside(void)
{
    inside = (char *)get(141) + 24;
    large = get(1 << 21);
}

static void hold_until_destructor(void)
{
    by_destructor = get(151);
}

__attribute__((destructor)) static void clear(void)
{
    by_destructor = NULL;
}

/* What is born in a scope, and what hangs on it; nested, and of this thread alone. */
static void *lose_beside(void *unused)
{
    void *volatile block = get(161);
    block = NULL;
    return unused;
}

static void hold_disabled(void)
{
    pthread_t id;
    __lsan_disable();
    __lsan_disable();
    void **volatile first = get(171);
    __lsan_enable();
    void *volatile second = get(172);
    pthread_create(&id, NULL, lose_beside, NULL);
    __lsan_enable();
    pthread_join(id, NULL);
    first[2] = get(173);
    second = realloc(second, 5 << 10); /* outside of the scope: a block like any other */
    own = second;
    first = NULL;
    second = NULL;
}

static void lose_after_scope(void)
{
    void *volatile block = get(181);
    block = NULL;
}

static void hold_by_keys(void)
{
    for (int i = 0; i < KEYS; i++)
        if (pthread_key_create(&keys[i], NULL) != 0 || pthread_setspecific(keys[i], get(191)) != 0)
            abort();
}

typedef void **slot_fn(void);
static slot_fn *dynamic;

static void *lose_in_thread(void *unused)
{
    own = get(201);
    *dynamic() = get(202);
    return unused;
}

static void hold_in_dynamic_tls(const char *library)
{
    pthread_t id;
    void *handle = dlopen(library, RTLD_NOW);
    dynamic = handle ? (slot_fn *)dlsym(handle, "slot") : NULL;
    if (!dynamic)
        abort();
    *dynamic() = get(211);
    pthread_create(&id, NULL, lose_in_thread, NULL);
    pthread_join(id, NULL);
}

static void *hold_result(void *unused)
{
    (void)unused;
    return get(221);
}

/* The only pointer to it is in a register of a thread that runs. */
static void *hold_in_register(void *unused)
{
    uintptr_t hidden = ~(uintptr_t)get(231);
    atomic_store(&begun, true);
#ifdef __x86_64__
    __asm__ volatile("notq %0\n1: pause\n cmpb $0, %1\n je 1b\n notq %0"
                     : "+r"(hidden)
                     : "m"(stop)
                     : "cc");
#else
    uintptr_t volatile shown = ~hidden;
    while (!atomic_load(&stop) && shown)
        ;
#endif
    free((void *)~hidden);
    return unused;
}

/* The block behind it keeps it apart from free memory, whose links count in a child: the tracker
 * does not know the parent's blocks. */
static void lose_in_child(void)
{
    void *volatile block = get(241);
    in_cycle = get(242);
    block = NULL;
}

/* What a call leaves on the stack is no part of the case. */
static void wipe(void)
{
    volatile char room[16 << 10];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    __asm__ volatile("" ::: "memory");
}

static void fork_and_ask(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        lose_in_child();
        wipe();
        _exit(__lsan_do_recoverable_leak_check() ? 42 : 43);
    }
    waitpid(pid, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

/* Asks on a stack of its own, while the other one waits with a block. */
static void hold_in_context(void)
{
    void *volatile block = get(251);
    wipe();
    printf("recoverable %d\n", __lsan_do_recoverable_leak_check());
    swapcontext(&inner, &outer);
    free(block);
}

static void hold_over_context(void)
{
    void *volatile block = get(261);
    char *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = STACK_BYTES;
    inner.uc_link = &outer;
    makecontext(&inner, hold_in_context, 0);
    swapcontext(&outer, &inner);
    fork_and_ask(); /* the other one waits now */
    swapcontext(&outer, &inner);
    free(block);
}

static void all(const char *library)
{
    pthread_t in_register, with_result;
    void *result;
    lose_one();
    lose_large();
    lose_cycle();
    hold_cycle();
    hold_inside();
    hold_until_destructor();
    hold_disabled();
    lose_after_scope();
    hold_by_keys();
    hold_in_dynamic_tls(library);
    pthread_create(&in_register, NULL, hold_in_register, NULL);
    pthread_create(&with_result, NULL, hold_result, NULL);
    while (!atomic_load(&begun))
        usleep(1000);
    wipe();
    hold_over_context();
    atomic_store(&stop, true);
    pthread_join(in_register, NULL);
    pthread_join(with_result, &result);
    free(result);
    wipe();
}

static void *ask(void *unused)
{
    printf("recoverable %d\n", __lsan_do_recoverable_leak_check());
    atomic_store(&stop, true);
    return unused;
}

static void ask_from_thread(void)
{
    pthread_t id;
    lose_one();
    wipe();
    pthread_create(&id, NULL, ask, NULL);
    while (!atomic_load(&stop))
        ;
    pthread_join(id, NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!__lsan_disable || !__lsan_enable || !__lsan_do_leak_check ||
        !__lsan_do_recoverable_leak_check)
        return 77;
    if (strcmp(what, "all") == 0 && argc > 2)
        all(argv[2]);
    if (strcmp(what, "thread") == 0)
        ask_from_thread();
    if (strcmp(what, "check") == 0) {
        lose_one();
        wipe();
        __lsan_do_leak_check();
        lose_after_scope(); /* after the check: nobody looks any more */
        wipe();
        __lsan_do_leak_check();
        puts("went on");
    }
    if (strcmp(what, "ask") == 0) {
        lose_one();
        wipe();
        printf("recoverable %d\n", __lsan_do_recoverable_leak_check());
    }
    return 5;
}
