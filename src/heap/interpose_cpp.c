/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Interpose C++: operators new and delete in all their forms (C++17 17.6.3), so that it is known by
 * what a block came to be, and what the wrong operator frees is seen. In libcairn-heap alone.
 *
 * The standard library's operators are malloc and free with an exception for no memory. Where the
 * next ones are its own, ours do what they do, and ask them only when there is no memory, for what
 * then is to happen (new_handler, bad_alloc). Where a library has put others in their place, those
 * are called, and what they ask of malloc is seen there. So it is where malloc itself is not ours
 * because the program has one: blocks of new must be that one's, which the program may rely on.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>

#include "heap/caller.h"
#include "heap/real.h"
#include "heap/track.h"
#include "unwind/loader.h"
#include "unwind/modules.h"

/* As the Itanium C++ ABI mangles size_t, 5.1.5.2: unsigned long or unsigned int. */
#ifdef __LP64__
#define SIZE "m"
#else
#define SIZE "j"
#endif
#define ALIGN   "St11align_val_t"
#define NOTHROW "RKSt9nothrow_t"

/* What the next ones are, as of a generation of modules (unwind/unload.h). */
enum next { UNKNOWN, STANDARD, FOREIGN };
static _Atomic(uint64_t) known; /* generation << 2 | enum next */

static bool is_standard(void)
{
    struct cairn_local_module operators, handlers;
    if (cairn_loader_before("malloc"))
        return false;
    uintptr_t new = cairn_loader_next("_Znw" SIZE);
    uintptr_t handler = cairn_loader_next("_ZSt15set_new_handlerPFvvE");
    return !new || (handler && cairn_modules_find(new, &operators) &&
                    cairn_modules_find(handler, &handlers) && operators.from == handlers.from);
}

__attribute__((noinline, cold)) static bool look(uint64_t generation)
{
    bool standard = is_standard();
    atomic_store_explicit(&known, generation << 2 | (standard ? STANDARD : FOREIGN),
                          memory_order_relaxed);
    return standard;
}

static inline bool next_is_standard(void)
{
    uint64_t generation = atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed);
    uint64_t has = atomic_load_explicit(&known, memory_order_relaxed);
    if (__builtin_expect(has == (generation << 2 | STANDARD), 1))
        return true;
    return has == (generation << 2 | FOREIGN) ? false : look(generation);
}

/* The next function of that name, as of a generation. */
struct cached {
    _Atomic(uint64_t) generation;
    _Atomic(uintptr_t) va;
};

static uintptr_t find_next(struct cached *cached, const char *symbol)
{
    uint64_t generation = atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed);
    if (atomic_load_explicit(&cached->generation, memory_order_acquire) == generation)
        return atomic_load_explicit(&cached->va, memory_order_relaxed);
    uintptr_t va = cairn_loader_next(symbol);
    atomic_store_explicit(&cached->va, va, memory_order_relaxed);
    atomic_store_explicit(&cached->generation, va ? generation : 0, memory_order_release);
    return va;
}

