/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Interpose C++: operators new and delete in all their forms (C++17 21.6.2), so that the tracker
 * knows which operator made a block, and sees the wrong one free it. In libcairn-heap alone.
 *
 * The standard library's operators are malloc and free with an exception for lack of memory. Its
 * versions call each other: operator delete[](void *, size_t) calls operator delete[](void *), and
 * that calls operator delete(void *). A program may replace any of them (C++17 20.5.4.6), before
 * the tracker (in the executable) or behind it (in a library).
 *
 * Where an operator and all that its default version calls are the library's, ours allocates and
 * frees by itself, and asks the library's only when memory is short: for new_handler and bad_alloc.
 * Else the next module's version is called, which calls the program's, as it would without the
 * tracker; the blocks are recorded where the program's version calls malloc. The same holds where
 * the program has its own malloc: blocks of new must be that one's.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

/* An operator, in the order of operators[]. */
enum form {
    NEW_ONE,
    NEW_ARRAY,
    NEW_NOTHROW,
    NEW_ARRAY_NOTHROW,
    NEW_ALIGNED,
    NEW_ARRAY_ALIGNED,
    NEW_ALIGNED_NOTHROW,
    NEW_ARRAY_ALIGNED_NOTHROW,
    DELETE_ONE,
    DELETE_ARRAY,
    DELETE_SIZED,
    DELETE_ARRAY_SIZED,
    DELETE_NOTHROW,
    DELETE_ARRAY_NOTHROW,
    DELETE_ALIGNED,
    DELETE_ARRAY_ALIGNED,
    DELETE_SIZED_ALIGNED,
    DELETE_ARRAY_SIZED_ALIGNED,
    DELETE_ALIGNED_NOTHROW,
    DELETE_ARRAY_ALIGNED_NOTHROW,
    OPERATORS
};

/* `base`: the operator that the default version calls (C++17 21.6.2); itself if it calls malloc or
 * free. A base comes before what calls it, or has no base but itself. */
static const struct {
    const char *symbol;
    enum form base;
} operators[OPERATORS] = {
    [NEW_ONE] = {"_Znw" SIZE, NEW_ONE},
    [NEW_ARRAY] = {"_Zna" SIZE, NEW_ONE},
    [NEW_NOTHROW] = {"_Znw" SIZE NOTHROW, NEW_ONE},
    [NEW_ARRAY_NOTHROW] = {"_Zna" SIZE NOTHROW, NEW_ARRAY},
    [NEW_ALIGNED] = {"_Znw" SIZE ALIGN, NEW_ALIGNED},
    [NEW_ARRAY_ALIGNED] = {"_Zna" SIZE ALIGN, NEW_ALIGNED},
    [NEW_ALIGNED_NOTHROW] = {"_Znw" SIZE ALIGN NOTHROW, NEW_ALIGNED},
    [NEW_ARRAY_ALIGNED_NOTHROW] = {"_Zna" SIZE ALIGN NOTHROW, NEW_ARRAY_ALIGNED},
    [DELETE_ONE] = {"_ZdlPv", DELETE_ONE},
    [DELETE_ARRAY] = {"_ZdaPv", DELETE_ONE},
    [DELETE_SIZED] = {"_ZdlPv" SIZE, DELETE_ONE},
    [DELETE_ARRAY_SIZED] = {"_ZdaPv" SIZE, DELETE_ARRAY},
    [DELETE_NOTHROW] = {"_ZdlPv" NOTHROW, DELETE_ONE},
    [DELETE_ARRAY_NOTHROW] = {"_ZdaPv" NOTHROW, DELETE_ARRAY},
    [DELETE_ALIGNED] = {"_ZdlPv" ALIGN, DELETE_ALIGNED},
    [DELETE_ARRAY_ALIGNED] = {"_ZdaPv" ALIGN, DELETE_ALIGNED},
    [DELETE_SIZED_ALIGNED] = {"_ZdlPv" SIZE ALIGN, DELETE_ALIGNED},
    [DELETE_ARRAY_SIZED_ALIGNED] = {"_ZdaPv" SIZE ALIGN, DELETE_ARRAY_ALIGNED},
    [DELETE_ALIGNED_NOTHROW] = {"_ZdlPv" ALIGN NOTHROW, DELETE_ALIGNED},
    [DELETE_ARRAY_ALIGNED_NOTHROW] = {"_ZdaPv" ALIGN NOTHROW, DELETE_ARRAY_ALIGNED},
};

/* Which operators are standard, one bit each, as of a generation of modules (unwind/unload.h):
 * generation << GENERATION_AT | bits. */
