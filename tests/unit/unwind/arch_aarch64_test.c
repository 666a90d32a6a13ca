/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "stack.h"
#include "unwind/rule_aarch64.h"

enum { FP = 29, LR = 30, SP = 31, RET = CODE + 0x40 };

static const struct cairn_unwind_arch *arch = &cairn_unwind_aarch64;
static const struct cairn_cie cie = {.ra_reg = LR};

static uint32_t encode(const struct cairn_cfi_row *row)
{
    return arch->encode(NULL, &cie, row);
}

static struct cairn_unwind_regs regs_at(uint64_t sp, uint64_t fp, uint64_t lr)
{
    struct cairn_unwind_regs regs = {.ip = CODE};
    cairn_unwind_set(&regs, SP, sp);
    cairn_unwind_set(&regs, FP, fp);
    cairn_unwind_set(&regs, LR, lr);
    return regs;
}

/* A rule for a row, and the step by it: both must say the same. */
static void row_is_stepped(unsigned base, int64_t up, int64_t fp_at, int64_t ra_at)
{
    struct test_stack t = {0};
    struct cairn_memory memory = {test_stack_read, &t};
    struct cairn_cfi_row row = {.cfa = test_cfa(base, up)};
    uint64_t cfa = STACK + 0x400;
    uint64_t from = cfa - (uint64_t)up;
    if (fp_at)
        row.regs[FP] = test_at_cfa(fp_at);
    if (ra_at)
        row.regs[LR] = test_at_cfa(ra_at);
    uint32_t rule = encode(&row);
    assert_true(cairn_rule_kind(rule) >= CAIRN_RULE_OF_CPU);
    assert_true(rule < 1u << CAIRN_RULE_BITS);
    if (fp_at)
        test_stack_put(&t, cfa + (uint64_t)fp_at, 0xabcdef, 8);
    if (ra_at)
        test_stack_put(&t, cfa + (uint64_t)ra_at, RET | UINT64_C(0x2a) << 48, 8);
    struct cairn_unwind_regs regs = regs_at(base == SP ? from : STACK, from, RET);
    assert_int_equal(cairn_unwind_step(arch, rule, true, &memory, false, &regs), CAIRN_STEP_OK);
    assert_int_equal(regs.ip, RET);
    assert_int_equal(regs.regs[SP], cfa);
    assert_true(cairn_unwind_known(&regs, SP));
    assert_int_equal(regs.regs[FP], fp_at ? 0xabcdef : from);
    assert_false(cairn_unwind_known(&regs, LR));
    regs = regs_at(base == SP ? from : STACK, from, RET);
    assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, false, &regs),
                     ra_at ? CAIRN_STEP_OK : CAIRN_STEP_LEAF);
}

static void every_kind_of_row_is_stepped_as_it_says(void **state)
{
    (void)state;
    row_is_stepped(SP, 32, -32, -24);   /* PAIR at the bottom */
    row_is_stepped(SP, 0x300, -16, -8); /* PAIR at the top */
    row_is_stepped(FP, 96, -96, -88);   /* PAIR, by x29 */
    row_is_stepped(SP, 48, 0, -48);     /* RA alone */
    row_is_stepped(FP, 16, 0, -8);      /* the same, by x29 */
    row_is_stepped(SP, 0, 0, 0);        /* LEAF: nothing was touched */
    row_is_stepped(SP, 64, 0, 0);       /* and one with a frame */
    row_is_stepped(SP, 64, -16, 0);     /* which kept x29 */
    row_is_stepped(SP, 128, -128, -8);  /* SPLIT */
    row_is_stepped(FP, 128, -8, -64);
}

static void what_fits_no_kind_goes_to_the_side(void **state)
{
    (void)state;
    const uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0);
    struct cairn_cfi_row good = {.cfa = test_cfa(SP, 32)}, row;
    good.regs[FP] = test_at_cfa(-32);
    good.regs[LR] = test_at_cfa(-24);
    assert_int_equal(encode(&good), cairn_aarch64_rule(CAIRN_AARCH64_PAIR, 2, 4));
    row = good, row.cfa.reg = 16;
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.value = 24;
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.value = -16;
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.value = 65536;
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.where = CAIRN_CFI_IS_EXPR;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[LR].where = CAIRN_CFI_IN_REG;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[FP].where = CAIRN_CFI_UNDEFINED;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[FP].value = 0;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[FP].value = -20;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[SP] = test_at_cfa(-8);
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.value = 16384, row.regs[FP].value = -16384, row.regs[LR].value = -8;
    assert_int_equal(encode(&row), side);
    struct cairn_cie other = {.ra_reg = 17};
    assert_int_equal(arch->encode(NULL, &other, &good), side);
    other = (struct cairn_cie){.ra_reg = LR, .is_signal_frame = true};
    assert_int_equal(arch->encode(NULL, &other, &good), cairn_rule_make(CAIRN_RULE_SIGNAL, 0));
    row = good, row.regs[LR].where = CAIRN_CFI_UNDEFINED;
    assert_int_equal(encode(&row), cairn_rule_make(CAIRN_RULE_OUTERMOST, 0));
}

