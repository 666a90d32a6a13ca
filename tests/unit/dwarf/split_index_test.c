/* SPDX-License-Identifier: MIT */
#include "dwarf/split_index.h"

#include "support/dwarfwriter.h"
#include "support/test.h"

enum { UNITS = 2, SLOTS = 4 };

static const uint64_t signatures[UNITS] = {0x1111222233334444, 0x5555666677774444};

/* An index of two units whose signatures want the same slot. Row i has offset 0x100 * i + column,
 * and size 0x10 + column. */
static struct test_bytes write_index(const struct test_dwarf *w, const uint32_t *columns,
                                     uint32_t n_columns)
{
    struct test_bytes b = {.n = 0};
    uint64_t slots[SLOTS] = {0};
    uint32_t rows[SLOTS] = {0};
    for (uint32_t i = 0; i < UNITS; i++) {
        uint64_t slot = signatures[i] & (SLOTS - 1), step = (signatures[i] >> 32 & (SLOTS - 1)) | 1;
        while (rows[slot])
            slot = (slot + step) & (SLOTS - 1);
        slots[slot] = signatures[i];
        rows[slot] = i + 1;
    }
    if (w->version == 5) {
        test_dwarf_u(w, &b, 5, 2);
        test_dwarf_u(w, &b, 0, 2);
    } else {
        test_dwarf_u(w, &b, w->version, 4);
    }
    test_dwarf_u(w, &b, n_columns, 4);
    test_dwarf_u(w, &b, UNITS, 4);
    test_dwarf_u(w, &b, SLOTS, 4);
    for (int i = 0; i < SLOTS; i++)
        test_dwarf_u(w, &b, slots[i], 8);
    for (int i = 0; i < SLOTS; i++)
        test_dwarf_u(w, &b, rows[i], 4);
    for (uint32_t i = 0; i < n_columns; i++)
        test_dwarf_u(w, &b, columns[i], 4);
    for (uint32_t i = 0; i < UNITS * n_columns; i++)
        test_dwarf_u(w, &b, 0x100 * (i / n_columns) + i % n_columns, 4);
    for (uint32_t i = 0; i < UNITS * n_columns; i++)
        test_dwarf_u(w, &b, 0x10 + i % n_columns, 4);
    return b;
}

static int read_index(const struct test_dwarf *w, const struct test_bytes *b,
                      struct cairn_dwarf_split_index *index, struct cairn_err *err)
{
    bool swap = w->big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return cairn_dwarf_split_index_read((struct cairn_span){b->data, b->n}, swap, index, err);
}

static void both_versions_are_read_in_both_orders(void **state)
{
    static const uint32_t columns[] = {CAIRN_DW_SECT_INFO,        CAIRN_DW_SECT_ABBREV,  4, 5,
                                       CAIRN_DW_SECT_STR_OFFSETS, CAIRN_DW_SECT_RNGLISTS};
    (void)state;
    for (unsigned version = 2; version <= 5; version += 3)
        for (unsigned big = 0; big <= 1; big++) {
            struct test_dwarf w = test_dwarf_of(version, big, 4, 8);
            struct test_bytes b = write_index(&w, columns, 6);
            struct cairn_dwarf_split_index index;
            struct cairn_dwarf_contribution c;
            struct cairn_err err;
            assert_ok(read_index(&w, &b, &index, &err), err);
            for (uint32_t i = 0; i < UNITS; i++) {
                assert_true(cairn_dwarf_split_index_find(&index, signatures[i], &c));
                assert_int_equal(c.part[CAIRN_DWARF_PART_INFO].off, 0x100 * i);
                assert_int_equal(c.part[CAIRN_DWARF_PART_INFO].size, 0x10);
                assert_int_equal(c.part[CAIRN_DWARF_PART_STR_OFFSETS].off, 0x100 * i + 4);
                assert_int_equal(c.part[CAIRN_DWARF_PART_TYPES].size, 0);
                /* Column 8 is DW_SECT_MACRO in version 2. */
                assert_int_equal(c.part[CAIRN_DWARF_PART_RNGLISTS].size, version == 5 ? 0x15 : 0);
            }
            assert_false(cairn_dwarf_split_index_find(&index, 0x4444, &c));
            uint32_t cursor = 0;
            uint64_t sum = 0, signature;
            while (cairn_dwarf_split_index_next(&index, &cursor, &signature))
                sum += signature;
            assert_int_equal(sum, signatures[0] + signatures[1]);
        }
}

