/* SPDX-License-Identifier: MIT */
/*
 * Padding is restored only behind the last thread: one that a signal stopped at the jump in it, and
 * whose handler sleeps or runs elsewhere, comes back there. The trap flag makes each instruction
 * raise SIGTRAP, so the thread is held exactly there.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/hook.h>

#include "embed/code.h"
#include "support/test.h"

enum { TRAP_FLAG = 1 << 8, NEXT_OFF = 64, TRIES = 200 };

/* The nops around it take the jump of 5 bytes. */
long away_double(long value);
__asm__(".text\n.balign 64\n"
        "away_double: mov %rdi, %rax\n add %rax, %rax\n ret\n .balign 64, 0x90\n ud2\n");

static struct cairn_err err;
static long (*original)(long);
static atomic_bool is_inside, may_go, sleeps;
static uintptr_t pad_va;

static long replacement(long value)
{
    return __atomic_load_n(&original, __ATOMIC_RELAXED)(value) + 1;
}

static uintptr_t entry_va(void)
{
    uintptr_t va = (uintptr_t)away_double;
    __asm__("" : "+r"(va));
    return va;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    (void)info;
    if ((uintptr_t)registers[REG_RIP] != pad_va)
        return;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    atomic_store(&is_inside, true);
    while (!atomic_load(&may_go))
        if (atomic_load(&sleeps))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Calls the function instruction by instruction. */
static void *step(void *ret)
{
    __asm__ volatile("pushfq\n orl $0x100, (%%rsp)\n popfq" : : : "memory", "cc");
    *(long *)ret = away_double(21);
    return NULL;
}

static void hook(struct cairn_hook **ret)
{
    if (cairn_hook_function((void *)away_double, (void *)replacement, 0, (void **)&original, ret,
                            &err) != CAIRN_OK)
        fail_msg("%s (%s)", err.msg, err.hint);
}

static void find_pad(void)
{
    const uint8_t *bytes = (const uint8_t *)entry_va();
    assert_int_equal(bytes[0], 0xeb);
    pad_va = entry_va() + 2 + (uintptr_t)(intptr_t)(int8_t)bytes[1];
    assert_int_equal(*(const uint8_t *)pad_va, 0xe9);
}

static void hold_in_padding(bool is_asleep)
{
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    struct cairn_hook *hooked;
    pthread_t thread;
    uint8_t code[NEXT_OFF];
    long result = 0;
    memcpy(code, (const void *)entry_va(), sizeof code);
    hook(&hooked);
    find_pad();
    atomic_store(&is_inside, false);
    atomic_store(&may_go, false);
    atomic_store(&sleeps, is_asleep);
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    assert_int_equal(pthread_create(&thread, NULL, step, &result), 0);
    while (!atomic_load(&is_inside))
        sched_yield();
    assert_int_equal(cairn_hook_remove(hooked, &err), CAIRN_E_LIMIT);
    assert_int_equal(*(const uint8_t *)pad_va, 0xe9);
    atomic_store(&may_go, true);
    pthread_join(thread, NULL);
    assert_int_equal(result, 42); /* by the island, which leads back */
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
    hook(&hooked);
    assert_int_equal(cairn_hook_remove(hooked, &err), CAIRN_OK);
    assert_int_not_equal(*(const uint8_t *)pad_va, 0xe9);
    assert_memory_equal((const void *)entry_va(), code, sizeof code);
}

static void a_handler_that_sleeps_keeps_the_padding(void **state)
{
    (void)state;
    hold_in_padding(true);
}

static void a_handler_that_runs_keeps_the_padding(void **state)
{
    (void)state;
    hold_in_padding(false);
}

static atomic_bool is_over;

static void *spin(void *unused)
{
    while (!atomic_load(&is_over))
        if (away_double(4) < 8)
            return unused;
    return NULL;
}

/* No other thread ever sleeps; on a busy machine it takes some tries. */
static void padding_comes_back_while_threads_run(void **state)
{
    int failed = 1;
    pthread_t thread;
    struct cairn_hook *hooked;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, spin, &failed), 0);
    int code = CAIRN_E_LIMIT;
    for (int i = 0; i < TRIES && code == CAIRN_E_LIMIT; i++) {
        hook(&hooked);
        code = cairn_hook_remove(hooked, &err);
    }
    atomic_store(&is_over, true);
    void *result;
    pthread_join(thread, &result);
    assert_int_equal(code, CAIRN_OK);
    assert_null(result);
}

/* Where the kernel's own copy is divided by interrupts, whole blocks are written. */
static void a_word_near_the_start_of_a_page_is_written_alone(void **state)
{
    enum { BYTES = 64 };
    struct cairn_embed_memory memory;
    uint8_t *page = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t expected[BYTES] = {0};
    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(cairn_embed_memory_open(&memory, &err), CAIRN_OK);
    for (size_t at = 0; at < 32; at++)
        for (size_t n = 1; n <= 8; n++) {
            const uint64_t word = UINT64_C(0x0807060504030201) * (at + n);
            memcpy(expected + at, &word, n);
            assert_true(cairn_embed_write(&memory, (uintptr_t)page + at, &word, n));
            assert_memory_equal(page, expected, BYTES);
        }
    cairn_embed_memory_close(&memory);
    munmap(page, BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_that_sleeps_keeps_the_padding),
        cmocka_unit_test(a_handler_that_runs_keeps_the_padding),
        cmocka_unit_test(padding_comes_back_while_threads_run),
        cmocka_unit_test(a_word_near_the_start_of_a_page_is_written_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