static void a_stack_that_lies_is_refused(void **state)
{
    (void)state;
    struct test_stack t = {0};
    struct cairn_memory memory = {test_stack_read, &t};
    struct cairn_unwind_regs regs = regs_at(STACK + 64, STACK, RET), before = regs;
    uint32_t by_fp = cairn_aarch64_rule(CAIRN_AARCH64_PAIR + CAIRN_AARCH64_FROM_FP, 4, 2);
    assert_int_equal(cairn_unwind_step(arch, by_fp, false, &memory, false, &regs),
                     CAIRN_STEP_BAD_CFA);
    assert_int_equal(cairn_unwind_step(arch, by_fp, true, &memory, false, &regs), CAIRN_STEP_OK);
    regs = regs_at(STACK, STACK + 8, RET);
    assert_int_equal(cairn_unwind_step(arch, by_fp, true, &memory, false, &regs),
                     CAIRN_STEP_BAD_CFA);
    regs = regs_at(STACK, STACK + STACK_BYTES, RET);
    assert_int_equal(cairn_unwind_step(arch, by_fp, true, &memory, false, &regs),
                     CAIRN_STEP_UNREADABLE);
    regs = before;
    regs.known &= ~(UINT64_C(1) << FP);
    before = regs;
    assert_int_equal(cairn_unwind_step(arch, by_fp, true, &memory, false, &regs),
                     CAIRN_STEP_UNKNOWN);
    assert_memory_equal(&regs, &before, sizeof regs);
}

static void every_number_is_safe_to_step_by(void **state)
{
    (void)state;
    struct cairn_unwind_regs regs = regs_at(STACK + 512, STACK + 1024, RET);
    test_every_number_is_safe(arch, &regs);
}

static void a_signal_frame_gives_all_registers(void **state)
{
    (void)state;
    struct test_stack t = {0};
    struct cairn_memory memory = {test_stack_read, &t};
    uint64_t frame = STACK + 0x100, mcontext = frame + 128 + 176;
    for (unsigned i = 0; i < 33; i++)
        test_stack_put(&t, mcontext + 8 + 8 * i, 0x1000 + i, 8);
    struct cairn_unwind_regs regs = regs_at(frame, 0, 0);
    uint32_t rule = cairn_rule_make(CAIRN_RULE_SIGNAL, 0);
    assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, false, &regs), CAIRN_STEP_OK);
    for (unsigned i = 0; i < 32; i++) {
        assert_true(cairn_unwind_known(&regs, i));
        assert_int_equal(regs.regs[i], 0x1000 + i);
    }
    assert_int_equal(regs.ip, 0x1000 + 32);
    regs = regs_at(STACK + STACK_BYTES - 128, 0, 0);
    assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, false, &regs),
                     CAIRN_STEP_UNREADABLE);
}

static void authentication_is_taken_off(void **state)
{
    (void)state;
    assert_int_equal(arch->code_address(UINT64_C(0x0052ffff80401234)), UINT64_C(0xffff80401234));
    assert_int_equal(arch->code_address(UINT64_C(0xffff80401234)), UINT64_C(0xffff80401234));
    assert_int_equal(arch->machine, EM_AARCH64);
}

static void words_are_swapped_where_the_target_is_big_endian(void **state)
{
    (void)state;
    struct test_stack t = {0};
    struct cairn_memory memory = {test_stack_read, &t};
    test_stack_put(&t, STACK + 8, __builtin_bswap64(RET), 8);
    struct cairn_unwind_regs regs = regs_at(STACK, 0, 0);
    uint32_t rule = cairn_aarch64_rule(CAIRN_AARCH64_RA, 1, 1);
    assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, true, &regs), CAIRN_STEP_OK);
    assert_int_equal(regs.ip, RET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_row_is_stepped_as_it_says),
        cmocka_unit_test(what_fits_no_kind_goes_to_the_side),
        cmocka_unit_test(a_stack_that_lies_is_refused),
        cmocka_unit_test(every_number_is_safe_to_step_by),
        cmocka_unit_test(a_signal_frame_gives_all_registers),
        cmocka_unit_test(authentication_is_taken_off),
        cmocka_unit_test(words_are_swapped_where_the_target_is_big_endian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
