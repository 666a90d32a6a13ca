/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Interpose start: __libc_start_main(), for what exit(3) runs last: the loader's function that
 * calls all modules' destructors. It is the first one that is registered, behind the constructors
 * of libraries; so none of ours could come before it in a program that registers nothing itself
 * (ask_exit.c). It is given to libc in another one's place, which asks first.
 *
 * In assembly, so that no stack has one more frame. In libcairn-heap alone.
 */
#include <stdint.h>

#include "heap/ask.h"
#include "unwind/loader.h"

typedef void function(void);

static function *loaders;

/* What the assembly below calls and hands on. */
__attribute__((used, visibility("hidden"))) function *
cairn_heap_start_main(void *main, int argc, char **argv, function *init, function *fini,
                      function *loaders_fini);
__attribute__((used, visibility("hidden"))) void cairn_heap_fini(void);

function *cairn_heap_start_main(void *main, int argc, char **argv, function *init, function *fini,
                                function *loaders_fini)
{
    (void)main;
    (void)argc;
    (void)argv;
    (void)init;
    (void)fini;
    loaders = loaders_fini;
    return (function *)cairn_loader_next("__libc_start_main");
}

void cairn_heap_fini(void)
{
    cairn_heap_ask_before_destructors();
    if (loaders)
        loaders();
}

/* On ARM that function is on the stack, and stays what it is. */
#if defined(__x86_64__)
#define START                                                                                      \
    "endbr64\n push %rdi\n .cfi_adjust_cfa_offset 8\n push %rsi\n .cfi_adjust_cfa_offset 8\n"      \
    "push %rdx\n .cfi_adjust_cfa_offset 8\n push %rcx\n .cfi_adjust_cfa_offset 8\n"                \
    "push %r8\n .cfi_adjust_cfa_offset 8\n call cairn_heap_start_main\n"                           \
    "pop %r8\n .cfi_adjust_cfa_offset -8\n pop %rcx\n .cfi_adjust_cfa_offset -8\n"                 \
    "pop %rdx\n .cfi_adjust_cfa_offset -8\n pop %rsi\n .cfi_adjust_cfa_offset -8\n"                \
    "pop %rdi\n .cfi_adjust_cfa_offset -8\n lea cairn_heap_fini(%rip), %r9\n jmp *%rax\n"
#elif defined(__aarch64__)
#define START                                                                                      \
    "hint #34\n stp x29, x30, [sp, #-64]!\n .cfi_def_cfa_offset 64\n .cfi_offset 29, -64\n"        \
    ".cfi_offset 30, -56\n stp x0, x1, [sp, #16]\n stp x2, x3, [sp, #32]\n stp x4, x6, [sp, "      \
    "#48]\n"                                                                                       \
    "bl cairn_heap_start_main\n mov x16, x0\n ldp x0, x1, [sp, #16]\n ldp x2, x3, [sp, #32]\n"     \
    "ldp x4, x6, [sp, #48]\n ldp x29, x30, [sp], #64\n .cfi_def_cfa_offset 0\n .cfi_restore 29\n"  \
    ".cfi_restore 30\n adrp x5, cairn_heap_fini\n add x5, x5, :lo12:cairn_heap_fini\n br x16\n"
#elif defined(__arm__)
#define START                                                                                      \
    "push {r0, r1, r2, r3, ip, lr}\n .cfi_def_cfa_offset 24\n .cfi_offset 14, -4\n"                \
    "bl cairn_heap_start_main\n mov ip, r0\n pop {r0, r1, r2, r3}\n .cfi_def_cfa_offset 8\n"       \
    "add sp, sp, #4\n .cfi_def_cfa_offset 4\n pop {lr}\n .cfi_def_cfa_offset 0\n"                  \
    ".cfi_restore 14\n bx ip\n"
#endif

__asm__(".text\n.p2align 4\n.globl __libc_start_main\n.type __libc_start_main, %function\n"
        "__libc_start_main:\n.cfi_startproc\n" START
        ".cfi_endproc\n.size __libc_start_main, .-__libc_start_main\n");
