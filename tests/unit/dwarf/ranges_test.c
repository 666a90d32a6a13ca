/* SPDX-License-Identifier: MIT */
#include "dwarf/ranges.h"

#include "dwarf/unit.h"
#include "support/dwarfwriter.h"
#include "support/test.h"

static struct cairn_dwarf_unit unit_of(const struct test_dwarf *w)
{
    struct cairn_dwarf_unit unit = {.low_vaddr = 0x1000};
    unit.sizes = (struct cairn_dwarf_sizes){(uint16_t)w->version, (uint8_t)w->offset_size,
                                            (uint8_t)w->address_size};
    return unit;
}

static int read_at(const struct test_dwarf *w, const struct cairn_dwarf_unit *unit, uint16_t form,
                   uint64_t value, struct cairn_dwarf_ranges *ranges, struct cairn_err *err)
{
    struct cairn_dwarf d = test_dwarf_sections(w);
    return cairn_dwarf_ranges_read(&d, unit, form, value, ranges, err);
}

static void assert_range(const struct cairn_dwarf_ranges *ranges, size_t i, uint64_t low,
                         uint64_t high)
{
    assert_true(i < ranges->n);
    assert_int_equal(ranges->ranges[i].low, low);
    assert_int_equal(ranges->ranges[i].high, high);
}

static void put_pair(struct test_dwarf *w, uint64_t low, uint64_t high)
{
    test_dwarf_addr(w, &w->ranges, low);
    test_dwarf_addr(w, &w->ranges, high);
}

static void pairs_count_from_the_unit_or_from_a_base(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < 4; variant++) {
        struct test_dwarf w = test_dwarf_of(4, variant & 1, 4, variant & 2 ? 8 : 4);
        struct cairn_dwarf_unit unit = unit_of(&w);
        struct cairn_dwarf_ranges ranges = {0};
        struct cairn_err err;
        put_pair(&w, 0x10, 0x20);
        put_pair(&w, 0x30, 0x30);         /* empty */
        put_pair(&w, UINT64_MAX, 0x2000); /* base */
        put_pair(&w, 0x100, 0x180);
        put_pair(&w, UINT64_MAX, 0);
        put_pair(&w, 0x1400, 0x1410);
        put_pair(&w, 1, 0x40); /* a tombstone of ld: outside of code */
        put_pair(&w, 0, 0);
        assert_ok(read_at(&w, &unit, CAIRN_DW_FORM_SEC_OFFSET, 0, &ranges, &err), err);
        assert_int_equal(ranges.n, 3);
        assert_range(&ranges, 0, 0x1010, 0x1020);
        assert_range(&ranges, 1, 0x2100, 0x2180);
        assert_range(&ranges, 2, 0x1400, 0x1410);
        cairn_dwarf_ranges_done(&ranges);
    }
}

/* One entry of each kind, then the end. */
static void put_every_kind(struct test_dwarf *w)
{
    struct test_bytes *b = &w->rnglists;
    for (uint64_t i = 0; i < 4; i++)
        test_dwarf_addr(w, &w->addr, 0x1000 + 0x100 * i);
    test_dwarf_u(w, b, CAIRN_DW_RLE_OFFSET_PAIR, 1); /* from the unit's low_pc */
    test_dwarf_uleb(b, 0x10);
    test_dwarf_uleb(b, 0x20);
    test_dwarf_u(w, b, CAIRN_DW_RLE_BASE_ADDRESSX, 1);
    test_dwarf_uleb(b, 2);
    test_dwarf_u(w, b, CAIRN_DW_RLE_OFFSET_PAIR, 1);
    test_dwarf_uleb(b, 4);
    test_dwarf_uleb(b, 8);
    test_dwarf_u(w, b, CAIRN_DW_RLE_STARTX_ENDX, 1);
    test_dwarf_uleb(b, 1);
    test_dwarf_uleb(b, 3);
    test_dwarf_u(w, b, CAIRN_DW_RLE_STARTX_LENGTH, 1);
    test_dwarf_uleb(b, 3);
    test_dwarf_uleb(b, 0x40);
    test_dwarf_u(w, b, CAIRN_DW_RLE_BASE_ADDRESS, 1);
    test_dwarf_addr(w, b, 0x2000);
    test_dwarf_u(w, b, CAIRN_DW_RLE_OFFSET_PAIR, 1);
    test_dwarf_uleb(b, 0);
    test_dwarf_uleb(b, 1);
    test_dwarf_u(w, b, CAIRN_DW_RLE_START_END, 1);
    test_dwarf_addr(w, b, 0x1800);
    test_dwarf_addr(w, b, 0x1900);
    test_dwarf_u(w, b, CAIRN_DW_RLE_START_LENGTH, 1);
    test_dwarf_addr(w, b, 0x2f00);
    test_dwarf_uleb(b, 0x10);
    test_dwarf_u(w, b, CAIRN_DW_RLE_START_LENGTH, 1); /* a tombstone */
    test_dwarf_addr(w, b, UINT64_MAX - 1);
    test_dwarf_uleb(b, 0x10);
    test_dwarf_u(w, b, CAIRN_DW_RLE_END_OF_LIST, 1);
}

