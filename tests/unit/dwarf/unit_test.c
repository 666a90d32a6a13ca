/* SPDX-License-Identifier: MIT */
/* Headers of units, abbreviations and forms. */
#include "dwarf/unit.h"

#include "base/alloc.h"
#include "support/dwarfwriter.h"
#include "support/test.h"

/* A root DIE with one attribute of every form before the one that is asked for: whoever miscounts a
 * form finds another line table. */
static struct test_dwarf every_form(unsigned version, bool big, unsigned offset_size,
                                    unsigned address_size)
{
    static const uint16_t forms[] = {
        CAIRN_DW_FORM_ADDR,           CAIRN_DW_FORM_BLOCK2,        CAIRN_DW_FORM_BLOCK4,
        CAIRN_DW_FORM_DATA2,          CAIRN_DW_FORM_DATA4,         CAIRN_DW_FORM_DATA8,
        CAIRN_DW_FORM_STRING,         CAIRN_DW_FORM_BLOCK,         CAIRN_DW_FORM_BLOCK1,
        CAIRN_DW_FORM_DATA1,          CAIRN_DW_FORM_FLAG,          CAIRN_DW_FORM_SDATA,
        CAIRN_DW_FORM_STRP,           CAIRN_DW_FORM_UDATA,         CAIRN_DW_FORM_REF_ADDR,
        CAIRN_DW_FORM_REF1,           CAIRN_DW_FORM_REF2,          CAIRN_DW_FORM_REF4,
        CAIRN_DW_FORM_REF8,           CAIRN_DW_FORM_REF_UDATA,     CAIRN_DW_FORM_INDIRECT,
        CAIRN_DW_FORM_SEC_OFFSET,     CAIRN_DW_FORM_EXPRLOC,       CAIRN_DW_FORM_FLAG_PRESENT,
        CAIRN_DW_FORM_STRX,           CAIRN_DW_FORM_ADDRX,         CAIRN_DW_FORM_REF_SUP4,
        CAIRN_DW_FORM_STRP_SUP,       CAIRN_DW_FORM_DATA16,        CAIRN_DW_FORM_LINE_STRP,
        CAIRN_DW_FORM_REF_SIG8,       CAIRN_DW_FORM_LOCLISTX,      CAIRN_DW_FORM_RNGLISTX,
        CAIRN_DW_FORM_REF_SUP8,       CAIRN_DW_FORM_STRX1,         CAIRN_DW_FORM_STRX2,
        CAIRN_DW_FORM_STRX3,          CAIRN_DW_FORM_STRX4,         CAIRN_DW_FORM_ADDRX1,
        CAIRN_DW_FORM_ADDRX2,         CAIRN_DW_FORM_ADDRX3,        CAIRN_DW_FORM_ADDRX4,
        CAIRN_DW_FORM_GNU_ADDR_INDEX, CAIRN_DW_FORM_GNU_STR_INDEX, CAIRN_DW_FORM_GNU_REF_ALT,
        CAIRN_DW_FORM_GNU_STRP_ALT};
    struct test_dwarf w = test_dwarf_of(version, big, offset_size, address_size);
    test_dwarf_uleb(&w.abbrev, 1);
    test_dwarf_uleb(&w.abbrev, CAIRN_DW_TAG_COMPILE_UNIT);
    test_dwarf_u(&w, &w.abbrev, 0, 1);
    test_dwarf_unit_begin(&w);
    test_dwarf_uleb(&w.info, 1);
    struct test_bytes *b = &w.info;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        test_dwarf_uleb(&w.abbrev, 0x2345);
        test_dwarf_uleb(&w.abbrev, forms[i]);
        int size = cairn_dwarf_form_size(
            forms[i], (struct cairn_dwarf_sizes){(uint16_t)version, (uint8_t)offset_size,
                                                 (uint8_t)address_size});
        for (int k = 0; k < size; k++)
            test_dwarf_u(&w, b, 0xa5, 1);
        switch (forms[i]) {
        case CAIRN_DW_FORM_BLOCK1:
        case CAIRN_DW_FORM_BLOCK2:
        case CAIRN_DW_FORM_BLOCK4:
            test_dwarf_u(&w, b, 3,
                         forms[i] == CAIRN_DW_FORM_BLOCK1   ? 1
                         : forms[i] == CAIRN_DW_FORM_BLOCK2 ? 2
                                                            : 4);
            test_dwarf_u(&w, b, 0xffffff, 3);
            break;
        case CAIRN_DW_FORM_BLOCK:
        case CAIRN_DW_FORM_EXPRLOC:
            test_dwarf_uleb(b, 2);
            test_dwarf_u(&w, b, 0xffff, 2);
            break;
        case CAIRN_DW_FORM_STRING:
            test_dwarf_str(b, "text");
            break;
        case CAIRN_DW_FORM_INDIRECT:
            test_dwarf_uleb(b, CAIRN_DW_FORM_BLOCK1);
            test_dwarf_u(&w, b, 1, 1);
            test_dwarf_u(&w, b, 0xff, 1);
            break;
        default:
            if (size < 0)
                test_dwarf_uleb(b, 0x1234);
            break;
        }
    }
    test_dwarf_uleb(&w.abbrev, CAIRN_DW_AT_STMT_LIST);
    test_dwarf_uleb(&w.abbrev, CAIRN_DW_FORM_SEC_OFFSET);
    test_dwarf_uleb(&w.abbrev, CAIRN_DW_AT_LANGUAGE);
    test_dwarf_uleb(&w.abbrev, CAIRN_DW_FORM_IMPLICIT_CONST);
    test_dwarf_sleb(&w.abbrev, CAIRN_DW_LANG_C11);
    test_dwarf_u(&w, &w.abbrev, 0, 2);
    test_dwarf_off(&w, b, 0x1122);
    test_dwarf_unit_end(&w);
    return w;
}

