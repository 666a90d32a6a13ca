/* SPDX-License-Identifier: MIT */
/* Units in .dwo and .dwp files, type units, and references into a supplementary file. */
#include "dwarf/split.h"

#include <stdio.h>

#include "dwarf/name.h"
#include "support/dwarfwriter.h"
#include "support/test.h"

enum { UNIT = 1, NAMESPACE, FUNCTION, TYPE };
enum { MODULE_LISTS = 0x10, STRINGS = 2 };

static const uint64_t first_id = 0x1234567812345678, second_id = 0x8765432187654320;

/* The module: a skeleton of each ID. Number n of .debug_addr is 0x1000 + 0x100 * n. */
static void put_module(struct test_dwarf *w, const uint64_t *ids, size_t n_ids)
{
    bool is_new = w->version >= 5;
    test_dwarf_abbrev(
        w, UNIT, is_new ? CAIRN_DW_TAG_SKELETON_UNIT : CAIRN_DW_TAG_COMPILE_UNIT, false,
        is_new ? CAIRN_DW_AT_DWO_NAME : CAIRN_DW_AT_GNU_DWO_NAME, CAIRN_DW_FORM_STRING,
        CAIRN_DW_AT_GNU_DWO_ID, CAIRN_DW_FORM_DATA8, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
        is_new ? CAIRN_DW_AT_ADDR_BASE : CAIRN_DW_AT_GNU_ADDR_BASE, CAIRN_DW_FORM_SEC_OFFSET,
        CAIRN_DW_AT_GNU_RANGES_BASE, CAIRN_DW_FORM_SEC_OFFSET, 0);
    for (size_t i = 0; i < n_ids; i++) {
        w->unit_type = CAIRN_DW_UT_SKELETON;
        w->signature = ids[i];
        test_dwarf_unit_begin(w);
        test_dwarf_uleb(&w->info, UNIT);
        test_dwarf_str(&w->info, "a.dwo");
        test_dwarf_u(w, &w->info, ids[i], 8);
        test_dwarf_addr(w, &w->info, 0);
        test_dwarf_off(w, &w->info, 8);
        test_dwarf_off(w, &w->info, MODULE_LISTS);
        test_dwarf_unit_end(w);
    }
    test_dwarf_u(w, &w->addr, 0, 8);
    for (unsigned n = 0; n < 4; n++)
        test_dwarf_addr(w, &w->addr, 0x1000 + 0x100 * n);
    for (unsigned n = 0; n < MODULE_LISTS; n++)
        test_dwarf_u(w, &w->ranges, 0, 1);
    test_dwarf_addr(w, &w->ranges, 0x1000);
    test_dwarf_addr(w, &w->ranges, 0x1020);
    test_dwarf_addr(w, &w->ranges, 0);
    test_dwarf_addr(w, &w->ranges, 0);
}

/* Strings of one unit, and its table of them; a namespace and a function. */
static void put_strings(struct test_dwarf *w, const char *scope, const char *function)
{
    const char *texts[STRINGS] = {scope, function};
    if (w->version >= 5)
        test_dwarf_u(w, &w->str_offsets, 0, 8);
    for (int i = 0; i < STRINGS; i++) {
        test_dwarf_off(w, &w->str_offsets, w->str.n);
        test_dwarf_str(&w->str, texts[i]);
    }
}

/* One list, [address `index`, + 0x20), with its header and table. */
static void put_rnglists(struct test_dwarf *w, unsigned index)
{
    if (w->version < 5)
        return;
    test_dwarf_u(w, &w->rnglists, 0, 4);
    test_dwarf_u(w, &w->rnglists, 5, 2);
    test_dwarf_u(w, &w->rnglists, 8, 2);
    test_dwarf_u(w, &w->rnglists, 1, 4);
    test_dwarf_u(w, &w->rnglists, 4, 4); /* of list 0, from here */
    test_dwarf_u(w, &w->rnglists, CAIRN_DW_RLE_STARTX_LENGTH, 1);
    test_dwarf_uleb(&w->rnglists, index);
    test_dwarf_uleb(&w->rnglists, 0x20);
    test_dwarf_u(w, &w->rnglists, CAIRN_DW_RLE_END_OF_LIST, 1);
}

