/* SPDX-License-Identifier: MIT */
#include "symbol/unit_table.h"

#include "support/dwarfwriter.h"
#include "support/test.h"

enum { UNIT = 1, FUNCTION, INLINED };

/* A unit in the making: functions are ranges of [0x1000, 0x3000). */
static struct test_dwarf begin(unsigned version)
{
    struct test_dwarf w = test_dwarf_of(version, false, 4, 8);
    test_dwarf_abbrev(&w, UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_STMT_LIST,
                      CAIRN_DW_FORM_SEC_OFFSET, CAIRN_DW_AT_COMP_DIR, CAIRN_DW_FORM_STRING,
                      CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR, 0);
    test_dwarf_abbrev(&w, FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_ADDR, 0);
    test_dwarf_abbrev(&w, INLINED, CAIRN_DW_TAG_INLINED_SUBROUTINE, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_ADDR, 0);
    test_dwarf_unit_begin(&w);
    test_dwarf_uleb(&w.info, UNIT);
    test_dwarf_off(&w, &w.info, 0);
    test_dwarf_str(&w.info, "/src");
    test_dwarf_addr(&w, &w.info, 0);
    return w;
}

static void put(struct test_dwarf *w, unsigned code, uint64_t low, uint64_t high)
{
    test_dwarf_uleb(&w->info, code);
    test_dwarf_str(&w->info, "f");
    test_dwarf_addr(w, &w->info, low);
    test_dwarf_addr(w, &w->info, high);
}

static void end_children(struct test_dwarf *w)
{
    test_dwarf_u(w, &w->info, 0, 1);
}

struct read {
    struct cairn_dwarf d;
    struct cairn_dwarf_units units;
    struct cairn_unit_table *table;
    struct cairn_err err;
};

static int finish(struct test_dwarf *w, struct read *t)
{
    end_children(w);
    test_dwarf_unit_end(w);
    t->d = test_dwarf_sections(w);
    t->table = NULL;
    assert_ok(cairn_dwarf_units_init(&t->units, &t->d, &t->err), t->err);
    assert_ok(cairn_dwarf_units_read_all(&t->units, &t->err), t->err);
    struct cairn_dwarf_unit *unit = t->units.sorted[0];
    assert_ok(cairn_dwarf_unit_open(&t->units, unit, &t->err), t->err);
    return cairn_unit_table_new(&t->d, unit, &t->units, unit, &t->table, &t->err);
}

static void done(struct read *t)
{
    cairn_unit_table_free(t->table);
    cairn_dwarf_units_done(&t->units);
}

/* The node at a distance from 0x1000; 0: none. */
static uint32_t node_at(const struct read *t, uint32_t at)
{
    const struct cairn_unit_record *record = cairn_unit_table_find(t->table, at);
    return record ? record->node : 0;
}

static uint32_t line_at(const struct read *t, uint32_t at)
{
    const struct cairn_unit_record *record = cairn_unit_table_find(t->table, at);
    return record && record->file != (uint32_t)CAIRN_DWARF_NO_FILE ? record->line : 0;
}