static void every_form_is_crossed_in_all_sizes_and_orders(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 5; version++)
        for (unsigned variant = 0; variant < 8; variant++) {
            struct test_dwarf w =
                every_form(version, variant & 1, variant & 2 ? 8 : 4, variant & 4 ? 8 : 4);
            struct cairn_dwarf d = test_dwarf_sections(&w);
            struct cairn_dwarf_units units;
            struct cairn_err err;
            assert_ok(cairn_dwarf_units_init(&units, &d, &err), err);
            assert_ok(cairn_dwarf_units_read_all(&units, &err), err);
            assert_int_equal(units.n_sorted, 1);
            assert_int_equal(units.sorted[0]->sizes.version, version);
            assert_ok(cairn_dwarf_unit_open(&units, units.sorted[0], &err), err);
            assert_int_equal(units.sorted[0]->line_off, 0x1122);
            assert_true(units.sorted[0]->is_c);
            cairn_dwarf_units_done(&units);
        }
}

/* Bytes of an abbreviation table and of the unit's only DIE, as one unit of version 4. */
static int open_with(struct test_dwarf *w, struct cairn_dwarf_units *units, struct cairn_err *err)
{
    test_dwarf_unit_end(w);
    struct cairn_dwarf d = test_dwarf_sections(w);
    static struct cairn_dwarf kept;
    kept = d;
    assert_ok(cairn_dwarf_units_init(units, &kept, err), *err);
    assert_ok(cairn_dwarf_units_read_all(units, err), *err);
    assert_int_equal(units->n_sorted, 1);
    return cairn_dwarf_unit_open(units, units->sorted[0], err);
}

static void an_unknown_form_is_damage_and_told_once(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_units units;
    struct cairn_err err;
    test_dwarf_abbrev(&w, 1, CAIRN_DW_TAG_COMPILE_UNIT, false, CAIRN_DW_AT_NAME, 0x77, 0);
    test_dwarf_unit_begin(&w);
    test_dwarf_uleb(&w.info, 1);
    assert_fails(open_with(&w, &units, &err), CAIRN_E_FORMAT, err, "unit at 0x0");
    assert_fails(cairn_dwarf_unit_open(&units, units.sorted[0], &err), CAIRN_E_MISSING, err,
                 "is damaged");
    cairn_dwarf_units_done(&units);
}

