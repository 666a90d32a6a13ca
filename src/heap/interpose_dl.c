/* SPDX-License-Identifier: MIT */
/*
 * Interpose dl: dlopen(3) and dlmopen(3), to note when a library is loaded whose malloc may be
 * another than the tracker's: with RTLD_DEEPBIND its own dependencies come first, and another
 * namespace has a libc of its own. In libcairn-heap alone.
 *
 * The real functions look at their return address: the caller's RUNPATH and namespace count. So
 * ours are written in assembly, and jump to the real ones with the stack as they found it.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/jump_by.h"
#include "heap/start.h"
#include "unwind/loader.h"

typedef void function(void);

/* Of a C library that has no such function: nobody could have called it without us. */
static void *none(void)
{
    return NULL;
}

static void note(bool apart)
{
    struct cairn_tracked_heap *heap = apart ? cairn_heap_present() : NULL;
    if (heap)
        atomic_fetch_or(&heap->state.header->flags, CAIRN_HEAP_APART);
}

/* musl has no such mode. */
#ifdef RTLD_DEEPBIND
enum { DEEPBIND = RTLD_DEEPBIND };
#else
enum { DEEPBIND = 0 };
#endif

static function *real(const char *name)
{
    uintptr_t va = cairn_loader_next(name);
    return va ? (function *)va : (function *)none;
}

/* What the assembly below jumps to. */
__attribute__((used, visibility("hidden"))) function *cairn_heap_dlopen(const char *file, int mode);
__attribute__((used, visibility("hidden"))) function *
cairn_heap_dlmopen(long space, const char *file, int mode);

function *cairn_heap_dlopen(const char *file, int mode)
{
    note(file && mode & DEEPBIND);
    return real("dlopen");
}

function *cairn_heap_dlmopen(long space, const char *file, int mode)
{
    (void)mode;
    note(file && space != 0); /* LM_ID_BASE */
    return real("dlmopen");
}

CAIRN_HEAP_JUMP_BY("dlopen", "dlopen");
CAIRN_HEAP_JUMP_BY("dlmopen", "dlmopen");
