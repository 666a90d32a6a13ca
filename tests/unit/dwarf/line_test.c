/* SPDX-License-Identifier: MIT */
#include "dwarf/line.h"

#include "support/dwarfwriter.h"
#include "support/test.h"

enum { NONE = CAIRN_DWARF_NO_FILE };

typedef int (*read_fn)(const struct cairn_dwarf *, const struct cairn_dwarf_unit *,
                       struct cairn_dwarf_lines *, struct cairn_err *);

/* Runs the program at 0 of what was written. */
static int run_by(read_fn read, const struct test_dwarf *w, struct cairn_dwarf_lines *lines,
                  struct cairn_err *err)
{
    struct cairn_dwarf d = test_dwarf_sections(w);
    struct cairn_dwarf_unit unit = {.name = "unit.c", .comp_dir = "/src"};
    unit.sizes = (struct cairn_dwarf_sizes){(uint16_t)w->version, (uint8_t)w->offset_size,
                                            (uint8_t)w->address_size};
    d.line.size = w->line.n;
    uint8_t *copy = test_copy(w->line.data, w->line.n);
    d.line.data = copy;
    int code = read(&d, &unit, lines, err);
    for (size_t i = 0; i < lines->n_files; i++)
        lines->files[i].name = NULL; /* pointed into the copy */
    free(copy);
    return code;
}

static int run(const struct test_dwarf *w, struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    return run_by(cairn_dwarf_lines_read, w, lines, err);
}

/* Rows against (vaddr - 0x1000, file, line), ended by a file of NONE and a line of 1. */
static void assert_rows(const struct cairn_dwarf_lines *lines, const struct cairn_dwarf_row *rows,
                        size_t n)
{
    for (size_t i = 0; i < n && i < lines->n_rows; i++) {
        assert_int_equal(lines->rows[i].low, rows[i].low);
        assert_int_equal(lines->rows[i].file, rows[i].file);
        if (rows[i].file != (uint32_t)NONE)
            assert_int_equal(lines->rows[i].line, rows[i].line);
    }
    assert_int_equal(lines->n_rows, n);
}

#define ASSERT_ROWS(lines, ...)                                                                    \
    do {                                                                                           \
        const struct cairn_dwarf_row expected_[] = {__VA_ARGS__};                                  \
        assert_rows(lines, expected_, sizeof expected_ / sizeof *expected_);                       \
    } while (0)

static void all_versions_and_byte_orders_give_the_same_rows(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 5; version++)
        for (unsigned variant = 0; variant < 8; variant++) {
            struct test_dwarf w =
                test_dwarf_of(version, variant & 1, variant & 2 ? 8 : 4, variant & 4 ? 8 : 4);
            struct cairn_dwarf_lines lines = {0};
            struct cairn_err err;
            test_dwarf_line_begin(&w);
            test_dwarf_line_at(&w, 0x1010);
            test_dwarf_line_row(&w, 0, 4);
            test_dwarf_line_row(&w, 3, 1);
            test_dwarf_line_row(&w, 2, 1000);
            test_dwarf_uleb(&w.line, CAIRN_DW_LNS_SET_FILE);
            test_dwarf_uleb(&w.line, 2);
            test_dwarf_line_row(&w, 1, -1000);
            test_dwarf_line_sequence_end(&w, 10);
            test_dwarf_line_end(&w);
            assert_ok(run(&w, &lines, &err), err);
            ASSERT_ROWS(&lines, {0x10, 1, 5}, {0x13, 1, 6}, {0x15, 1, 1006}, {0x16, 2, 6},
                        {0x20, (uint32_t)NONE, 0});
            assert_int_equal(lines.n_files, 3);
            cairn_dwarf_lines_done(&lines);
        }
}

static void statements_leave_out_other_rows(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 5; version++) {
        struct test_dwarf w = test_dwarf_of(version, false, 4, 8);
        struct cairn_dwarf_lines lines = {0};
        struct cairn_err err;
        test_dwarf_line_begin(&w);
        test_dwarf_line_at(&w, 0x1010);
        test_dwarf_line_row(&w, 0, 4);
        test_dwarf_uleb(&w.line, CAIRN_DW_LNS_NEGATE_STMT);
        test_dwarf_line_row(&w, 3, 1);
        test_dwarf_uleb(&w.line, CAIRN_DW_LNS_NEGATE_STMT);
        test_dwarf_line_row(&w, 2, 1);
        test_dwarf_line_sequence_end(&w, 10);
        test_dwarf_line_end(&w);
        assert_ok(run_by(cairn_dwarf_statements_read, &w, &lines, &err), err);
        ASSERT_ROWS(&lines, {0x10, 1, 5}, {0x15, 1, 7}, {0x1f, (uint32_t)NONE, 0});
        cairn_dwarf_lines_done(&lines);
        assert_ok(run(&w, &lines, &err), err);
        assert_int_equal(lines.n_rows, 4);
        cairn_dwarf_lines_done(&lines);
    }
}