static void types_have_a_section_in_version_2(void **state)
{
    static const uint32_t columns[] = {CAIRN_DW_SECT_GNU_TYPES, CAIRN_DW_SECT_ABBREV};
    (void)state;
    struct test_dwarf w = test_dwarf_of(2, false, 4, 8);
    struct test_bytes b = write_index(&w, columns, 2);
    struct cairn_dwarf_split_index index;
    struct cairn_dwarf_contribution c;
    struct cairn_err err;
    assert_ok(read_index(&w, &b, &index, &err), err);
    assert_true(cairn_dwarf_split_index_find(&index, signatures[1], &c));
    assert_int_equal(c.part[CAIRN_DWARF_PART_TYPES].off, 0x100);
    assert_int_equal(c.part[CAIRN_DWARF_PART_INFO].size, 0);
}

static void no_section_is_an_index_without_units(void **state)
{
    (void)state;
    struct cairn_dwarf_split_index index;
    struct cairn_dwarf_contribution c;
    struct cairn_err err;
    assert_ok(cairn_dwarf_split_index_read((struct cairn_span){0}, false, &index, &err), err);
    assert_false(cairn_dwarf_split_index_find(&index, 0, &c));
    uint32_t cursor = 0;
    uint64_t signature;
    assert_false(cairn_dwarf_split_index_next(&index, &cursor, &signature));
}

static void counts_that_do_not_fit_are_refused(void **state)
{
    static const uint32_t columns[] = {CAIRN_DW_SECT_INFO};
    static const struct {
        size_t at;
        uint32_t value;
    } lies[] = {{0, 3},  {4, 0xffffffff},  {4, 65}, {8, 5},  {8, 0xffffffff},
                {12, 3}, {12, 0x80000000}, {12, 8}, {12, 0}, {4, 2}};
    (void)state;
    struct test_dwarf w = test_dwarf_of(2, false, 4, 8);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct test_bytes b = write_index(&w, columns, 1);
        struct cairn_dwarf_split_index index;
        struct cairn_err err;
        test_dwarf_patch(&w, &b, lies[i].at, lies[i].value, 4);
        assert_int_equal(read_index(&w, &b, &index, &err), CAIRN_E_FORMAT);
    }
    struct test_bytes whole = write_index(&w, columns, 1);
    for (size_t n = 1; n < whole.n; n++) {
        struct test_bytes cut = whole;
        struct cairn_dwarf_split_index index;
        struct cairn_err err;
        cut.n = n;
        assert_int_equal(read_index(&w, &cut, &index, &err), CAIRN_E_FORMAT);
    }
}

/* Without a free slot, a search for what is not there would go round for ever. */
static void a_full_table_ends_a_search(void **state)
{
    static const uint32_t columns[] = {CAIRN_DW_SECT_INFO};
    (void)state;
    struct test_dwarf w = test_dwarf_of(5, false, 4, 8);
    struct test_bytes b = write_index(&w, columns, 1);
    struct cairn_dwarf_split_index index;
    struct cairn_dwarf_contribution c;
    struct cairn_err err;
    for (size_t i = 0; i < SLOTS; i++)
        test_dwarf_patch(&w, &b, 16 + 8 * SLOTS + 4 * i, 0xffffffff, 4);
    assert_ok(read_index(&w, &b, &index, &err), err);
    assert_false(cairn_dwarf_split_index_find(&index, 0x9999, &c));
    assert_false(cairn_dwarf_split_index_find(&index, signatures[0], &c)); /* row 0xffffffff */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_are_read_in_both_orders),
        cmocka_unit_test(types_have_a_section_in_version_2),
        cmocka_unit_test(no_section_is_an_index_without_units),
        cmocka_unit_test(counts_that_do_not_fit_are_refused),
        cmocka_unit_test(a_full_table_ends_a_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
