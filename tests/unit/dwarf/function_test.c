/* SPDX-License-Identifier: MIT */
#include "dwarf/function.h"

#include <stdio.h>

#include "dwarf/name.h"
#include "support/dwarfwriter.h"
#include "support/test.h"

/* Abbreviations that most tests use. */
enum {
    UNIT = 1,      /* low_pc, language */
    FUNCTION,      /* name, low_pc, high_pc as a size of 4 bytes; children */
    INLINED,       /* origin, low_pc, size, call file, call line; children */
    ABSTRACT,      /* name, decl line; children */
    STRUCTURE,     /* name, sibling; children */
    SPACE,         /* a namespace: name; children */
    SPACE_UNNAMED, /* children */
    DECLARATION,   /* name */
    DEFINITION,    /* specification, low_pc, size */
    INLINED_BARE,  /* origin; children, no addresses */
    BLOCK,         /* children */
    STRUCTURE_LONG /* name, no sibling; children */
};

struct walked {
    struct test_dwarf w;
    struct cairn_dwarf d;
    struct cairn_dwarf_units units;
    struct cairn_dwarf_functions f;
    struct cairn_err err;
    int code;
};

static void put_abbrevs(struct test_dwarf *w)
{
    test_dwarf_abbrev(w, UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_LANGUAGE, CAIRN_DW_FORM_DATA1, 0);
    test_dwarf_abbrev(w, FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, INLINED, CAIRN_DW_TAG_INLINED_SUBROUTINE, true,
                      CAIRN_DW_AT_ABSTRACT_ORIGIN, CAIRN_DW_FORM_REF4, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4,
                      CAIRN_DW_AT_CALL_FILE, CAIRN_DW_FORM_DATA1, CAIRN_DW_AT_CALL_LINE,
                      CAIRN_DW_FORM_UDATA, 0);
    test_dwarf_abbrev(w, ABSTRACT, CAIRN_DW_TAG_SUBPROGRAM, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_DECL_LINE, CAIRN_DW_FORM_DATA2, 0);
    test_dwarf_abbrev(w, STRUCTURE, CAIRN_DW_TAG_STRUCTURE_TYPE, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_SIBLING, CAIRN_DW_FORM_REF4, 0);
    test_dwarf_abbrev(w, SPACE, CAIRN_DW_TAG_NAMESPACE, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, 0);
    test_dwarf_abbrev(w, SPACE_UNNAMED, CAIRN_DW_TAG_NAMESPACE, true, 0);
    test_dwarf_abbrev(w, DECLARATION, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, 0);
    test_dwarf_abbrev(w, DEFINITION, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_SPECIFICATION,
                      CAIRN_DW_FORM_REF4, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, INLINED_BARE, CAIRN_DW_TAG_INLINED_SUBROUTINE, true,
                      CAIRN_DW_AT_ABSTRACT_ORIGIN, CAIRN_DW_FORM_REF4, 0);
    test_dwarf_abbrev(w, BLOCK, CAIRN_DW_TAG_LEXICAL_BLOCK, true, 0);
    test_dwarf_abbrev(w, STRUCTURE_LONG, CAIRN_DW_TAG_STRUCTURE_TYPE, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, 0);
}

static struct test_dwarf begin(unsigned language)
{
    struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
    put_abbrevs(&w);
    test_dwarf_unit_begin(&w);
    test_dwarf_uleb(&w.info, UNIT);
    test_dwarf_addr(&w, &w.info, 0);
    test_dwarf_u(&w, &w.info, language, 1);
    return w;
}

static void end_children(struct test_dwarf *w)
{
    test_dwarf_u(w, &w->info, 0, 1);
}

static uint32_t put_function(struct test_dwarf *w, const char *name, uint64_t low, uint32_t size)
{
    uint32_t off = (uint32_t)w->info.n;
    test_dwarf_uleb(&w->info, FUNCTION);
    test_dwarf_str(&w->info, name);
    test_dwarf_addr(w, &w->info, low);
    test_dwarf_u(w, &w->info, size, 4);
    return off;
}

