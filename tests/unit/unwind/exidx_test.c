/* SPDX-License-Identifier: MIT */
#include "unwind/exidx.h"

#include "support/test.h"

/* An index of one function at INDEX - 0x800 with its program in .ARM.extab, in both byte orders. */
enum { INDEX = 0x20000, EXTAB = 0x10000, FUNCTION = INDEX - 0x800 };

static void put(uint8_t *to, uint32_t word, bool swap)
{
    if (swap)
        word = __builtin_bswap32(word);
    memcpy(to, &word, sizeof word);
}

struct table {
    uint8_t index[8 * 4], extab[4 * 16];
    struct cairn_exidx exidx;
};

static void open_table(struct table *t, size_t n_entries, size_t n_words, bool swap)
{
    t->exidx = (struct cairn_exidx){
        {t->index, 8 * n_entries}, INDEX, {t->extab, 4 * n_words}, EXTAB, swap};
}

static enum cairn_exidx_result inline_row(uint32_t what, struct cairn_cfi_row *row)
{
    struct table t;
    open_table(&t, 1, 0, false);
    put(t.index, 0x7ffff800, false);
    put(t.index + 4, what, false);
    return cairn_exidx_row(&t.exidx, 0, row);
}

static enum cairn_exidx_result extab_row(const uint32_t *words, size_t n, bool swap,
                                         struct cairn_cfi_row *row)
{
    struct table t;
    open_table(&t, 1, n, swap);
    put(t.index, 0x7ffff800, swap);
    put(t.index + 4, (EXTAB - INDEX - 4) & 0x7fffffff, swap);
    for (size_t i = 0; i < n; i++)
        put(t.extab + 4 * i, words[i], swap);
    uint8_t *index = test_copy(t.index, 8), *extab = test_copy(t.extab, 4 * n);
    t.exidx.index.data = index;
    t.exidx.extab.data = extab;
    enum cairn_exidx_result result = cairn_exidx_row(&t.exidx, 0, row);
    free(index);
    free(extab);
    return result;
}

static void assert_saved(const struct cairn_cfi_row *row, unsigned reg, int64_t at)
{
    assert_int_equal(row->regs[reg].where, CAIRN_CFI_AT_CFA);
    assert_int_equal(row->regs[reg].value, at);
}

static void assert_cfa(const struct cairn_cfi_row *row, unsigned reg, int64_t n)
{
    assert_int_equal(row->cfa.where, CAIRN_CFI_IN_REG);
    assert_int_equal(row->cfa.reg, reg);
    assert_int_equal(row->cfa.value, n);
}

static void an_inline_program_becomes_a_row(void **state)
{
    (void)state;
    struct cairn_cfi_row row;
    assert_int_equal(inline_row(0x8003abb0, &row), CAIRN_EXIDX_ROW); /* +16; pop r4-r7, lr */
    assert_int_equal(row.from, FUNCTION);
    assert_int_equal(row.to, 1ull << 32);
    assert_cfa(&row, 13, 16 + 20);
    assert_saved(&row, 4, -20);
    assert_saved(&row, 7, -8);
    assert_saved(&row, 14, -4);
    assert_int_equal(row.regs[8].where, CAIRN_CFI_SAME);
}

static void a_return_address_may_stay_in_its_register(void **state)
{
    (void)state;
    struct cairn_cfi_row row;
    assert_int_equal(inline_row(0x8001b0b0, &row), CAIRN_EXIDX_ROW);
    assert_cfa(&row, 13, 8);
    assert_int_equal(row.regs[14].where, CAIRN_CFI_SAME);
}

static void what_is_popped_into_pc_is_the_return_address(void **state)
{
    (void)state;
    struct cairn_cfi_row row;
    /* vsp = r11; -4; pop r11, pc */
    assert_int_equal(inline_row(0x809b4088, &row), CAIRN_EXIDX_DAMAGED); /* its end is missing */
    const uint32_t words[] = {0x81019b40, 0x8880b0b0};
    assert_int_equal(extab_row(words, 2, false, &row), CAIRN_EXIDX_ROW);
    assert_cfa(&row, 11, 4);
    assert_saved(&row, 11, -8);
    assert_saved(&row, 14, -4);
}