static void files_know_their_folders(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 5; version++) {
        struct test_dwarf w = test_dwarf_of(version, false, 4, 8);
        test_dwarf_line_begin(&w);
        test_dwarf_line_end(&w);
        struct cairn_dwarf d = test_dwarf_sections(&w);
        struct cairn_dwarf_unit unit = {.name = "unit.c", .comp_dir = "/src"};
        struct cairn_dwarf_lines lines = {0};
        struct cairn_err err;
        unit.sizes = (struct cairn_dwarf_sizes){(uint16_t)version, 4, 8};
        assert_ok(cairn_dwarf_lines_read(&d, &unit, &lines, &err), err);
        assert_int_equal(lines.n_files, 3);
        assert_string_equal(lines.files[0].name, version < 5 ? "unit.c" : "a.c");
        assert_string_equal(lines.files[2].name, "b.h");
        assert_string_equal(lines.dirs[lines.files[1].dir], "/src");
        assert_string_equal(lines.dirs[lines.files[2].dir], "inc");
        cairn_dwarf_lines_done(&lines);
    }
}

/* Begins a program at 0x1000 with the line at 10. */
static struct test_dwarf begin_at_line_10(void)
{
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    test_dwarf_line_begin(&w);
    test_dwarf_line_at(&w, 0x1000);
    test_dwarf_line_row(&w, 0, 9);
    return w;
}

static void the_last_of_several_rows_at_one_address_wins(void **state)
{
    (void)state;
    struct test_dwarf w = begin_at_line_10();
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    test_dwarf_line_row(&w, 4, 1);
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_line_sequence_end(&w, 4);
    test_dwarf_line_end(&w);
    assert_ok(run(&w, &lines, &err), err);
    ASSERT_ROWS(&lines, {0, 1, 10}, {4, 1, 13}, {8, (uint32_t)NONE, 0});
    cairn_dwarf_lines_done(&lines);
}

static void line_zero_is_a_row_of_its_own_and_equal_neighbours_melt(void **state)
{
    (void)state;
    struct test_dwarf w = begin_at_line_10();
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    test_dwarf_line_row(&w, 4, 0);
    test_dwarf_line_row(&w, 4, -10);
    test_dwarf_line_row(&w, 4, 10);
    test_dwarf_line_sequence_end(&w, 4);
    test_dwarf_line_end(&w);
    assert_ok(run(&w, &lines, &err), err);
    ASSERT_ROWS(&lines, {0, 1, 10}, {8, 1, 0}, {12, 1, 10}, {16, (uint32_t)NONE, 0});
    cairn_dwarf_lines_done(&lines);
}

static void sequences_and_rows_out_of_order_are_sorted(void **state)
{
    (void)state;
    struct test_dwarf w = begin_at_line_10();
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    test_dwarf_line_at(&w, 0x1300); /* rows of one sequence: 0x1000, 0x1300, 0x1200 */
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_line_at(&w, 0x1200);
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_line_at(&w, 0x1400);
    test_dwarf_line_sequence_end(&w, 0);
    test_dwarf_line_at(&w, 0x1f00);
    test_dwarf_line_row(&w, 0, 0);
    test_dwarf_line_sequence_end(&w, 1);
    test_dwarf_line_at(&w, 0x1500);
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_line_sequence_end(&w, 1);
    test_dwarf_line_end(&w);
    assert_ok(run(&w, &lines, &err), err);
    ASSERT_ROWS(&lines, {0, 1, 10}, {0x200, 1, 12}, {0x300, 1, 11}, {0x400, (uint32_t)NONE, 0},
                {0x500, 1, 2}, {0x501, (uint32_t)NONE, 0}, {0xf00, 1, 1},
                {0xf01, (uint32_t)NONE, 0});
    cairn_dwarf_lines_done(&lines);
}

static void code_that_the_linker_threw_away_has_no_rows(void **state)
{
    (void)state;
    static const uint64_t tombstones[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 0x3000, 0xfff};
    struct test_dwarf w = begin_at_line_10();
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    test_dwarf_line_sequence_end(&w, 4);
    for (size_t i = 0; i < sizeof tombstones / sizeof *tombstones; i++) {
        test_dwarf_line_at(&w, tombstones[i]);
        test_dwarf_line_row(&w, 0, 1);
        test_dwarf_line_row(&w, 8, 1);
        test_dwarf_line_sequence_end(&w, 0x100);
    }
    test_dwarf_line_end(&w);
    assert_ok(run(&w, &lines, &err), err);
    ASSERT_ROWS(&lines, {0, 1, 10}, {4, (uint32_t)NONE, 0});
    cairn_dwarf_lines_done(&lines);
}

