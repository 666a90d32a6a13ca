/* SPDX-License-Identifier: MIT */
/* The words of <asm/perf_regs.h>, 1000, 1001, ..., and which register each is. */
#include "proc/perf_regs.h"

#include <elf.h>

#include "tests/support/test.h"

enum { WORDS_MAX = 64 };

static int n_regs(void)
{
    return __builtin_popcountll(cairn_perf_regs_mask);
}

static void skip_where_none_are_known(void)
{
    if (n_regs())
        return;
    print_message("skipped: the registers of this CPU are not listed\n");
    skip();
}

static struct cairn_reader words_of(uint64_t words[WORDS_MAX], int n)
{
    for (int i = 0; i < n; i++)
        words[i] = 1000 + (uint64_t)i;
    return cairn_reader_of(
        (struct cairn_span){(const uint8_t *)words, (size_t)n * sizeof(uint64_t)}, false);
}

static void each_word_is_a_register_of_dwarf(void **state)
{
    (void)state;
    uint64_t words[WORDS_MAX];
    struct cairn_cursor_regs regs = {0};
    skip_where_none_are_known();
    struct cairn_reader r = words_of(words, n_regs());
    cairn_perf_regs_read(&r, false, &regs);
    assert_false(r.failed);
    assert_int_equal(cairn_reader_left(&r), 0);
    assert_true(regs.machine == EM_X86_64 || regs.machine == EM_AARCH64);
    if (regs.machine == EM_X86_64) {
        assert_int_equal(regs.ip, 1008);
        assert_int_equal(regs.reg[7], 1007);  /* rsp */
        assert_int_equal(regs.reg[3], 1001);  /* rbx */
        assert_int_equal(regs.reg[15], 1016); /* r15 */
        assert_int_equal(regs.known, 0xffff);
    } else {
        assert_int_equal(regs.ip, 1032);
        assert_int_equal(regs.reg[31], 1031);
    }
}

static void a_32_bit_program_has_its_own_numbers(void **state)
{
    (void)state;
    uint64_t words[WORDS_MAX];
    struct cairn_cursor_regs regs = {0};
    skip_where_none_are_known();
    struct cairn_reader r = words_of(words, n_regs());
    cairn_perf_regs_read(&r, true, &regs);
    assert_true(regs.machine == EM_386 || regs.machine == EM_ARM);
    if (regs.machine == EM_386) {
        assert_int_equal(regs.reg[4], 1007); /* esp */
        assert_int_equal(regs.known, 0xff);
    } else {
        assert_int_equal(regs.reg[13], 1031);
        assert_int_equal(regs.known, 0x7fff);
    }
}

/* Linux before 5.11 on x86-64, in a system call. */
static void what_the_kernel_has_not_kept_is_not_known(void **state)
{
    (void)state;
    uint64_t words[WORDS_MAX];
    struct cairn_cursor_regs regs = {0};
    skip_where_none_are_known();
    struct cairn_reader r = words_of(words, n_regs());
    words[1] = words[16] = UINT64_MAX;
    cairn_perf_regs_read(&r, false, &regs);
    if (regs.machine == EM_X86_64)
        assert_int_equal(regs.known, 0xffff & ~(1 << 3) & ~(1 << 15));
}

static void too_few_words_are_no_registers(void **state)
{
    (void)state;
    uint64_t words[WORDS_MAX];
    for (int n = 0; n < n_regs(); n++) {
        struct cairn_cursor_regs regs = {.machine = 1};
        struct cairn_reader r = words_of(words, n);
        cairn_perf_regs_read(&r, n % 2, &regs);
        assert_true(r.failed);
        assert_int_equal(regs.machine, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_is_a_register_of_dwarf),
        cmocka_unit_test(a_32_bit_program_has_its_own_numbers),
        cmocka_unit_test(what_the_kernel_has_not_kept_is_not_known),
        cmocka_unit_test(too_few_words_are_no_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
