/* SPDX-License-Identifier: MIT */
/*
 * Stacks with odd roots, by first argument; the second is "busy" (for a minute), "wait", or
 * "leave". Each allocates a block deep in its calls.
 *
 *     chain    below a function whose CFA is *rbp + 16, as SBCL's call_into_lisp has it
 *     context  on a stack whose first function returns to code that ends the program, as
 *              boost.context's make_fcontext arranges it
 *
 * With -DROOT_LIBRARY a library whose constructor does the same (environment: ROOT_WHAT).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static const char *what = "leave";
void *root_block;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static void deep(int n)
{
    volatile char frame[200];
    frame[n] = (char)n;
    if (n) {
        deep(n - 1);
    } else {
        root_block = malloc(1000);
        if (strcmp(what, "wait") == 0)
            pause();
        for (double end = now_s() + 60; strcmp(what, "busy") == 0 && now_s() < end;)
            for (int i = 0; i < 100000; i++)
                sink += (unsigned long)i;
    }
    sink += (unsigned long)frame[n];
}

#ifdef ROOT_LIBRARY
__attribute__((constructor)) static void construct(void)
{
    if (getenv("ROOT_WHAT"))
        what = getenv("ROOT_WHAT");
    deep(5);
}
#else
__attribute__((noinline)) static void body(void)
{
    deep(5);
    sink++;
}

void call_chain(void (*function)(void));
void call_context(void *stack_end, void (*function)(void));

__asm__(".text\n"
        ".type call_chain, @function\n"
        "call_chain:\n"
        "    .cfi_startproc\n"
        "    push %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    mov %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    push %rbp\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    .cfi_escape 0x0f, 5, 0x76, 0, 0x06, 0x40, 0x22\n" /* breg6 0, deref, lit16, plus */
        "    call *%rdi\n"
        "    mov (%rbp), %rbp\n"
        "    leave\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".type call_context, @function\n"
        "call_context:\n"
        "    mov %rdi, %rsp\n"
        "    lea finish(%rip), %rax\n"
        "    push %rax\n"
        "    jmp *%rsi\n"
        "finish:\n"
        "    xor %rdi, %rdi\n"
        "    call _exit@PLT\n"
        "    hlt\n");

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    what = argv[2];
    if (strcmp(argv[1], "chain") == 0)
        call_chain(body);
    else if (strcmp(argv[1], "context") == 0)
        call_context((char *)aligned_alloc(16, 1 << 16) + (1 << 16), body);
    return 0;
}
#endif
