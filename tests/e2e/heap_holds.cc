/* SPDX-License-Identifier: MIT */
/*
 * Blocks whose holder is known, for cairn heap holds: each function in_NAME allocates one, and its
 * name is what holds it. Says "ready" and waits for the end of its input.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace app
{
struct Shape {
    virtual ~Shape() = default;
    void *inner = nullptr;
    char text[40];
};
struct Circle : Shape {
    double radius = 1;
};
Shape *shape;
} // namespace app

struct Node {
    Node *next;
    void *other;
};

extern "C" {
void *global, **table, *chain_head, *local_last;
__thread void *local_variable;
void **pages;
void *lost;
}

static void *get(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    memset(block, 0, size);
    return block;
}

/* What a call leaves on the stack and in registers is no part of the case. */
__attribute__((noinline)) static void wipe()
{
    volatile char room[16 << 10];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void in_global()
{
    global = get(101);
}

__attribute__((noinline)) static void in_local_static()
{
    static void *kept[3];
    kept[2] = get(102);
    __asm__ volatile("" ::"r"(&kept) : "memory");
}

__attribute__((noinline)) static void in_thread_local()
{
    local_variable = get(103);
}

__attribute__((noinline)) static void in_shape()
{
    app::shape = new app::Circle;
    app::shape->inner = get(24);
}

/* The one after the last is in no variable, but in a block of which there are 5,000. */
__attribute__((noinline)) static void in_chain()
{
    Node *last = nullptr;
    for (int i = 0; i < 5000; i++) {
        Node *node = static_cast<Node *>(get(sizeof *node));
        if (last)
            last->next = node;
        else
            chain_head = node;
        last = node;
    }
    last->other = get(105);
}

/* 8 bytes into it. */
__attribute__((noinline)) static void in_block()
{
    table = static_cast<void **>(get(10 * sizeof *table));
    char *block = static_cast<char *>(get(106));
    table[7] = block + 8;
}

/* Three pointers to it, from blocks that are not as near. */
__attribute__((noinline)) static void in_three()
{
    void *block = get(107);
    table[1] = block;
    table[2] = get(40);
    static_cast<void **>(table[2])[3] = block;
    table[3] = get(48);
    static_cast<void **>(table[3])[1] = get(56);
    static_cast<void ***>(table[3])[1][2] = block;
}

__attribute__((noinline)) static void in_key()
{
    pthread_key_t key = 0;
    for (int i = 0; i < 3; i++)
        pthread_key_create(&key, nullptr);
    pthread_setspecific(key, get(108));
}

__attribute__((noinline)) static void in_late_key()
{
    pthread_key_t key = 0;
    while (key < 40)
        pthread_key_create(&key, nullptr);
    pthread_setspecific(key, get(1009)); /* its table of keys is a block, too */
}

__attribute__((noinline)) static void in_epoll()
{
    struct epoll_event event = {};
    int set = epoll_create1(0), fd = eventfd(0, 0);
    event.events = EPOLLIN;
    event.data.ptr = get(110);
    epoll_ctl(dup2(set, 70), EPOLL_CTL_ADD, dup2(fd, 71), &event);
    close(set);
    close(fd);
}

__attribute__((noinline)) static void in_timer()
{
    struct sigevent event = {};
    timer_t timer;
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR2;
    event.sigev_value.sival_ptr = get(111);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
}

__attribute__((noinline)) static void in_pages()
{
    pages = static_cast<void **>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    pages[5] = get(112);
}

__attribute__((noinline)) static void in_nothing()
{
    void *volatile dropped = get(113);
    dropped = nullptr;
    (void)dropped;
}

__attribute__((noinline)) static void *in_stack()
{
    return get(114);
}

__attribute__((noinline)) static void wait_with_block(int fd)
{
    void *volatile kept[4] = {nullptr, in_stack(), nullptr, nullptr};
    char byte;
    wipe();
    (void)!read(fd, &byte, 1);
    __asm__ volatile("" ::"r"(&kept) : "memory");
}

static void *thread(void *fd)
{
    wait_with_block(*static_cast<int *>(fd));
    return nullptr;
}

/* Most of the heap hangs on one variable: 100 blocks of 10 kB. */
extern "C" {
void **cache;
}
__attribute__((noinline)) static void *in_cache()
{
    return get(10000);
}
__attribute__((noinline)) static void fill_cache()
{
    cache = static_cast<void **>(get(100 * sizeof *cache));
    for (int i = 0; i < 100; i++)
        cache[i] = in_cache();
}

int main()
{
    int ends[2];
    char byte;
    pthread_t id;
    if (pipe(ends) < 0)
        return 1;
    fill_cache();
    in_global();
    in_local_static();
    in_thread_local();
    in_shape();
    in_chain();
    in_block();
    in_three();
    in_key();
    in_late_key();
    in_epoll();
    in_timer();
    in_pages();
    in_nothing();
    wipe();
    pthread_create(&id, nullptr, thread, &ends[0]);
    usleep(100000);
    puts("ready");
    fflush(stdout);
    (void)!read(0, &byte, 1);
    close(ends[1]);
    pthread_join(id, nullptr);
    return 0;
}
