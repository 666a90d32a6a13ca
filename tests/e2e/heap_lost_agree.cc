/* SPDX-License-Identifier: MIT */
/*
 * Programs that leak or do not, for leak checkers to be held against each other: heap_lost_agree
 * NAME is one of them. Blocks are born in functions make_...(); heap_lost_agree.py knows which of
 * them are lost, and who says so.
 */
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <string>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define CASE __attribute__((noinline)) static void

static void *volatile kept, *volatile more[200];
static thread_local void *volatile own;

__attribute__((noinline)) static void *make(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block)
        abort();
    return memset(block, 0, bytes);
}

/* A chain of n blocks. */
static void **make_chain(int n, size_t bytes)
{
    void **first = nullptr;
    while (n--) {
        void **next = static_cast<void **>(make(bytes));
        *next = first;
        first = next;
    }
    return first;
}

static void drop(void *block)
{
    __asm__ volatile("" ::"r"(block) : "memory");
}

/* What calls leave on the stack and in registers is no part of the case. */
__attribute__((noinline)) static void wipe()
{
    volatile char room[16 << 10];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    __asm__ volatile("" ::: "memory", "rbx", "r12", "r13", "r14", "r15");
}

CASE dropped()
{
    drop(make(100));
}
CASE dropped_many()
{
    for (int i = 0; i < 1000; i++)
        drop(make(16 + i % 50));
}
CASE family()
{
    char *volatile text = strdup("a text of 20 bytes.");
    drop(calloc(3, 10));
    drop(realloc(make(10), 50));
    drop(aligned_alloc(64, 128));
    void *aligned = nullptr;
    drop(posix_memalign(&aligned, 256, 40) ? nullptr : aligned);
    aligned = nullptr;
    text = nullptr;
}
CASE large()
{
    drop(make(1 << 20));
}
CASE large_held()
{
    kept = make(3 << 20);
}
CASE in_variable()
{
    kept = make(100);
}
CASE in_chain()
{
    kept = make_chain(50, 24);
}
CASE in_array()
{
    void **array = static_cast<void **>(make(100 * sizeof *array));
    for (int i = 0; i < 100; i++)
        array[i] = make(32);
    kept = array;
}
CASE array_cut()
{
    in_array();
    kept = realloc(kept, 40 * sizeof(void *));
}
CASE in_own()
{
    own = make(100);
}
CASE in_own_of_dead()
{
    std::thread([] { own = make(100); }).join();
}
CASE on_stack_of_dead()
{
    std::thread([] {
        void *volatile block = make(100);
        drop(block);
    }).join();
}
CASE on_stack()
{
    void *volatile block = make(100);
    wipe();
    exit(0);
    drop(block);
}
static pthread_barrier_t begun;
CASE on_stack_of_other()
{
    pthread_barrier_init(&begun, nullptr, 2);
    std::thread([] {
        void *volatile block = make(100);
        pthread_barrier_wait(&begun);
        pause();
        drop(block);
    }).detach();
    pthread_barrier_wait(&begun);
}
CASE chain()
{
    drop(make_chain(10, 24));
}
CASE cycle()
{
    void **first = make_chain(3, 24);
    static_cast<void **>(static_cast<void **>(*first)[0])[0] = first;
}
CASE cycle_with_tail()
{
    void **head = make_chain(4, 24), **second = static_cast<void **>(head[0]);
    static_cast<void **>(second[0])[1] = second;
}
CASE from_freed()
{
    void **block = static_cast<void **>(make(400));
    block[20] = make(100);
    kept = block;
    free(block);
}
CASE inside()
{
    kept = static_cast<char *>(make(100)) + 40;
}
CASE at_end()
{
    kept = static_cast<char *>(make(104)) + 104;
}
CASE tagged()
{
    kept = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(make(100)) | uintptr_t{0xb4} << 56);
}
CASE unaligned()
{
    static char room[64];
    void *block = make(100);
    memcpy(room + 3, &block, sizeof block);
}
CASE in_mapping()
{
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<void **>(page) = make(100);
}
CASE in_shared_mapping()
{
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *static_cast<void **>(page) = make(100);
}
CASE by_key()
{
    pthread_key_t key;
    pthread_key_create(&key, nullptr);
    pthread_setspecific(key, make(100));
}
CASE by_keys()
{
    for (int i = 0; i < 100; i++) {
        pthread_key_t key;
        pthread_key_create(&key, nullptr);
        pthread_setspecific(key, make(100));
    }
}
CASE by_epoll()
{
    int pipes[2], set = epoll_create1(0);
    if (pipe(pipes))
        abort();
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = make(100);
    epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &event);
}
CASE by_timer()
{
    timer_t timer;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    event.sigev_value.sival_ptr = make(100);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
}
static ucontext_t outer, inner;
CASE coroutine()
{
    void *volatile block = make(100);
    wipe();
    swapcontext(&inner, &outer);
    drop(block);
}
CASE on_coroutine()
{
    getcontext(&inner);
    inner.uc_stack.ss_sp = kept = make(1 << 16);
    inner.uc_stack.ss_size = 1 << 16;
    makecontext(&inner, coroutine, 0);
    swapcontext(&outer, &inner);
}
CASE freed_at_exit()
{
    kept = make(100);
    atexit([] { free(kept); });
}
CASE dropped_at_exit()
{
    kept = make(100);
    atexit([] { kept = nullptr; });
}
CASE ends_at_once()
{
    drop(make(100));
    wipe();
    _exit(0);
}
CASE in_child()
{
    pid_t child = fork();
    if (child == 0) {
        drop(make(100));
        wipe();
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}
struct Counted {
    ~Counted()
    {
        drop(this);
    }
    long count[2] = {};
};
CASE array_of_objects()
{
    kept = new Counted[10];
}
struct First {
    virtual ~First() = default;
};
struct Second {
    virtual ~Second() = default;
    long count = 0;
};
struct Both : First, Second {
};
CASE second_base()
{
    kept = static_cast<Second *>(new Both);
}
CASE length_before()
{
    uint64_t *text = static_cast<uint64_t *>(make(108));
    *text = 100;
    kept = text + 1;
}
CASE by_hand()
{
    char *block = static_cast<char *>(make(300));
    uintptr_t at = (reinterpret_cast<uintptr_t>(block) + 8 + 127) & ~uintptr_t{127};
    reinterpret_cast<void **>(at)[-1] = block;
    kept = reinterpret_cast<void *>(at);
}
CASE containers()
{
    static std::unordered_map<int, std::string> held;
    auto *lost = new std::vector<std::string>;
    for (int i = 0; i < 100; i++)
        held[i] = "a text that is longer than a string has room for";
    lost->reserve(10);
    for (int i = 0; i < 10; i++)
        lost->push_back("a text that is longer than a string has room for");
}

static const struct {
    const char *name;
    void (*run)();
} cases[] = {
#define ROW(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }
    ROW(dropped),         ROW(dropped_many),
    ROW(family),          ROW(large),
    ROW(large_held),      ROW(in_variable),
    ROW(in_chain),        ROW(in_array),
    ROW(array_cut),       ROW(in_own),
    ROW(in_own_of_dead),  ROW(on_stack_of_dead),
    ROW(on_stack),        ROW(on_stack_of_other),
    ROW(chain),           ROW(cycle),
    ROW(cycle_with_tail), ROW(from_freed),
    ROW(inside),          ROW(at_end),
    ROW(tagged),          ROW(unaligned),
    ROW(in_mapping),      ROW(in_shared_mapping),
    ROW(by_key),          ROW(by_keys),
    ROW(by_epoll),        ROW(by_timer),
    ROW(on_coroutine),    ROW(freed_at_exit),
    ROW(dropped_at_exit), ROW(ends_at_once),
    ROW(in_child),        ROW(array_of_objects),
    ROW(second_base),     ROW(length_before),
    ROW(by_hand),         ROW(containers),
};

int main(int argc, char **argv)
{
    for (const auto &one : cases)
        if (argc > 1 && strcmp(argv[1], one.name) == 0)
            one.run();
        else if (argc == 1)
            puts(one.name);
    wipe();
    return 0;
}