static void all_forms_of_an_entry_say_the_same_in_both_byte_orders(void **state)
{
    (void)state;
    static const uint32_t forms[][3] = {
        {0x8003abb0, 0, 0},                   /* personality 0 */
        {0x810003ab, 0, 0},                   /* 1, without a word more */
        {0x820103ab, 0xb0b0b0b0, 0},          /* 2, with one */
        {0x00000100, 0x0003abb0, 0},          /* one of its own */
        {0x7ffff100, 0x0102b0b0, 0xffffffff}, /* which finishes early */
        {0x7ffff100, 0x01b20003, 0xabb0b0b0}, /* and one that adds 0x204 */
    };
    for (size_t i = 0; i < 6; i++)
        for (int swap = 0; swap < 2; swap++) {
            struct cairn_cfi_row row;
            size_t n = i < 2 ? 1 : i < 4 ? 2 : 3;
            assert_int_equal(extab_row(forms[i], n, swap, &row), CAIRN_EXIDX_ROW);
            if (i == 4) {
                assert_cfa(&row, 13, 12);
                continue;
            }
            assert_cfa(&row, 13, 16 + 20 + (i == 5 ? 0x204 : 0));
            assert_saved(&row, 14, -4);
        }
}

/* Bytes that an instruction moves vsp by; none of them touches a core register. */
static void every_instruction_moves_the_stack_by_its_size(void **state)
{
    (void)state;
    static const struct {
        uint32_t word;
        int64_t moves;
    } cases[] = {
        {0x80003fb0, 4 + 256},     /* 00xxxxxx, both ends of its range */
        {0x80407fb0, -4 - 256},    /* 01xxxxxx */
        {0x80b27fb0, 0x204 + 508}, /* uleb, a byte */
        {0x80b28001, 0x204 + 512}, /* uleb that says 128 << 2: two bytes */
        {0x80b303b0, 8 * 4 + 4},   /* fstmfdx d0-d3 */
        {0x80bbb0b0, 8 * 4 + 4},   /* fstmfdx d8-d11 */
        {0x80c883b0, 8 * 4},       /* vpush d24-d27 */
        {0x80c903b0, 8 * 4},       /* vpush d0-d3 */
        {0x80d3b0b0, 8 * 4},       /* vpush d8-d11 */
        {0x80c3b0b0, 8 * 4},       /* wr10-wr13 */
        {0x80c613b0, 8 * 4},       /* wr1-wr4 */
        {0x80c705b0, 4 * 2},       /* wcgr0, wcgr2 */
        {0x80b4b0b0, 4},           /* authentication code */
        {0x80b5b0b0, 0},           /* its modifier */
        {0x80b0ffff, 0},           /* what follows the end is not read */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_cfi_row row;
        assert_int_equal(inline_row(cases[i].word, &row), CAIRN_EXIDX_ROW);
        assert_cfa(&row, 13, cases[i].moves);
        for (unsigned reg = 0; reg < CAIRN_CFI_REGS; reg++)
            assert_int_equal(row.regs[reg].where, CAIRN_CFI_SAME);
    }
}

static void arguments_that_were_pushed_count_behind_the_pops(void **state)
{
    (void)state;
    struct cairn_cfi_row row;
    /* A variadic function: pop r4, lr; +16. Then one that pops r0 and r3. */
    assert_int_equal(inline_row(0x80a803b0, &row), CAIRN_EXIDX_ROW);
    assert_cfa(&row, 13, 24);
    assert_saved(&row, 4, -24);
    assert_saved(&row, 14, -20);
    assert_int_equal(inline_row(0x80b109b0, &row), CAIRN_EXIDX_ROW);
    assert_cfa(&row, 13, 8);
    assert_saved(&row, 0, -8);
    assert_saved(&row, 3, -4);
}

