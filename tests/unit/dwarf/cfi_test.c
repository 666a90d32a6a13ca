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

static struct test_cfi plain_functions(size_t ret_off[2])
{
    struct test_cfi t = test_cfi_of(false, 8);
    put_cie(&t, &plain);
    put_functions(&t, ret_off);
    return t;
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

/* Bytes as a string literal, NULs and all. */
#define BYTES(text) text, sizeof(text) - 1

static void every_augmentation_is_read(void **state)
{
    (void)state;
    static const struct {
        struct test_cie cie;
        bool is_signal_frame, b_key;
        uint8_t lsda_encoding;
    } cases[] = {
        {{1, "zRS", 0x1b, BYTES("\x1b")}, true, false, 0xff},
        {{1, "zRB", 0x1b, BYTES("\x1b")}, false, true, 0xff},
        {{1, "zRG", 0x1b, BYTES("\x1b")}, false, false, 0xff},
        {{1, "zPLR", 0x1b, BYTES("\x9b\1\2\3\4\x1c\x1b")}, false, false, 0x1c},
        {{1, "zPR", 0x1b, BYTES("\x04\1\2\3\4\5\6\7\x08\x1b")}, false, false, 0xff},
        {{1, "zPR", 0x1b, BYTES("\x00\1\2\3\4\5\6\7\x08\x1b")}, false, false, 0xff},
        {{1, "zPR", 0x1b, BYTES("\x01\x80\x80\x01\x1b")}, false, false, 0xff},
        {{1, "zPR", 0x1b, BYTES("\xff\x1b")}, false, false, 0xff},
        {{3, "zLR", 0x1b, BYTES("\x0b\x1b")}, false, false, 0x0b},
        {{1, "zR", 0x1b, BYTES("\x1b and more than the letters say")}, false, false, 0xff},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_cfi t = test_cfi_of(false, 8);
        struct cairn_fde fde;
        size_t off[2];
        put_cie(&t, &cases[i].cie);
        put_functions(&t, off);
        struct cairn_cfi cfi = test_cfi_section(&t);
        assert_functions(&cfi, off);
        assert_true(cairn_cfi_fde_at(&cfi, off[0], &fde));
        assert_int_equal(fde.cie.is_signal_frame, cases[i].is_signal_frame);
        assert_int_equal(fde.cie.b_key, cases[i].b_key);
        assert_int_equal(fde.cie.lsda_encoding, cases[i].lsda_encoding);
        assert_int_equal(fde.cie.pointer_encoding, 0x1b);
    }
}

static void an_aligned_personality_is_read_over(void **state)
{
    (void)state;
    struct test_cfi t = test_cfi_of(false, 8);
    size_t off[2];
    /* CIE: length 4, id 4, version, "zPR", 1, -8, 16, size, encoding: the pointer is at 24. */
    static const struct test_cie cie = {1, "zPR", 0x1b,
                                        BYTES("\x50\0\0\0\0\0\0\1\2\3\4\5\6\7\x08\x1b")};
    put_cie(&t, &cie);
    put_functions(&t, off);
    struct cairn_cfi cfi = test_cfi_section(&t);
    assert_functions(&cfi, off);
}

static void segment_selectors_are_read_over(void **state)
{
    (void)state;
    struct test_cfi t = test_cfi_of(false, 4);
    static const struct test_cie cie = {.version = 4, .letters = "", .segment_size = 4};
    size_t off[2];
    t.debug_frame = true;
    put_cie(&t, &cie);
    put_functions(&t, off);
    struct cairn_cfi cfi = test_cfi_section(&t);
    assert_functions(&cfi, off);
}

/* What a CIE that cannot be used does to its two FDEs. */
static void assert_refused(const struct test_cfi *t, enum cairn_cfi_damage why)
{
    struct cairn_cfi cfi = test_cfi_section(t);
    struct cairn_cfi_iter iter = {.cfi = &cfi};
    struct cairn_fde fde;
    if (cairn_cfi_next(&iter, &fde))
        fail_msg("an FDE, expected %s", cairn_cfi_damage_text(why));
    assert_int_equal(iter.n_damaged, 2);
    assert_string_equal(cairn_cfi_damage_text(iter.last_damage), cairn_cfi_damage_text(why));
    assert_false(cairn_cfi_find(&cfi, 0x1000, &fde));
}

static void what_cannot_be_read_is_refused_with_its_reason(void **state)
{
    (void)state;
    static const struct {
        struct test_cie cie;
        enum cairn_cfi_damage why;
    } cases[] = {
        {{2, "", 0, NULL, 0}, CAIRN_CFI_VERSION},
        {{5, "zR", 0x1b, NULL, 0}, CAIRN_CFI_VERSION},
        {{1, "eh", 0, NULL, 0}, CAIRN_CFI_EH_DATA},
        {{1, "armcc+", 0, NULL, 0}, CAIRN_CFI_AUGMENTATION},
        {{1, "R", 0, NULL, 0}, CAIRN_CFI_AUGMENTATION},
        {{1, "zRX", 0x1b, BYTES("\x1b\0")}, CAIRN_CFI_AUGMENTATION},
        {{1, "zRSSSSSSSSSSSSSSSSSSSSSSSS", 0x1b, BYTES("\x1b")}, CAIRN_CFI_AUGMENTATION},
        {{1, "zPR", 0x1b, BYTES("\x9b\1\2\3\4")}, CAIRN_CFI_CUT},
        {{1, "zPR", 0x1b, BYTES("\x07\x1b\0\0\0\0\0\0\0")}, CAIRN_CFI_ENCODING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_cfi t = test_cfi_of(false, 8);
        size_t off[2];
        put_cie(&t, &cases[i].cie);
        put_functions(&t, off);
        assert_refused(&t, cases[i].why);
    }
}

static void sizes_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct test_cie four = {.version = 4, .letters = ""};
    struct test_cfi t = test_cfi_of(false, 8);
    size_t off[2];
    t.debug_frame = true;
    put_cie(&t, &four);
    put_functions(&t, off);
    t.section.data[10] = 3; /* address_size */
    assert_refused(&t, CAIRN_CFI_ADDRESS_SIZE);
    static char program[1100];
    t = test_cfi_of(false, 8);
    test_cfi_cie(&t, &plain);
    test_cfi_put(&t, program, sizeof program);
    test_cfi_end(&t);
    put_functions(&t, off);
    assert_refused(&t, CAIRN_CFI_LIMIT);
}

static void an_fde_needs_a_cie_where_it_says(void **state)
{
    (void)state;
    for (int cie = 0; cie < 3; cie++) {
        size_t off[2];
        struct test_cfi t = plain_functions(off);
        /* In the middle of the CIE, itself, beyond the section. */
        size_t to = (size_t[]){4, off[0], 1u << 20}[cie];
        for (int i = 0; i < 2; i++)
            test_dwarf_patch(&t.w, &t.section, off[i] + 4, off[i] + 4 - to, 4);
        assert_refused(&t, CAIRN_CFI_NO_CIE);
    }
}

static void damage_in_one_entry_loses_that_one(void **state)
{
    (void)state;
    struct test_cfi t = test_cfi_of(false, 8);
    static const struct test_cie version7 = {.version = 7, .letters = "zR", .encoding = 0x1b};
    struct cairn_fde fde;
    size_t off[2];
    put_cie(&t, &version7);
    test_cfi_fde(&t, 0x5000, 0x10);
    test_cfi_end(&t);
    put_cie(&t, &plain);
    size_t wide = test_cfi_fde(&t, 0x1000, 0x40);
    test_cfi_end(&t);
    test_dwarf_patch(&t.w, &t.section, wide + 12, UINT32_MAX, 4); /* a size below zero */
    put_functions(&t, off);
    struct cairn_cfi cfi = test_cfi_section(&t);
    struct cairn_cfi_iter iter = {.cfi = &cfi};
    assert_true(cairn_cfi_next(&iter, &fde));
    assert_int_equal(fde.off, off[0]);
    assert_int_equal(iter.n_damaged, 2);
    assert_int_equal(iter.last_damage, CAIRN_CFI_RANGE);
    assert_true(cairn_cfi_next(&iter, &fde));
    assert_false(cairn_cfi_next(&iter, &fde));
    /* The last one's length runs beyond the section. */
    test_dwarf_patch(&t.w, &t.section, off[1], 0x1000, 4);
    cfi = test_cfi_section(&t);
    iter = (struct cairn_cfi_iter){.cfi = &cfi};
    assert_true(cairn_cfi_next(&iter, &fde));
    assert_false(cairn_cfi_next(&iter, &fde));
    assert_int_equal(iter.n_damaged, 3);
    assert_int_equal(iter.last_damage, CAIRN_CFI_CUT);
    assert_false(cairn_cfi_fde_at(&cfi, off[1], &fde));
    assert_false(cairn_cfi_fde_at(&cfi, off[0] + 4, &fde));
    assert_false(cairn_cfi_fde_at(&cfi, 0, &fde)); /* a CIE */
    assert_false(cairn_cfi_fde_at(&cfi, UINT64_MAX, &fde));
}

/* One in memory is known up to its segment's end, where something else follows. */
static void a_length_of_zero_ends_eh_frame_and_pads_debug_frame(void **state)
{
    (void)state;
    for (int debug_frame = 0; debug_frame < 2; debug_frame++) {
        struct test_cfi t = test_cfi_of(false, 8);
        static const struct test_cie cie = {.version = 1, .letters = ""};
        struct cairn_fde fde;
        t.debug_frame = debug_frame;
        put_cie(&t, &cie);
        test_cfi_fde(&t, 0x1000, 0x40);
        test_cfi_end(&t);
        test_dwarf_u(&t.w, &t.section, 0, 4);
        test_dwarf_u(&t.w, &t.section, 0, 4);
        test_cfi_fde(&t, 0x1100, 0x10);
        test_cfi_end(&t);
        struct cairn_cfi cfi = test_cfi_section(&t);
        struct cairn_cfi_iter iter = {.cfi = &cfi};
        assert_true(cairn_cfi_next(&iter, &fde));
        assert_int_equal(cairn_cfi_next(&iter, &fde), debug_frame);
        assert_int_equal(iter.n_damaged, 0);
        assert_int_equal(cairn_cfi_find(&cfi, 0x1100, &fde), debug_frame);
    }
}

/* BFD's ld leaves size 0, lld an address of all ones; neither is damage. */
static void functions_that_were_thrown_away_are_read_over(void **state)
{
    (void)state;
    for (unsigned address_size = 4; address_size <= 8; address_size += 4) {
        struct test_cfi t = test_cfi_of(false, address_size);
        static const struct test_cie cie = {.version = 1, .letters = ""};
        struct cairn_fde fde;
        put_cie(&t, &cie);
        test_cfi_fde(&t, 0x1000, 0);
        test_cfi_end(&t);
        test_cfi_fde(&t, UINT64_MAX, 0x30);
        test_cfi_end(&t);
        test_cfi_fde(&t, 0x1100, 0x10);
        test_cfi_end(&t);
        struct cairn_cfi cfi = test_cfi_section(&t);
        struct cairn_cfi_iter iter = {.cfi = &cfi};
        assert_true(cairn_cfi_next(&iter, &fde));
        assert_int_equal(fde.from, 0x1100);
        assert_false(cairn_cfi_next(&iter, &fde));
        assert_int_equal(iter.n_damaged, 0);
    }
}

/* More CIEs in turn than are kept. */
static void fdes_find_their_cie_among_many(void **state)
{
    (void)state;
    struct test_cfi t = test_cfi_of(false, 8);
    static struct test_cie cies[9];
    size_t off[9];
    struct cairn_fde fde;
    for (int i = 0; i < 9; i++) {
        cies[i] = (struct test_cie){.version = 1, .letters = "zR", .encoding = 0x1b, .ra = 16 + i};
        off[i] = test_cfi_cie(&t, &cies[i]);
        test_cfi_end(&t);
    }
    for (int i = 0; i < 60; i++) {
        int of = i * i % 9;
        t.cie = off[of];
        test_cfi_fde(&t, 0x1000 + 16 * i, 16);
        test_cfi_end(&t);
    }
    struct cairn_cfi cfi = test_cfi_section(&t);
    struct cairn_cfi_iter iter = {.cfi = &cfi};
    for (int i = 0; i < 60; i++) {
        assert_true(cairn_cfi_next(&iter, &fde));
        assert_int_equal(fde.cie.ra_reg, 16 + i * i % 9);
    }
    assert_false(cairn_cfi_next(&iter, &fde));
}

static void a_header_that_is_right_is_asked(void **state)
{
    (void)state;
    size_t off[2];
    struct test_cfi t = plain_functions(off);
    test_cfi_hdr(&t, (uint64_t[][2]){{0x1000, off[0]}, {0x1100, off[1]}}, 2);
    struct cairn_cfi cfi = test_cfi_section(&t);
    assert_functions(&cfi, off);
}

/* Each answers as the section does, by the pass if need be. */
static void a_header_that_lies_is_not_believed(void **state)
{
    (void)state;
    for (int lie = 0; lie < 9; lie++) {
        size_t off[2];
        struct test_cfi t = plain_functions(off);
        uint64_t rows[2][2] = {{0x1000, off[0]}, {0x1100, off[1]}};
        if (lie == 0)
            rows[0][1] = off[1]; /* another function's FDE */
        if (lie == 1)
            rows[1][1] = off[1] + 4; /* none */
        if (lie == 2)
            rows[0][0] = 0x1010; /* begins elsewhere */
        if (lie == 3)
            rows[1][1] = 0x10000000; /* beyond */
        if (lie == 4)
            rows[0][0] = 0x1100, rows[0][1] = off[1], rows[1][0] = 0x1000, rows[1][1] = off[0];
        test_cfi_hdr(&t, rows, lie == 5 ? 0 : 2);
        if (lie == 6)
            t.hdr.data[0] = 2; /* version */
        if (lie == 7)
            test_dwarf_patch(&t.w, &t.hdr, 8, 1u << 30, 4); /* count */
        if (lie == 8)
            t.hdr.data[3] = 0x30 | CAIRN_DW_EH_PE_ULEB128;
        struct cairn_cfi cfi = test_cfi_section(&t);
        assert_functions(&cfi, off);
    }
}

static void every_truncation_of_a_header_falls_back(void **state)
{
    (void)state;
    size_t off[2];
    struct test_cfi t = plain_functions(off);
    test_cfi_hdr(&t, (uint64_t[][2]){{0x1000, off[0]}, {0x1100, off[1]}}, 2);
    for (size_t size = 0; size < t.hdr.n; size++) {
        struct cairn_cfi cfi = test_cfi_section(&t);
        uint8_t *copy = test_copy(t.hdr.data, size);
        cfi.hdr = (struct cairn_span){copy, size};
        assert_functions(&cfi, off);
        free(copy);
    }
}

/* Tables of other encodings: 2, 4 and 8 bytes, absolute, from the header, from the row itself. */
static void tables_of_other_encodings_are_searched(void **state)
{
    (void)state;
    static const uint8_t encodings[] = {0x00, 0x02, 0x03, 0x04, 0x0b, 0x0c, 0x3a, 0x3c, 0x1b};
    for (size_t i = 0; i < sizeof encodings; i++) {
        struct test_cfi t = test_cfi_of(i & 1, 8);
        struct test_bytes *b = &t.hdr;
        unsigned width = (unsigned[]){8, 0, 2, 4, 8}[encodings[i] & 7];
        size_t off[2];
        put_cie(&t, &plain);
        put_functions(&t, off);
        test_dwarf_u(&t.w, b, 1, 1);
        test_dwarf_u(&t.w, b, CAIRN_DW_EH_PE_OMIT, 1);
        test_dwarf_u(&t.w, b, CAIRN_DW_EH_PE_UDATA4, 1);
        test_dwarf_u(&t.w, b, encodings[i], 1);
        b->data[1] = CAIRN_DW_EH_PE_PCREL | CAIRN_DW_EH_PE_SDATA4;
        test_dwarf_u(&t.w, b, TEST_CFI_VADDR - (TEST_CFI_HDR_VADDR + 4), 4);
        test_dwarf_u(&t.w, b, 2, 4);
        for (int row = 0; row < 2; row++) {
            uint64_t values[2] = {row ? 0x1100 : 0x1000, TEST_CFI_VADDR + off[row]};
            for (int k = 0; k < 2; k++) {
                uint64_t base = (encodings[i] & 0x70) == 0x30   ? TEST_CFI_HDR_VADDR
                                : (encodings[i] & 0x70) == 0x10 ? TEST_CFI_HDR_VADDR + b->n
                                                                : 0;
                test_dwarf_u(&t.w, b, values[k] - base, width);
            }
        }
        struct cairn_cfi cfi = test_cfi_section(&t);
        struct cairn_fde fde;
        assert_functions(&cfi, off);
        /* Where the section seems to end before it, no pass gets there: it was the table. */
        test_dwarf_patch(&t.w, &t.section, off[0], 0, 4);
        cfi = test_cfi_section(&t);
        assert_true(cairn_cfi_find(&cfi, 0x1100, &fde));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_width_and_byte_order_is_read),
        cmocka_unit_test(every_encoding_of_pointers_is_read),
        cmocka_unit_test(every_augmentation_is_read),
        cmocka_unit_test(an_aligned_personality_is_read_over),
        cmocka_unit_test(segment_selectors_are_read_over),
        cmocka_unit_test(what_cannot_be_read_is_refused_with_its_reason),
        cmocka_unit_test(sizes_that_make_no_sense_are_refused),
        cmocka_unit_test(an_fde_needs_a_cie_where_it_says),
        cmocka_unit_test(damage_in_one_entry_loses_that_one),
        cmocka_unit_test(a_length_of_zero_ends_eh_frame_and_pads_debug_frame),
        cmocka_unit_test(functions_that_were_thrown_away_are_read_over),
        cmocka_unit_test(fdes_find_their_cie_among_many),
        cmocka_unit_test(a_header_that_is_right_is_asked),
        cmocka_unit_test(a_header_that_lies_is_not_believed),
        cmocka_unit_test(every_truncation_of_a_header_falls_back),
        cmocka_unit_test(tables_of_other_encodings_are_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
