/* SPDX-License-Identifier: MIT */
/*
 * Hooks of functions: order, removal in any order, every byte restored, other tools beside, forks,
 * and threads that run through it all.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cairn/hook.h>

#include "embed/frames.h"
#include "support/test.h"

enum { N_BYTES = 96, BEFORE = 32, N_THREADS = 4, N_TOGGLES = 1000, N_TOGGLES_MAX = 100000 };
enum { TOGGLE_NS = 1000000000 /* at most, for one function */ };

typedef long function_fn(long);

/* Hidden: each is addressed by itself, for the assembler makes no GOT entries of local names. */
#define OF_ASSEMBLY __attribute__((visibility("hidden")))
OF_ASSEMBLY long embed_one(long), embed_pad(long), embed_pun(long), embed_late(long),
    embed_loop(long);
#if defined(__x86_64__)
/* One for each way: of 5 bytes and more; shorter, in front of padding; with the next instructions'
 * bytes as a target. */
__asm__(".text\n"
        ".balign 64\nembed_one: lea 0x11111111(%rdi), %rax\n add $1, %rax\n ret\n"
        ".balign 64\nembed_pad: mov %rdi, %rax\n add $0x11111112, %rax\n ret\n"
        ".balign 64\nembed_pun: push %r12\n push %rbp\n push %rbx\n mov %rdi, %rax\n"
        " add $0x11111112, %rax\n pop %rbx\n pop %rbp\n pop %r12\n jmp 1f\n"
        " .fill 40, 1, 0x50\n1: ret\n .fill 15, 1, 0x50\n"
        ".balign 64\nembed_late: mov %rdi, %rax\n add $0x11111112, %rax\n ret\n"
        ".balign 64\nembed_loop: dec %rdi\n jne embed_loop\n mov %rdi, %rax\n ret\n"
        ".balign 64\n");
enum { JUMP_BYTES = 5 };

static void make_jump(uint8_t jump[JUMP_BYTES], const uint8_t *from, const uint8_t *to)
{
    const int32_t distance = (int32_t)(to - (from + JUMP_BYTES));
    jump[0] = 0xe9;
    memcpy(jump + 1, &distance, sizeof distance);
}
#else
/* The branch is over: a plain instruction; one that knows where it stands; one behind a hint that
 * signs, as -mbranch-protection=standard has; one behind a landing pad. */
__asm__(".text\n"
        ".balign 64\nembed_one: movz x1, #0x1112\n movk x1, #0x1111, lsl #16\n"
        " add x0, x0, x1\n ret\n"
        ".balign 64\nembed_pad: ldr w1, 1f\n add x0, x0, x1\n ret\n1: .word 0x11111112\n"
        ".balign 64\nembed_pun: hint #25\n stp x29, x30, [sp, #-16]!\n"
        " movz x1, #0x1112\n movk x1, #0x1111, lsl #16\n add x0, x0, x1\n"
        " ldp x29, x30, [sp], #16\n hint #29\n ret\n"
        ".balign 64\nembed_late: hint #34\n adr x1, 1f\n ldr w1, [x1]\n add x0, x0, x1\n ret\n"
        "1: .word 0x11111112\n"
        ".balign 64\nembed_loop: subs x0, x0, #1\n b.ne embed_loop\n ret\n"
        ".balign 64\n");
enum { JUMP_BYTES = 4 };

static void make_jump(uint8_t jump[JUMP_BYTES], const uint8_t *from, const uint8_t *to)
{
    const uint32_t word = 0x14000000 | ((uint32_t)((to - from) / JUMP_BYTES) & 0x3ffffff);
    memcpy(jump, &word, sizeof word);
}
#endif

static function_fn *const functions[] = {embed_one, embed_pad, embed_pun, embed_late, labs};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static const long plain = 0x11111112;

static struct cairn_err err;
static char order[16];
static function_fn *original_a, *original_b, *original_c;

static void note(char name)
{
    const size_t n = strlen(order);
    if (n < sizeof order - 1)
        order[n] = name;
}

static long hook_a(long value)
{
    note('a');
    return original_a(value);
}

static long hook_b(long value)
{
    note('b');
    return original_b(value);
}

static long hook_c(long value)
{
    note('c');
    return original_c(value);
}

static struct cairn_hook *hook_with(function_fn *function, function_fn *replacement, unsigned flags,
                                    function_fn **ret_original)
{
    struct cairn_hook *hook;
    if (cairn_hook_function((void *)(uintptr_t)function, (void *)(uintptr_t)replacement, flags,
                            (void **)ret_original, &hook, &err) != CAIRN_OK)
        fail_msg("%s (%s)", err.msg, err.hint);
    return hook;
}