/*
 * A split unit, appended to all sections of a .dwp (or the only one of a .dwo):
 *
 *     namespace SCOPE { FUNCTION: ranges of list 0, which begins at address number `index` }
 */
static struct cairn_dwarf_contribution put_split(struct test_dwarf *w, uint64_t id,
                                                 const char *scope, const char *function,
                                                 unsigned index)
{
    bool is_new = w->version >= 5;
    struct test_bytes *const parts[CAIRN_DWARF_N_PARTS] = {
        [CAIRN_DWARF_PART_INFO] = &w->info,
        [CAIRN_DWARF_PART_ABBREV] = &w->abbrev,
        [CAIRN_DWARF_PART_STR_OFFSETS] = &w->str_offsets,
        [CAIRN_DWARF_PART_RNGLISTS] = &w->rnglists,
    };
    struct cairn_dwarf_contribution c = {0};
    int text = is_new ? CAIRN_DW_FORM_STRX1 : CAIRN_DW_FORM_GNU_STR_INDEX;
    for (int i = 0; i < CAIRN_DWARF_N_PARTS; i++)
        c.part[i].off = parts[i] ? parts[i]->n : 0;
    test_dwarf_abbrev(w, UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_LANGUAGE,
                      CAIRN_DW_FORM_DATA1, CAIRN_DW_AT_GNU_DWO_ID, CAIRN_DW_FORM_DATA8, 0);
    test_dwarf_abbrev(w, NAMESPACE, CAIRN_DW_TAG_NAMESPACE, true, CAIRN_DW_AT_NAME, text, 0);
    test_dwarf_abbrev(w, FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_NAME, text,
                      CAIRN_DW_AT_RANGES,
                      is_new ? CAIRN_DW_FORM_RNGLISTX : CAIRN_DW_FORM_SEC_OFFSET, 0);
    w->unit_type = CAIRN_DW_UT_SPLIT_COMPILE;
    w->signature = id;
    test_dwarf_unit_begin(w);
    test_dwarf_uleb(&w->info, UNIT);
    test_dwarf_u(w, &w->info, CAIRN_DW_LANG_C_PLUS_PLUS, 1);
    test_dwarf_u(w, &w->info, id, 8);
    test_dwarf_uleb(&w->info, NAMESPACE);
    test_dwarf_uleb(&w->info, 0);
    test_dwarf_uleb(&w->info, FUNCTION);
    test_dwarf_uleb(&w->info, 1);
    if (is_new)
        test_dwarf_uleb(&w->info, 0);
    else
        test_dwarf_off(w, &w->info, 0);
    test_dwarf_u(w, &w->info, 0, 2);
    test_dwarf_unit_end(w);
    put_strings(w, scope, function);
    put_rnglists(w, index);
    for (int i = 0; i < CAIRN_DWARF_N_PARTS; i++)
        c.part[i].size = parts[i] ? parts[i]->n - c.part[i].off : 0;
    return c;
}

/* A module and the file that has its functions, both read as far as their headers. */
struct pair {
    struct test_dwarf module_bytes, split_bytes;
    struct cairn_dwarf module_d, split_d;
    struct cairn_dwarf_units module, split;
    struct cairn_dwarf_package package;
    struct test_bytes index;
    struct cairn_err err;
};

static void begin(struct pair *p, unsigned version, const uint64_t *ids, size_t n_ids)
{
    *p = (struct pair){.module_bytes = test_dwarf_of(version, false, 4, 8),
                       .split_bytes = test_dwarf_of(version, false, 4, 8)};
    put_module(&p->module_bytes, ids, n_ids);
}

static void finish(struct pair *p)
{
    p->module_d = test_dwarf_sections(&p->module_bytes);
    p->split_d = test_dwarf_sections(&p->split_bytes);
    p->split_d.is_dwo = true;
    p->split_d.addr = p->module_d.addr;
    p->split_d.ranges = p->module_d.ranges;
    assert_ok(cairn_dwarf_units_init(&p->module, &p->module_d, &p->err), p->err);
    assert_ok(cairn_dwarf_units_init(&p->split, &p->split_d, &p->err), p->err);
    assert_ok(cairn_dwarf_units_read_all(&p->module, &p->err), p->err);
    for (size_t i = 0; i < p->module.n; i++)
        assert_ok(cairn_dwarf_unit_open(&p->module, p->module.sorted[i], &p->err), p->err);
}