static void lines_and_functions_are_merged(void **state)
{
    (void)state;
    struct test_dwarf w = begin(4);
    struct read t;
    put(&w, FUNCTION, 0x1010, 0x1050);
    put(&w, INLINED, 0x1020, 0x1030);
    end_children(&w);
    end_children(&w);
    test_dwarf_line_begin(&w);
    test_dwarf_line_at(&w, 0x1018);
    test_dwarf_line_row(&w, 0, 4);
    test_dwarf_line_row(&w, 0x10, 1);
    test_dwarf_line_sequence_end(&w, 0x30);
    test_dwarf_line_end(&w);
    assert_ok(finish(&w, &t), t.err);
    static const struct {
        uint32_t at, node, line;
    } expected[] = {{0x0f, 0, 0}, {0x10, 1, 0}, {0x17, 1, 0},      {0x18, 1, 5}, {0x20, 2, 5},
                    {0x28, 2, 6}, {0x2f, 2, 6}, {0x30, 1, 6},      {0x4f, 1, 6}, {0x50, 0, 6},
                    {0x57, 0, 6}, {0x58, 0, 0}, {UINT32_MAX, 0, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(node_at(&t, expected[i].at), expected[i].node);
        assert_int_equal(line_at(&t, expected[i].at), expected[i].line);
    }
    assert_int_equal(cairn_unit_table_outermost(t.table, 2), 1);
    done(&t);
}

static void of_functions_folded_into_one_the_first_keeps_the_code_whole(void **state)
{
    (void)state;
    struct test_dwarf w = begin(4);
    struct read t;
    for (int i = 0; i < 2; i++) { /* nodes 1 and 2, then 3 and 4, over the same bytes */
        put(&w, FUNCTION, 0x1010, 0x1050);
        put(&w, INLINED, 0x1010, 0x1020);
        end_children(&w);
        end_children(&w);
    }
    test_dwarf_line_begin(&w);
    test_dwarf_line_end(&w);
    assert_ok(finish(&w, &t), t.err);
    assert_int_equal(node_at(&t, 0x10), 2);
    assert_int_equal(node_at(&t, 0x20), 1);
    assert_int_equal(node_at(&t, 0x4f), 1);
    assert_int_equal(node_at(&t, 0x50), 0);
    done(&t);
}

static void inlined_code_may_reach_past_its_sibling_and_its_caller(void **state)
{
    (void)state;
    struct test_dwarf w = begin(4);
    struct read t;
    put(&w, FUNCTION, 0x1010, 0x1050);
    put(&w, INLINED, 0x1020, 0x1030);
    end_children(&w);
    put(&w, INLINED, 0x1028, 0x1060);
    end_children(&w);
    end_children(&w);
    put(&w, FUNCTION, 0x1058, 0x1070);
    end_children(&w);
    test_dwarf_line_begin(&w);
    test_dwarf_line_end(&w);
    assert_ok(finish(&w, &t), t.err);
    assert_int_equal(node_at(&t, 0x20), 2);
    assert_int_equal(node_at(&t, 0x28), 3);
    assert_int_equal(node_at(&t, 0x38), 3);
    assert_int_equal(node_at(&t, 0x50), 3);
    assert_int_equal(node_at(&t, 0x58), 4); /* the next function begins */
    assert_int_equal(node_at(&t, 0x6f), 4);
    done(&t);
}

/* The next row is of this file. */
static void set_file(struct test_dwarf *w, unsigned file)
{
    test_dwarf_u(w, &w->line, CAIRN_DW_LNS_SET_FILE, 1);
    test_dwarf_uleb(&w->line, file);
}

static const char *path_at(const struct read *t, uint32_t at)
{
    const struct cairn_unit_record *record = cairn_unit_table_find(t->table, at);
    assert_non_null(record);
    return cairn_unit_table_path(t->table, t->units.sorted[0], record->file);
}

static void paths_are_joined_as_the_compiler_was_given_them(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 5; version++) {
        struct test_dwarf w = begin(version);
        struct read t;
        test_dwarf_line_begin(&w);
        test_dwarf_line_at(&w, 0x1010);
        for (unsigned file = 3; file; file--) { /* there is no third one */
            set_file(&w, file);
            test_dwarf_line_row(&w, file < 3 ? 0x10 : 0, 1);
        }
        test_dwarf_line_sequence_end(&w, 0x10);
        test_dwarf_line_end(&w);
        assert_ok(finish(&w, &t), t.err);
        assert_string_equal(path_at(&t, 0x30), "/src/a.c");
        const char *path = path_at(&t, 0x20);
        assert_string_equal(path, "/src/inc/b.h");
        assert_ptr_equal(path_at(&t, 0x20), path);
        assert_null(path_at(&t, 0x10));
        assert_int_equal(t.table->lines.n_files, 2); /* file 0 is that of no record */
        assert_null(cairn_unit_table_path(t.table, t.units.sorted[0], 2));
        assert_null(cairn_unit_table_path(t.table, t.units.sorted[0], UINT32_MAX));
        done(&t);
    }
}

static void damaged_lines_leave_the_functions(void **state)
{
    (void)state;
    struct test_dwarf w = begin(4);
    struct read t;
    put(&w, FUNCTION, 0x1010, 0x1050);
    end_children(&w);
    test_dwarf_u(&w, &w.line, 0xfffffff1, 4);
    assert_fails(finish(&w, &t), CAIRN_E_FORMAT, t.err, ".debug_line at 0x0");
    assert_non_null(t.table);
    assert_int_equal(node_at(&t, 0x10), 1);
    done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_functions_are_merged),
        cmocka_unit_test(of_functions_folded_into_one_the_first_keeps_the_code_whole),
        cmocka_unit_test(inlined_code_may_reach_past_its_sibling_and_its_caller),
        cmocka_unit_test(paths_are_joined_as_the_compiler_was_given_them),
        cmocka_unit_test(damaged_lines_leave_the_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
