/* SPDX-License-Identifier: MIT */
/* The cases: what a compiler, a libc and a loader make stacks look like. See odd.h. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "odd.h"

volatile int odd_sink;

__attribute__((noinline)) void odd_spin(void)
{
    for (int i = 0; i < 40; i++)
        odd_sink += i;
    odd_call();
}

/* ---- what compilers make ---- */

__attribute__((noinline)) static int many_registers(int a, int b, int c, int d, int e, int f)
{
    const int x = a * b, y = c * d, z = e * f;
    odd_spin();
    const int u = a + x, v = b + y, w = c + z;
    odd_spin();
    return a ^ b ^ c ^ d ^ e ^ f ^ x ^ y ^ z ^ u ^ v ^ w ^ odd_sink;
}

/* The frame is made on one path alone (shrink wrapping). */
__attribute__((noinline)) static int early_out(int *p)
{
    if (!p)
        return 1;
    odd_spin();
    *p += odd_sink;
    odd_spin();
    return *p;
}

static void prologue_epilogue(void)
{
    int x = 3;
    odd_sink += many_registers(1, 2, 3, 4, 5, odd_sink);
    odd_sink += early_out(NULL);
    odd_sink += early_out(&x);
}

__attribute__((noinline)) static int last_call(int x)
{
    odd_sink += x;
    return many_registers(x, x, x, x, x, x);
}

/* Ends that are the same code are merged, and a call at the end becomes a jump. */
__attribute__((noinline)) static int merged(int x)
{
    switch (x & 3) {
    case 0:
        odd_spin();
        return last_call(x);
    case 1:
        odd_sink++;
        return last_call(x + 1);
    case 2:
        odd_spin();
        odd_sink++;
        return last_call(x);
    default:
        return early_out(NULL);
    }
}

static void tail_merged(void)
{
    for (int i = 0; i < 4; i++)
        odd_sink += merged(i);
}

__attribute__((noinline)) static void touch(char *bytes, size_t size)
{
    bytes[0] = bytes[size - 1] = (char)odd_sink;
    odd_spin();
}

static void large_frames(void)
{
    char bytes[100 * 1024];
    touch(bytes, sizeof bytes);
}

__attribute__((noinline)) static void huge_frame(void)
{
    char bytes[1200 * 1024];
    touch(bytes, sizeof bytes);
    odd_sink += bytes[odd_sink & 1023];
}

static void dynamic_frames(void)
{
    for (size_t n = 1; n < 3000; n += 700) {
        char *bytes = __builtin_alloca(n);
        touch(bytes, n);
        touch(__builtin_alloca(2 * n), 2 * n);
    }
}

struct wide {
    _Alignas(64) char bytes[256];
};

/* A realigned frame beside one of unknown size: x86-64's compilers go by way of another register.
 */
__attribute__((noinline)) static int realigned_frame(int n, ...)
{
    struct wide wide;
    char *bytes = __builtin_alloca((size_t)n);
    touch(wide.bytes, sizeof wide.bytes);
    touch(bytes, (size_t)n);
    return many_registers(n, wide.bytes[3], 0, 1, 2, 3);
}

static void realigned(void)
{
    odd_sink += realigned_frame(100, 1, 2, 3, 4, 5, 6, 7, 8.0);
    odd_sink += realigned_frame(1000);
}

__attribute__((noinline)) static int recurse(int n)
{
    if (n == 0) {
        odd_spin();
        return odd_sink;
    }
    return recurse(n - 1) + odd_sink;
}

static void recursion(void)
{
    odd_sink += recurse(200);
}

static void deep_recursion(void)
{
    odd_sink += recurse(4000);
}

/* ---- what is written by hand ---- */

static void by_hand(void)
{
    odd_by_expression(odd_spin);
    odd_by_register(odd_spin);
    odd_by_scratch(odd_spin);
    odd_separate(odd_spin);
    odd_pushes(odd_spin);
}

/* Not a realigned frame below one whose CFA is in rbx: GCC 12 says to the end of such a frame that
 * rbx lies where rbp points, which it no longer does after `leave`; libgcc dies of it. */
