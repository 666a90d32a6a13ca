/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "stack.h"
#include "unwind/rule_x86_64.h"

enum { RAX, RBX = 3, RDI = 5, RBP = 6, RSP = 7, R8 = 8, R10 = 10, RIP = 16, RET = CODE + 0x40 };

static const struct cairn_unwind_arch *arch = &cairn_unwind_x86_64;
static const struct cairn_cie cie = {.ra_reg = RIP};
static struct test_stack t;
static const struct cairn_memory memory = {test_stack_read, &t};

static uint32_t encode(const struct cairn_cfi_row *row)
{
    return arch->encode(NULL, &cie, row);
}

static struct cairn_cfi_row row_of(unsigned base, int64_t up, int64_t fp_at)
{
    struct cairn_cfi_row row = {.cfa = test_cfa(base, up)};
    row.regs[RIP] = test_at_cfa(-8);
    if (fp_at)
        row.regs[RBP] = test_at_cfa(fp_at);
    return row;
}

static struct cairn_unwind_regs regs_at(uint64_t sp, uint64_t fp)
{
    struct cairn_unwind_regs regs = {.ip = CODE};
    cairn_unwind_set(&regs, RSP, sp);
    cairn_unwind_set(&regs, RBP, fp);
    cairn_unwind_set(&regs, RBX, 7);
    return regs;
}

static void assert_stepped(uint32_t rule, struct cairn_unwind_regs regs, uint64_t sp, uint64_t fp)
{
    assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, false, &regs), CAIRN_STEP_OK);
    assert_int_equal(regs.ip, RET);
    assert_int_equal(regs.regs[RIP], RET);
    assert_int_equal(regs.regs[RSP], sp);
    assert_int_equal(regs.regs[RBP], fp);
    assert_int_equal(regs.known, 1 << RSP | 1 << RBP | 1 << RIP);
}

static void row_is_stepped(unsigned base, int64_t up, int64_t fp_at)
{
    struct cairn_cfi_row row = row_of(base, up, fp_at);
    uint64_t cfa = STACK + 0xf00, from = cfa - (uint64_t)up;
    uint32_t rule = encode(&row);
    assert_true(cairn_x86_64_is_plain(rule));
    assert_true(rule < 1u << CAIRN_RULE_BITS);
    memset(&t, 0, sizeof t);
    test_stack_put(&t, cfa - 8, RET, 8);
    if (fp_at)
        test_stack_put(&t, cfa + (uint64_t)fp_at, 0xabcdef, 8);
    assert_stepped(rule, regs_at(base == RSP ? from : STACK, from), cfa, fp_at ? 0xabcdef : from);
}

static void every_kind_of_row_is_stepped_as_it_says(void **state)
{
    (void)state;
    row_is_stepped(RSP, 8, 0);
    row_is_stepped(RSP, 16, -16);
    row_is_stepped(RSP, 0xe00, -48);
    row_is_stepped(RBP, 16, -16);
    row_is_stepped(RBP, 16, 0);
    row_is_stepped(RBP, 48, -0xe00);
}

/* What a stub pushes depends on how far it is. */
static void a_plt_stub_is_stepped_by_where_it_is(void **state)
{
    (void)state;
    uint32_t rule = cairn_x86_64_rule(CAIRN_X86_64_PLT, 1, 11);
    for (uint64_t at = 0; at < 16; at++) {
        struct cairn_unwind_regs regs = regs_at(STACK, 5);
        memset(&t, 0, sizeof t);
        regs.ip = CODE + at;
        test_stack_put(&t, STACK + (at >= 11 ? 8 : 0), RET, 8);
        assert_stepped(rule, regs, STACK + (at >= 11 ? 16 : 8), 5);
    }
}

