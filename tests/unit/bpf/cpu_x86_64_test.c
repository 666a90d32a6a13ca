/* SPDX-License-Identifier: MIT */
#include "bpf/cpu.h"
#include "support/test.h"
#include "target/regs.h"

enum { BP = 4, BX = 5, R10 = 7, AX = 10, CX, DX, SI, DI, ORIG_AX, IP, CS, FLAGS, SP };
enum { EM_386 = 3, EM_X86_64 = 62 };

static struct cairn_cursor_regs as_the_cursor_has_them(const uint64_t *words)
{
    uint8_t raw[CAIRN_BPF_PRSTATUS_MAX];
    struct cairn_cursor_regs regs;
    struct cairn_span prstatus = {raw, cairn_bpf_prstatus(words, raw)};
    assert_true(cairn_target_regs(prstatus, false, &regs));
    return regs;
}

static void fill(uint64_t *words, uint64_t cs)
{
    for (unsigned i = 0; i < CAIRN_BPF_REG_WORDS; i++)
        words[i] = 0x1000000000 + i;
    words[CS] = cs;
}

static void registers_of_64_bits_are_all_there(void **state)
{
    (void)state;
    uint64_t words[CAIRN_BPF_REG_WORDS];
    fill(words, 0x33);
    struct cairn_cursor_regs regs = as_the_cursor_has_them(words);
    assert_int_equal(regs.machine, EM_X86_64);
    assert_int_equal(regs.ip, words[IP]);
    assert_int_equal(regs.reg[7], words[SP]);
    assert_int_equal(regs.reg[6], words[BP]);
    assert_int_equal(regs.reg[3], words[BX]);
    assert_int_equal(regs.reg[15], words[0]); /* r15 */
}

static void a_32_bit_program_has_its_own(void **state)
{
    (void)state;
    uint64_t words[CAIRN_BPF_REG_WORDS];
    fill(words, 0x23);
    struct cairn_cursor_regs regs = as_the_cursor_has_them(words);
    assert_int_equal(regs.machine, EM_386);
    assert_int_equal(regs.ip, (uint32_t)words[IP]);
    assert_int_equal(regs.reg[4], (uint32_t)words[SP]);
    assert_int_equal(regs.reg[5], (uint32_t)words[BP]);
    assert_int_equal(regs.reg[0], (uint32_t)words[AX]);
    assert_int_equal(regs.reg[7], (uint32_t)words[DI]);
}

/* The half of cs's word that FRED uses since Linux 6.9 says nothing of the kind of program. */
static void what_shares_the_word_with_cs_is_not_read(void **state)
{
    (void)state;
    uint64_t words[CAIRN_BPF_REG_WORDS];
    fill(words, 0x700000023);
    assert_int_equal(as_the_cursor_has_them(words).machine, EM_386);
}

static void a_call_has_its_number_and_arguments(void **state)
{
    (void)state;
    uint64_t words[CAIRN_BPF_REG_WORDS], args[6];
    long call = 0;
    fill(words, 0x33);
    words[ORIG_AX] = 232;
    assert_true(cairn_bpf_call(words, &call, args));
    assert_int_equal(call, 232);
    assert_int_equal(args[0], words[DI]);
    assert_int_equal(args[3], words[R10]);
    fill(words, 0x23);
    words[ORIG_AX] = 0xffffffff00000005;
    assert_true(cairn_bpf_call(words, &call, args));
    assert_int_equal(call, 5);
    assert_int_equal(args[0], (uint32_t)words[BX]);
    words[ORIG_AX] = (uint64_t)-1;
    assert_false(cairn_bpf_call(words, &call, args));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_of_64_bits_are_all_there),
        cmocka_unit_test(a_32_bit_program_has_its_own),
        cmocka_unit_test(what_shares_the_word_with_cs_is_not_read),
        cmocka_unit_test(a_call_has_its_number_and_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