static void one_over_the_other(void)
{
    odd_by_register(prologue_epilogue);
    odd_separate(realigned);
    odd_separate(by_hand);
    odd_pushes(by_hand);
}

static void none_described(void)
{
    odd_no_cfi(odd_spin);
    odd_bare_leaf();
}

static void kept_frame_pointer(void)
{
    odd_no_cfi_with_fp(odd_spin);
}

static void strings(void)
{
    char a[700], b[700];
    for (size_t n = 1; n < sizeof a; n = n * 3 + 1) {
        memset(a, 'x', n);
        a[n] = 0;
        memcpy(b, a, n + 1);
        odd_sink += (int)strlen(b) + strcmp(a, b) + (memchr(a, 'y', n) != NULL);
    }
}

static int compare(const void *a, const void *b)
{
    odd_spin();
    return *(const int *)a - *(const int *)b;
}

static void called_back(void)
{
    int values[] = {7, 3, 9, 1};
    qsort(values, 4, sizeof values[0], compare);
    const int key = 9;
    odd_sink += bsearch(&key, values, 4, sizeof values[0], compare) != NULL;
}

/* ---- the loader, the kernel ---- */

#if __SIZEOF_POINTER__ == 8
/* The places where the loader puts the addresses of what is called, as they were when it had none.
 */
enum { MAX_PLACES = 256 };
static uintptr_t unbound[MAX_PLACES];

