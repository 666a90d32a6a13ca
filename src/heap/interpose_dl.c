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

#if defined(__x86_64__)
#define JUMP_BY(name)                                                                              \
    "endbr64\n push %rdi\n .cfi_adjust_cfa_offset 8\n push %rsi\n .cfi_adjust_cfa_offset 8\n"      \
    "push %rdx\n .cfi_adjust_cfa_offset 8\n call cairn_heap_" name "\n"                            \
    "pop %rdx\n .cfi_adjust_cfa_offset -8\n pop %rsi\n .cfi_adjust_cfa_offset -8\n"                \
    "pop %rdi\n .cfi_adjust_cfa_offset -8\n jmp *%rax\n"
#elif defined(__aarch64__)
#define JUMP_BY(name)                                                                              \
    "hint #34\n stp x29, x30, [sp, #-48]!\n .cfi_def_cfa_offset 48\n .cfi_offset 29, -48\n"        \
    ".cfi_offset 30, -40\n stp x0, x1, [sp, #16]\n str x2, [sp, #32]\n bl cairn_heap_" name        \
    "\n mov x16, x0\n ldp x0, x1, [sp, #16]\n ldr x2, [sp, #32]\n ldp x29, x30, [sp], #48\n"       \
    ".cfi_def_cfa_offset 0\n .cfi_restore 29\n .cfi_restore 30\n br x16\n"
#elif defined(__arm__)
#define JUMP_BY(name)                                                                              \
    "push {r0, r1, r2, lr}\n .cfi_def_cfa_offset 16\n .cfi_offset 14, -4\n bl cairn_heap_" name    \
    "\n mov ip, r0\n pop {r0, r1, r2, lr}\n .cfi_def_cfa_offset 0\n .cfi_restore 14\n bx ip\n"
#endif

#define INTERPOSE(name)                                                                            \
    __asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", %function\n" name                 \
            ":\n.cfi_startproc\n" JUMP_BY(name) ".cfi_endproc\n.size " name ", .-" name "\n")

INTERPOSE("dlopen");
INTERPOSE("dlmopen");
