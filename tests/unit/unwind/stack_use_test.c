/* SPDX-License-Identifier: MIT */
/*
 * How much of the caller's stack a capture needs: a signal handler's may be a few kilobytes, and a
 * coroutine's too. Measured on a stack that was painted before, by what is not painted any more;
 * then run on stacks that have no more than that.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/sanitized.h"
#include "support/test.h"
#include "unwind/local_cache.h"

#ifdef __OPTIMIZE__
enum { OPTIMIZED = 1 };
#else
enum { OPTIMIZED = 0 };
#endif

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

enum {
    BOUND = 2048,       /* bytes, for all that may be in a signal handler or under malloc */
    PRINT_BOUND = 2048, /* the same for text */
    CALLER = 256,       /* what runs a capture on the tiny stacks */
    STACK_BYTES = 1 << 18,
    GUARD = 1 << 16,
    PAINT = 0xa5,
    ROOM = 64
};

static uintptr_t ips[ROOM];
static struct cairn_unwind_info info = {.size = sizeof info};
static ucontext_t outside, inside, at;
static void (*running)(void);
static uintptr_t sp_before;
static volatile size_t n_frames; /* raise(3) is a leaf to GCC, which reads it no more then */
static int null_fd;

static void here(void)
{
    n_frames = cairn_unwind_here(ips, ROOM, &info);
}

static void context(void)
{
    n_frames = cairn_unwind_context(&at, ips, ROOM, &info);
}

static void frame_pointers(void)
{
    n_frames = cairn_unwind_frame_pointers(ips, ROOM, &info);
}

static void print(void)
{
    n_frames = cairn_unwind_print(null_fd);
}

/* Code of nobody's: pushes a frame pointer and calls. */
static void (*jit)(void (*)(void));

static void through_jit(void)
{
    jit(here);
}

/* A function whose CFA hangs on a register that rules do not know, so that all are followed. */
#if defined(__x86_64__)
__asm__(".text\n.type odd_cfa, @function\nodd_cfa:\n.cfi_startproc\n"
        "push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_offset %r12, -16\n"
        "mov %rsp, %r12\n.cfi_def_cfa_register %r12\n"
        "sub $32, %rsp\ncall *%rdi\nmov %r12, %rsp\n.cfi_def_cfa_register %rsp\n"
        "pop %r12\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size odd_cfa, . - odd_cfa\n");
#elif defined(__aarch64__)
__asm__(".text\n.type odd_cfa, %function\nodd_cfa:\n.cfi_startproc\n"
        "stp x19, x30, [sp, #-16]!\n.cfi_adjust_cfa_offset 16\n.cfi_offset x19, -16\n"
        ".cfi_offset x30, -8\n"
        "mov x19, sp\n.cfi_def_cfa_register x19\n"
        "sub sp, sp, #32\nblr x0\nmov sp, x19\n.cfi_def_cfa_register sp\n"
        "ldp x19, x30, [sp], #16\n.cfi_adjust_cfa_offset -16\n.cfi_restore x19\n.cfi_restore x30\n"
        "ret\n.cfi_endproc\n.size odd_cfa, . - odd_cfa\n");
#else
__asm__(".text\n.arm\n.type odd_cfa, %function\nodd_cfa:\n.fnstart\n"
        ".save {r4-r8, lr}\npush {r4-r8, lr}\n.pad #8\nsub sp, sp, #8\nblx r0\nadd sp, sp, #8\n"
        "pop {r4-r8, pc}\n.fnend\n.size odd_cfa, . - odd_cfa\n");
#endif
void odd_cfa(void (*run)(void)) __attribute__((visibility("hidden")));

static void through_odd_cfa(void)
{
    odd_cfa(here);
}