/* Calls `each` for those of the C library's mathematics that lazy_binding() calls. */
static void each_place(void (*each)(size_t i, uintptr_t *place))
{
    static const char names[][8] = {"cbrt", "erf", "j0", "lgamma", "tgamma", "logb"};
    const ElfW(Rela) *rows = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    size_t bytes = 0;
    for (const ElfW(Dyn) *row = _DYNAMIC; row->d_tag != DT_NULL; row++) {
        const void *at = (const void *)(uintptr_t)row->d_un.d_ptr;
        rows = row->d_tag == DT_JMPREL ? at : rows;
        symbols = row->d_tag == DT_SYMTAB ? at : symbols;
        strings = row->d_tag == DT_STRTAB ? at : strings;
        bytes = row->d_tag == DT_PLTRELSZ ? row->d_un.d_val : bytes;
    }
    Dl_info info;
    if (!dladdr((void *)odd_spin, &info))
        return;
    for (size_t i = 0; rows && i < bytes / sizeof *rows && i < MAX_PLACES; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (!strcmp(strings + symbols[ELF64_R_SYM(rows[i].r_info)].st_name, names[n]))
                each(i, (uintptr_t *)((uintptr_t)info.dli_fbase + rows[i].r_offset));
}

static void keep(size_t i, uintptr_t *place)
{
    unbound[i] = *place;
}

static void unbind(size_t i, uintptr_t *place)
{
    *(volatile uintptr_t *)place = unbound[i];
}

__attribute__((constructor)) static void keep_unbound(void)
{
    each_place(keep);
}

static void unbind_all(void)
{
    each_place(unbind);
}
#else
static void unbind_all(void)
{
}
#endif

/* Each is called as if for the first time: the loader looks it up meanwhile. */
static void lazy_binding(void)
{
    unbind_all();
    const double x = odd_sink % 7 + 0.5;
    odd_sink += (int)(cbrt(x) + erf(x) + j0(x) + lgamma(x) + tgamma(x) + logb(x));
}

static void vdso(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    odd_sink += (int)time(NULL);
}

static void system_calls(void)
{
    char c;
    odd_sink += getppid() + (read(-1, &c, 1) < 0) + (close(-1) < 0);
}

static volatile sig_atomic_t n_handled;

static void on_user(int number)
{
    (void)number;
    odd_step();
    odd_spin();
    n_handled++;
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

/* raise(3) of before glibc 2.34 blocks all signals meanwhile, which ends who is single-stepped. */
static void send(int number)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

static void in_handler(void)
{
    handle(SIGUSR1, on_user, 0);
    send(SIGUSR1);
}

/* The interrupted function has not built its frame, or has taken it down. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *interrupted = context;
    odd_step();
    odd_spin();
    n_handled++;
#if defined(__x86_64__)
    interrupted->uc_mcontext.gregs[REG_RIP] += 2;
#elif defined(__aarch64__)
    interrupted->uc_mcontext.pc += 4;
#else
    interrupted->uc_mcontext.arm_pc += interrupted->uc_mcontext.arm_cpsr & 0x20 ? 2 : 4;
#endif
}

#if defined(__x86_64__)
#define FAULT "ud2"
#elif defined(__aarch64__)
#define FAULT "udf #0"
#else
#define FAULT "udf #0"
#endif

__attribute__((noinline)) static void faults(void)
{
    __asm__ volatile(FAULT);
}

static void at_a_fault(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    faults();
}

static void on_other_stack(void)
{
    stack_t before, mine = {.ss_size = 256 * 1024};
    mine.ss_sp = malloc(mine.ss_size);
    sigaltstack(&mine, &before);
    handle(SIGUSR2, on_user, SA_ONSTACK);
    send(SIGUSR2);
    if (before.ss_flags & SS_DISABLE)
        before.ss_size = 0;
    sigaltstack(&before, NULL);
    free(mine.ss_sp);
}

/* A handler within a handler within one. */
static void on_nested(int number)
{
    odd_step();
    odd_spin();
    if (number == SIGUSR1)
        send(SIGUSR2);
    n_handled++;
}

static void nested_handlers(void)
{
    handle(SIGUSR1, on_nested, 0);
    handle(SIGUSR2, on_nested, 0);
    send(SIGUSR1);
}

static void below_another_stack(void)
{
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return;
    odd_moves_stack(odd_spin, stack + 65536);
    munmap(stack, 65536);
}

/* ---- leaving without returning ---- */

static jmp_buf out;

__attribute__((noinline)) static void jump_out(void)
{
    odd_spin();
    longjmp(out, 1);
}

__attribute__((noinline, noreturn)) static void jump_and_die(void)
{
    odd_spin();
    longjmp(out, 1);
}

__attribute__((noinline)) static int ends_in_a_call(int x)
{
    odd_sink += x;
    odd_spin();
    jump_and_die();
}

static void after_no_return(void)
{
    if (!setjmp(out))
        odd_dies(jump_out);
    if (!setjmp(out))
        odd_sink += ends_in_a_call(1);
}

static void long_jumps(void)
{
    for (volatile int i = 0; i < 3; i++)
        if (!setjmp(out))
            odd_by_register(jump_out);
}

/* ---- several stacks ---- */

static ucontext_t turn_main, turn_a, turn_b;

ODD_ANCHOR static void coroutine_a(void)
{
    odd_anchor();
    /* Most of the time within it: a system call of swapcontext(3) takes long in a guest, and on
     * aarch64 a walk may end early there. */
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 8; j++)
            prologue_epilogue();
        swapcontext(&turn_a, &turn_b);
    }
}

ODD_ANCHOR static void coroutine_b(void)
{
    odd_anchor();
    for (int i = 0; i < 2; i++) {
        by_hand();
        swapcontext(&turn_b, &turn_a);
    }
    swapcontext(&turn_b, &turn_main);
}

static char *make_context(ucontext_t *context, ucontext_t *next, void (*run)(void))
{
    const size_t size = 256 * 1024;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        exit(1);
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = size;
    context->uc_link = next;
    makecontext(context, run, 0);
    return stack;
}

/* A new stack each time, gone afterwards: whoever remembers one must not read it. */
static void coroutines(void)
{
    char *a = make_context(&turn_a, &turn_main, coroutine_a);
    char *b = make_context(&turn_b, &turn_main, coroutine_b);
    swapcontext(&turn_main, &turn_a);
    munmap(a, 256 * 1024);
    odd_spin();
    munmap(b, 256 * 1024);
    odd_spin();
}

