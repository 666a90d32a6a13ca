/* SPDX-License-Identifier: MIT */
#include "bpf/cpu.h"
#include "support/test.h"
#include "target/regs.h"

enum { SP_32 = 13, LR = 30, SP, PC, PSTATE, ORIG_X0, CALL };
enum { EM_ARM = 40, EM_AARCH64 = 183 };
enum { MODE_32 = 0x10 };

static struct cairn_cursor_regs as_the_cursor_has_them(const uint64_t *words)
{
    uint8_t raw[CAIRN_BPF_PRSTATUS_MAX];
    struct cairn_cursor_regs regs;
    struct cairn_span prstatus = {raw, cairn_bpf_prstatus(words, raw)};
    assert_true(cairn_target_regs(prstatus, false, &regs));
    return regs;
}

static void fill(uint64_t *words, uint64_t pstate)
{
    for (unsigned i = 0; i < CAIRN_BPF_REG_WORDS; i++)
        words[i] = 0x1000000000 + i;
    words[PSTATE] = pstate;
}

static void registers_of_64_bits_are_all_there(void **state)
{
    (void)state;
    uint64_t words[CAIRN_BPF_REG_WORDS];
    fill(words, 0x60001000);
    struct cairn_cursor_regs regs = as_the_cursor_has_them(words);
    assert_int_equal(regs.machine, EM_AARCH64);
    assert_int_equal(regs.ip, words[PC]);
    assert_int_equal(regs.reg[SP], words[SP]);
    assert_int_equal(regs.reg[LR], words[LR]);
    assert_int_equal(regs.reg[0], words[0]);
}

static void a_32_bit_program_has_its_own(void **state)
{
    (void)state;
    uint64_t words[CAIRN_BPF_REG_WORDS];
    fill(words, MODE_32);
    struct cairn_cursor_regs regs = as_the_cursor_has_them(words);
    assert_int_equal(regs.machine, EM_ARM);
    assert_int_equal(regs.ip, (uint32_t)words[PC]);
    assert_int_equal(regs.reg[13], (uint32_t)words[SP_32]);
    assert_int_equal(regs.reg[14], (uint32_t)words[14]);
}

static void a_call_has_its_number_and_arguments(void **state)
{
    (void)state;
    uint64_t words[CAIRN_BPF_REG_WORDS], args[6];
    long call = 0;
    fill(words, 0);
    words[CALL] = 0x700000065; /* syscallno is its lower half */
    assert_true(cairn_bpf_call(words, &call, args));
    assert_int_equal(call, 101);
    assert_int_equal(args[0], words[ORIG_X0]); /* x0 is the result's */
    assert_int_equal(args[5], words[5]);
    words[CALL] = 0xffffffff;
    assert_false(cairn_bpf_call(words, &call, args));
}

static void the_program_is_told_where_they_lie(void **state)
{
    (void)state;
    assert_int_equal(cairn_bpf_this_cpu.sp, SP);
    assert_int_equal(cairn_bpf_this_cpu.sp_32, SP_32);
    assert_int_equal(cairn_bpf_this_cpu.mode, PSTATE);
    assert_true(cairn_bpf_this_cpu.regs_bytes <= CAIRN_BPF_REG_WORDS * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_of_64_bits_are_all_there),
        cmocka_unit_test(a_32_bit_program_has_its_own),
        cmocka_unit_test(a_call_has_its_number_and_arguments),
        cmocka_unit_test(the_program_is_told_where_they_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