static void done(struct pair *p)
{
    cairn_dwarf_units_done(&p->module);
    cairn_dwarf_units_done(&p->split);
}

static int find(struct pair *p, size_t skeleton, struct cairn_dwarf_unit **ret_unit)
{
    return cairn_dwarf_split_find(&p->split, p->module.sorted[skeleton], ret_unit, &p->err);
}

/* Holds that the unit has one function of that name, and where it begins (from 0x1000). */
static void assert_function(struct pair *p, struct cairn_dwarf_unit *unit, const char *name,
                            uint32_t low)
{
    struct cairn_dwarf_functions f = {0};
    struct cairn_dwarf_name found;
    struct cairn_buffer text = {0};
    assert_ok(cairn_dwarf_functions_read(&p->split_d, unit, &f, &p->err), p->err);
    assert_int_equal(f.n_nodes, 1);
    assert_int_equal(f.n_intervals, 1);
    assert_int_equal(f.intervals[0].low, low);
    assert_int_equal(f.intervals[0].high, low + 0x20);
    assert_ok(cairn_dwarf_function_name(&p->split, f.nodes[0].die, &found, &p->err), p->err);
    assert_ok(cairn_dwarf_qualify(found.home, unit, &f, found.declared, &text, &p->err), p->err);
    cairn_buffer_str(&text, found.name);
    assert_string_equal(cairn_buffer_text(&text), name);
    cairn_buffer_done(&text);
    cairn_dwarf_functions_done(&f);
}

static void a_dwo_has_the_functions_of_its_skeleton(void **state)
{
    (void)state;
    for (unsigned version = 4; version <= 5; version++) {
        struct pair p;
        struct cairn_dwarf_unit *unit;
        begin(&p, version, &first_id, 1);
        put_split(&p.split_bytes, first_id, "app", "work", 2);
        finish(&p);
        assert_true(p.module.sorted[0]->is_split);
        assert_string_equal(p.module.sorted[0]->dwo_name, "a.dwo");
        assert_ok(find(&p, 0, &unit), p.err);
        assert_function(&p, unit, "app::work", version == 5 ? 0x200 : 0);
        done(&p);
    }
}

static void a_dwo_of_another_build_is_refused(void **state)
{
    (void)state;
    for (unsigned version = 4; version <= 5; version++) {
        struct pair p;
        struct cairn_dwarf_unit *unit;
        begin(&p, version, &first_id, 1);
        put_split(&p.split_bytes, second_id, "app", "work", 2);
        finish(&p);
        assert_fails(find(&p, 0, &unit), CAIRN_E_ARG, p.err, "0x8765432187654320");
        assert_contains(p.err.msg, "0x1234567812345678");
        done(&p);
    }
}

static void a_dwo_belongs_to_one_skeleton(void **state)
{
    (void)state;
    const uint64_t ids[] = {first_id, first_id};
    struct pair p;
    struct cairn_dwarf_unit *unit;
    begin(&p, 5, ids, 2);
    put_split(&p.split_bytes, first_id, "app", "work", 2);
    finish(&p);
    assert_ok(find(&p, 0, &unit), p.err);
    assert_fails(find(&p, 1, &unit), CAIRN_E_FORMAT, p.err, "two units");
    assert_ok(find(&p, 0, &unit), p.err);
    done(&p);
}

static void a_dwo_without_units_is_damaged(void **state)
{
    (void)state;
    struct pair p;
    struct cairn_dwarf_unit *unit;
    begin(&p, 5, &first_id, 1);
    finish(&p);
    assert_fails(find(&p, 0, &unit), CAIRN_E_FORMAT, p.err, "no unit");
    done(&p);
}