static void codes_in_any_order_are_found(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_units units;
    struct cairn_err err;
    test_dwarf_abbrev(&w, 70000, CAIRN_DW_TAG_SUBPROGRAM, false, 0);
    test_dwarf_abbrev(&w, 5, CAIRN_DW_TAG_COMPILE_UNIT, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, 0);
    test_dwarf_unit_begin(&w);
    test_dwarf_uleb(&w.info, 5);
    test_dwarf_str(&w.info, "a.c");
    assert_ok(open_with(&w, &units, &err), err);
    assert_string_equal(units.sorted[0]->name, "a.c");
    assert_false(units.sorted[0]->abbrevs->sequential);
    assert_int_equal(cairn_dwarf_abbrevs_find(units.sorted[0]->abbrevs, 70000)->tag,
                     CAIRN_DW_TAG_SUBPROGRAM);
    assert_null(cairn_dwarf_abbrevs_find(units.sorted[0]->abbrevs, 1));
    cairn_dwarf_units_done(&units);
}

static void runs_of_unwanted_values_longer_than_a_step_are_crossed(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_abbrev_maker maker = {0};
    struct cairn_dwarf_abbrevs *abbrevs;
    struct cairn_err err;
    test_dwarf_uleb(&w.abbrev, 1);
    test_dwarf_uleb(&w.abbrev, CAIRN_DW_TAG_COMPILE_UNIT);
    test_dwarf_u(&w, &w.abbrev, 0, 1);
    for (int i = 0; i < 4096; i++) { /* 4096 times 16 bytes is one more than 65,535 */
        test_dwarf_uleb(&w.abbrev, 0x70);
        test_dwarf_uleb(&w.abbrev, CAIRN_DW_FORM_DATA16);
    }
    size_t whole = w.abbrev.n;
    test_dwarf_u(&w, &w.abbrev, 0, 3);
    struct cairn_dwarf d = test_dwarf_sections(&w);
    struct cairn_dwarf_sizes sizes = {4, 4, 8};
    assert_ok(cairn_dwarf_abbrevs_read(&d, 0, sizes, &maker, &abbrevs, &err), err);
    uint64_t bytes = abbrevs->abbrevs[0].tail;
    for (size_t i = 0; i < abbrevs->n_steps; i++)
        bytes +=
            abbrevs->steps[i].skip + (unsigned)cairn_dwarf_form_size(abbrevs->steps[i].form, sizes);
    assert_int_equal(bytes, 65536);
    cairn_dwarf_abbrevs_free(abbrevs);

    w.abbrev.n = whole; /* one more than the limit */
    test_dwarf_uleb(&w.abbrev, 0x70);
    test_dwarf_uleb(&w.abbrev, CAIRN_DW_FORM_DATA1);
    test_dwarf_u(&w, &w.abbrev, 0, 3);
    d = test_dwarf_sections(&w);
    assert_fails(cairn_dwarf_abbrevs_read(&d, 0, sizes, &maker, &abbrevs, &err), CAIRN_E_LIMIT, err,
                 "more than 4096 attributes");
    cairn_dwarf_abbrev_maker_done(&maker);
}

static void units_of_unknown_versions_are_passed_over(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(7, false, 4, 8);
    struct cairn_dwarf_units units;
    struct cairn_err err;
    test_dwarf_unit_begin(&w);
    test_dwarf_unit_end(&w);
    size_t second = w.info.n;
    w.version = 4;
    w.abbrev.n = 0;
    test_dwarf_abbrev(&w, 1, CAIRN_DW_TAG_COMPILE_UNIT, false, 0);
    test_dwarf_unit_begin(&w);
    test_dwarf_uleb(&w.info, 1);
    test_dwarf_unit_end(&w);
    struct cairn_dwarf d = test_dwarf_sections(&w);
    assert_ok(cairn_dwarf_units_init(&units, &d, &err), err);
    assert_ok(cairn_dwarf_units_read_all(&units, &err), err);
    assert_int_equal(units.n_sorted, 2);
    assert_int_equal(cairn_dwarf_unit_open(&units, units.sorted[0], &err), CAIRN_E_MISSING);
    assert_ok(cairn_dwarf_unit_open(&units, units.sorted[1], &err), err);
    assert_ptr_equal(cairn_dwarf_units_find(&units, second), units.sorted[1]);
    assert_ptr_equal(cairn_dwarf_units_find(&units, second - 1), units.sorted[0]);
    assert_null(cairn_dwarf_units_find(&units, w.info.n));
    cairn_dwarf_units_done(&units);
}

