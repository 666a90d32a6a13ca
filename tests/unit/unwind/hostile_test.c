/* SPDX-License-Identifier: MIT */
/*
 * Stacks made to lie to the walk of the own thread: registers and words that point anywhere, that
 * form loops, that end at the edge of a mapping, that go on forever, that another thread changes
 * meanwhile. Each walk ends, with a reason, within CAIRN_MAX_FRAMES and bounded time.
 */
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "support/apart.h"
#include "support/test.h"

enum {
    PAGE = 4096,
    STACK = 64 * PAGE,
    RANGES = 64,
    OWN_FRAMES = 64,
    SLOWEST_MS =
        1000, /* of CPU for a walk; frames in 16,384 pages took 330 to 506 on a busy machine */
};

/* What compilers make for arm has no .ARM.exidx unless they are asked for it: the walk of this
 * program's own stack ends in its first function, and fewer lies are believed. musl has none. */
#if defined(__arm__) || !defined(__GLIBC__)
enum { DESCRIBED = 0, LEAST_REASONS = 2 };
#else
enum { DESCRIBED = 1, LEAST_REASONS = 4 };
#endif

#if defined(__x86_64__)
static void set_registers(ucontext_t *at, uintptr_t ip, uintptr_t sp, uintptr_t fp, uintptr_t any)
{
    for (int i = REG_R8; i <= REG_RCX; i++)
        at->uc_mcontext.gregs[i] = (greg_t)any;
    at->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
    at->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    at->uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
}
#elif defined(__aarch64__)
static void set_registers(ucontext_t *at, uintptr_t ip, uintptr_t sp, uintptr_t fp, uintptr_t any)
{
    for (int i = 0; i < 31; i++)
        at->uc_mcontext.regs[i] = any;
    at->uc_mcontext.pc = ip;
    at->uc_mcontext.sp = sp;
    at->uc_mcontext.regs[29] = fp;
}
#else
static void set_registers(ucontext_t *at, uintptr_t ip, uintptr_t sp, uintptr_t fp, uintptr_t any)
{
    unsigned long *regs = &at->uc_mcontext.arm_r0;
    for (int i = 0; i < 15; i++)
        regs[i] = any;
    at->uc_mcontext.arm_pc = ip;
    at->uc_mcontext.arm_sp = sp;
    at->uc_mcontext.arm_fp = fp;
    at->uc_mcontext.arm_r7 = fp;
}
#endif

/* Where there is code, with rules of all kinds: this program, libc, the loader, the vdso. */
static struct {
    uintptr_t low[RANGES], high[RANGES];
    unsigned n;
} code;

static int add_code(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || code.n == RANGES)
            continue;
        code.low[code.n] = info->dlpi_addr + header->p_vaddr;
        code.high[code.n] = code.low[code.n] + header->p_memsz;
        code.n++;
    }
    return 0;
}

static uint64_t random_state = 88172645463325252u;
static int times = 1; /* as many rounds */

/* `./run test --full` takes four times as long. HOSTILE_SEED tries other numbers. */
static void choose_rounds(void)
{
    const char *given = getenv("HOSTILE_SEED");
    if (given)
        random_state = strtoull(given, NULL, 10) | 1; /* 0 stays 0 */
    if (getenv("CAIRN_FULL"))
        times = 4;
}

static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 2685821657736338717u;
}

static uintptr_t *stack; /* STACK bytes between two pages that cannot be read */

static uintptr_t random_code(void)
{
    const unsigned i = (unsigned)(random_word() % code.n);
    return code.low[i] + (uintptr_t)(random_word() % (code.high[i] - code.low[i]));
}

/* What a word of a broken stack may be. */
static uintptr_t random_value(void)
{
    switch (random_word() % 8) {
    case 0:
        return (uintptr_t)random_word();
    case 1:
        return (uintptr_t)stack + (uintptr_t)(random_word() % STACK);
    case 2:
        return ((uintptr_t)stack + (uintptr_t)(random_word() % STACK)) & ~(uintptr_t)15;
    case 3:
        return (uintptr_t)(random_word() % 4096) - 2048;
    case 4:
        return (uintptr_t)stack + STACK - 64 + (uintptr_t)(random_word() % 128);
    default:
        return random_code();
    }
}