/* The index of a .dwp over both units, in slots of their own. */
static void put_index(struct pair *p, const uint64_t *ids,
                      const struct cairn_dwarf_contribution *units, uint32_t n)
{
    static const uint32_t columns[] = {CAIRN_DW_SECT_INFO, CAIRN_DW_SECT_ABBREV,
                                       CAIRN_DW_SECT_STR_OFFSETS, CAIRN_DW_SECT_RNGLISTS};
    static const int parts[] = {CAIRN_DWARF_PART_INFO, CAIRN_DWARF_PART_ABBREV,
                                CAIRN_DWARF_PART_STR_OFFSETS, CAIRN_DWARF_PART_RNGLISTS};
    const struct test_dwarf *w = &p->split_bytes;
    struct test_bytes *b = &p->index;
    test_dwarf_u(w, b, w->version >= 5 ? 5 : 2, 4);
    test_dwarf_u(w, b, 4, 4);
    test_dwarf_u(w, b, n, 4);
    test_dwarf_u(w, b, 16, 4);
    for (uint32_t slot = 0; slot < 16; slot++) {
        uint64_t id = 0;
        for (uint32_t i = 0; i < n; i++)
            id = (ids[i] & 15) == slot ? ids[i] : id;
        test_dwarf_u(w, b, id, 8);
    }
    for (uint32_t slot = 0; slot < 16; slot++) {
        uint32_t row = 0;
        for (uint32_t i = 0; i < n; i++)
            row = (ids[i] & 15) == slot ? i + 1 : row;
        test_dwarf_u(w, b, row, 4);
    }
    for (int i = 0; i < 4; i++)
        test_dwarf_u(w, b, columns[i], 4);
    for (uint32_t i = 0; i < 4 * n; i++)
        test_dwarf_u(w, b, units[i / 4].part[parts[i % 4]].off, 4);
    for (uint32_t i = 0; i < 4 * n; i++)
        test_dwarf_u(w, b, units[i / 4].part[parts[i % 4]].size, 4);
    assert_ok(cairn_dwarf_split_index_read((struct cairn_span){b->data, b->n}, false,
                                           &p->package.units, &p->err),
              p->err);
    p->split.package = &p->package;
}

static const uint64_t both_ids[] = {first_id, second_id};

static void a_package_has_the_functions_of_all(void **state)
{
    (void)state;
    for (unsigned version = 4; version <= 5; version++) {
        struct pair p;
        struct cairn_dwarf_unit *unit;
        begin(&p, version, both_ids, 2);
        const struct cairn_dwarf_contribution units[] = {
            put_split(&p.split_bytes, first_id, "app", "work", 1),
            put_split(&p.split_bytes, second_id, "lib", "rest", 3)};
        finish(&p);
        put_index(&p, both_ids, units, 2);
        assert_ok(find(&p, 1, &unit), p.err);
        assert_function(&p, unit, "lib::rest", version == 5 ? 0x300 : 0);
        assert_ok(find(&p, 0, &unit), p.err);
        assert_function(&p, unit, "app::work", version == 5 ? 0x100 : 0);
        assert_ok(cairn_dwarf_units_prepare(&p.split, &p.err), p.err);
        done(&p);
    }
}

static void a_package_may_lack_a_unit(void **state)
{
    (void)state;
    struct pair p;
    struct cairn_dwarf_unit *unit;
    begin(&p, 5, both_ids, 2);
    const struct cairn_dwarf_contribution first =
        put_split(&p.split_bytes, first_id, "app", "work", 1);
    finish(&p);
    put_index(&p, both_ids, &first, 1);
    assert_fails(find(&p, 1, &unit), CAIRN_E_MISSING, p.err, "0x8765432187654320");
    done(&p);
}

/* Contributions that lie outside of their sections, or where there is no unit, or where another
 * one is: each costs its unit, not the one that is sound. */