static void remove_hook(struct cairn_hook *hook)
{
    if (cairn_hook_remove(hook, &err) != CAIRN_OK)
        fail_msg("%s (%s)", err.msg, err.hint);
}

/* The compiler knows nothing of bytes there. */
static uint8_t *bytes_of(function_fn *function)
{
    uint8_t *bytes = (uint8_t *)(uintptr_t)function;
    __asm__("" : "+r"(bytes));
    return bytes;
}

static void keep(uint8_t bytes[N_BYTES], function_fn *function)
{
    memcpy(bytes, bytes_of(function) - BEFORE, N_BYTES);
}

static void hold_same(const uint8_t bytes[N_BYTES], function_fn *function)
{
    assert_memory_equal(bytes, bytes_of(function) - BEFORE, N_BYTES);
}

static void each_way_hooks_and_restores_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        uint8_t before[N_BYTES];
        const long expected = functions[i](4);
        keep(before, functions[i]);
        for (unsigned round = 0; round < 3; round++) {
            memset(order, 0, sizeof order);
            struct cairn_hook *hook = hook_with(functions[i], hook_a, 0, &original_a);
            assert_int_equal(functions[i](4), expected);
            assert_string_equal(order, "a");
            assert_memory_not_equal(before, bytes_of(functions[i]) - BEFORE, N_BYTES);
            remove_hook(hook);
            hold_same(before, functions[i]);
            assert_int_equal(functions[i](4), expected);
            assert_int_equal(original_a(4), expected); /* stays valid */
            assert_string_equal(order, "a");
        }
    }
}

static void hooks_stack_and_go_in_any_order(void **state)
{
    static const unsigned orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    uint8_t before[N_BYTES];
    (void)state;
    keep(before, embed_one);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char left[4] = "cba";
        struct cairn_hook *hooks[3];
        hooks[0] = hook_with(embed_one, hook_a, 0, &original_a);
        hooks[1] = hook_with(embed_one, hook_b, 0, &original_b);
        hooks[2] = hook_with(embed_one, hook_c, 0, &original_c);
        for (size_t k = 0; k <= 3; k++) {
            memset(order, 0, sizeof order);
            assert_int_equal(embed_one(1), plain + 1);
            assert_string_equal(order, left);
            if (k == 3)
                break;
            remove_hook(hooks[orders[i][k]]);
            char *gone = strchr(left, (int)('a' + orders[i][k]));
            memmove(gone, gone + 1, strlen(gone));
        }
        hold_same(before, embed_one);
    }
}

static void a_removed_hook_cannot_be_removed_again(void **state)
{
    (void)state;
    struct cairn_hook *hook = hook_with(embed_one, hook_a, 0, &original_a);
    remove_hook(hook);
    assert_int_equal(cairn_hook_remove(hook, &err), CAIRN_E_ARG);
    /* Nor does it remove the hook that came after it, in the same memory. */
    struct cairn_hook *other = hook_with(embed_one, hook_b, 0, &original_b);
    assert_int_equal(cairn_hook_remove(hook, &err), CAIRN_E_ARG);
    memset(order, 0, sizeof order);
    assert_int_equal(embed_one(1), plain + 1);
    assert_string_equal(order, "b");
    remove_hook(other);
}

static void write_code(const void *at, const void *bytes, size_t n)
{
    const int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)(uintptr_t)at), (ssize_t)n);
    close(fd);
}

static void what_another_tool_wrote_over_ours_stays_and_is_reported(void **state)
{
    uint8_t before[N_BYTES], ours[JUMP_BYTES], theirs[JUMP_BYTES];
    uint8_t *entry = bytes_of(embed_one);
    (void)state;
    keep(before, embed_one);
    struct cairn_hook *hook = hook_with(embed_one, hook_a, 0, &original_a);
    memcpy(ours, entry, sizeof ours);
    /* They jump to embed_pad, which does the same. */
    make_jump(theirs, entry, bytes_of(embed_pad));
    write_code(entry, theirs, sizeof theirs);
    assert_int_equal(cairn_hook_remove(hook, &err), CAIRN_E_EXISTS);
    assert_non_null(strstr(err.msg, "another tool"));
    assert_memory_equal(entry, theirs, sizeof theirs);
    /* And when they put our bytes back, calls pass on to the function. */
    write_code(entry, ours, sizeof ours);
    memset(order, 0, sizeof order);
    assert_int_equal(embed_one(1), plain + 1);
    assert_string_equal(order, "");
    hook = hook_with(embed_one, hook_a, 0, &original_a);
    assert_int_equal(embed_one(1), plain + 1);
    assert_string_equal(order, "a");
    remove_hook(hook);
    hold_same(before, embed_one);
}

