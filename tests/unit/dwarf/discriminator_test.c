/* SPDX-License-Identifier: MIT */
#include "dwarf/discriminator.h"

#include "support/dwarfwriter.h"
#include "support/test.h"

enum { NOTHING = -1 };

/* Of the program at 0 of what was written. */
static int read_all(const struct test_dwarf *w, struct cairn_dwarf_discriminators *found,
                    struct cairn_err *err)
{
    struct cairn_dwarf d = test_dwarf_sections(w);
    struct cairn_dwarf_unit unit = {.name = "unit.c", .comp_dir = "/src"};
    unit.sizes = (struct cairn_dwarf_sizes){(uint16_t)w->version, (uint8_t)w->offset_size,
                                            (uint8_t)w->address_size};
    d.line.size = w->line.n;
    uint8_t *copy = test_copy(w->line.data, w->line.n);
    d.line.data = copy;
    int code = cairn_dwarf_discriminators_read(&d, &unit, found, err);
    free(copy);
    return code;
}

static void set(struct test_dwarf *w, uint64_t value)
{
    struct test_bytes operand = {0};
    test_dwarf_uleb(&operand, value);
    test_dwarf_u(w, &w->line, 0, 1);
    test_dwarf_uleb(&w->line, 1 + operand.n);
    test_dwarf_u(w, &w->line, CAIRN_DW_LNE_SET_DISCRIMINATOR, 1);
    test_dwarf_uleb(&w->line, value);
}

static void assert_value(const struct cairn_dwarf_discriminators *found, uint32_t at, int64_t want)
{
    uint32_t value = 0;
    bool known = cairn_dwarf_discriminators_find(found, at, &value);
    assert_int_equal(known ? (int64_t)value : NOTHING, want);
}

static void one_holds_for_one_row_whatever_the_version(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 5; version++) {
        struct test_dwarf w = test_dwarf_of(version, version & 1, 4, 8);
        struct cairn_dwarf_discriminators found;
        struct cairn_err err;
        test_dwarf_line_begin(&w);
        test_dwarf_line_at(&w, 0x1010);
        test_dwarf_line_row(&w, 0, 4);
        set(&w, 3);
        test_dwarf_line_row(&w, 4, 0); /* the same line: a row all the same */
        set(&w, 200);
        set(&w, 300); /* the last one counts */
        test_dwarf_line_row(&w, 4, 1);
        set(&w, 9);
        test_dwarf_line_row(&w, 4, 1);
        test_dwarf_line_row(&w, 0, 1); /* at one address the last row wins, and has none */
        set(&w, 8);                    /* of a row that does not come */
        test_dwarf_line_sequence_end(&w, 4);
        test_dwarf_line_at(&w, 0x1100);
        test_dwarf_line_row(&w, 0, 1);
        test_dwarf_line_sequence_end(&w, 4);
        test_dwarf_line_end(&w);
        assert_ok(read_all(&w, &found, &err), err);
        static const int64_t want[][2] = {{0, NOTHING},     {0xf, NOTHING},
                                          {0x10, 0},        {0x13, 0},
                                          {0x14, 3},        {0x17, 3},
                                          {0x18, 300},      {0x1b, 300},
                                          {0x1c, 0},        {0x1f, 0},
                                          {0x20, NOTHING},  {0x100, 0},
                                          {0x104, NOTHING}, {UINT32_MAX, NOTHING}};
        for (size_t i = 0; i < sizeof want / sizeof *want; i++)
            assert_value(&found, (uint32_t)want[i][0], want[i][1]);
        cairn_dwarf_discriminators_done(&found);
    }
}

static void neighbours_with_the_same_melt(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_discriminators found;
    struct cairn_err err;
    test_dwarf_line_begin(&w);
    test_dwarf_line_at(&w, 0x1000);
    for (int i = 0; i < 100; i++) {
        if (i >= 50)
            set(&w, 2);
        test_dwarf_line_row(&w, 1, 1);
    }
    test_dwarf_line_sequence_end(&w, 1);
    test_dwarf_line_end(&w);
    assert_ok(read_all(&w, &found, &err), err);
    assert_int_equal(found.n, 3);
    cairn_dwarf_discriminators_done(&found);
}

static void damage_keeps_the_sequences_before_it_and_huge_ones_are_cut(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_discriminators found;
    struct cairn_err err;
    test_dwarf_line_begin(&w);
    test_dwarf_line_at(&w, 0x1000);
    set(&w, UINT64_MAX);
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_line_sequence_end(&w, 4);
    test_dwarf_line_at(&w, 0x1100);
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_uleb(&w.line, CAIRN_DW_LNS_ADVANCE_PC); /* its operand is missing */
    test_dwarf_line_end(&w);
    assert_fails(read_all(&w, &found, &err), CAIRN_E_FORMAT, err, "damaged program");
    assert_value(&found, 0, UINT32_MAX - 1);
    assert_value(&found, 4, NOTHING);
    assert_value(&found, 0x100, NOTHING);
    cairn_dwarf_discriminators_done(&found);

    w.line.n--;
    assert_fails(read_all(&w, &found, &err), CAIRN_E_FORMAT, err, "runs past the end");
    assert_value(&found, 0, NOTHING);
    cairn_dwarf_discriminators_done(&found);
}

static void a_unit_without_lines_has_none(void **state)
{
    (void)state;
    struct cairn_dwarf d = {0};
    struct cairn_dwarf_unit unit = {.line_off = UINT64_MAX};
    struct cairn_dwarf_discriminators found;
    struct cairn_err err;
    assert_ok(cairn_dwarf_discriminators_read(&d, &unit, &found, &err), err);
    assert_value(&found, 0, NOTHING);
    cairn_dwarf_discriminators_done(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_holds_for_one_row_whatever_the_version),
        cmocka_unit_test(neighbours_with_the_same_melt),
        cmocka_unit_test(damage_keeps_the_sequences_before_it_and_huge_ones_are_cut),
        cmocka_unit_test(a_unit_without_lines_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