static void contributions_that_lie_cost_their_unit(void **state)
{
    static const struct {
        int part;
        uint64_t off, size;
    } lies[] = {
        {CAIRN_DWARF_PART_INFO, 0xfffffff0, 0x20},
        {CAIRN_DWARF_PART_INFO, 0xffffffff, 0xffffffff},
        {CAIRN_DWARF_PART_INFO, 0, 0},
        {CAIRN_DWARF_PART_INFO, 0, 8},  /* smaller than the unit in it */
        {CAIRN_DWARF_PART_INFO, 1, 64}, /* between headers */
        {CAIRN_DWARF_PART_INFO, 0, 64}, /* overlaps the other unit */
        {CAIRN_DWARF_PART_ABBREV, 0xffffffff, 1},
        {CAIRN_DWARF_PART_ABBREV, 0, 0xffffffff},
        {CAIRN_DWARF_PART_ABBREV, 3, 1}, /* inside the other table */
        {CAIRN_DWARF_PART_STR_OFFSETS, 0xfffffff0, 8},
        {CAIRN_DWARF_PART_RNGLISTS, 0xfffffff0, 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct pair p;
        struct cairn_dwarf_unit *unit;
        begin(&p, 5, both_ids, 2);
        struct cairn_dwarf_contribution units[] = {
            put_split(&p.split_bytes, first_id, "app", "work", 1),
            put_split(&p.split_bytes, second_id, "lib", "rest", 3)};
        finish(&p);
        units[1].part[lies[i].part].off = lies[i].off;
        units[1].part[lies[i].part].size = lies[i].size;
        put_index(&p, both_ids, units, 2);
        assert_true(find(&p, 1, &unit) < 0);
        assert_true(p.err.code == CAIRN_E_MISSING || p.err.code == CAIRN_E_FORMAT);
        assert_ok(find(&p, 0, &unit), p.err);
        assert_function(&p, unit, "app::work", 0x100);
        assert_ok(cairn_dwarf_units_prepare(&p.split, &p.err), p.err);
        done(&p);
    }
}

/* A type unit with `struct Table`, and where its type is said to be. */
static void put_type(struct test_dwarf *w, uint64_t signature, uint64_t type_off)
{
    size_t start = w->info.n;
    w->unit_type = CAIRN_DW_UT_TYPE;
    w->signature = signature;
    w->type_off = type_off;
    test_dwarf_unit_begin(w);
    size_t die = w->info.n;
    test_dwarf_uleb(&w->info, TYPE + 1);
    test_dwarf_u(w, &w->info, CAIRN_DW_LANG_C_PLUS_PLUS, 1);
    if (!type_off) /* the one that is right */
        test_dwarf_patch(w, &w->info, die - w->offset_size, w->info.n - start, w->offset_size);
    test_dwarf_uleb(&w->info, TYPE);
    test_dwarf_str(&w->info, "Table");
    test_dwarf_u(w, &w->info, 0, 1);
    test_dwarf_unit_end(w);
}

/* struct (signature) { get }, the struct being described by a type unit alone. */
static void put_user_of_type(struct test_dwarf *w, uint64_t signature)
{
    test_dwarf_abbrev(w, UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_LANGUAGE,
                      CAIRN_DW_FORM_DATA1, 0);
    test_dwarf_abbrev(w, NAMESPACE, CAIRN_DW_TAG_STRUCTURE_TYPE, true, CAIRN_DW_AT_SIGNATURE,
                      CAIRN_DW_FORM_REF_SIG8, 0);
    test_dwarf_abbrev(w, FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, TYPE, CAIRN_DW_TAG_STRUCTURE_TYPE, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, 0);
    test_dwarf_abbrev(w, TYPE + 1, CAIRN_DW_TAG_TYPE_UNIT, true, CAIRN_DW_AT_LANGUAGE,
                      CAIRN_DW_FORM_DATA1, 0);
    w->unit_type = 0;
    test_dwarf_unit_begin(w);
    test_dwarf_uleb(&w->info, UNIT);
    test_dwarf_u(w, &w->info, CAIRN_DW_LANG_C_PLUS_PLUS, 1);
    test_dwarf_uleb(&w->info, NAMESPACE);
    test_dwarf_u(w, &w->info, signature, 8);
    test_dwarf_uleb(&w->info, FUNCTION);
    test_dwarf_str(&w->info, "get");
    test_dwarf_addr(w, &w->info, 0x1000);
    test_dwarf_u(w, &w->info, 0x20, 4);
    test_dwarf_u(w, &w->info, 0, 2);
    test_dwarf_unit_end(w);
}

/* Reads the only function of the first unit, its home being p->split. */
static void assert_first(struct pair *p, const char *name)
{
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_at(&p->split, 0);
    assert_non_null(unit);
    assert_ok(cairn_dwarf_unit_open(&p->split, unit, &p->err), p->err);
    assert_function(p, unit, name, 0);
}

static void a_type_unit_names_the_scope(void **state)
{
    (void)state;
    struct pair p = {.split_bytes = test_dwarf_of(5, false, 4, 8)};
    put_user_of_type(&p.split_bytes, first_id);
    put_type(&p.split_bytes, second_id, 1);
    put_type(&p.split_bytes, first_id, 0);
    p.split_d = test_dwarf_sections(&p.split_bytes);
    assert_ok(cairn_dwarf_units_init(&p.split, &p.split_d, &p.err), p.err);
    assert_first(&p, "Table::get");
    cairn_dwarf_units_done(&p.split);
}

static void version_4_has_a_section_of_types(void **state)
{
    (void)state;
    struct pair p = {.split_bytes = test_dwarf_of(4, false, 4, 8)};
    struct test_dwarf types = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_units type_units;
    put_user_of_type(&p.split_bytes, first_id);
    put_type(&types, first_id, 0);
    p.split_d = test_dwarf_sections(&p.split_bytes);
    struct cairn_dwarf types_d = p.split_d;
    types_d.info = test_dwarf_sections(&types).info;
    types_d.is_types = true;
    assert_ok(cairn_dwarf_units_init(&p.split, &p.split_d, &p.err), p.err);
    assert_ok(cairn_dwarf_units_init(&type_units, &types_d, &p.err), p.err);
    p.split.types = &type_units;
    assert_ok(cairn_dwarf_units_prepare(&type_units, &p.err), p.err);
    assert_first(&p, "Table::get");
    cairn_dwarf_units_done(&p.split);
    cairn_dwarf_units_done(&type_units);
}

/* A type that is not there, or that lies outside of its unit, leaves the scope without a name. */
static void types_that_are_nowhere_have_no_name(void **state)
{
    static const uint64_t wrong[] = {1, 0x17, 0x100, 0xffffffff};
    (void)state;
    for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        struct pair p = {.split_bytes = test_dwarf_of(5, false, 4, 8)};
        put_user_of_type(&p.split_bytes, first_id);
        if (i < sizeof wrong / sizeof *wrong)
            put_type(&p.split_bytes, first_id, wrong[i]);
        p.split_d = test_dwarf_sections(&p.split_bytes);
        assert_ok(cairn_dwarf_units_init(&p.split, &p.split_d, &p.err), p.err);
        assert_first(&p, "(anonymous struct)::get");
        cairn_dwarf_units_done(&p.split);
    }
}

