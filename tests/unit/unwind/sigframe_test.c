/* SPDX-License-Identifier: MIT */
/* Signal frames as the kernel of each CPU writes them; the layouts are written down here once more,
 * by the structures of its headers. */
#include "unwind/sigframe.h"

#include <elf.h>

#include "unit/unwind/stack.h"
#include "unwind/cursor_row.h"

/* <asm/sigcontext.h> of x86 for x86-64: struct sigcontext behind uc_flags, uc_link, uc_stack. */
struct frame_x86_64 {
    uint64_t flags, link, stack[3];
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip;
};

struct context_386 {
    uint32_t gs, fs, es, ds, di, si, bp, sp, bx, dx, cx, ax, trap, error, ip, cs, flags;
};
struct frame_386 {
    uint32_t sig;
    struct context_386 context;
};
struct rt_frame_386 {
    uint32_t sig, info, context, rest[40];
    uint32_t flags, link, stack[3];
    struct context_386 mcontext;
};

struct frame_aarch64 {
    uint8_t info[128];
    uint64_t flags, link, stack[3];
    uint8_t mask[128];
    uint64_t pad, fault, regs[31], sp, pc, pstate;
};

struct frame_arm {
    uint32_t flags, link, stack[3];
    uint32_t trap, error, oldmask, regs[16], cpsr, fault;
};
struct rt_frame_arm {
    uint8_t info[128];
    struct frame_arm frame;
};

static struct test_stack t;
static const struct cairn_memory memory = {.read = test_stack_read, .ctx = &t};

static struct cairn_unwind_regs step(uint16_t machine, const void *code, size_t n_code,
                                     enum cairn_sigframe expected)
{
    const struct cairn_unwind_arch *arch = cairn_row_arch_of(machine);
    struct cairn_unwind_regs regs = {.ip = CODE + 16};
    memset(t.code, 0, sizeof t.code);
    memcpy(t.code + 16, code, n_code);
    assert_int_equal(cairn_sigframe_at(arch, &memory, CODE + 16), expected);
    assert_int_equal(cairn_sigframe_at(arch, &memory, CODE), CAIRN_SIGFRAME_NONE);
    assert_int_equal(cairn_sigframe_at(arch, &memory, 1), CAIRN_SIGFRAME_NONE);
    bool pops = machine == EM_386 && expected == CAIRN_SIGFRAME_PLAIN;
    assert_int_equal(cairn_sigframe_behind(arch, &memory, CODE + 16 + n_code),
                     pops ? CAIRN_SIGFRAME_NONE : expected);
    assert_int_equal(cairn_sigframe_behind(arch, &memory, CODE + 16), CAIRN_SIGFRAME_NONE);
    assert_int_equal(cairn_sigframe_behind(arch, &memory, 1), CAIRN_SIGFRAME_NONE);
    assert_int_equal(cairn_sigframe_step(arch, expected, &memory, false, &regs),
                     CAIRN_STEP_UNKNOWN);
    cairn_unwind_set(&regs, arch->sp, STACK + STACK_BYTES);
    assert_int_equal(cairn_sigframe_step(arch, expected, &memory, false, &regs),
                     CAIRN_STEP_UNREADABLE);
    cairn_unwind_set(&regs, arch->sp, STACK);
    assert_int_equal(cairn_sigframe_step(arch, CAIRN_SIGFRAME_NONE, &memory, false, &regs),
                     CAIRN_STEP_NO_RULE);
    assert_int_equal(cairn_sigframe_step(arch, expected, &memory, false, &regs), CAIRN_STEP_OK);
    return regs;
}

static void assert_regs(const struct cairn_unwind_regs *regs, const uint64_t *values, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(cairn_unwind_known(regs, i));
        assert_int_equal(regs->regs[i], values[i]);
    }
}

