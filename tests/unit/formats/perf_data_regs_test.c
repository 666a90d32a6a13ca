/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_regs.h"

#include <elf.h>

#include "support/memory_io.h"
#include "support/perf_data_writer.h"
#include "support/test.h"

/* Each register holds 0x1000 and its number of the kernel. */
static struct cairn_perf_data_regs all_of(uint64_t mask, uint64_t abi, struct cairn_buffer *words)
{
    const struct perf_writer w = {0};
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1)
            perf_put(&w, words, 0x1000 + i, 8);
    return (struct cairn_perf_data_regs){
        .abi = abi, .mask = mask, .words = cairn_buffer_span(words)};
}

static void registers_have_the_numbers_of_dwarf(void **state)
{
    (void)state;
    static const struct {
        uint64_t mask, abi;
        uint16_t machine, becomes;
        unsigned ip, sp;         /* of the kernel */
        unsigned from[2], to[2]; /* some others: the kernel's numbers, DWARF's */
    } rows[] = {
        {0xff0fff, 2, EM_X86_64, EM_X86_64, 8, 7, {1, 17}, {3, 9}},
        {0xfff, 1, EM_X86_64, EM_386, 8, 7, {1, 2}, {3, 1}},
        {0x1ffffffff, 2, EM_AARCH64, EM_AARCH64, 32, 31, {29, 30}, {29, 30}},
        {0xffff, 1, EM_AARCH64, EM_ARM, 15, 13, {11, 14}, {11, 14}},
        {0xffff, 1, EM_ARM, EM_ARM, 15, 13, {7, 14}, {7, 14}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_buffer words = {0};
        struct cairn_perf_data_regs regs = all_of(rows[i].mask, rows[i].abi, &words);
        struct cairn_cursor_regs to;
        uint64_t sp;
        assert_true(cairn_perf_data_cursor_regs(&regs, rows[i].machine, false, &to, &sp));
        assert_int_equal(to.machine, rows[i].becomes);
        assert_int_equal(to.ip, 0x1000 + rows[i].ip);
        assert_int_equal(sp, 0x1000 + rows[i].sp);
        for (size_t k = 0; k < 2; k++) {
            assert_true(to.known >> rows[i].to[k] & 1);
            assert_int_equal(to.reg[rows[i].to[k]], 0x1000 + rows[i].from[k]);
        }
        regs.mask &= ~(UINT64_C(1) << rows[i].ip);
        assert_false(cairn_perf_data_cursor_regs(&regs, rows[i].machine, false, &to, &sp));
        cairn_buffer_done(&words);
    }
}

static void registers_of_another_cpu_are_none(void **state)
{
    (void)state;
    struct cairn_buffer words = {0};
    const struct cairn_perf_data_regs regs = all_of(UINT32_MAX, 2, &words);
    struct cairn_cursor_regs to;
    uint64_t sp;
    assert_false(cairn_perf_data_cursor_regs(&regs, EM_PPC64, false, &to, &sp));
    assert_false(cairn_perf_data_cursor_regs(&regs, 0, false, &to, &sp));
    cairn_buffer_done(&words);
}

/* cairn_profile_read() opens no files: of a copied stack it knows where the CPU was. */
static void without_files_a_copied_stack_is_cut_behind_its_leaf(void **state)
{
    (void)state;
    enum { REGS = 1 << 12, STACK = 1 << 13 };
    struct perf_writer w = {.sample_type = PERF_IP | PERF_TID | REGS | STACK,
                            .regs_user = 1 << 7 | 1 << 8};
    perf_feature(&w, 6, cairn_span_of("\x06\1\1\1x86_64"));
    memcpy(w.features.data, "\x06\0\0\0", 4);
    perf_begin(&w, 9, 2);
    const uint64_t words[] = {0x401010, 7, 2, 0x7000, 0x401010, 8, 0x1234, 8};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        perf_u64(&w, words[i]);
    perf_end(&w);
    struct cairn_buffer file = perf_file(&w);
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_buffer_span(&file), CAIRN_FORMAT_AUTO, &p, &err), err);
    struct cairn_cut_row cut = {0};
    assert_int_equal(cairn_profile_cuts(p, &cut, 1), 1);
    assert_string_equal(cut.reason, "the copy of the stack was not walked");
    cairn_profile_free(p);
    cairn_buffer_done(&file);
    perf_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_have_the_numbers_of_dwarf),
        cmocka_unit_test(registers_of_another_cpu_are_none),
        cmocka_unit_test(without_files_a_copied_stack_is_cut_behind_its_leaf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