/* Sizes of units, each with a root DIE and `n - 1` more. */
static struct test_dwarf units_of(const unsigned *n, size_t n_units, uint64_t *offs)
{
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    test_dwarf_abbrev(&w, 1, CAIRN_DW_TAG_COMPILE_UNIT, false, 0);
    for (size_t i = 0; i < n_units; i++) {
        offs[i] = w.info.n;
        test_dwarf_unit_begin(&w);
        for (unsigned k = 0; k < n[i]; k++)
            test_dwarf_uleb(&w.info, 1);
        test_dwarf_unit_end(&w);
    }
    offs[n_units] = w.info.n;
    return w;
}

static void only_units_on_the_way_are_read_and_none_ever_moves(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 9, 3, 700, 1, 40, 2};
    enum { N = sizeof sizes / sizeof *sizes };
    uint64_t offs[N + 1];
    struct test_dwarf w = units_of(sizes, N, offs);
    struct cairn_dwarf d = test_dwarf_sections(&w);
    struct cairn_dwarf_units units;
    struct cairn_err err;
    assert_ok(cairn_dwarf_units_init(&units, &d, &err), err);
    assert_int_equal(units.n, 0);
    struct cairn_dwarf_unit *fifth = cairn_dwarf_units_at(&units, offs[5]);
    assert_int_equal(fifth->end, offs[6]);
    assert_int_equal(fifth->number, 0);
    assert_ptr_equal(cairn_dwarf_units_find(&units, offs[5] + 20), fifth);
    assert_int_equal(units.n, 1);
    assert_int_equal(cairn_dwarf_units_find(&units, offs[6])->off, offs[6]);
    assert_int_equal(units.n, 2); /* from the fifth on, not from the start */
    assert_int_equal(cairn_dwarf_units_find(&units, offs[2] + 12)->off, offs[2]);
    assert_int_equal(units.n, 5); /* up to this one */
    struct cairn_dwarf_unit *third = cairn_dwarf_units_find(&units, offs[4] - 1);
    assert_int_equal(third->off, offs[3]);
    assert_ok(cairn_dwarf_units_read_all(&units, &err), err);
    assert_int_equal(units.n, N);
    assert_int_equal(units.n_sorted, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(units.sorted[i]->off, offs[i]);
        assert_ptr_equal(units.units[units.sorted[i]->number], units.sorted[i]);
    }
    assert_ptr_equal(units.sorted[3], third);
    assert_ptr_equal(units.sorted[5], fifth);
    assert_null(cairn_dwarf_units_at(&units, offs[3] + 1));
    assert_null(cairn_dwarf_units_find(&units, offs[N]));
    cairn_dwarf_units_done(&units);
}

static void what_is_no_header_falls_out_when_all_are_read(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 64, 1};
    uint64_t offs[4];
    struct test_dwarf w = units_of(sizes, 3, offs);
    struct cairn_dwarf d = test_dwarf_sections(&w);
    struct cairn_dwarf_units units;
    struct cairn_err err;
    memset(w.info.data + offs[1] + 20, 0, 8); /* a unit of no bytes, for who believes in it */
    assert_ok(cairn_dwarf_units_init(&units, &d, &err), err);
    assert_non_null(cairn_dwarf_units_at(&units, offs[1] + 20));
    assert_int_equal(cairn_dwarf_unit_open(&units, units.units[0], &err), CAIRN_E_MISSING);
    assert_null(cairn_dwarf_units_at(&units, d.info.size));
    assert_null(cairn_dwarf_units_at(&units, UINT64_MAX));
    assert_ok(cairn_dwarf_units_read_all(&units, &err), err);
    assert_int_equal(units.n_sorted, 3);
    for (uint64_t off = 0; off < offs[3]; off++) {
        const struct cairn_dwarf_unit *unit = cairn_dwarf_units_find(&units, off);
        assert_true(unit->off <= off && off < unit->end);
        assert_true(unit->off == offs[0] || unit->off == offs[1] || unit->off == offs[2]);
    }
    cairn_dwarf_units_done(&units);
}