static void a_cfa_in_memory_is_read(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    test_stack_put(&t, STACK + 0x100 - 8, STACK + 0x200, 8); /* *(rbp - 8) */
    test_stack_put(&t, STACK + 0x100, 0xabcdef, 8);          /* *rbp */
    test_stack_put(&t, STACK + 0x200 - 8, RET, 8);
    assert_stepped(cairn_x86_64_rule(CAIRN_X86_64_FP_DEREF, 1, CAIRN_X86_64_FP_AT_FP),
                   regs_at(STACK, STACK + 0x100), STACK + 0x200, 0xabcdef);
    test_stack_put(&t, STACK + 0x40, STACK + 0x1f8, 8); /* *(rsp + 64) + 8 */
    assert_stepped(cairn_x86_64_rule(CAIRN_X86_64_SP_DEREF, 8, CAIRN_X86_64_FP_SAME),
                   regs_at(STACK, 9), STACK + 0x200, 9);
    test_stack_put(&t, STACK + 0x200 - 24, 0x77, 8);
    assert_stepped(cairn_x86_64_rule(CAIRN_X86_64_SP_DEREF, 8, 3), regs_at(STACK, 9), STACK + 0x200,
                   0x77);
    test_stack_put(&t, STACK + 0x80, STACK + 0x1f0, 8); /* *rbp + 16 */
    test_stack_put(&t, STACK + 0x1f0, 0x5678, 8);       /* at CFA - 16 */
    assert_stepped(cairn_x86_64_rule(CAIRN_X86_64_FP_CHAIN, 2, 2), regs_at(STACK, STACK + 0x80),
                   STACK + 0x200, 0x5678);
}

static void a_signal_frame_gives_every_register(void **state)
{
    (void)state;
    uint32_t rule = cairn_rule_make(CAIRN_RULE_SIGNAL, 0);
    struct cairn_unwind_regs regs = regs_at(STACK + 0x100, 0);
    memset(&t, 0, sizeof t);
    for (unsigned i = 0; i < 17; i++)
        test_stack_put(&t, STACK + 0x100 + CAIRN_X86_64_SIGNAL_GREGS + 8 * i, 100 + i, 8);
    assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, false, &regs), CAIRN_STEP_OK);
    assert_int_equal(regs.known, (1 << 17) - 1);
    assert_int_equal(regs.regs[R8], 100);
    assert_int_equal(regs.regs[RBP], 110);
    assert_int_equal(regs.regs[RBX], 111);
    assert_int_equal(regs.regs[RSP], 115); /* anywhere: another stack */
    assert_int_equal(regs.ip, 116);
    regs = regs_at(STACK + STACK_BYTES - 64, 0);
    assert_int_equal(cairn_unwind_step(arch, rule, false, &memory, false, &regs),
                     CAIRN_STEP_UNREADABLE);
}

static void assert_refused(uint32_t rule, struct cairn_unwind_regs regs, enum cairn_arch_step why)
{
    struct cairn_unwind_regs before = regs;
    assert_int_equal(cairn_unwind_step(arch, rule, true, &memory, false, &regs), why);
    assert_memory_equal(&regs, &before, sizeof regs);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    uint32_t sp = cairn_x86_64_rule(CAIRN_X86_64_SP, 1, 0);
    uint32_t fp = cairn_x86_64_rule(CAIRN_X86_64_FP, 2, 2);
    struct cairn_unwind_regs regs = regs_at(STACK + 0x80, STACK + 0x80);
    memset(&t, 0, sizeof t);
    assert_refused(cairn_rule_make(CAIRN_RULE_NONE, 0), regs, CAIRN_STEP_NO_RULE);
    assert_refused(cairn_rule_make(CAIRN_RULE_OUTERMOST, 0), regs, CAIRN_STEP_OUTERMOST);
    assert_refused(cairn_rule_make(CAIRN_RULE_SIDE, 3), regs, CAIRN_STEP_SIDE);
    assert_refused(cairn_rule_make(15, 3), regs, CAIRN_STEP_NO_RULE);
    assert_refused(cairn_x86_64_rule(CAIRN_X86_64_SP, 0, 0), regs, CAIRN_STEP_BAD_CFA);
    assert_refused(fp, regs_at(STACK + 0x80, STACK + 0x70), CAIRN_STEP_BAD_CFA); /* falls */
    assert_refused(fp, regs_at(STACK, STACK + 0x71), CAIRN_STEP_BAD_CFA);        /* is odd */
    assert_refused(fp, regs_at(STACK, STACK + STACK_BYTES), CAIRN_STEP_UNREADABLE);
    assert_refused(fp, regs_at(STACK, UINT64_MAX - 15), CAIRN_STEP_BAD_CFA); /* wraps */
    regs.known = 1 << RSP;
    assert_refused(fp, regs, CAIRN_STEP_UNKNOWN);
    assert_refused(cairn_x86_64_rule(CAIRN_X86_64_SP, 1, CAIRN_X86_64_FP_AT_FP), regs,
                   CAIRN_STEP_UNKNOWN);
    assert_int_equal(cairn_unwind_step(arch, sp, true, &memory, false, &regs), CAIRN_STEP_OK);
    assert_int_equal(regs.known, 1 << RSP | 1 << RIP); /* rbp was not known before */
    regs.known = 0;
    assert_refused(sp, regs, CAIRN_STEP_UNKNOWN);
}