static void of_two_sequences_over_the_same_code_the_first_keeps_it(void **state)
{
    (void)state;
    struct test_dwarf w = begin_at_line_10();
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    test_dwarf_line_sequence_end(&w, 0x20);
    test_dwarf_line_at(&w, 0x1000); /* inside: dropped */
    test_dwarf_line_row(&w, 0, 50);
    test_dwarf_line_sequence_end(&w, 0x20);
    test_dwarf_line_at(&w, 0x1010); /* its tail goes on */
    test_dwarf_line_row(&w, 0, 60);
    test_dwarf_line_row(&w, 0x14, 1);
    test_dwarf_line_sequence_end(&w, 0x10);
    test_dwarf_line_end(&w);
    assert_ok(run(&w, &lines, &err), err);
    ASSERT_ROWS(&lines, {0, 1, 10}, {0x20, 1, 61}, {0x24, 1, 62}, {0x34, (uint32_t)NONE, 0});
    cairn_dwarf_lines_done(&lines);
}

static void every_standard_opcode_moves_what_it_should(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    w.min_length = 4;
    test_dwarf_line_begin(&w);
    test_dwarf_line_at(&w, 0x1000);
    test_dwarf_line_row(&w, 0, 0);
    test_dwarf_uleb(&w.line, CAIRN_DW_LNS_CONST_ADD_PC); /* (255 - 13) / 14 = 17 of 4 bytes */
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_uleb(&w.line, CAIRN_DW_LNS_FIXED_ADVANCE_PC); /* bytes */
    test_dwarf_u(&w, &w.line, 5, 2);
    for (uint8_t opcode = 5; opcode <= 12; opcode++) { /* those that change nothing */
        if (opcode == CAIRN_DW_LNS_CONST_ADD_PC || opcode == CAIRN_DW_LNS_FIXED_ADVANCE_PC)
            continue;
        test_dwarf_uleb(&w.line, opcode);
        if (opcode == CAIRN_DW_LNS_SET_COLUMN || opcode == CAIRN_DW_LNS_SET_ISA)
            test_dwarf_uleb(&w.line, 300);
    }
    static const uint8_t discriminator[] = {0, 2, 4, 7};
    for (size_t i = 0; i < sizeof discriminator; i++)
        test_dwarf_u(&w, &w.line, discriminator[i], 1);
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_line_sequence_end(&w, 1);
    test_dwarf_line_end(&w);
    assert_ok(run(&w, &lines, &err), err);
    ASSERT_ROWS(&lines, {0, 1, 1}, {68, 1, 2}, {73, 1, 3}, {77, (uint32_t)NONE, 0});
    cairn_dwarf_lines_done(&lines);
}

static void operations_of_one_instruction_share_its_address(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    w.min_length = 16;
    w.max_ops = 3;
    test_dwarf_line_begin(&w);
    test_dwarf_line_at(&w, 0x1000);
    test_dwarf_line_row(&w, 0, 0);
    test_dwarf_line_row(&w, 2, 1); /* still the first instruction */
    test_dwarf_line_row(&w, 2, 1); /* operation 4: the second */
    test_dwarf_line_row(&w, 5, 1); /* operation 9: the fourth */
    test_dwarf_line_sequence_end(&w, 3);
    test_dwarf_line_end(&w);
    assert_ok(run(&w, &lines, &err), err);
    ASSERT_ROWS(&lines, {0, 1, 2}, {16, 1, 3}, {48, 1, 4}, {64, (uint32_t)NONE, 0});
    cairn_dwarf_lines_done(&lines);
}

static void files_can_be_defined_on_the_way(void **state)
{
    (void)state;
    struct test_dwarf w = begin_at_line_10();
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    static const uint8_t define[] = {0, 7, CAIRN_DW_LNE_DEFINE_FILE, 'c', 'c', 0, 1, 0, 0};
    for (size_t i = 0; i < sizeof define; i++)
        test_dwarf_u(&w, &w.line, define[i], 1);
    test_dwarf_uleb(&w.line, CAIRN_DW_LNS_SET_FILE);
    test_dwarf_uleb(&w.line, 3);
    test_dwarf_line_row(&w, 4, 0);
    test_dwarf_line_sequence_end(&w, 4);
    test_dwarf_line_end(&w);
    assert_ok(run(&w, &lines, &err), err);
    ASSERT_ROWS(&lines, {0, 1, 10}, {4, 3, 10}, {8, (uint32_t)NONE, 0});
    assert_int_equal(lines.n_files, 4);
    assert_int_equal(lines.files[3].dir, 1);
    cairn_dwarf_lines_done(&lines);
}