static void put_inlined(struct test_dwarf *w, uint32_t origin, uint64_t low, uint32_t size,
                        uint32_t call_line)
{
    test_dwarf_uleb(&w->info, INLINED);
    test_dwarf_u(w, &w->info, origin, 4);
    test_dwarf_addr(w, &w->info, low);
    test_dwarf_u(w, &w->info, size, 4);
    test_dwarf_u(w, &w->info, 7, 1);
    test_dwarf_uleb(&w->info, call_line);
}

static uint32_t put_abstract(struct test_dwarf *w, const char *name, uint16_t line)
{
    uint32_t off = (uint32_t)w->info.n;
    test_dwarf_uleb(&w->info, ABSTRACT);
    test_dwarf_str(&w->info, name);
    test_dwarf_u(w, &w->info, line, 2);
    end_children(w);
    return off;
}

/* Ends the unit and walks it. */
static void walk(struct walked *t)
{
    end_children(&t->w);
    test_dwarf_unit_end(&t->w);
    t->d = test_dwarf_sections(&t->w);
    t->f = (struct cairn_dwarf_functions){0};
    assert_ok(cairn_dwarf_units_init(&t->units, &t->d, &t->err), t->err);
    assert_ok(cairn_dwarf_units_read_all(&t->units, &t->err), t->err);
    assert_true(t->units.n_sorted >= 1);
    t->code = cairn_dwarf_unit_open(&t->units, t->units.sorted[0], &t->err);
    if (t->code == CAIRN_OK)
        t->code = cairn_dwarf_functions_read(&t->d, t->units.sorted[0], &t->f, &t->err);
}

static void done(struct walked *t)
{
    cairn_dwarf_functions_done(&t->f);
    cairn_dwarf_units_done(&t->units);
}

static void assert_interval(const struct walked *t, size_t i, uint32_t low, uint32_t high,
                            uint32_t node)
{
    assert_true(i < t->f.n_intervals);
    assert_int_equal(t->f.intervals[i].low, low);
    assert_int_equal(t->f.intervals[i].high, high);
    assert_int_equal(t->f.intervals[i].node, node);
}

/* The whole name of node `number`, as the DIEs say it. */
static void assert_named(struct walked *t, uint32_t number, const char *expected)
{
    struct cairn_dwarf_name name;
    struct cairn_buffer text = {0};
    assert_ok(cairn_dwarf_function_name(&t->units, t->f.nodes[number - 1].die, &name, &t->err),
              t->err);
    assert_ok(
        cairn_dwarf_qualify(&t->units, t->units.sorted[0], &t->f, name.declared, &text, &t->err),
        t->err);
    cairn_buffer_str(&text, name.name ? name.name : "(none)");
    assert_string_equal(cairn_buffer_text(&text), expected);
    cairn_buffer_done(&text);
}

static void inlined_functions_know_who_called_them_where(void **state)
{
    (void)state;
    struct walked t = {.w = begin(CAIRN_DW_LANG_C99)};
    uint32_t mid = put_abstract(&t.w, "mid", 30), leaf = put_abstract(&t.w, "leaf", 40);
    put_function(&t.w, "outer", 0x1010, 0x50);
    test_dwarf_uleb(&t.w.info, BLOCK);
    put_inlined(&t.w, mid, 0x1020, 0x20, 12);
    put_inlined(&t.w, leaf, 0x1030, 8, 31);
    for (int i = 0; i < 4; i++) /* leaf, mid, block, outer */
        end_children(&t.w);
    walk(&t);
    assert_ok(t.code, t.err);
    assert_int_equal(t.f.n_nodes, 3);
    assert_interval(&t, 0, 0x10, 0x60, 1);
    assert_interval(&t, 1, 0x20, 0x40, 2);
    assert_interval(&t, 2, 0x30, 0x38, 3);
    assert_int_equal(t.f.nodes[0].parent, 0);
    assert_int_equal(t.f.nodes[1].parent, 1);
    assert_int_equal(t.f.nodes[2].parent, 2);
    assert_int_equal(t.f.nodes[2].call_file, 7);
    assert_int_equal(t.f.nodes[2].call_line, 31);
    assert_named(&t, 1, "outer");
    assert_named(&t, 2, "mid");
    assert_named(&t, 3, "leaf");
    done(&t);
}