static void every_number_is_safe_to_step_by(void **state)
{
    (void)state;
    struct cairn_unwind_regs regs = regs_at(STACK + 512, STACK + 1024);
    test_every_number_is_safe(arch, &regs);
}

/* As in glibc's vfork(2): no rule, but who has all registers needs none. */
static void a_return_address_in_rdi_is_a_hint(void **state)
{
    (void)state;
    const uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0);
    struct cairn_cfi_row row = row_of(RSP, 16, 0);
    row.regs[RIP] = (struct cairn_cfi_rule){.where = CAIRN_CFI_IN_REG, .reg = RDI};
    assert_int_equal(cairn_rule_kind(encode(&row)), CAIRN_RULE_SIDE);
    assert_int_equal(cairn_rule_side_hint(encode(&row)), 3);
    row.cfa.value = 0;
    assert_int_equal(cairn_rule_side_hint(encode(&row)), 1);
    row.cfa.value = 8 * CAIRN_X86_64_IN_DI_MAX;
    assert_int_equal(cairn_rule_side_hint(encode(&row)), CAIRN_X86_64_IN_DI_MAX + 1);
    assert_true(encode(&row) < 1u << CAIRN_RULE_BITS);
    row.cfa.value = 8 * (CAIRN_X86_64_IN_DI_MAX + 1);
    assert_int_equal(encode(&row), side);
    row.cfa = test_cfa(RBP, 16);
    assert_int_equal(encode(&row), side);
    row.cfa = test_cfa(RSP, 0);
    row.regs[RBP] = test_at_cfa(-16);
    assert_int_equal(encode(&row), side);
    row.regs[RBP] = (struct cairn_cfi_rule){0};
    row.regs[RIP].reg = R8;
    assert_int_equal(encode(&row), side);
}

static void what_fits_no_kind_goes_to_the_side(void **state)
{
    (void)state;
    const uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0);
    const struct cairn_cie other = {.ra_reg = 15};
    struct cairn_cfi_row good = row_of(RSP, 32, -16), row = good;
    assert_int_equal(arch->encode(NULL, &other, &row), side);
    row.cfa.reg = R10;
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.value = 12;
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.value = -8;
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.value = 8 * (CAIRN_X86_64_CFA_MAX + 1);
    assert_int_equal(encode(&row), side);
    row = good, row.cfa.where = CAIRN_CFI_UNDEFINED;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[RIP].value = -16;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[RIP].where = CAIRN_CFI_SAME;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[RSP] = test_at_cfa(-24);
    assert_int_equal(encode(&row), side);
    row = good, row.regs[RBP].value = 8;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[RBP].value = -12;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[RBP].value = -8 * (CAIRN_X86_64_FP_MAX + 1);
    assert_int_equal(encode(&row), side);
    row = good, row.regs[RBP].where = CAIRN_CFI_UNDEFINED;
    assert_int_equal(encode(&row), side);
    row = good, row.regs[RBP].value = -8 * CAIRN_X86_64_FP_MAX;
    assert_int_equal(encode(&row), cairn_x86_64_rule(CAIRN_X86_64_SP, 4, CAIRN_X86_64_FP_MAX));
}