static void make_jit(void)
{
#if defined(__x86_64__)
    static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#elif defined(__aarch64__)
    static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
    static const uint32_t code[] = {0xe92d4800, 0xe28db004, 0xe12fff30, 0xe8bd8800};
#endif
    char *page = mmap(NULL, GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    mprotect(page, GUARD, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(page, page + sizeof code);
    jit = (void (*)(void (*)(void)))(uintptr_t)page;
}

APART static void run(void)
{
    sp_before = (uintptr_t)__builtin_frame_address(0);
    running();
}

static void on_stack(void (*what)(void), char *low, size_t bytes)
{
    running = what;
    getcontext(&inside);
    inside.uc_stack.ss_sp = low;
    inside.uc_stack.ss_size = bytes;
    inside.uc_link = &outside;
    makecontext(&inside, run, 0);
    assert_int_equal(swapcontext(&outside, &inside), 0);
}

static size_t untouched(const char *stack)
{
    size_t n = 0;
    while (stack[n] == (char)PAINT)
        n++;
    return n;
}

/* Bytes below its caller's frame that the call of `what` needs, all rules unknown before. */
static size_t use_of(void (*what)(void))
{
    static char stack[STACK_BYTES] __attribute__((aligned(64)));
    memset(stack, PAINT, sizeof stack);
    getcontext(&at);
    cairn_local_cache_clear();
    on_stack(what, stack, sizeof stack);
    assert_true(n_frames > 0);
    return sp_before - (uintptr_t)(stack + untouched(stack));
}

static const struct {
    const char *name;
    void (*run)(void);
    size_t bound;
} uses[] = {
    {"cairn_unwind_here", here, BOUND},
    {"cairn_unwind_context", context, BOUND},
    {"cairn_unwind_frame_pointers", frame_pointers, BOUND},
    {"through code without rules", through_jit, BOUND},
    {"by all registers", through_odd_cfa, BOUND},
    {"cairn_unwind_print", print, PRINT_BOUND},
};
enum { N_USES = sizeof uses / sizeof *uses };

static void a_capture_needs_little_stack(void **state)
{
    (void)state;
    volatile unsigned over = 0;
    for (volatile int i = 0; i < N_USES; i++) {
        use_of(uses[i].run); /* the loader looks up what is called for the first time */
        size_t used = use_of(uses[i].run);
        printf("%-28s %5zu bytes\n", uses[i].name, used);
        over += used > uses[i].bound;
    }
    assert_int_equal(over, 0);
}

/* `bytes` whose lower end is a page that nobody may touch. */
static char *guarded(size_t bytes)
{
    size_t all = (bytes + GUARD - 1) & ~(size_t)(GUARD - 1);
    char *low = mmap(NULL, GUARD + all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(low, GUARD, PROT_NONE);
    return low + GUARD;
}

static void a_tiny_coroutine_may_capture(void **state)
{
    (void)state;
    for (volatile int i = 0; i < N_USES; i++) {
        size_t bytes = uses[i].bound + CALLER;
        char *low = guarded(bytes);
        getcontext(&at);
        cairn_local_cache_clear();
        n_frames = 0;
        on_stack(uses[i].run, low, bytes);
        assert_true(n_frames > 0);
        munmap(low - GUARD, GUARD + GUARD);
    }
}

static void on_signal(int number, siginfo_t *siginfo, void *ucontext)
{
    (void)number;
    (void)siginfo;
    n_frames = cairn_unwind_context(ucontext, ips, ROOM, &info);
    n_frames += cairn_unwind_here(ips, ROOM, &info);
}

static void another_thread_asks(int number, siginfo_t *siginfo, void *ucontext)
{
    (void)number;
    (void)siginfo;
    (void)ucontext;
    n_frames = cairn_unwind_thread((int)syscall(SYS_gettid), 1000000000, ips, ROOM, &info);
}

/* The kernel's frame takes as much as it says; the rest is the handler's. */
static void a_handler_on_the_smallest_stack_may_capture(void **state)
{
    (void)state;
    static void (*const handlers[])(int, siginfo_t *, void *) = {on_signal, another_thread_asks};
    size_t least = getauxval(AT_MINSIGSTKSZ);
    if (least < (size_t)MINSIGSTKSZ)
        least = MINSIGSTKSZ;
    for (volatile int i = 0; i < 2; i++) {
        stack_t none = {.ss_flags = SS_DISABLE}, tiny = {.ss_size = least + BOUND + CALLER};
        struct sigaction action = {.sa_sigaction = handlers[i],
                                   .sa_flags = SA_SIGINFO | SA_ONSTACK};
        if (i == 1) /* and the frame of the signal by which it is asked */
            tiny.ss_size += least + BOUND;
        tiny.ss_sp = guarded(tiny.ss_size);
        assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
        assert_int_equal(sigaltstack(&tiny, NULL), 0);
        cairn_local_cache_clear();
        n_frames = 0;
        raise(SIGUSR1);
        assert_true(n_frames > 0);
        assert_int_equal(sigaltstack(&none, NULL), 0);
    }
}

int main(void)
{
    if (UNDER_ASAN || UNDER_TSAN || !OPTIMIZED) {
        puts("skipped: not what is measured: sanitizers, and no optimization, make every frame "
             "larger");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_needs_little_stack),
        cmocka_unit_test(a_tiny_coroutine_may_capture),
        cmocka_unit_test(a_handler_on_the_smallest_stack_may_capture),
    };
    null_fd = open("/dev/null", O_WRONLY);
    make_jit();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