static void an_inlined_function_without_code_still_links_its_callees(void **state)
{
    (void)state;
    struct walked t = {.w = begin(CAIRN_DW_LANG_C99)};
    uint32_t mid = put_abstract(&t.w, "mid", 30), leaf = put_abstract(&t.w, "leaf", 40);
    put_function(&t.w, "outer", 0x1010, 0x50);
    test_dwarf_uleb(&t.w.info, INLINED_BARE);
    test_dwarf_u(&t.w, &t.w.info, mid, 4);
    put_inlined(&t.w, leaf, 0x1030, 8, 31);
    for (int i = 0; i < 3; i++)
        end_children(&t.w);
    walk(&t);
    assert_ok(t.code, t.err);
    assert_int_equal(t.f.n_nodes, 3);
    assert_int_equal(t.f.n_intervals, 2);
    assert_int_equal(t.f.nodes[2].parent, 2);
    assert_named(&t, 2, "mid");
    done(&t);
}

/* GCC: the body of a closure in a structure in a block of the function that made it. */
static void bodies_inside_types_inside_functions_are_found(void **state)
{
    (void)state;
    struct walked t = {.w = begin(CAIRN_DW_LANG_C_PLUS_PLUS_14)};
    put_function(&t.w, "outer", 0x1010, 0x10);
    test_dwarf_uleb(&t.w.info, BLOCK);
    test_dwarf_uleb(&t.w.info, STRUCTURE);
    test_dwarf_str(&t.w.info, "<lambda()>");
    size_t sibling = t.w.info.n;
    test_dwarf_u(&t.w, &t.w.info, 0, 4);
    put_function(&t.w, "operator()", 0x1800, 0x20);
    end_children(&t.w);
    end_children(&t.w);
    test_dwarf_patch(&t.w, &t.w.info, sibling, t.w.info.n, 4);
    end_children(&t.w);
    end_children(&t.w);
    walk(&t);
    assert_ok(t.code, t.err);
    assert_int_equal(t.f.n_nodes, 2);
    assert_interval(&t, 1, 0x800, 0x820, 2);
    assert_int_equal(t.f.nodes[1].parent, 0);
    assert_named(&t, 2, "outer::<lambda()>::operator()");
    done(&t);
}

static void names_are_qualified_by_namespaces_and_types(void **state)
{
    (void)state;
    struct walked t = {.w = begin(CAIRN_DW_LANG_C_PLUS_PLUS_11)};
    test_dwarf_uleb(&t.w.info, SPACE);
    test_dwarf_str(&t.w.info, "app");
    test_dwarf_uleb(&t.w.info, SPACE_UNNAMED);
    test_dwarf_uleb(&t.w.info, STRUCTURE); /* skipped by its sibling, entered for the name */
    test_dwarf_str(&t.w.info, "Box");
    size_t sibling = t.w.info.n;
    test_dwarf_u(&t.w, &t.w.info, 0, 4);
    test_dwarf_uleb(&t.w.info, STRUCTURE_LONG);
    test_dwarf_str(&t.w.info, "Inner");
    uint32_t declared = (uint32_t)t.w.info.n;
    test_dwarf_uleb(&t.w.info, DECLARATION);
    test_dwarf_str(&t.w.info, "get");
    end_children(&t.w);
    end_children(&t.w);
    test_dwarf_patch(&t.w, &t.w.info, sibling, t.w.info.n, 4);
    put_function(&t.w, "local", 0x1100, 0x10);
    end_children(&t.w);
    end_children(&t.w);
    end_children(&t.w);
    test_dwarf_uleb(&t.w.info, DEFINITION);
    test_dwarf_u(&t.w, &t.w.info, declared, 4);
    test_dwarf_addr(&t.w, &t.w.info, 0x1200);
    test_dwarf_u(&t.w, &t.w.info, 0x10, 4);
    walk(&t);
    assert_ok(t.code, t.err);
    assert_int_equal(t.f.n_nodes, 2);
    assert_named(&t, 1, "app::(anonymous namespace)::local");
    assert_named(&t, 2, "app::(anonymous namespace)::Box::Inner::get");
    done(&t);
}

