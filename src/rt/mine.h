/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Mine: what a thread keeps for itself in a build without thread-local storage (CAIRN_NO_TLS):
 * libcairn-track, which is loaded late. The static TLS block of a running process may have no space
 * left, musl and bionic refuse a late library that needs some, and a library that is mapped by hand
 * has none at all.
 *
 * An entry is found by a hash of the thread pointer and compared with it: about 1 ns. No two living
 * threads have the same thread pointer. The entry, and all that hangs on it, belongs to the pointer
 * and not to the thread's number: a new thread may get a dead one's pointer, and takes the entry
 * over as it is. Entries are never freed; C libraries reuse the stacks of dead threads.
 */
#ifndef CAIRN_RT_MINE_H
#define CAIRN_RT_MINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cairn_heap_own;
struct cairn_local_state;

/* One cache line with 64 bits. */
struct cairn_mine {
    _Atomic(uintptr_t) thread; /* the thread pointer; 0: free */
    struct cairn_heap_own *heap_own;
    uint32_t lock_number;
    uint32_t seal_of_child;
    uintptr_t starting_at;
    uintptr_t guard; /* heap/late.h: stack pointer of the outermost call, 0: none */
    struct cairn_mine_walk {
        struct cairn_local_state *state;
        uint64_t owner;
    } walk;
};

enum { CAIRN_MINE_BITS = 14 };
extern struct cairn_mine cairn_mine_table[1 << CAIRN_MINE_BITS]
    __attribute__((visibility("hidden")));

/* The entry of threads that found no free one. Nothing may be stored in it. */
extern struct cairn_mine cairn_mine_none __attribute__((visibility("hidden")));

__attribute__((always_inline)) static inline uintptr_t cairn_mine_thread(void)
{
    uintptr_t thread;
#if defined(__x86_64__)
    __asm__("mov %%fs:0, %0" : "=r"(thread));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(thread));
#else
    thread = (uintptr_t)__builtin_thread_pointer();
#endif
    return thread;
}

/* The entry of that thread pointer, made if it is missing. Signal-safe, no lock. */
struct cairn_mine *cairn_mine_find(uintptr_t thread);

/* Fibonacci hashing: the uppermost bits of the product. */
static inline uint32_t cairn_mine_place(uintptr_t thread)
{
    return (uint32_t)((uint64_t)thread * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CAIRN_MINE_BITS));
}

/* The calling thread's. */
__attribute__((always_inline)) static inline struct cairn_mine *cairn_mine(void)
{
    uintptr_t thread = cairn_mine_thread();
    struct cairn_mine *mine = &cairn_mine_table[cairn_mine_place(thread)];
    if (__builtin_expect(atomic_load_explicit(&mine->thread, memory_order_relaxed) == thread, 1))
        return mine;
    return cairn_mine_find(thread);
}

static inline bool cairn_mine_is_none(const struct cairn_mine *mine)
{
    return mine == &cairn_mine_none;
}

#endif /* CAIRN_RT_MINE_H */