/* As after an unload: the site is known, but neither its jump nor that of its padding is there. */
static void a_function_that_came_again_is_hooked_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        uint8_t before[N_BYTES];
        const long expected = functions[i](4);
        keep(before, functions[i]);
        struct cairn_hook *hook = hook_with(functions[i], hook_a, 0, &original_a);
        write_code(bytes_of(functions[i]) - BEFORE, before, sizeof before);
        remove_hook(hook);
        memset(order, 0, sizeof order);
        hook = hook_with(functions[i], hook_a, 0, &original_a);
        assert_int_equal(functions[i](4), expected);
        assert_string_equal(order, "a");
        remove_hook(hook);
        hold_same(before, functions[i]);
    }
}

static size_t frames_of(const uint8_t *insn, size_t n)
{
    uint8_t bytes[CAIRN_EMBED_FRAMES_MAX];
    const struct cairn_hook_copy copy = {
        .n_insns = 1, .from_off = {0, (uint8_t)n}, .to_off = {0, (uint16_t)n}, .n_code = n + 5};
    return cairn_embed_frames_write(&copy, insn, 0x1000, 0x1020, bytes);
}

#if defined(__x86_64__)
static void unwind_tables_follow_the_stack_or_are_not_made(void **state)
{
    (void)state;
    assert_int_not_equal(frames_of((const uint8_t[]){0x55}, 1), 0);       /* push %rbp */
    assert_int_not_equal(frames_of((const uint8_t[]){0xff, 0x07}, 2), 0); /* incl (%rdi) */
    assert_int_equal(frames_of((const uint8_t[]){0xff, 0x37}, 2), 0);     /* push (%rdi) */
    assert_int_equal(frames_of((const uint8_t[]){0x8f, 0x07}, 2), 0);     /* pop (%rdi) */
    assert_int_equal(frames_of((const uint8_t[]){0x9c}, 1), 0);           /* pushf */
}
#else
static size_t frames_of_word(uint32_t word)
{
    return frames_of((const uint8_t *)&word, sizeof word);
}

static void unwind_tables_follow_the_stack_or_are_not_made(void **state)
{
    (void)state;
    assert_int_not_equal(frames_of_word(0xa9bf7bfd), 0); /* stp x29, x30, [sp, #-16]! */
    assert_int_not_equal(frames_of_word(0xf81f0ff3), 0); /* str x19, [sp, #-16]! */
    assert_int_not_equal(frames_of_word(0xa90153f3), 0); /* stp x19, x20, [sp, #16] */
    assert_int_not_equal(frames_of_word(0xd10103ff), 0); /* sub sp, sp, #64 */
    assert_int_not_equal(frames_of_word(0xd2822241), 0); /* movz x1, #0x1112 */
    assert_int_equal(frames_of_word(0x9100001f), 0);     /* mov sp, x0 */
    assert_int_equal(frames_of_word(0xa8c17bfd), 0);     /* ldp x29, x30, [sp], #16 */
    assert_int_equal(frames_of_word(0x910103ff), 0);     /* add sp, sp, #64 */
}
#endif

static void another_tools_hook_is_refused_or_gone_over(void **state)
{
    uint8_t before[JUMP_BYTES], theirs[JUMP_BYTES];
    uint8_t *entry = bytes_of(embed_late);
    struct cairn_hook *hook;
    (void)state;
    memcpy(before, entry, sizeof before);
    make_jump(theirs, entry, bytes_of(embed_pun));
    write_code(entry, theirs, sizeof theirs);
    assert_int_equal(cairn_hook_function(entry, (void *)(uintptr_t)hook_b, 0, NULL, &hook, &err),
                     CAIRN_E_EXISTS);
    assert_non_null(strstr(err.msg, "embed_function_test"));
    hook = hook_with(embed_late, hook_b, CAIRN_HOOK_ON_TOP, &original_b);
    memset(order, 0, sizeof order);
    assert_int_equal(embed_late(2), plain + 2);
    assert_string_equal(order, "b");
    remove_hook(hook);
    assert_memory_equal(entry, theirs, sizeof theirs);
    write_code(entry, before, sizeof before);
}

static void what_cannot_be_diverted_says_why(void **state)
{
    struct cairn_hook *hook;
    (void)state;
    assert_int_equal(cairn_hook_function((void *)(uintptr_t)embed_loop, (void *)(uintptr_t)hook_a,
                                         0, NULL, &hook, &err),
                     CAIRN_E_SUPPORT);
    assert_non_null(strstr(err.msg, "jumps back to its first instruction"));
    assert_non_null(strstr(err.msg, "embed_function_test"));
}