/* As around the system call of glibc's clone(2). */
static const uint8_t clone_code[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x13, 0x74, 0x01, 0xc3};

static bool read_code(void *ctx, uint64_t va, void *ret_bytes, size_t size)
{
    const uint8_t *code = ctx;
    if (va < CODE - 2 || va - (CODE - 2) + size > sizeof clone_code)
        return false;
    memcpy(ret_bytes, code + (va - (CODE - 2)), size);
    return true;
}

static enum cairn_arch_step step_by(const uint8_t *code, bool is_leaf,
                                    struct cairn_unwind_regs *regs)
{
    const struct cairn_memory of_code = {read_code, (void *)(uintptr_t)code};
    const struct cairn_code_input input = {.stack = &memory, .code = &of_code, .is_leaf = is_leaf};
    return arch->step_clone(&input, regs);
}

static void who_calls_clone_is_found_by_its_code_and_its_child_begins_there(void **state)
{
    (void)state;
    struct cairn_unwind_regs before = regs_at(STACK + 0x100, 9), regs = before;
    memset(&t, 0, sizeof t);
    test_stack_put(&t, STACK + 0x100, RET, 8);
    assert_int_equal(step_by(clone_code, true, &regs), CAIRN_STEP_NO_RULE); /* which of them? */
    cairn_unwind_set(&before, RAX, (uint64_t)-38);
    regs = before;
    assert_int_equal(step_by(clone_code, true, &regs), CAIRN_STEP_OK);
    assert_int_equal(regs.ip, RET);
    assert_int_equal(regs.regs[RSP], STACK + 0x108);
    assert_int_equal(regs.known, 1 << RSP | 1 << RBP | 1 << RIP | 1 << RBX);
    regs = before;
    assert_int_equal(step_by(clone_code, false, &regs), CAIRN_STEP_NO_RULE);
    regs = before, regs.regs[RSP] = 8;
    assert_int_equal(step_by(clone_code, true, &regs), CAIRN_STEP_UNREADABLE);
    regs = before, regs.ip++;
    assert_int_equal(step_by(clone_code, true, &regs), CAIRN_STEP_NO_RULE);
    regs = before, regs.regs[RAX] = 0;
    assert_int_equal(step_by(clone_code, true, &regs), CAIRN_STEP_OUTERMOST);
}

static void other_system_calls_are_not_taken_for_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof clone_code; i++) {
        uint8_t code[sizeof clone_code];
        struct cairn_unwind_regs regs = regs_at(STACK + 0x100, 9);
        cairn_unwind_set(&regs, RAX, 0);
        memcpy(code, clone_code, sizeof code);
        code[i] ^= 0x40;
        bool is_target = i == 6 || i == 8; /* of a jump */
        assert_int_equal(step_by(code, true, &regs),
                         is_target ? CAIRN_STEP_OUTERMOST : CAIRN_STEP_NO_RULE);
    }
}

static void each_cpu_is_known_by_its_number(void **state)
{
    (void)state;
    assert_ptr_equal(cairn_unwind_arch_of(EM_X86_64), arch);
    assert_null(cairn_unwind_arch_of(EM_RISCV));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_row_is_stepped_as_it_says),
        cmocka_unit_test(a_plt_stub_is_stepped_by_where_it_is),
        cmocka_unit_test(a_cfa_in_memory_is_read),
        cmocka_unit_test(a_signal_frame_gives_every_register),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(every_number_is_safe_to_step_by),
        cmocka_unit_test(a_return_address_in_rdi_is_a_hint),
        cmocka_unit_test(what_fits_no_kind_goes_to_the_side),
        cmocka_unit_test(who_calls_clone_is_found_by_its_code_and_its_child_begins_there),
        cmocka_unit_test(other_system_calls_are_not_taken_for_it),
        cmocka_unit_test(each_cpu_is_known_by_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