/* A block of that size, 0 counted as 1: no two have the same address. NULL: no memory. */
static inline void *allocate(size_t size, size_t alignment)
{
    void *block = NULL;
    if (size == 0)
        size = 1;
    if (alignment == 0)
        return cairn_heap_real.malloc(size);
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    return cairn_heap_real.posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

/* What the next operator gives came through our malloc: it is made ours. */
static void *adopt(void *block, size_t size, unsigned kind, struct cairn_local_frame_at at)
{
    if (block && next_is_standard()) {
        cairn_heap_died(block, CAIRN_HEAP_KIND_MALLOC);
        cairn_heap_born_fully(block, size, kind, at.ret, at.sp, at.fp);
    }
    return block;
}

/* Without a library that has the operator there is nobody who could throw: malloc's answer is ours.
 */
#define NEW(function, symbol, kind, parameters, arguments, alignment)                              \
    CAIRN_API void *function parameters __asm__(symbol);                                           \
    CAIRN_API void *function parameters                                                            \
    {                                                                                              \
        void *block = next_is_standard() ? allocate(size, alignment) : NULL;                       \
        if (__builtin_expect(block != NULL, 1))                                                    \
            return cairn_heap_born(block, size, kind);                                             \
        static struct cached cached;                                                               \
        void *(*next)parameters = (void *(*)parameters)find_next(&cached, symbol);                 \
        struct cairn_local_frame_at at = CAIRN_HEAP_CALLER;                                        \
        return next ? adopt(next arguments, size, kind, at) : NULL;                                \
    }

#define ONE   CAIRN_HEAP_KIND_NEW
#define ARRAY CAIRN_HEAP_KIND_NEW_ARRAY
NEW(cairn_new, "_Znw" SIZE, ONE, (size_t size), (size), 0)
NEW(cairn_new_array, "_Zna" SIZE, ARRAY, (size_t size), (size), 0)
NEW(cairn_new_nothrow, "_Znw" SIZE NOTHROW, ONE, (size_t size, const void *nothrow),
    (size, nothrow), 0)
NEW(cairn_new_array_nothrow, "_Zna" SIZE NOTHROW, ARRAY, (size_t size, const void *nothrow),
    (size, nothrow), 0)
NEW(cairn_new_aligned, "_Znw" SIZE ALIGN, ONE, (size_t size, size_t alignment), (size, alignment),
    alignment)
NEW(cairn_new_array_aligned, "_Zna" SIZE ALIGN, ARRAY, (size_t size, size_t alignment),
    (size, alignment), alignment)
NEW(cairn_new_aligned_nothrow, "_Znw" SIZE ALIGN NOTHROW, ONE,
    (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow), alignment)
NEW(cairn_new_array_aligned_nothrow, "_Zna" SIZE ALIGN NOTHROW, ARRAY,
    (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow), alignment)

#define DELETE(function, symbol, kind, parameters, arguments)                                      \
    CAIRN_API void function parameters __asm__(symbol);                                            \
    CAIRN_API void function parameters                                                             \
    {                                                                                              \
        if (__builtin_expect(next_is_standard(), 1)) {                                             \
            if (block)                                                                             \
                cairn_heap_died(block, kind);                                                      \
            cairn_heap_real.free(block);                                                           \
            return;                                                                                \
        }                                                                                          \
        static struct cached cached;                                                               \
        void(*next) parameters = (void(*) parameters)find_next(&cached, symbol);                   \
        if (next)                                                                                  \
            next arguments;                                                                        \
    }

DELETE(cairn_delete, "_ZdlPv", ONE, (void *block), (block))
DELETE(cairn_delete_array, "_ZdaPv", ARRAY, (void *block), (block))
DELETE(cairn_delete_sized, "_ZdlPv" SIZE, ONE, (void *block, size_t size), (block, size))
DELETE(cairn_delete_array_sized, "_ZdaPv" SIZE, ARRAY, (void *block, size_t size), (block, size))
DELETE(cairn_delete_nothrow, "_ZdlPv" NOTHROW, ONE, (void *block, const void *nothrow),
       (block, nothrow))
DELETE(cairn_delete_array_nothrow, "_ZdaPv" NOTHROW, ARRAY, (void *block, const void *nothrow),
       (block, nothrow))
DELETE(cairn_delete_aligned, "_ZdlPv" ALIGN, ONE, (void *block, size_t alignment),
       (block, alignment))
DELETE(cairn_delete_array_aligned, "_ZdaPv" ALIGN, ARRAY, (void *block, size_t alignment),
       (block, alignment))
DELETE(cairn_delete_sized_aligned, "_ZdlPv" SIZE ALIGN, ONE,
       (void *block, size_t size, size_t alignment), (block, size, alignment))
DELETE(cairn_delete_array_sized_aligned, "_ZdaPv" SIZE ALIGN, ARRAY,
       (void *block, size_t size, size_t alignment), (block, size, alignment))
DELETE(cairn_delete_aligned_nothrow, "_ZdlPv" ALIGN NOTHROW, ONE,
       (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow))
DELETE(cairn_delete_array_aligned_nothrow, "_ZdaPv" ALIGN NOTHROW, ARRAY,
       (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow))