enum { GENERATION_AT = 24 };
_Static_assert((int)OPERATORS <= (int)GENERATION_AT, "a bit for each operator");
static _Atomic(uint64_t) known;

#define BIT(form) (UINT64_C(1) << (form))
static const uint64_t every = BIT(OPERATORS) - 1;
static const uint64_t arrays = BIT(NEW_ARRAY) | BIT(NEW_ARRAY_NOTHROW) | BIT(NEW_ARRAY_ALIGNED) |
                               BIT(NEW_ARRAY_ALIGNED_NOTHROW) | BIT(DELETE_ARRAY) |
                               BIT(DELETE_ARRAY_SIZED) | BIT(DELETE_ARRAY_NOTHROW) |
                               BIT(DELETE_ARRAY_ALIGNED) | BIT(DELETE_ARRAY_SIZED_ALIGNED) |
                               BIT(DELETE_ARRAY_ALIGNED_NOTHROW);

/* Neither the program nor a library replaces this one operator. The operators of a preloaded or
 * linked allocator count as standard: they are its malloc and free with an exception. */
static bool is_default(const char *symbol, const struct cairn_local_module *library)
{
    uintptr_t next = cairn_loader_next(symbol);
    if (cairn_loader_before(symbol))
        return false;
    return !next || (next >= library->from && next < library->to) || cairn_heap_real_has(next);
}

static uint64_t find_standard(void)
{
    struct cairn_local_module library = {0};
    uint64_t standard = 0;
    if (cairn_loader_before("malloc"))
        return 0;
    uintptr_t handler = cairn_loader_next("_ZSt15set_new_handlerPFvvE");
    if (handler && !cairn_modules_find(handler, &library))
        return 0;
    for (unsigned i = 0; i < OPERATORS; i++) {
        unsigned base = operators[i].base;
        if ((base == i || standard >> base & 1) && is_default(operators[i].symbol, &library))
            standard |= BIT(i);
    }
    /* A replaced array form calls the single form, ours among them: then no array form of ours may
     * make or free blocks of its own kind. */
    return standard == every ? standard : standard & ~arrays;
}

__attribute__((noinline, cold)) static bool look(uint64_t generation, enum form form)
{
    uint64_t standard = find_standard();
    atomic_store_explicit(&known, generation << GENERATION_AT | standard, memory_order_relaxed);
    return standard >> form & 1;
}

/* Is the operator, with all that its default version calls, the library's own? */
static inline bool is_standard(enum form form)
{
    const uint64_t bit = BIT(form);
    uint64_t generation = atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed);
    uint64_t found = atomic_load_explicit(&known, memory_order_relaxed);
    uint64_t others = (UINT64_C(1) << GENERATION_AT) - 1 - bit;
    if (__builtin_expect((found & ~others) == (generation << GENERATION_AT | bit), 1))
        return true;
    return found >> GENERATION_AT == generation ? false : look(generation, form);
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

/* Where no other module has the operator, its default version is called: `otherwise`. It names its
 * base, which the loader resolves to the program's version. */
#define NEW(function, form, symbol, kind, parameters, arguments, alignment, otherwise)             \
    CAIRN_API void *function parameters __asm__(symbol);                                           \
    CAIRN_API void *function parameters                                                            \
    {                                                                                              \
        bool standard = is_standard(form);                                                         \
        void *block = standard ? allocate(size, alignment) : NULL;                                 \
        if (__builtin_expect(block != NULL, 1))                                                    \
            return cairn_heap_born(block, size, kind);                                             \
        static struct cached cached;                                                               \
        void *(*next)parameters = (void *(*)parameters)find_next(&cached, symbol);                 \
        struct cairn_local_frame_at at = CAIRN_HEAP_CALLER;                                        \
        if (!standard)                                                                             \
            return next ? next arguments : (otherwise);                                            \
        return next ? cairn_heap_adopt(next arguments, size, kind, at) : NULL;                     \
    }

#define ONE   CAIRN_HEAP_KIND_NEW
#define ARRAY CAIRN_HEAP_KIND_NEW_ARRAY
NEW(cairn_new, NEW_ONE, "_Znw" SIZE, ONE, (size_t size), (size), 0, malloc(size ? size : 1))
NEW(cairn_new_array, NEW_ARRAY, "_Zna" SIZE, ARRAY, (size_t size), (size), 0, cairn_new(size))
NEW(cairn_new_nothrow, NEW_NOTHROW, "_Znw" SIZE NOTHROW, ONE, (size_t size, const void *nothrow),
    (size, nothrow), 0, cairn_new(size))