ODD_ANCHOR static void *short_thread(void *deeper)
{
    odd_anchor();
    odd_timer_start();
    for (int i = 0; i < 200; i++) {
        prologue_epilogue();
        by_hand();
    }
    if (deeper)
        odd_by_register((odd_fn *)deeper);
    return NULL;
}

static void leave_thread(void)
{
    odd_spin();
    pthread_exit(NULL);
}

static void threads(void)
{
    pthread_t ids[4];
    int n = 0;
    for (; n < 4; n++)
        if (pthread_create(&ids[n], NULL, short_thread, n & 1 ? (void *)leave_thread : NULL))
            break;
    while (n > 0)
        pthread_join(ids[--n], NULL);
}

/* ---- code that comes and goes ---- */

static void open_and_close(void)
{
    void *library = dlopen(odd_library_path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    if (odd_refreshes)
        cairn_unwind_refresh();
    void (*call)(odd_fn *) = NULL;
    *(void **)&call = dlsym(library, "odd_library_call");
    if (call)
        call(odd_spin);
    dlclose(library);
    odd_spin();
}

/* Code that nothing describes is followed to its return, but on arm. */
#if !defined(__arm__)
enum { UNDESCRIBED = 0, LAZY_TIMER = ODD_TIMER };
#else
enum { UNDESCRIBED = ODD_LOOSE, LAZY_TIMER = 0 };
#endif

/* arm's glibc describes none of what goes to another place by registers out of memory, and what it
 * calls on the way returns to code that never returns itself. */
#if defined(__arm__)
enum { LEAVES = ODD_LOOSE, LEAVES_PCT = 70 };
#else
enum { LEAVES = 0, LEAVES_PCT = 0 };
#endif

const struct odd_case odd_cases[] = {
    {"prologue and epilogue", prologue_epilogue, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"tail-merged code", tail_merged, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"frames over 64 KB", large_frames, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"a frame over 1 MB", huge_frame, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"alloca", dynamic_frames, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"realigned frames", realigned, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"recursion", recursion, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"recursion beyond the limit", deep_recursion, ODD_STEP | ODD_TIMER | ODD_CALLS | ODD_DEEP, 19},
    {"assembly", by_hand, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"assembly over other code", one_over_the_other, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"assembly with a frame pointer alone", kept_frame_pointer,
     ODD_STEP | ODD_TIMER | ODD_CALLS | UNDESCRIBED},
    {"assembly without anything", none_described, ODD_STEP | ODD_TIMER | ODD_CALLS | UNDESCRIBED},
    {"libc's string functions", strings, ODD_STEP | ODD_TIMER},
    {"callbacks", called_back, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"lazy binding", lazy_binding, ODD_STEP | LAZY_TIMER, 7},
    {"vdso", vdso, ODD_STEP | ODD_TIMER},
    {"system calls", system_calls, ODD_STEP | ODD_TIMER},
    {"signal handler", in_handler, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"signal handler at a fault", at_a_fault, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"sigaltstack", on_other_stack, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"handler in a handler", nested_handlers, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"another stack below", below_another_stack, ODD_STEP | ODD_TIMER | ODD_CALLS},
    {"after a call that never returns", after_no_return, ODD_STEP | ODD_TIMER | ODD_CALLS | LEAVES,
     0, LEAVES_PCT},
    {"longjmp", long_jumps, ODD_STEP | ODD_TIMER | ODD_CALLS | LEAVES, 0, LEAVES_PCT},
    {"coroutines", coroutines,
     ODD_STEP | ODD_TIMER | ODD_CALLS | ODD_SWAPS | ODD_ENDS | ODD_ALONE | LEAVES, 3, 70},
    {"threads that end", threads, ODD_TIMER | ODD_CALLS | ODD_ENDS | LEAVES, 0, LEAVES_PCT},
    {"dlopen and dlclose", open_and_close,
     ODD_STEP | ODD_TIMER | ODD_CALLS | UNDESCRIBED | ODD_LOADER, 41, 90},
    {0},
};