static void what_no_row_can_say_is_told_apart_from_damage(void **state)
{
    (void)state;
    static const struct {
        uint32_t word;
        enum cairn_exidx_result result;
    } cases[] = {
        {0x00000001, CAIRN_EXIDX_CANTUNWIND},
        {0x808000b0, CAIRN_EXIDX_REFUSES},
        {0x80a09bb0, CAIRN_EXIDX_ODD},     /* pop r4; vsp = r11 */
        {0x808200b0, CAIRN_EXIDX_ODD},     /* pop sp */
        {0x809db0b0, CAIRN_EXIDX_DAMAGED}, /* vsp = sp, vsp = pc */
        {0x809fb0b0, CAIRN_EXIDX_DAMAGED},
        {0x80b100b0, CAIRN_EXIDX_DAMAGED}, /* no register; more than four */
        {0x80b110b0, CAIRN_EXIDX_DAMAGED},
        {0x80b6b0b0, CAIRN_EXIDX_DAMAGED},
        {0x80c700b0, CAIRN_EXIDX_DAMAGED},
        {0x80cab0b0, CAIRN_EXIDX_DAMAGED},
        {0x80d8b0b0, CAIRN_EXIDX_DAMAGED},
        {0x80ffb0b0, CAIRN_EXIDX_DAMAGED},
        {0x80b0b080, CAIRN_EXIDX_ROW},     /* behind the end: never read */
        {0x80000080, CAIRN_EXIDX_DAMAGED}, /* cut short */
        {0x80b2ffff, CAIRN_EXIDX_DAMAGED},
        {0x8103abb0, CAIRN_EXIDX_DAMAGED}, /* no room for this form here */
        {0x9003abb0, CAIRN_EXIDX_DAMAGED},
        {0x00000004, CAIRN_EXIDX_DAMAGED}, /* outside of .ARM.extab */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_cfi_row row;
        assert_int_equal(inline_row(cases[i].word, &row), cases[i].result);
    }
    struct cairn_cfi_row row;
    static const uint32_t unknown[] = {0x8303abb0};
    assert_int_equal(extab_row(unknown, 1, false, &row), CAIRN_EXIDX_DAMAGED);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    static const uint32_t words[] = {0x00000100, 0x0203abb2, 0xffffff0f, 0xb0b0b0b0};
    struct cairn_cfi_row row;
    assert_int_equal(extab_row(words, 4, false, &row), CAIRN_EXIDX_ROW);
    for (size_t n = 0; n < 4; n++)
        assert_int_equal(extab_row(words, n, false, &row), CAIRN_EXIDX_DAMAGED);
}

static void the_entry_of_an_address_is_found(void **state)
{
    (void)state;
    struct table t;
    open_table(&t, 4, 0, false);
    for (uint32_t i = 0; i < 4; i++) { /* at FUNCTION + 0x100 i, the second one marked as Thumb */
        put(t.index + 8 * i, (0x7ffff800 + 0x100 * i - 8 * i) | (i == 1), false);
        put(t.index + 8 * i + 4, i == 2 ? 1 : 0x80b0b0b0, false);
    }
    size_t i;
    assert_false(cairn_exidx_find(&t.exidx, FUNCTION - 2, &i));
    for (uint32_t off = 0; off < 0x500; off++) {
        assert_true(cairn_exidx_find(&t.exidx, FUNCTION + off, &i));
        assert_int_equal(i, off < 0x400 ? off / 0x100 : 3);
    }
    struct cairn_cfi_row row;
    assert_int_equal(cairn_exidx_row(&t.exidx, 1, &row), CAIRN_EXIDX_ROW);
    assert_int_equal(row.from, FUNCTION + 0x100);
    assert_int_equal(row.to, FUNCTION + 0x200);
    assert_int_equal(cairn_exidx_row(&t.exidx, 2, &row), CAIRN_EXIDX_CANTUNWIND);
    put(t.index + 16, 0, false); /* out of order: found or not, but never outside */
    assert_int_equal(cairn_exidx_row(&t.exidx, 2, &row), CAIRN_EXIDX_DAMAGED);
    assert_true(cairn_exidx_find(&t.exidx, 0xfffffffe, &i));
    t.exidx.index.size = 7;
    assert_false(cairn_exidx_find(&t.exidx, FUNCTION, &i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inline_program_becomes_a_row),
        cmocka_unit_test(a_return_address_may_stay_in_its_register),
        cmocka_unit_test(what_is_popped_into_pc_is_the_return_address),
        cmocka_unit_test(all_forms_of_an_entry_say_the_same_in_both_byte_orders),
        cmocka_unit_test(every_instruction_moves_the_stack_by_its_size),
        cmocka_unit_test(arguments_that_were_pushed_count_behind_the_pops),
        cmocka_unit_test(what_no_row_can_say_is_told_apart_from_damage),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(the_entry_of_an_address_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