static void lists_of_version_5_know_every_kind_of_entry(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < 8; variant++) {
        struct test_dwarf w =
            test_dwarf_of(5, variant & 1, variant & 2 ? 8 : 4, variant & 4 ? 8 : 4);
        struct cairn_dwarf_unit unit = unit_of(&w);
        struct cairn_dwarf_ranges ranges = {0};
        struct cairn_err err;
        test_dwarf_off(&w, &w.rnglists, 2ull * w.offset_size); /* table of two offsets */
        test_dwarf_off(&w, &w.rnglists, 2ull * w.offset_size);
        put_every_kind(&w);
        assert_ok(read_at(&w, &unit, CAIRN_DW_FORM_RNGLISTX, 1, &ranges, &err), err);
        assert_int_equal(ranges.n, 7);
        assert_range(&ranges, 0, 0x1010, 0x1020);
        assert_range(&ranges, 1, 0x1204, 0x1208);
        assert_range(&ranges, 2, 0x1100, 0x1300);
        assert_range(&ranges, 3, 0x1300, 0x1340);
        assert_range(&ranges, 4, 0x2000, 0x2001);
        assert_range(&ranges, 5, 0x1800, 0x1900);
        assert_range(&ranges, 6, 0x2f00, 0x2f10);
        cairn_dwarf_ranges_done(&ranges);
    }
}

static void every_truncation_of_a_list_is_told(void **state)
{
    (void)state;
    struct test_dwarf whole = test_dwarf_of(5, false, 4, 8);
    struct cairn_dwarf_unit unit = unit_of(&whole);
    struct cairn_err err;
    put_every_kind(&whole);
    struct cairn_dwarf d = test_dwarf_sections(&whole);
    for (size_t size = 0; size < whole.rnglists.n; size++) {
        struct cairn_dwarf_ranges ranges = {0};
        uint8_t *cut = test_copy(whole.rnglists.data, size);
        d.rnglists = (struct cairn_span){cut, size};
        assert_fails(cairn_dwarf_ranges_read(&d, &unit, CAIRN_DW_FORM_SEC_OFFSET, 0, &ranges, &err),
                     CAIRN_E_FORMAT, err, ".debug_rnglists at 0x");
        cairn_dwarf_ranges_done(&ranges);
        free(cut);
    }
}

static void indices_out_of_their_tables_are_told(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(5, false, 4, 8);
    struct cairn_dwarf_unit unit = unit_of(&w);
    struct cairn_dwarf_ranges ranges = {0};
    struct cairn_err err;
    test_dwarf_off(&w, &w.rnglists, 4);
    test_dwarf_u(&w, &w.rnglists, CAIRN_DW_RLE_STARTX_LENGTH, 1);
    test_dwarf_uleb(&w.rnglists, 1ull << 61); /* times 8 is 2^64 */
    test_dwarf_uleb(&w.rnglists, 1);
    test_dwarf_u(&w, &w.rnglists, CAIRN_DW_RLE_END_OF_LIST, 1);
    assert_ok(read_at(&w, &unit, CAIRN_DW_FORM_RNGLISTX, 0, &ranges, &err), err);
    assert_int_equal(ranges.n, 0);
    assert_fails(read_at(&w, &unit, CAIRN_DW_FORM_RNGLISTX, 1ull << 62, &ranges, &err),
                 CAIRN_E_FORMAT, err, "no list of number");
    cairn_dwarf_ranges_done(&ranges);
}

static void one_list_read_over_and_over_meets_the_limit(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_unit unit = unit_of(&w);
    struct cairn_dwarf_ranges ranges = {0};
    struct cairn_err err;
    int code = CAIRN_OK;
    put_pair(&w, 0x10, 0x20);
    put_pair(&w, 0, 0);
    for (int i = 0; i < 100 && code == CAIRN_OK; i++)
        code = read_at(&w, &unit, CAIRN_DW_FORM_SEC_OFFSET, 0, &ranges, &err);
    assert_fails(code, CAIRN_E_LIMIT, err, "more entries than there are bytes");
    assert_true(ranges.n <= w.ranges.n + 1);
    cairn_dwarf_ranges_done(&ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_count_from_the_unit_or_from_a_base),
        cmocka_unit_test(lists_of_version_5_know_every_kind_of_entry),
        cmocka_unit_test(every_truncation_of_a_list_is_told),
        cmocka_unit_test(indices_out_of_their_tables_are_told),
        cmocka_unit_test(one_list_read_over_and_over_meets_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