static void nothing_is_qualified_in_c(void **state)
{
    (void)state;
    struct walked t = {.w = begin(CAIRN_DW_LANG_C11)};
    test_dwarf_uleb(&t.w.info, SPACE);
    test_dwarf_str(&t.w.info, "app");
    put_function(&t.w, "f", 0x1100, 0x10);
    end_children(&t.w);
    end_children(&t.w);
    walk(&t);
    assert_ok(t.code, t.err);
    assert_named(&t, 1, "f");
    done(&t);
}

static void origins_in_a_circle_end(void **state)
{
    (void)state;
    struct walked t = {.w = begin(CAIRN_DW_LANG_C99)};
    uint32_t self = (uint32_t)t.w.info.n;
    test_dwarf_uleb(&t.w.info, DEFINITION);
    test_dwarf_u(&t.w, &t.w.info, self, 4);
    test_dwarf_addr(&t.w, &t.w.info, 0x1200);
    test_dwarf_u(&t.w, &t.w.info, 0x10, 4);
    walk(&t);
    assert_ok(t.code, t.err);
    assert_named(&t, 1, "(none)");
    done(&t);
}

static void code_that_the_linker_threw_away_has_no_functions(void **state)
{
    (void)state;
    static const uint64_t tombstones[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    struct walked t = {.w = begin(CAIRN_DW_LANG_C99)};
    for (size_t i = 0; i < sizeof tombstones / sizeof *tombstones; i++) {
        put_function(&t.w, "gone", tombstones[i], 0x2000);
        end_children(&t.w);
    }
    put_function(&t.w, "here", 0x1000, 0x10);
    end_children(&t.w);
    walk(&t);
    assert_ok(t.code, t.err);
    assert_int_equal(t.f.n_nodes, 1);
    assert_named(&t, 1, "here");
    done(&t);
}

static void five_hundred_and_twelve_levels_are_the_limit(void **state)
{
    (void)state;
    for (unsigned levels = 511; levels <= 512; levels++) { /* and the root */
        struct walked t = {.w = begin(CAIRN_DW_LANG_C99)};
        put_function(&t.w, "before", 0x1000, 0x10);
        end_children(&t.w);
        for (unsigned i = 0; i < levels; i++)
            test_dwarf_uleb(&t.w.info, BLOCK);
        for (unsigned i = 0; i < levels; i++)
            end_children(&t.w);
        walk(&t);
        if (levels == 511)
            assert_ok(t.code, t.err);
        else
            assert_fails(t.code, CAIRN_E_LIMIT, t.err, "more than 512 levels");
        assert_int_equal(t.f.n_nodes, 1); /* what stands before the damage is kept */
        done(&t);
    }
}

static void an_unknown_abbreviation_is_damage(void **state)
{
    (void)state;
    struct walked t = {.w = begin(CAIRN_DW_LANG_C99)};
    put_function(&t.w, "before", 0x1000, 0x10);
    end_children(&t.w);
    size_t at = t.w.info.n;
    test_dwarf_uleb(&t.w.info, 99);
    walk(&t);
    char text[64];
    snprintf(text, sizeof text, ".debug_info at 0x%zx: damaged entry", at);
    assert_fails(t.code, CAIRN_E_FORMAT, t.err, text);
    assert_int_equal(t.f.n_nodes, 1);
    done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_functions_know_who_called_them_where),
        cmocka_unit_test(an_inlined_function_without_code_still_links_its_callees),
        cmocka_unit_test(bodies_inside_types_inside_functions_are_found),
        cmocka_unit_test(names_are_qualified_by_namespaces_and_types),
        cmocka_unit_test(nothing_is_qualified_in_c),
        cmocka_unit_test(origins_in_a_circle_end),
        cmocka_unit_test(code_that_the_linker_threw_away_has_no_functions),
        cmocka_unit_test(five_hundred_and_twelve_levels_are_the_limit),
        cmocka_unit_test(an_unknown_abbreviation_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