/* A function whose name is in a supplementary file: at `off` there, or its name as a string. */
static void put_user_of_sup(struct test_dwarf *w, int form, uint64_t off, int name_form)
{
    test_dwarf_abbrev(w, UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, 0);
    test_dwarf_abbrev(w, FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_ABSTRACT_ORIGIN,
                      form, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC,
                      CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, TYPE, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_NAME, name_form, 0);
    test_dwarf_unit_begin(w);
    test_dwarf_uleb(&w->info, UNIT);
    test_dwarf_uleb(&w->info, FUNCTION);
    test_dwarf_u(w, &w->info, off, form == CAIRN_DW_FORM_REF_SUP8 ? 8 : 4);
    test_dwarf_addr(w, &w->info, 0x1000);
    test_dwarf_u(w, &w->info, 0x20, 4);
    test_dwarf_u(w, &w->info, 0, 1);
    test_dwarf_unit_end(w);
}

/* The supplementary file: a function called by its string 5, or one that refers on to itself. */
static size_t put_sup(struct test_dwarf *w, bool loops)
{
    test_dwarf_abbrev(w, UNIT, CAIRN_DW_TAG_PARTIAL_UNIT, true, 0);
    test_dwarf_abbrev(w, FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRP, 0);
    test_dwarf_abbrev(w, TYPE, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_ABSTRACT_ORIGIN,
                      CAIRN_DW_FORM_GNU_REF_ALT, 0);
    test_dwarf_unit_begin(w);
    test_dwarf_uleb(&w->info, UNIT);
    size_t die = w->info.n;
    test_dwarf_uleb(&w->info, loops ? TYPE : FUNCTION);
    test_dwarf_off(w, &w->info, loops ? die : 5);
    test_dwarf_u(w, &w->info, 0, 1);
    test_dwarf_unit_end(w);
    test_dwarf_str(&w->str, "four");
    test_dwarf_str(&w->str, "common");
    return die;
}