static void a_unit_that_cannot_be_crossed_ends_the_way(void **state)
{
    (void)state;
    static const unsigned sizes[] = {5, 5, 5};
    uint64_t offs[4];
    struct test_dwarf w = units_of(sizes, 3, offs);
    struct cairn_dwarf d = test_dwarf_sections(&w);
    struct cairn_dwarf_units units;
    struct cairn_err err;
    w.info.data[offs[1] + 2] = 1; /* 64 kB long */
    assert_ok(cairn_dwarf_units_init(&units, &d, &err), err);
    assert_null(cairn_dwarf_units_find(&units, offs[2]));
    assert_non_null(cairn_dwarf_units_find(&units, offs[0]));
    assert_non_null(cairn_dwarf_units_at(&units, offs[2]));
    assert_ok(cairn_dwarf_units_read_all(&units, &err), err);
    assert_int_equal(units.n_sorted, 1);
    cairn_dwarf_units_done(&units);
}

static void memory_that_is_gone_is_told_apart_from_no_unit(void **state)
{
    (void)state;
    static const unsigned sizes[] = {5, 5, 5};
    uint64_t offs[4];
    struct test_dwarf w = units_of(sizes, 3, offs);
    struct cairn_dwarf d = test_dwarf_sections(&w);
    struct cairn_err err;
    for (long n = 0;; n++) {
        struct cairn_dwarf_units units;
        assert_ok(cairn_dwarf_units_init(&units, &d, &err), err);
        cairn_alloc_fail_after(n);
        const struct cairn_dwarf_unit *second = cairn_dwarf_units_at(&units, offs[1]);
        const struct cairn_dwarf_unit *third = cairn_dwarf_units_find(&units, offs[2]);
        int all = cairn_dwarf_units_read_all(&units, &err);
        cairn_alloc_fail_after(-1);
        int code = cairn_dwarf_units_failed(&units, &err);
        assert_int_equal(code, second && third ? CAIRN_OK : CAIRN_E_NOMEM);
        assert_int_equal(cairn_dwarf_units_find(&units, offs[2])->off, offs[2]);
        cairn_dwarf_units_done(&units);
        if (code == CAIRN_OK && all == CAIRN_OK)
            break;
        assert_true(n < 100);
    }
}

/* Texts are checked once, so that names can be taken without a search for their end. */
static void texts_are_sound_where_each_ends_also_where_there_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        bool sound;
    } rows[] = {{NULL, 0, true}, {"a\0bc", 5, true}, {"\0", 2, true}, {"a\0bc", 4, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_dwarf d = {.str = {(const uint8_t *)rows[i].bytes, rows[i].size}};
        cairn_dwarf_check_texts(&d);
        assert_int_equal(d.str_is_sound, rows[i].sound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_crossed_in_all_sizes_and_orders),
        cmocka_unit_test(an_unknown_form_is_damage_and_told_once),
        cmocka_unit_test(codes_in_any_order_are_found),
        cmocka_unit_test(runs_of_unwanted_values_longer_than_a_step_are_crossed),
        cmocka_unit_test(units_of_unknown_versions_are_passed_over),
        cmocka_unit_test(only_units_on_the_way_are_read_and_none_ever_moves),
        cmocka_unit_test(what_is_no_header_falls_out_when_all_are_read),
        cmocka_unit_test(a_unit_that_cannot_be_crossed_ends_the_way),
        cmocka_unit_test(memory_that_is_gone_is_told_apart_from_no_unit),
        cmocka_unit_test(texts_are_sound_where_each_ends_also_where_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