NEW(cairn_new_array_nothrow, NEW_ARRAY_NOTHROW, "_Zna" SIZE NOTHROW, ARRAY,
    (size_t size, const void *nothrow), (size, nothrow), 0, cairn_new_array(size))
NEW(cairn_new_aligned, NEW_ALIGNED, "_Znw" SIZE ALIGN, ONE, (size_t size, size_t alignment),
    (size, alignment), alignment, aligned_alloc(alignment, size))
NEW(cairn_new_array_aligned, NEW_ARRAY_ALIGNED, "_Zna" SIZE ALIGN, ARRAY,
    (size_t size, size_t alignment), (size, alignment), alignment,
    cairn_new_aligned(size, alignment))
NEW(cairn_new_aligned_nothrow, NEW_ALIGNED_NOTHROW, "_Znw" SIZE ALIGN NOTHROW, ONE,
    (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow), alignment,
    cairn_new_aligned(size, alignment))
NEW(cairn_new_array_aligned_nothrow, NEW_ARRAY_ALIGNED_NOTHROW, "_Zna" SIZE ALIGN NOTHROW, ARRAY,
    (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow), alignment,
    cairn_new_array_aligned(size, alignment))

#define DELETE(function, form, symbol, kind, parameters, arguments, otherwise)                     \
    CAIRN_API void function parameters __asm__(symbol);                                            \
    CAIRN_API void function parameters                                                             \
    {                                                                                              \
        if (__builtin_expect(is_standard(form), 1)) {                                              \
            if (block)                                                                             \
                cairn_heap_died(block, kind);                                                      \
            cairn_heap_real.free(block);                                                           \
            return;                                                                                \
        }                                                                                          \
        static struct cached cached;                                                               \
        void(*next) parameters = (void(*) parameters)find_next(&cached, symbol);                   \
        if (next)                                                                                  \
            next arguments;                                                                        \
        else                                                                                       \
            otherwise;                                                                             \
    }

DELETE(cairn_delete, DELETE_ONE, "_ZdlPv", ONE, (void *block), (block), free(block))
DELETE(cairn_delete_array, DELETE_ARRAY, "_ZdaPv", ARRAY, (void *block), (block),
       cairn_delete(block))
DELETE(cairn_delete_sized, DELETE_SIZED, "_ZdlPv" SIZE, ONE, (void *block, size_t size),
       (block, size), cairn_delete(block))
DELETE(cairn_delete_array_sized, DELETE_ARRAY_SIZED, "_ZdaPv" SIZE, ARRAY,
       (void *block, size_t size), (block, size), cairn_delete_array(block))
DELETE(cairn_delete_nothrow, DELETE_NOTHROW, "_ZdlPv" NOTHROW, ONE,
       (void *block, const void *nothrow), (block, nothrow), cairn_delete(block))
DELETE(cairn_delete_array_nothrow, DELETE_ARRAY_NOTHROW, "_ZdaPv" NOTHROW, ARRAY,
       (void *block, const void *nothrow), (block, nothrow), cairn_delete_array(block))
DELETE(cairn_delete_aligned, DELETE_ALIGNED, "_ZdlPv" ALIGN, ONE, (void *block, size_t alignment),
       (block, alignment), free(block))
DELETE(cairn_delete_array_aligned, DELETE_ARRAY_ALIGNED, "_ZdaPv" ALIGN, ARRAY,
       (void *block, size_t alignment), (block, alignment), cairn_delete_aligned(block, alignment))
DELETE(cairn_delete_sized_aligned, DELETE_SIZED_ALIGNED, "_ZdlPv" SIZE ALIGN, ONE,
       (void *block, size_t size, size_t alignment), (block, size, alignment),
       cairn_delete_aligned(block, alignment))
DELETE(cairn_delete_array_sized_aligned, DELETE_ARRAY_SIZED_ALIGNED, "_ZdaPv" SIZE ALIGN, ARRAY,
       (void *block, size_t size, size_t alignment), (block, size, alignment),
       cairn_delete_array_aligned(block, alignment))
DELETE(cairn_delete_aligned_nothrow, DELETE_ALIGNED_NOTHROW, "_ZdlPv" ALIGN NOTHROW, ONE,
       (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow),
       cairn_delete_aligned(block, alignment))
DELETE(cairn_delete_array_aligned_nothrow, DELETE_ARRAY_ALIGNED_NOTHROW, "_ZdaPv" ALIGN NOTHROW,
       ARRAY, (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow),
       cairn_delete_array_aligned(block, alignment))