static void x86_64(void **state)
{
    (void)state;
    const struct frame_x86_64 frame = {.r8 = 108,
                                       .r9 = 109,
                                       .r10 = 110,
                                       .r11 = 111,
                                       .r12 = 112,
                                       .r13 = 113,
                                       .r14 = 114,
                                       .r15 = 115,
                                       .di = 105,
                                       .si = 104,
                                       .bp = 106,
                                       .bx = 103,
                                       .dx = 101,
                                       .ax = 100,
                                       .cx = 102,
                                       .sp = 107,
                                       .ip = 999};
    const uint64_t expected[] = {100, 101, 102, 103, 104, 105, 106, 107, 108,
                                 109, 110, 111, 112, 113, 114, 115, 999};
    memcpy(t.stack, &frame, sizeof frame);
    struct cairn_unwind_regs regs =
        step(EM_X86_64, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9, CAIRN_SIGFRAME_RT);
    assert_int_equal(regs.ip, 999);
    assert_regs(&regs, expected, 17); /* the pc's column too: stubs of the PLT count from it */
    (void)step(EM_X86_64, "\xb8\x0f\0\0\0\x0f\x05", 7, CAIRN_SIGFRAME_RT);
}

static void i386(void **state)
{
    (void)state;
    const struct context_386 context = {.di = 107,
                                        .si = 106,
                                        .bp = 105,
                                        .sp = 104,
                                        .bx = 103,
                                        .dx = 102,
                                        .cx = 101,
                                        .ax = 100,
                                        .ip = 999};
    const uint64_t expected[] = {100, 101, 102, 103, 104, 105, 106, 107};
    struct frame_386 frame = {.sig = 10, .context = context};
    memcpy(t.stack, &frame, sizeof frame);
    struct cairn_unwind_regs regs =
        step(EM_386, "\x58\xb8\x77\0\0\0\xcd\x80", 8, CAIRN_SIGFRAME_PLAIN);
    assert_int_equal(regs.ip, 999);
    assert_regs(&regs, expected, 8);
    struct rt_frame_386 rt = {.context = STACK + offsetof(struct rt_frame_386, flags),
                              .mcontext = context};
    memcpy(t.stack, &rt, sizeof rt);
    regs = step(EM_386, "\xb8\xad\0\0\0\xcd\x80", 7, CAIRN_SIGFRAME_RT);
    assert_int_equal(regs.ip, 999);
    assert_regs(&regs, expected, 8);
}

static void aarch64(void **state)
{
    (void)state;
    static struct frame_aarch64 frame;
    uint64_t expected[32];
    assert_int_equal(offsetof(struct frame_aarch64, fault), 128 + 176);
    for (unsigned i = 0; i < 31; i++)
        expected[i] = frame.regs[i] = 100 + i;
    expected[31] = frame.sp = 131;
    frame.pc = 999;
    memcpy(t.stack, &frame, sizeof frame);
    struct cairn_unwind_regs regs =
        step(EM_AARCH64, "\x68\x11\x80\xd2\x01\0\0\xd4", 8, CAIRN_SIGFRAME_RT);
    assert_int_equal(regs.ip, 999);
    assert_regs(&regs, expected, 32);
}

static void arm(void **state)
{
    (void)state;
    struct rt_frame_arm rt = {{0}};
    uint64_t expected[16];
    for (unsigned i = 0; i < 16; i++)
        expected[i] = rt.frame.regs[i] = 100 + i;
    rt.frame.regs[15] = 999; /* Thumb */
    memcpy(t.stack, &rt.frame, sizeof rt.frame);
    struct cairn_unwind_regs regs =
        step(EM_ARM, "\x77\x70\xa0\xe3\0\0\0\xef", 8, CAIRN_SIGFRAME_PLAIN);
    assert_int_equal(regs.ip, 998);
    assert_regs(&regs, expected, 15);
    (void)step(EM_ARM, "\x77\x27\0\xdf", 4, CAIRN_SIGFRAME_PLAIN);
    (void)step(EM_ARM, "\x77\x70\xa0\xe3\x77\0\x90\xef", 8, CAIRN_SIGFRAME_PLAIN);
    memcpy(t.stack, &rt, sizeof rt);
    regs = step(EM_ARM, "\xad\x70\xa0\xe3\0\0\0\xef", 8, CAIRN_SIGFRAME_RT);
    assert_int_equal(regs.ip, 998);
    assert_regs(&regs, expected, 15);
    (void)step(EM_ARM, "\xad\x27\0\xdf", 4, CAIRN_SIGFRAME_RT);
    (void)step(EM_ARM, "\xad\x70\xa0\xe3\xad\0\x90\xef", 8, CAIRN_SIGFRAME_RT);
    (void)step(EM_ARM, "\x4f\xf0\xad\x07\0\xdf", 6, CAIRN_SIGFRAME_RT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x86_64),
        cmocka_unit_test(i386),
        cmocka_unit_test(aarch64),
        cmocka_unit_test(arm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
