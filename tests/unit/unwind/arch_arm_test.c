/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "stack.h"
#include "unwind/rule_arm.h"

enum { R4 = 4, R7 = 7, R11 = 11, SP = 13, LR = 14, RET = CODE + 0x40 };

static const struct cairn_unwind_arch *arch = &cairn_unwind_arm;

static struct cairn_unwind_regs regs_at(uint64_t sp, uint64_t fp, uint64_t lr)
{
    struct cairn_unwind_regs regs = {.ip = CODE};
    for (unsigned reg = R4; reg <= R11; reg++)
        cairn_unwind_set(&regs, reg, fp);
    cairn_unwind_set(&regs, SP, sp);
    cairn_unwind_set(&regs, LR, lr);
    return regs;
}

/* A row that pops `mask` (bit a register, lr included) with `post` bytes above; its rule, and the
 * step by that. */
static void row_is_stepped(unsigned base, int64_t up, uint32_t mask, int64_t post)
{
    struct test_stack t = {0};
    struct cairn_memory memory = {test_stack_read, &t};
    struct cairn_cfi_row row = {.cfa = test_cfa(base, up)};
    uint64_t cfa = STACK + 0x800, at = cfa - (uint64_t)post - 4u * __builtin_popcount(mask);
    uint64_t from = cfa - (uint64_t)up, sp = base == SP ? from : STACK;
    for (unsigned reg = 0; reg < 16; reg++)
        if (mask & 1u << reg) {
            row.regs[reg] = test_at_cfa((int64_t)at - (int64_t)cfa);
            test_stack_put(&t, at, reg == LR ? RET | 1 : 0x100 + reg, 4);
            at += 4;
        }
    uint32_t rule = arch->encode(NULL, NULL, &row);
    assert_true(cairn_rule_kind(rule) >= CAIRN_RULE_OF_CPU);
    assert_true(rule < 1u << CAIRN_RULE_BITS);
    struct cairn_unwind_regs regs = regs_at(sp, from, RET | 1);
    assert_int_equal(cairn_unwind_step(arch, rule, true, &memory, false, &regs), CAIRN_STEP_OK);
    assert_int_equal(regs.ip, RET);
    assert_int_equal(regs.regs[SP], cfa);
    for (unsigned reg = R4; reg <= R11; reg++) {
        assert_true(cairn_unwind_known(&regs, reg));
        assert_int_equal(regs.regs[reg], mask & 1u << reg ? 0x100 + reg : from);
    }
    assert_false(cairn_unwind_known(&regs, LR));
    assert_false(cairn_unwind_known(&regs, 3));
    regs = regs_at(sp, from, RET);
    assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, false, &regs),
                     mask & 1u << LR ? CAIRN_STEP_OK : CAIRN_STEP_LEAF);
}

static void every_kind_of_row_is_stepped_as_it_says(void **state)
{
    (void)state;
    row_is_stepped(SP, 0, 0, 0);
    row_is_stepped(SP, 8, 0, 0);
    row_is_stepped(SP, 8, 1 << R4 | 1 << LR, 0);
    row_is_stepped(SP, 64, 0x4ff0, 0);
    row_is_stepped(SP, 24, 1 << R4 | 1 << LR, 16);   /* a variadic function */
    row_is_stepped(R11, 4, 1 << R11 | 1 << LR, 0);   /* GCC's frame pointer */
    row_is_stepped(R11, 8, 1 << R11 | 1 << LR, 0);   /* clang's */
    row_is_stepped(R11, 4, 0x4ff0, 0);               /* pops begin below it */
    row_is_stepped(R7, 8, 0x40f0, 0);                /* Thumb, clang */
    row_is_stepped(R7, 0x100, 1 << R7 | 1 << LR, 0); /* Thumb, GCC: below its locals */
    row_is_stepped(SP, 0x7f0, 0x4ff0, 0);
    row_is_stepped(SP, 20, 1 << 3 | 1 << R4 | 1 << LR, 8); /* r3 for alignment: not the caller's */
}

static void large_frames_have_a_kind_of_their_own(void **state)
{
    (void)state;
    struct cairn_cfi_row row = {.cfa = test_cfa(SP, 200 * 1024)};
    row.regs[R4] = test_at_cfa(-8);
    row.regs[LR] = test_at_cfa(-4);
    uint32_t rule = arch->encode(NULL, NULL, &row);
    assert_int_equal(rule, cairn_arm_far((200 * 1024 - 8) / 4, 1 << R4 | 1 << LR));
    assert_int_equal(cairn_arm_add(rule), 200 * 1024 - 8);
    assert_int_equal(cairn_arm_mask(rule), 1 << R4 | 1 << LR);
    row.cfa.value = 256 * 1024 + 4;
    assert_int_equal(arch->encode(NULL, NULL, &row), cairn_arm_far(0xffff, 0x4010));
    row.cfa.value += 4;
    assert_int_equal(arch->encode(NULL, NULL, &row), cairn_rule_make(CAIRN_RULE_SIDE, 0));
}