static int set_up(void **state)
{
    (void)state;
    choose_rounds();
    dl_iterate_phdr(add_code, NULL);
    void *pages = mmap(NULL, STACK + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *inside = (char *)pages + PAGE;
    if (pages == MAP_FAILED || mprotect(inside, STACK, PROT_READ | PROT_WRITE))
        return -1;
    stack = inside;
    return code.n == 0;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned n_ended[32];

/* One walk, which must end as walks do. Returns the frames; the reason in *ret_end. */
static size_t walk(uintptr_t ip, uintptr_t sp, uintptr_t fp, uintptr_t any, int *ret_end)
{
    static uintptr_t ips[CAIRN_MAX_FRAMES + 1];
    static uint8_t how[CAIRN_MAX_FRAMES + 1];
    ips[CAIRN_MAX_FRAMES] = 0x5a5a;
    ucontext_t at;
    memset(&at, 0, sizeof at);
    set_registers(&at, ip, sp, fp, any);
    struct cairn_unwind_info info = {.size = sizeof info, .how = how, .end = -1};
    const uint64_t start = now_ms();
    const size_t n = cairn_unwind_context(&at, ips, CAIRN_MAX_FRAMES + 1, &info);
    assert_true(now_ms() - start < SLOWEST_MS);
    assert_true(n <= CAIRN_MAX_FRAMES);
    assert_true(ips[CAIRN_MAX_FRAMES] == 0x5a5a);
    assert_true(info.end >= 0 && info.end < 32);
    n_ended[info.end]++;
    if (ret_end)
        *ret_end = info.end;
    return n;
}

static void fill_randomly(void)
{
    for (size_t i = 0; i < STACK / sizeof stack[0]; i++)
        stack[i] = random_value();
}

static void registers_and_words_that_point_anywhere_end_the_walk(void **state)
{
    (void)state;
    /* arm's code is followed where nothing is known of it, which takes qemu a millisecond */
    const int rounds = sizeof(void *) == 4 ? 6 : 15 * times;
    for (int round = 0; round < rounds; round++) {
        fill_randomly();
        for (int i = 0; i < 300; i++)
            walk(random_code(), (uintptr_t)stack + (uintptr_t)(random_word() % STACK),
                 random_value(), random_value(), NULL);
        for (int i = 0; i < 100; i++)
            walk(random_value(), random_value(), random_value(), random_value(), NULL);
    }
    unsigned n_reasons = 0;
    for (int i = 0; i < 32; i++)
        n_reasons += n_ended[i] != 0;
    assert_true(n_reasons >= LEAST_REASONS);
}

static void a_frame_that_is_its_own_caller_ends_the_walk(void **state)
{
    (void)state;
    for (int round = 0; round < 500 * times; round++) {
        const uintptr_t ip = random_code(), frame = (uintptr_t)(stack + 1024);
        for (size_t i = 0; i < STACK / sizeof stack[0]; i++)
            stack[i] = i & 1 ? ip : frame;
        walk(ip, frame, frame, frame, NULL);
        walk(ip, frame - 64, frame, ip, NULL);
    }
}

static void two_frames_that_call_each_other_end_the_walk(void **state)
{
    (void)state;
    for (int round = 0; round < 500 * times; round++) {
        const uintptr_t ip[2] = {random_code(), random_code()};
        for (size_t i = 0; i < STACK / sizeof stack[0]; i += 2) {
            stack[i] = (uintptr_t)(stack + (i & 2 ? 512 : 1024));
            stack[i + 1] = ip[i / 2 & 1];
        }
        walk(ip[0], (uintptr_t)(stack + 512), (uintptr_t)(stack + 512), ip[1], NULL);
    }
}

static void a_stack_pointer_at_every_edge_ends_the_walk(void **state)
{
    (void)state;
    fill_randomly();
    const uintptr_t edges[] = {0,
                               1,
                               PAGE,
                               (uintptr_t)stack,
                               (uintptr_t)stack + STACK,
                               UINTPTR_MAX,
                               UINTPTR_MAX / 2,
                               UINTPTR_MAX / 2 + 1,
                               (uintptr_t)&edges,
                               code.low[0]};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (int off = -40; off <= 40; off++)
            for (int round = 0; round < 5 * times; round++)
                walk(random_code(), edges[i] + (uintptr_t)off,
                     edges[random_word() % (sizeof edges / sizeof edges[0])] + (uintptr_t)off,
                     random_value(), NULL);
}

static void a_stack_without_end_stops_at_the_limit(void **state)
{
    (void)state;
    int end = -1;
    size_t most = 0;
    /* every word returns behind the same call, so that each frame has another above it */
    for (int round = 0; round < 4000 && most < CAIRN_MAX_FRAMES; round++) {
        const uintptr_t ip = random_code();
        for (size_t i = 0; i < STACK / sizeof stack[0]; i++)
            stack[i] = ip;
        const size_t n = walk(ip, (uintptr_t)stack, (uintptr_t)stack, ip, &end);
        if (n == CAIRN_MAX_FRAMES)
            assert_int_equal(end, CAIRN_END_MAX_FRAMES);
        most = n > most ? n : most;
    }
#if defined(__x86_64__) /* elsewhere a return address is not on the stack alone */
    assert_int_equal(most, CAIRN_MAX_FRAMES);
#endif
}

static atomic_bool stop;

static void *change_words(void *unused)
{
    (void)unused;
    uint64_t x = 1;
    while (!atomic_load(&stop)) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        const size_t from = (size_t)(x >> 33) % (STACK / sizeof stack[0]);
        const size_t to = (size_t)(x >> 13) % (STACK / sizeof stack[0]);
        __atomic_store_n(&stack[to], __atomic_load_n(&stack[from], __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    }
    return NULL;
}

static void a_walk_over_words_that_change_meanwhile_ends(void **state)
{
    (void)state;
    pthread_t changer;
    fill_randomly();
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&changer, NULL, change_words, NULL), 0);
    const int walks = sizeof(void *) == 4 ? 2000 : 5000 * times;
    for (int i = 0; i < walks; i++)
        walk(random_code(), (uintptr_t)stack + (uintptr_t)(random_word() % STACK & ~7u),
             random_value(), random_value(), NULL);
    atomic_store(&stop, true);
    pthread_join(changer, NULL);
}

APART static size_t own_stack(uintptr_t *ips)
{
    struct cairn_unwind_info info = {.size = sizeof info};
    const size_t n = cairn_unwind_here(ips, OWN_FRAMES, &info);
    assert_true(!DESCRIBED || info.end == CAIRN_END_OUTERMOST);
    return n;
}

/* After all of that the thread's own stack is walked as before. */
static void lies_are_not_remembered(void **state)
{
    (void)state;
    uintptr_t before[OWN_FRAMES], after[OWN_FRAMES];
    const size_t n = own_stack(before);
    for (int k = 0; k < 1000; k++)
        walk(random_code(), (uintptr_t)stack + (uintptr_t)(random_word() % STACK), random_value(),
             random_value(), NULL);
    assert_int_equal(own_stack(after), n);
    assert_true(n > (DESCRIBED ? 2 : 0));
    assert_true(before[0] == after[0]);
    for (size_t i = 2; i < n; i++) /* [1]: two places of this function */
        assert_true(before[i] == after[i]);
}

/*
 * A function whose caller's frame is where its frame pointer says, and behind whose call each of a
 * chain of records leads: {frame pointer, return address}. It calls run(its own record).
 */
extern const char far_return[] __attribute__((visibility("hidden")));
void far_call(void (*run)(uintptr_t *record)) __attribute__((visibility("hidden")));
#if defined(__x86_64__)
__asm__(".text\n.type far_call, @function\nfar_call:\n.cfi_startproc\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\nmov %rdi, %rax\nmov %rsp, %rdi\ncall *%rax\n"
        "far_return:\npop %rbp\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\nret\n"
        ".cfi_endproc\n.size far_call, . - far_call\n");
#elif defined(__aarch64__)
__asm__(".text\n.type far_call, %function\nfar_call:\n.cfi_startproc\n"
        "stp x29, x30, [sp, #-16]!\n.cfi_adjust_cfa_offset 16\n.cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\nmov x29, sp\n.cfi_def_cfa_register x29\nmov x1, x0\nmov x0, sp\n"
        "blr x1\nfar_return:\nldp x29, x30, [sp], #16\n.cfi_def_cfa sp, 0\n.cfi_restore x29\n"
        ".cfi_restore x30\nret\n.cfi_endproc\n.size far_call, . - far_call\n");
#else
__asm__(".text\n.arm\n.type far_call, %function\nfar_call:\n.fnstart\n"
        ".save {r11, lr}\npush {r11, lr}\n.setfp r11, sp\nmov r11, sp\nmov r1, r0\nmov r0, sp\n"
        "blx r1\nfar_return:\npop {r11, pc}\n.fnend\n.size far_call, . - far_call\n");
#endif

enum { FAR_STACK = 256 << 10 };

static struct {
    char *low; /* a thread's stack, and above it the records */
    size_t stride;
    uint64_t ms;
    size_t n;
    int end;
} far;

static uintptr_t *far_record(size_t k)
{
    return (uintptr_t *)(void *)(far.low + FAR_STACK + k * far.stride);
}

static void capture_far(uintptr_t *record)
{
    static uintptr_t ips[CAIRN_MAX_FRAMES];
    struct cairn_unwind_info info = {.size = sizeof info};
    const uintptr_t kept[2] = {record[0], record[1]};
    *(volatile uintptr_t *)&record[0] = (uintptr_t)far_record(0);
    *(volatile uintptr_t *)&record[1] = (uintptr_t)far_return;
    for (int i = 0; i < 2; i++) { /* the second one with what the first one knows */
        const uint64_t start = now_ms();
        far.n = cairn_unwind_here(ips, CAIRN_MAX_FRAMES, &info);
        const uint64_t ms = now_ms() - start;
        far.ms = ms > far.ms ? ms : far.ms;
    }
    far.end = info.end;
    *(volatile uintptr_t *)&record[0] = kept[0];
    *(volatile uintptr_t *)&record[1] = kept[1];
}

static void *lie_far(void *unused)
{
    far_call(capture_far);
    return unused;
}

static void walk_far(size_t stride)
{
    const size_t n = CAIRN_MAX_FRAMES + 1, bytes = FAR_STACK + n * stride;
    pthread_t thread;
    pthread_attr_t attr;
    far.low = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (far.low == MAP_FAILED) {
        print_message("skipped: no room for frames of %zu bytes\n", stride);
        return;
    }
    far.stride = stride;
    far.ms = 0;
    for (size_t k = 0; k < n; k++) {
        far_record(k)[0] = (uintptr_t)far_record(k + 1);
        far_record(k)[1] = (uintptr_t)far_return;
    }
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, far.low, FAR_STACK);
    assert_int_equal(pthread_create(&thread, &attr, lie_far, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    int end;
    size_t by_context = walk((uintptr_t)far_return, (uintptr_t)far_record(0) - 64,
                             (uintptr_t)far_record(0), 0, &end);
    print_message("frames of %9zu bytes: %zu in %u ms, by context %zu\n", stride, far.n,
                  (unsigned)far.ms, by_context);
    assert_true(far.ms < SLOWEST_MS);
    assert_true(far.n == CAIRN_MAX_FRAMES || far.end != CAIRN_END_MAX_FRAMES);
    munmap(far.low, bytes);
}

/* All memory between the frames can be read, and none of it need be. */
static void frames_that_are_far_apart_cost_no_more_time(void **state)
{
    (void)state;
    walk_far(4096);
    walk_far(255 << 10);
    if (sizeof(void *) == 8) {
        walk_far(1000 << 10);
        walk_far(10 << 20);
        walk_far(60 << 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_and_words_that_point_anywhere_end_the_walk),
        cmocka_unit_test(a_frame_that_is_its_own_caller_ends_the_walk),
        cmocka_unit_test(two_frames_that_call_each_other_end_the_walk),
        cmocka_unit_test(a_stack_pointer_at_every_edge_ends_the_walk),
        cmocka_unit_test(a_stack_without_end_stops_at_the_limit),
        cmocka_unit_test(a_walk_over_words_that_change_meanwhile_ends),
        cmocka_unit_test(frames_that_are_far_apart_cost_no_more_time),
        cmocka_unit_test(lies_are_not_remembered),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