static const char *name_through_sup(int form, bool has_sup, bool loops, uint64_t shift)
{
    struct pair p = {.split_bytes = test_dwarf_of(4, false, 4, 8)};
    struct test_dwarf sup = test_dwarf_of(4, false, 4, 8);
    struct cairn_dwarf_units sup_units;
    struct cairn_dwarf_functions f = {0};
    struct cairn_dwarf_name name;
    size_t die = put_sup(&sup, loops);
    put_user_of_sup(&p.split_bytes, form, die + shift, CAIRN_DW_FORM_GNU_STRP_ALT);
    struct cairn_dwarf sup_d = test_dwarf_sections(&sup);
    p.split_d = test_dwarf_sections(&p.split_bytes);
    p.split_d.alt_str = sup_d.str;
    assert_ok(cairn_dwarf_units_init(&p.split, &p.split_d, &p.err), p.err);
    assert_ok(cairn_dwarf_units_init(&sup_units, &sup_d, &p.err), p.err);
    if (has_sup)
        p.split.alt = &sup_units;
    if (loops)
        sup_units.alt = &sup_units;
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_at(&p.split, 0);
    assert_ok(cairn_dwarf_unit_open(&p.split, unit, &p.err), p.err);
    assert_ok(cairn_dwarf_functions_read(&p.split_d, unit, &f, &p.err), p.err);
    assert_int_equal(f.n_nodes, 1);
    assert_ok(cairn_dwarf_function_name(&p.split, f.nodes[0].die, &name, &p.err), p.err);
    static char text[32];
    snprintf(text, sizeof text, "%s", name.name ? name.name : "none");
    cairn_dwarf_functions_done(&f);
    cairn_dwarf_units_done(&p.split);
    cairn_dwarf_units_done(&sup_units);
    return text;
}

static void names_come_out_of_a_supplementary_file(void **state)
{
    static const int forms[] = {CAIRN_DW_FORM_GNU_REF_ALT, CAIRN_DW_FORM_REF_SUP4,
                                CAIRN_DW_FORM_REF_SUP8};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(name_through_sup(forms[i], true, false, 0), "common");
        assert_string_equal(name_through_sup(forms[i], false, false, 0), "none");
        assert_string_equal(name_through_sup(forms[i], true, false, 1), "none");
        assert_string_equal(name_through_sup(forms[i], true, false, 0xf0000000), "none");
    }
}

static void supplementary_files_that_refer_in_circles_have_no_name(void **state)
{
    (void)state;
    assert_string_equal(name_through_sup(CAIRN_DW_FORM_GNU_REF_ALT, true, true, 0), "none");
}

static void strings_come_out_of_a_supplementary_file(void **state)
{
    static const int forms[] = {CAIRN_DW_FORM_GNU_STRP_ALT, CAIRN_DW_FORM_STRP_SUP};
    static const char strings[] = "four\0common";
    (void)state;
    struct cairn_dwarf d = {.alt_str = {(const uint8_t *)strings, sizeof strings}};
    struct cairn_dwarf_unit unit = {0};
    for (int i = 0; i < 2; i++) {
        uint16_t form = (uint16_t)forms[i];
        assert_string_equal(cairn_dwarf_string(&d, &unit, d.info, form, 5), "common");
        assert_null(cairn_dwarf_string(&d, &unit, d.info, form, sizeof strings));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dwo_has_the_functions_of_its_skeleton),
        cmocka_unit_test(a_dwo_of_another_build_is_refused),
        cmocka_unit_test(a_dwo_belongs_to_one_skeleton),
        cmocka_unit_test(a_dwo_without_units_is_damaged),
        cmocka_unit_test(a_package_has_the_functions_of_all),
        cmocka_unit_test(a_package_may_lack_a_unit),
        cmocka_unit_test(contributions_that_lie_cost_their_unit),
        cmocka_unit_test(a_type_unit_names_the_scope),
        cmocka_unit_test(version_4_has_a_section_of_types),
        cmocka_unit_test(types_that_are_nowhere_have_no_name),
        cmocka_unit_test(names_come_out_of_a_supplementary_file),
        cmocka_unit_test(supplementary_files_that_refer_in_circles_have_no_name),
        cmocka_unit_test(strings_come_out_of_a_supplementary_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