static void what_fits_no_kind_goes_to_the_side(void **state)
{
    (void)state;
    const uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0);
    struct cairn_cfi_row good = {.cfa = test_cfa(SP, 16)}, row;
    good.regs[R4] = test_at_cfa(-8);
    good.regs[LR] = test_at_cfa(-4);
    assert_int_equal(arch->encode(NULL, NULL, &good), cairn_arm_rule(CAIRN_ARM_SP, 2, 0x4010, 0));
    row = good, row.cfa.reg = 6;
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    row = good, row.cfa.value = 18;
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    row = good, row.cfa.value = 4;
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    row = good, row.regs[R4].value = -12;
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    row = good, row.regs[R4].where = CAIRN_CFI_UNDEFINED;
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    row = good, row.regs[R4].value = -4, row.regs[LR].value = 0; /* above the CFA */
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    row = good, row.regs[R4].value = -80, row.regs[LR].value = -76; /* too far below it */
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    row = good, row.regs[SP] = test_at_cfa(-12);
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    row = good, row.cfa = test_cfa(R11, 2048);
    assert_int_equal(arch->encode(NULL, NULL, &row), side);
    struct cairn_cie cie = {.ra_reg = 12};
    assert_int_equal(arch->encode(NULL, &cie, &good), side);
    cie = (struct cairn_cie){.ra_reg = LR, .is_signal_frame = true};
    assert_int_equal(arch->encode(NULL, &cie, &good), cairn_rule_make(CAIRN_RULE_SIGNAL, 0));
    row = good, row.regs[LR].where = CAIRN_CFI_UNDEFINED;
    assert_int_equal(arch->encode(NULL, NULL, &row), cairn_rule_make(CAIRN_RULE_OUTERMOST, 0));
}

static void every_number_is_safe_to_step_by(void **state)
{
    (void)state;
    struct test_stack t = {0};
    const struct cairn_memory memory = {test_stack_read, &t};
    struct cairn_unwind_regs regs = regs_at(STACK + 512, STACK + 1024, RET);
    test_every_number_is_safe(arch, &regs);
    struct cairn_unwind_regs high = regs_at(0xfffffff0, 0xfffffff0, RET), low = regs_at(0, 0, RET);
    uint32_t far = cairn_arm_far(0xffff, 0), below = cairn_arm_rule(CAIRN_ARM_R11, 0, 0x4000, 0);
    assert_int_equal(cairn_unwind_step(arch, far, true, &memory, false, &high), CAIRN_STEP_BAD_CFA);
    assert_int_equal(cairn_unwind_step(arch, below, true, &memory, false, &low),
                     CAIRN_STEP_BAD_CFA);
}

/* Both frames of the kernel, told apart by the trampoline's system call, or by the flags. */
static void a_signal_frame_gives_all_registers(void **state)
{
    (void)state;
    static const uint8_t codes[][8] = {
        {0xad, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef},
        {0x77, 0x70, 0xa0, 0xe3, 0x77, 0, 0x90, 0xef},
        {0xad, 0x27, 0x00, 0xdf},
        {0x77, 0x27, 0x00, 0xdf},
        {0},
        {0},
    };
    for (unsigned form = 0; form < 6; form++) {
        struct test_stack t = {0};
        struct cairn_memory memory = {test_stack_read, &t};
        uint64_t frame = STACK + 0x100, r0 = frame + 32 + (form % 2 ? 0 : 128);
        memcpy(t.code, codes[form], 8);
        if (form == 5)
            test_stack_put(&t, frame, 0x5ac3c35a, 4);
        for (unsigned i = 0; i < 16; i++)
            test_stack_put(&t, r0 + 4 * i, 0x1001 + 2 * i, 4);
        struct cairn_unwind_regs regs = regs_at(frame, 0, 0);
        uint32_t rule = cairn_rule_make(CAIRN_RULE_SIGNAL, 0);
        assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, false, &regs),
                         CAIRN_STEP_OK);
        for (unsigned i = 0; i < 15; i++) {
            assert_true(cairn_unwind_known(&regs, i));
            assert_int_equal(regs.regs[i], 0x1001 + 2 * i);
        }
        assert_int_equal(regs.ip, 0x1000 + 2 * 15);
    }
}

static void the_end_of_a_thread_is_known_by_its_code(void **state)
{
    (void)state;
    static const uint8_t codes[][8] = {
        {0x4f, 0xf0, 0x01, 0x07, 0x00, 0xdf},       /* mov.w r7, #1; svc 0 (glibc's clone) */
        {0x01, 0x27, 0x00, 0xdf},                   /* movs r7, #1; svc 0 */
        {0x01, 0x70, 0xa0, 0xe3, 0x00, 0, 0, 0xef}, /* A32 */
        {0x4f, 0xf0, 0xad, 0x07, 0x00, 0xdf},       /* rt_sigreturn */
    };
    static const size_t sizes[] = {6, 4, 8, 9};
    for (unsigned i = 0; i < 4; i++)
        for (size_t size = 0; size <= 8; size++)
            assert_int_equal(arch->ends_thread((struct cairn_span){codes[i], size}),
                             size >= sizes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_row_is_stepped_as_it_says),
        cmocka_unit_test(large_frames_have_a_kind_of_their_own),
        cmocka_unit_test(what_fits_no_kind_goes_to_the_side),
        cmocka_unit_test(every_number_is_safe_to_step_by),
        cmocka_unit_test(a_signal_frame_gives_all_registers),
        cmocka_unit_test(the_end_of_a_thread_is_known_by_its_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
