/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late C++: the replacements of operators new and delete (heap/late.h). In libcairn-track alone.
 *
 * A throwing form asks the original's nothrow form first, so that no exception passes a frame of
 * ours: where the library is mapped by hand, unwinders do not know it. If that has no memory, it
 * jumps to the throwing original, whose exception finds the caller's frame next. The nothrow form
 * has called new_handler by then, and the throwing one calls it again, as a caller's retry would.
 */
#include <stddef.h>

#include "heap/late_call.h"
#include "heap/late_originals.h"

#define ORIGINAL(form, type) ((type)cairn_late_more.operators[CAIRN_LATE_##form])

/* By its nothrow form. */
#define NEW(function, form, kind, parameters, arguments, quiet_parameters, quiet_arguments)        \
    void *function parameters;                                                                     \
    void *function parameters                                                                      \
    {                                                                                              \
        void *(*quiet)quiet_parameters = ORIGINAL(form##_NOTHROW, void *(*)quiet_parameters);      \
        struct cairn_mine *mine = cairn_late_enter();                                              \
        void *block = mine && quiet ? quiet quiet_arguments : NULL;                                \
        cairn_late_leave(mine);                                                                    \
        if (__builtin_expect(block != NULL, 1))                                                    \
            return cairn_heap_born(block, size, kind);                                             \
        return ORIGINAL(form, void *(*)parameters) arguments;                                      \
    }

#define NEW_QUIET(function, form, kind, parameters, arguments)                                     \
    void *function parameters;                                                                     \
    void *function parameters                                                                      \
    {                                                                                              \
        struct cairn_mine *mine = cairn_late_enter();                                              \
        void *block = ORIGINAL(form, void *(*)parameters) arguments;                               \
        cairn_late_leave(mine);                                                                    \
        if (__builtin_expect(block && mine, 1))                                                    \
            return cairn_heap_born(block, size, kind);                                             \
        return block;                                                                              \
    }

#define DELETE(function, form, parameters, arguments)                                              \
    void function parameters;                                                                      \
    void function parameters                                                                       \
    {                                                                                              \
        if (block)                                                                                 \
            cairn_late_died(block);                                                                \
        ORIGINAL(form, void(*) parameters) arguments;                                              \
    }

#define ONE   CAIRN_HEAP_KIND_NEW
#define ARRAY CAIRN_HEAP_KIND_NEW_ARRAY
/* What std::nothrow is called with; no version reads it. */
static const char nothrow_object;
#define QUIETLY &nothrow_object

NEW(cairn_late_new, NEW, ONE, (size_t size), (size), (size_t, const void *), (size, QUIETLY))
NEW(cairn_late_new_array, NEW_ARRAY, ARRAY, (size_t size), (size), (size_t, const void *),
    (size, QUIETLY))
NEW_QUIET(cairn_late_new_nothrow, NEW_NOTHROW, ONE, (size_t size, const void *nothrow),
          (size, nothrow))
NEW_QUIET(cairn_late_new_array_nothrow, NEW_ARRAY_NOTHROW, ARRAY,
          (size_t size, const void *nothrow), (size, nothrow))
NEW(cairn_late_new_aligned, NEW_ALIGNED, ONE, (size_t size, size_t alignment), (size, alignment),
    (size_t, size_t, const void *), (size, alignment, QUIETLY))
NEW(cairn_late_new_array_aligned, NEW_ARRAY_ALIGNED, ARRAY, (size_t size, size_t alignment),
    (size, alignment), (size_t, size_t, const void *), (size, alignment, QUIETLY))
NEW_QUIET(cairn_late_new_aligned_nothrow, NEW_ALIGNED_NOTHROW, ONE,
          (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow))
NEW_QUIET(cairn_late_new_array_aligned_nothrow, NEW_ARRAY_ALIGNED_NOTHROW, ARRAY,
          (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow))

DELETE(cairn_late_delete, DELETE, (void *block), (block))
DELETE(cairn_late_delete_array, DELETE_ARRAY, (void *block), (block))
DELETE(cairn_late_delete_sized, DELETE_SIZED, (void *block, size_t size), (block, size))
DELETE(cairn_late_delete_array_sized, DELETE_ARRAY_SIZED, (void *block, size_t size), (block, size))
DELETE(cairn_late_delete_nothrow, DELETE_NOTHROW, (void *block, const void *nothrow),
       (block, nothrow))
DELETE(cairn_late_delete_array_nothrow, DELETE_ARRAY_NOTHROW, (void *block, const void *nothrow),
       (block, nothrow))
DELETE(cairn_late_delete_aligned, DELETE_ALIGNED, (void *block, size_t alignment),
       (block, alignment))
DELETE(cairn_late_delete_array_aligned, DELETE_ARRAY_ALIGNED, (void *block, size_t alignment),
       (block, alignment))
DELETE(cairn_late_delete_sized_aligned, DELETE_SIZED_ALIGNED,
       (void *block, size_t size, size_t alignment), (block, size, alignment))
DELETE(cairn_late_delete_array_sized_aligned, DELETE_ARRAY_SIZED_ALIGNED,
       (void *block, size_t size, size_t alignment), (block, size, alignment))
DELETE(cairn_late_delete_aligned_nothrow, DELETE_ALIGNED_NOTHROW,
       (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow))
DELETE(cairn_late_delete_array_aligned_nothrow, DELETE_ARRAY_ALIGNED_NOTHROW,
       (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow))
