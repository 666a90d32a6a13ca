/* SPDX-License-Identifier: MIT */
/*
 * Blocks whose fate is known, for cairn heap lost: each function hold_NAME, lose_NAME or doubt_NAME
 * allocates some, and its name is what is right. Says "ready" and waits for the end of its input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, STACK = 64 << 10 };

struct node {
    struct node *next, *other;
    char text[32];
};

/* Not static: no compiler may leave out what is stored in them. */
void *global, *chain;
void *initialised = &global;
__thread void *in_tls;
struct node *cyclic;
void **in_pages, **in_shared, **in_locked, **last_word;
uintptr_t tagged, boxed, at_end;
char *inside;
static ucontext_t coroutine, main_context;
static pthread_barrier_t begun;

__attribute__((noinline)) static void *get(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    memset(block, 0x11, size);
    return block;
}

/* What a call leaves on the stack and in registers is no part of the case. */
__attribute__((noinline)) static void wipe(void)
{
    volatile char room[16 << 10];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    __asm__ volatile("" ::: "memory");
}

static void *map(int protection, int flags)
{
    void *pages = mmap(NULL, PAGE, protection, flags | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        abort();
    return pages;
}

__attribute__((noinline)) static void hold_global(void)
{
    global = get(101);
}

__attribute__((noinline)) static void hold_static(void)
{
    static void *kept;
    kept = get(102);
    __asm__ volatile("" ::"r"(&kept) : "memory");
}

__attribute__((noinline)) static void hold_data(void)
{
    initialised = get(103);
}

__attribute__((noinline)) static void hold_tls(void)
{
    in_tls = get(104);
}

__attribute__((noinline)) static void hold_pages(void)
{
    in_pages = map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
    *in_pages = get(105);
}

__attribute__((noinline)) static void hold_shared(void)
{
    in_shared = map(PROT_READ | PROT_WRITE, MAP_SHARED);
    *in_shared = get(106);
}

__attribute__((noinline)) static void hold_locked(void)
{
    in_locked = map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
    *in_locked = get(107);
    mprotect(in_locked, PAGE, PROT_NONE);
}

__attribute__((noinline)) static void hold_chain(void)
{
    for (int i = 0; i < 5000; i++) {
        struct node *node = get(sizeof *node);
        node->next = chain;
        chain = node;
    }
}

__attribute__((noinline)) static void hold_last_word(void)
{
    last_word = get(64);
    last_word[7] = get(108);
}

__attribute__((noinline)) static void hold_key(void)
{
    for (int i = 0; i < 100; i++) {
        pthread_key_t key;
        if (pthread_key_create(&key, NULL) != 0 || pthread_setspecific(key, get(109)) != 0)
            abort();
    }
}

__attribute__((noinline)) static void hold_epoll(void)
{
    int set = epoll_create1(0), fd = eventfd(0, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = get(110)};
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0)
        abort();
    memset(&event, 0, sizeof event);
    __asm__ volatile("" ::"r"(&event) : "memory");
}

__attribute__((noinline)) static void hold_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    event.sigev_value.sival_ptr = get(111);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
        abort();
    memset(&event, 0, sizeof event);
    __asm__ volatile("" ::"r"(&event) : "memory");
}

static void at_exit(int status, void *block)
{
    (void)status;
    (void)block;
}

__attribute__((noinline)) static void hold_at_exit(void)
{
    on_exit(at_exit, get(112));
}

/* Held by its array and by a block that points into both. */
__attribute__((noinline)) static void hold_cookie(void)
{
    static uint64_t *array;
    uint64_t *whole = get(8 + 4 * 24);
    whole[0] = 4;
    array = whole + 1;
    __asm__ volatile("" ::"r"(&array) : "memory");
}

/* Only the kernel knows it. */
__attribute__((noinline)) static void hold_alternate_stack(void)
{
    stack_t stack = {.ss_size = STACK, .ss_sp = get(STACK)};
    if (sigaltstack(&stack, NULL) < 0)
        abort();
    memset(&stack, 0, sizeof stack);
    __asm__ volatile("" ::"r"(&stack) : "memory");
}

static void run_coroutine(void)
{
    void *volatile local = get(113);
    swapcontext(&coroutine, &main_context);
    free(local);
}

/* Its stack is a block, and what it holds is on that. */
__attribute__((noinline)) static void hold_coroutine(void)
{
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = get(STACK);
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, run_coroutine, 0);
    swapcontext(&main_context, &coroutine);
}

__attribute__((noinline)) static void doubt_inside(void)
{
    inside = (char *)get(201) + 33;
}

__attribute__((noinline)) static void doubt_end(void)
{
    at_end = (uintptr_t)get(202) + 202;
}

__attribute__((noinline)) static void doubt_tag(void)
{
    tagged = (uintptr_t)get(203) | (uintptr_t)0xb4 << 56;
    boxed = (uintptr_t)get(203) | (uintptr_t)0xfffa << 48;
}

__attribute__((noinline)) static void lose_one(void)
{
    for (int i = 0; i < 5; i++)
        __asm__ volatile("" ::"r"(get(301)));
}

__attribute__((noinline)) static void lose_list(void)
{
    struct node *list = NULL;
    for (int i = 0; i < 1000; i++) {
        struct node *node = get(sizeof *node);
        node->next = list;
        list = node;
    }
}

