/* SPDX-License-Identifier: MIT */
/* A guess by frame pointer in the own process: code of nobody's whose record leads on. */
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cairn/unwind.h>

#include "support/test.h"

enum { AREA = 1 << 16, AT = 64 };

static uintptr_t stack[64];

#if defined(__x86_64__)
static const uint8_t loop[] = {0xeb, 0xfe}, call[] = {0xff, 0xd0};
#elif defined(__aarch64__)
static const uint8_t loop[] = {0, 0, 0, 0x14}, call[] = {0, 0, 0x3f, 0xd6};
#else
static const uint8_t loop[] = {0xfe, 0xff, 0xff, 0xea}, call[] = {0x30, 0xff, 0x2f, 0xe1};
#endif

/* Runs at `pc`, with a record at stack[8]. */
static ucontext_t context_at(uintptr_t pc)
{
    ucontext_t context;
    uintptr_t sp = (uintptr_t)stack, fp = (uintptr_t)(stack + 8);
    assert_int_equal(getcontext(&context), 0);
#if defined(__x86_64__)
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context.uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
#elif defined(__aarch64__)
    context.uc_mcontext.pc = pc;
    context.uc_mcontext.sp = sp;
    context.uc_mcontext.regs[29] = fp;
    context.uc_mcontext.regs[30] = 0;
#else
    context.uc_mcontext.arm_pc = pc;
    context.uc_mcontext.arm_sp = sp;
    context.uc_mcontext.arm_fp = fp;
    context.uc_mcontext.arm_r7 = 0;
    context.uc_mcontext.arm_lr = 0;
    context.uc_mcontext.arm_cpsr = 0;
#endif
    return context;
}

/* Code, and bytes that are the same and may be executed or not. qemu shows what may be read and
 * what may be executed as one mapping: let them be written, too. */
static char *make_area(int second)
{
    char *area = mmap(NULL, 2 * AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    memcpy(area, loop, sizeof loop);
    for (int i = 0; i < 2; i++)
        memcpy(area + i * AREA + AT, call, sizeof call);
    assert_int_equal(mprotect(area, AREA, PROT_READ | PROT_EXEC), 0);
    assert_int_equal(mprotect(area + AREA, AREA, second), 0);
    return area;
}

static size_t walk_by(char *area, uintptr_t fp, uintptr_t ret)
{
    uintptr_t ips[8];
    struct cairn_unwind_info info = {.size = sizeof info};
    stack[8] = fp;
    stack[9] = ret;
    ucontext_t context = context_at((uintptr_t)area);
    size_t n = cairn_unwind_context(&context, ips, 8, &info);
    assert_true(n >= 1);
    assert_int_equal(ips[0], (uintptr_t)area);
    if (n > 1)
        assert_int_equal(ips[1], ret);
    assert_int_equal(info.end, CAIRN_END_NO_MODULE);
    return n;
}

static size_t walk_to(char *area, uintptr_t ret)
{
    return walk_by(area, 0, ret);
}

static void a_return_address_lies_in_memory_that_may_be_executed(void **state)
{
    (void)state;
    char *area = make_area(PROT_READ | PROT_WRITE);
    uintptr_t ret = (uintptr_t)area + AT + sizeof call;
    assert_int_equal(walk_to(area, ret), 2);
    assert_int_equal(walk_to(area, ret + AREA), 1);
    assert_int_equal(mprotect(area + AREA, AREA, PROT_READ | PROT_EXEC), 0);
    cairn_unwind_refresh();
    assert_int_equal(walk_to(area, ret + AREA), 2);
    munmap(area, 2 * AREA);
}

/* A function pointer that was NULL, or led to data. */
static size_t walk_out_of(uintptr_t pc, uintptr_t ret)
{
    uintptr_t ips[8];
    ucontext_t context = context_at(pc);
    stack[0] = ret;
#if defined(__aarch64__)
    context.uc_mcontext.regs[30] = ret;
#elif defined(__arm__)
    context.uc_mcontext.arm_lr = ret;
#endif
    size_t n = cairn_unwind_context(&context, ips, 8, NULL);
    assert_true(n >= 1);
    assert_int_equal(ips[0], pc);
    if (n > 1)
        assert_int_equal(ips[1], ret);
    return n;
}

static void who_called_what_is_no_code_is_found(void **state)
{
    (void)state;
    char *area = make_area(PROT_READ | PROT_WRITE);
    uintptr_t ret = (uintptr_t)area + AT + sizeof call;
    cairn_unwind_refresh(); /* another test's memory may have been here */
    assert_int_equal(walk_out_of(0, ret), 2);
    assert_int_equal(walk_out_of(64, ret), 2);
    assert_int_equal(walk_out_of((uintptr_t)stack, ret), 2);
    assert_int_equal(walk_out_of(0, ret + 8), 1); /* behind no call */
    assert_int_equal(walk_out_of(0, ret + AREA), 1);
    assert_int_equal(walk_out_of(0, 0), 1);
    munmap(area, 2 * AREA);
}

/* As HotSpot's interpreter does; the next record must lie above. */
static void made_code_may_push_what_no_call_did(void **state)
{
    (void)state;
    char *area = make_area(PROT_READ | PROT_WRITE);
    uintptr_t pushed = (uintptr_t)area + 3 * AT;
    cairn_unwind_refresh(); /* another test's memory may have been here */
    assert_int_equal(walk_by(area, (uintptr_t)(stack + 20), pushed), 2);
    assert_int_equal(walk_by(area, (uintptr_t)(stack + 4), pushed), 1);
    assert_int_equal(walk_by(area, (uintptr_t)(stack + 20), pushed + AREA), 1);
    uintptr_t in_module = (uintptr_t)printf + 1; /* there code has calls */
    assert_int_equal(walk_by(area, (uintptr_t)(stack + 20), in_module), 1);
    munmap(area, 2 * AREA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_return_address_lies_in_memory_that_may_be_executed),
        cmocka_unit_test(who_called_what_is_no_code_is_found),
        cmocka_unit_test(made_code_may_push_what_no_call_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
