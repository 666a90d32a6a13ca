/* SPDX-License-Identifier: MIT */
#include "dwarf/cfi_constants.h"
#include "support/cfiwriter.h"
#include "support/test.h"

static const struct test_cie plain = {.version = 1, .letters = "zR", .encoding = 0x1b};

/* def_cfa r7+8; r16 at cfa-8 */
static void put_cie(struct test_cfi *t, const struct test_cie *cie)
{
    test_cfi_cie(t, cie);
    test_cfi_put(t, "\x0c\x07\x08\x90\x01", 5);
    test_cfi_end(t);
}

/* Two functions, [0x1000, 0x1040) and [0x1100, 0x1110); the first pushes r6 at its byte 1. */
static void put_functions(struct test_cfi *t, size_t ret_off[2])
{
    ret_off[0] = test_cfi_fde(t, 0x1000, 0x40);
    test_cfi_put(t, "\x41\x0e\x10\x86\x02", 5);
    test_cfi_end(t);
    ret_off[1] = test_cfi_fde(t, 0x1100, 0x10);
    test_cfi_end(t);
}

static void assert_functions(const struct cairn_cfi *cfi, const size_t off[2])
{
    struct cairn_cfi_iter iter = {.cfi = cfi};
    struct cairn_fde fde, again;
    struct cairn_cfi_row row;
    assert_true(cairn_cfi_next(&iter, &fde));
    assert_int_equal(fde.off, off[0]);
    assert_int_equal(fde.from, 0x1000);
    assert_int_equal(fde.to, 0x1040);
    assert_true(cairn_cfi_row_at(cfi, &fde, 0x103f, &row));
    assert_int_equal(row.from, 0x1000 + fde.cie.code_align);
    assert_int_equal(row.to, 0x1040);
    assert_int_equal(row.cfa.where, CAIRN_CFI_IN_REG);
    assert_int_equal(row.cfa.reg, 7);
    assert_int_equal(row.cfa.value, 16);
    assert_int_equal(row.regs[6].where, CAIRN_CFI_AT_CFA);
    assert_int_equal(row.regs[6].value, 2 * fde.cie.data_align);
    assert_int_equal(row.regs[3].where, CAIRN_CFI_SAME);
    assert_true(cairn_cfi_next(&iter, &fde));
    assert_int_equal(fde.from, 0x1100);
    assert_int_equal(fde.to, 0x1110);
    assert_true(cairn_cfi_fde_at(cfi, off[1], &again));
    assert_int_equal(again.from, 0x1100);
    assert_false(cairn_cfi_next(&iter, &fde));
    assert_int_equal(iter.n_damaged, 0);
    assert_true(cairn_cfi_find(cfi, 0x110f, &fde));
    assert_int_equal(fde.from, 0x1100);
    assert_false(cairn_cfi_find(cfi, 0x1110, &fde));
    assert_false(cairn_cfi_find(cfi, 0x1040, &fde));
    assert_false(cairn_cfi_find(cfi, 0xfff, &fde));
}

static void every_version_width_and_byte_order_is_read(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < 48; variant++) {
        struct test_cfi t = test_cfi_of(variant & 1, variant & 2 ? 8 : 4);
        struct test_cie cie = {.version = (uint8_t[]){1, 3, 4}[variant / 16], .letters = ""};
        size_t off[2];
        t.debug_frame = variant & 4;
        t.dwarf64 = variant & 8;
        cie.code_align = t.debug_frame ? 4 : 1;
        cie.data_align = variant & 2 ? -8 : -4;
        put_cie(&t, &cie);
        put_functions(&t, off);
        struct cairn_cfi cfi = test_cfi_section(&t);
        assert_functions(&cfi, off);
    }
}

static void every_encoding_of_pointers_is_read(void **state)
{
    (void)state;
    for (unsigned encoding = 0; encoding < 256; encoding++) {
        unsigned format = encoding & 0xf, base = encoding & 0x70;
        bool indirect = encoding & 0x80;
        bool sound = format != 5 && format != 6 && format != 7 && format != 0xd && format != 0xe &&
                     format != 0xf && base != 0x40 && base < 0x60;
        struct test_cfi t = test_cfi_of(encoding & 1, 8);
        struct test_cie cie = {.version = 1, .letters = "zR", .encoding = (uint8_t)encoding};
        size_t off[2];
        put_cie(&t, &cie);
        put_functions(&t, off);
        struct cairn_cfi cfi = test_cfi_section(&t);
        struct cairn_cfi_iter iter = {.cfi = &cfi};
        struct cairn_fde fde;
        /* Counted from further up it is negative, which not every format can say. */
        bool fits =
            format == 0 || format == 4 || format & 8 || base == 0 || base == 0x20 || base == 0x50;
        if (!sound || indirect) {
            assert_false(cairn_cfi_next(&iter, &fde));
            assert_int_equal(iter.n_damaged, 2);
            assert_int_equal(iter.last_damage, indirect && encoding != CAIRN_DW_EH_PE_OMIT
                                                   ? CAIRN_CFI_INDIRECT
                                                   : CAIRN_CFI_ENCODING);
        } else if (fits) {
            assert_functions(&cfi, off);
        }
    }
}

static void a_header_that_is_right_is_asked(void **state)
{
    (void)state;
    struct test_cfi t = test_cfi_of(false, 8);
    size_t off[2];
    put_cie(&t, &plain);
    put_functions(&t, off);
    test_cfi_hdr(&t, (uint64_t[][2]){{0x1000, off[0]}, {0x1100, off[1]}}, 2);
    struct cairn_cfi cfi = test_cfi_section(&t);
    assert_functions(&cfi, off);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_width_and_byte_order_is_read),
        cmocka_unit_test(every_encoding_of_pointers_is_read),
        cmocka_unit_test(a_header_that_is_right_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