static void a_child_of_fork_has_the_hooks_and_its_own(void **state)
{
    int status;
    (void)state;
    struct cairn_hook *hook = hook_with(embed_one, hook_a, 0, &original_a);
    const pid_t child = fork();
    if (child == 0) {
        memset(order, 0, sizeof order);
        bool done = embed_one(1) == plain + 1 && strcmp(order, "a") == 0;
        struct cairn_hook *own = hook_with(embed_one, hook_b, 0, &original_b);
        memset(order, 0, sizeof order);
        done &= embed_one(1) == plain + 1 && strcmp(order, "ba") == 0;
        remove_hook(hook);
        remove_hook(own);
        memset(order, 0, sizeof order);
        done &= embed_one(1) == plain + 1 && strcmp(order, "") == 0;
        _exit(done ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    memset(order, 0, sizeof order);
    assert_int_equal(embed_one(1), plain + 1);
    assert_string_equal(order, "a");
    remove_hook(hook);
}

static _Atomic long n_calls, n_counted, n_toggled, n_wrong;
static _Atomic int is_over;
static function_fn *original_counter, *original_toggle;

static long counter(long value)
{
    atomic_fetch_add_explicit(&n_counted, 1, memory_order_relaxed);
    return __atomic_load_n(&original_counter, __ATOMIC_RELAXED)(value);
}

static long toggle(long value)
{
    atomic_fetch_add_explicit(&n_toggled, 1, memory_order_relaxed);
    return __atomic_load_n(&original_toggle, __ATOMIC_RELAXED)(value);
}

static void *call_all_the_time(void *function)
{
    long n = 0, wrong = 0;
    for (; !atomic_load_explicit(&is_over, memory_order_relaxed); n++)
        wrong += ((function_fn *)(uintptr_t)function)(n) != plain + n;
    atomic_fetch_add(&n_calls, n);
    atomic_fetch_add(&n_wrong, wrong);
    return NULL;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Each change waits for threads that keep both CPUs busy: there is an end by the clock. */
static bool goes_on(unsigned i, uint64_t begin_ns)
{
    return i < N_TOGGLES && now_ns() - begin_ns < TOGGLE_NS;
}

static void toggle_under_load(function_fn *function)
{
    pthread_t threads[N_THREADS];
    is_over = 0;
    n_calls = n_counted = n_toggled = n_wrong = 0;
    struct cairn_hook *constant = hook_with(function, counter, 0, &original_counter);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, call_all_the_time, (void *)(uintptr_t)function), 0);
    /* On a busy machine no thread may have run by then. */
    const uint64_t begin_ns = now_ns();
    for (unsigned i = 0; goes_on(i, begin_ns) || (!n_toggled && i < N_TOGGLES_MAX); i++) {
        struct cairn_hook *hook = hook_with(function, toggle, 0, &original_toggle);
        if (!goes_on(i, begin_ns))
            sched_yield();
        remove_hook(hook);
    }
    is_over = 1;
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    remove_hook(constant);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_counted, n_calls);
    assert_true(n_toggled > 0);
}

static void a_hook_counts_every_call_while_another_comes_and_goes(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        toggle_under_load(functions[i]);
}

static void a_function_is_diverted_and_restored_under_load(void **state)
{
    pthread_t threads[N_THREADS];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        uint8_t before[N_BYTES];
        keep(before, functions[i]);
        is_over = 0;
        n_calls = n_toggled = n_wrong = 0;
        for (size_t k = 0; k < N_THREADS; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, call_all_the_time,
                                            (void *)(uintptr_t)functions[i]),
                             0);
        const uint64_t begin_ns = now_ns();
        for (unsigned k = 0; goes_on(k, begin_ns); k++)
            remove_hook(hook_with(functions[i], toggle, CAIRN_HOOK_KEEP_PADDING, &original_toggle));
        is_over = 1;
        for (size_t k = 0; k < N_THREADS; k++)
            pthread_join(threads[k], NULL);
        assert_int_equal(n_wrong, 0);
        remove_hook(hook_with(functions[i], toggle, 0, &original_toggle));
        hold_same(before, functions[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_hooks_and_restores_every_byte),
        cmocka_unit_test(hooks_stack_and_go_in_any_order),
        cmocka_unit_test(a_removed_hook_cannot_be_removed_again),
        cmocka_unit_test(what_another_tool_wrote_over_ours_stays_and_is_reported),
        cmocka_unit_test(a_function_that_came_again_is_hooked_again),
        cmocka_unit_test(unwind_tables_follow_the_stack_or_are_not_made),
        cmocka_unit_test(another_tools_hook_is_refused_or_gone_over),
        cmocka_unit_test(what_cannot_be_diverted_says_why),
        cmocka_unit_test(a_child_of_fork_has_the_hooks_and_its_own),
        cmocka_unit_test(a_hook_counts_every_call_while_another_comes_and_goes),
        cmocka_unit_test(a_function_is_diverted_and_restored_under_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