__attribute__((noinline)) static void lose_cycle(void)
{
    cyclic = get(sizeof *cyclic);
    cyclic->next = get(sizeof *cyclic);
    cyclic->next->next = get(sizeof *cyclic);
    cyclic->next->next->next = cyclic;
    cyclic = NULL;
}

/* The owner is freed, what it owned is not; its memory still has the address. */
__attribute__((noinline)) static void lose_owned(void)
{
    struct node *owner = get(700);
    struct node *after = get(700);
    static void *kept;
    ((void **)owner)[40] = get(302);
    free(owner);
    kept = after;
    __asm__ volatile("" ::"r"(&kept) : "memory");
}

__attribute__((noinline)) static void *lose_in_thread(void *unused)
{
    in_tls = get(303);
    return unused;
}

/* Nobody takes its stack over. */
__attribute__((noinline)) static void *lose_at_end(void *unused)
{
    void *volatile local = in_tls = get(304);
    (void)local;
    return unused;
}

__attribute__((noinline)) static void *hold_in_thread(void *unused)
{
    in_tls = get(114);
    pthread_barrier_wait(&begun);
    pause();
    return unused;
}

__attribute__((noinline)) static void *hold_on_stack(void *unused)
{
    void *volatile local = get(115);
    pthread_barrier_wait(&begun);
    pause();
    free(local);
    return unused;
}

/* In a register that no call saves, while the thread sleeps in the kernel or runs. */
__attribute__((noinline)) static void *hold_in_register(void *spins)
{
    void *block = get(116);
    pthread_barrier_wait(&begun);
#ifdef __x86_64__
    if (spins)
        __asm__ volatile("mov %0, %%r12\n\txor %0, %0\n1:\tpause\n\tjmp 1b" : "+r"(block)::"r12");
    __asm__ volatile(
        "mov %0, %%r12\n\txor %0, %0\n\tmov %1, %%eax\n1:\tmov $34, %%eax\n\tsyscall\n\t"
        "jmp 1b"
        : "+r"(block)
        : "i"(SYS_pause)
        : "r12", "rax", "rcx", "r11");
#else
    register void *kept __asm__("x20") = block;
    (void)spins;
    for (;;)
        __asm__ volatile("mov x8, #73\n\tmov x0, xzr\n\tmov x1, xzr\n\tmov x2, xzr\n\tmov x3, "
                         "xzr\n\tsvc #0" /* ppoll(2) */
                         : "+r"(kept)::"x0", "x1", "x2", "x3", "x8", "memory");
#endif
    return block;
}

/* Nobody has asked yet what it returned. */
static void *hold_result(void *unused)
{
    (void)unused;
    return get(117);
}

/* Two stacks in one mapping, above memory without access: the thread is on the upper one, and what
 * it left on the lower one is still held. */
static ucontext_t lower, upper, of_thread;

static void wait_above(void)
{
    pthread_barrier_wait(&begun);
    for (;;)
        pause();
}

static void leave_below(void)
{
    void *volatile local = get(118);
    swapcontext(&lower, &of_thread);
    free(local);
}

static void *hold_on_lower_stack(void *unused)
{
    char *pages =
        mmap(NULL, PAGE + 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages, PAGE, PROT_NONE) < 0)
        abort();
    getcontext(&lower);
    lower.uc_stack = (stack_t){.ss_sp = pages + PAGE, .ss_size = STACK};
    makecontext(&lower, leave_below, 0);
    swapcontext(&of_thread, &lower);
    getcontext(&upper);
    upper.uc_stack = (stack_t){.ss_sp = pages + PAGE + STACK, .ss_size = STACK};
    makecontext(&upper, wait_above, 0);
    wipe();
    swapcontext(&of_thread, &upper);
    return unused;
}

static void start(void *(*run)(void *), void *with)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, with) != 0)
        abort();
}

static void threads(void)
{
    pthread_t thread;
    pthread_barrier_init(&begun, NULL, 6);
    if (pthread_create(&thread, NULL, lose_in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        abort();
    start(hold_in_thread, NULL);
    start(hold_on_lower_stack, NULL);
    start(hold_result, NULL);
    start(hold_on_stack, NULL);
    start(hold_in_register, NULL);
    start(hold_in_register, &begun);
    pthread_barrier_wait(&begun);
    if (pthread_create(&thread, NULL, lose_at_end, NULL) != 0 || pthread_join(thread, NULL) != 0)
        abort();
}

static void hold_all(void)
{
    hold_coroutine(); /* first: malloc leaves ends of the heap on its stack */
    hold_global();
    hold_static();
    hold_data();
    hold_tls();
    hold_pages();
    hold_shared();
    hold_locked();
    hold_chain();
    hold_last_word();
    hold_key();
    hold_epoll();
    hold_timer();
    hold_at_exit();
    hold_cookie();
    hold_alternate_stack();
}

static void lose_all(void)
{
    lose_one();
    lose_list();
    lose_cycle();
    lose_owned();
}

int main(void)
{
    char line[8];
    hold_all();
    doubt_inside();
    doubt_end();
    doubt_tag();
    lose_all();
    threads();
    wipe();
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        ;
    return 0;
}