static void damage_keeps_the_whole_sequences_before_it(void **state)
{
    (void)state;
    struct test_dwarf w = begin_at_line_10();
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    test_dwarf_line_sequence_end(&w, 4);
    test_dwarf_line_at(&w, 0x1100);
    test_dwarf_line_row(&w, 0, 1);
    test_dwarf_uleb(&w.line, CAIRN_DW_LNS_ADVANCE_PC); /* its operand is missing */
    test_dwarf_line_end(&w);
    assert_fails(run(&w, &lines, &err), CAIRN_E_FORMAT, err, "damaged program");
    ASSERT_ROWS(&lines, {0, 1, 10}, {4, (uint32_t)NONE, 0});
    cairn_dwarf_lines_done(&lines);
}

static void wrong_headers_are_named(void **state)
{
    (void)state;
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    struct test_dwarf w = test_dwarf_of(6, false, 4, 8);
    test_dwarf_line_begin(&w);
    test_dwarf_line_end(&w);
    assert_fails(run(&w, &lines, &err), CAIRN_E_FORMAT, err, "version 6, expected 2 to 5");
    cairn_dwarf_lines_done(&lines);

    w = test_dwarf_of(5, false, 4, 8);
    test_dwarf_line_begin(&w);
    test_dwarf_line_end(&w);
    w.line.n--;
    assert_fails(run(&w, &lines, &err), CAIRN_E_FORMAT, err, "runs past the end");
    cairn_dwarf_lines_done(&lines);
}

/* Many units may share one damaged header: what each of them reads must count. */
static void a_damaged_header_counts_as_read(void **state)
{
    (void)state;
    for (unsigned version = 4; version <= 5; version++) {
        struct test_dwarf w = test_dwarf_of(version, false, 4, 8);
        struct cairn_dwarf_lines lines = {0};
        struct cairn_err err;
        test_dwarf_line_begin(&w);
        size_t length = w.line.n - w.line_header_length - 4 - 1; /* cuts the last file */
        test_dwarf_patch(&w, &w.line, w.line_header_length, length, 4);
        test_dwarf_line_end(&w);
        assert_fails(run(&w, &lines, &err), CAIRN_E_FORMAT, err, "tables of files run past");
        assert_true(lines.n_bytes > w.line.n - 24 && lines.n_bytes < w.line.n);
        cairn_dwarf_lines_done(&lines);
    }
}

/* A table that claims 2^40 entries without bytes must not be walked. */
static void entries_without_bytes_are_refused(void **state)
{
    (void)state;
    struct test_dwarf w = test_dwarf_of(5, false, 4, 8);
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err err;
    test_dwarf_line_begin(&w);
    size_t tables = w.line_header_length + 4 + 18; /* behind the lengths of opcodes */
    w.line.n = tables;
    test_dwarf_u(&w, &w.line, 1, 1);
    test_dwarf_uleb(&w.line, CAIRN_DW_LNCT_DIRECTORY_INDEX);
    test_dwarf_uleb(&w.line, CAIRN_DW_FORM_FLAG_PRESENT);
    test_dwarf_uleb(&w.line, 1ull << 40);
    test_dwarf_patch(&w, &w.line, w.line_header_length, w.line.n - w.line_header_length - 4, 4);
    test_dwarf_line_end(&w);
    assert_fails(run(&w, &lines, &err), CAIRN_E_FORMAT, err, "tables of files run past");
    cairn_dwarf_lines_done(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_versions_and_byte_orders_give_the_same_rows),
        cmocka_unit_test(statements_leave_out_other_rows),
        cmocka_unit_test(files_know_their_folders),
        cmocka_unit_test(the_last_of_several_rows_at_one_address_wins),
        cmocka_unit_test(line_zero_is_a_row_of_its_own_and_equal_neighbours_melt),
        cmocka_unit_test(sequences_and_rows_out_of_order_are_sorted),
        cmocka_unit_test(code_that_the_linker_threw_away_has_no_rows),
        cmocka_unit_test(of_two_sequences_over_the_same_code_the_first_keeps_it),
        cmocka_unit_test(every_standard_opcode_moves_what_it_should),
        cmocka_unit_test(operations_of_one_instruction_share_its_address),
        cmocka_unit_test(files_can_be_defined_on_the_way),
        cmocka_unit_test(damage_keeps_the_whole_sequences_before_it),
        cmocka_unit_test(wrong_headers_are_named),
        cmocka_unit_test(a_damaged_header_counts_as_read),
        cmocka_unit_test(entries_without_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
