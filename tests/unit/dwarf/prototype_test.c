/* SPDX-License-Identifier: MIT */
#include "dwarf/prototype.h"

#include "support/dwarfwriter.h"
#include "support/test.h"

enum { UNIT = 1, FUNCTION, PARAMETER, BASE, POINTER, QUALIFIER, TYPEDEF, ENUM, ENUMERATOR, RECORD };
enum { AT = 0x1100, SIZE = 0x20 };

static void put_abbrevs(struct test_dwarf *w)
{
    test_dwarf_abbrev(w, UNIT, CAIRN_DW_TAG_COMPILE_UNIT, true, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_LANGUAGE, CAIRN_DW_FORM_DATA1, 0);
    test_dwarf_abbrev(w, FUNCTION, CAIRN_DW_TAG_SUBPROGRAM, true, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_TYPE, CAIRN_DW_FORM_REF4,
                      CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC,
                      CAIRN_DW_FORM_DATA4, 0);
    test_dwarf_abbrev(w, PARAMETER, CAIRN_DW_TAG_FORMAL_PARAMETER, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_TYPE, CAIRN_DW_FORM_REF4, 0);
    test_dwarf_abbrev(w, BASE, CAIRN_DW_TAG_BASE_TYPE, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_BYTE_SIZE, CAIRN_DW_FORM_DATA1,
                      CAIRN_DW_AT_ENCODING, CAIRN_DW_FORM_DATA1, 0);
    test_dwarf_abbrev(w, POINTER, CAIRN_DW_TAG_POINTER_TYPE, false, CAIRN_DW_AT_TYPE,
                      CAIRN_DW_FORM_REF4, 0);
    test_dwarf_abbrev(w, QUALIFIER, CAIRN_DW_TAG_CONST_TYPE, false, CAIRN_DW_AT_TYPE,
                      CAIRN_DW_FORM_REF4, 0);
    test_dwarf_abbrev(w, TYPEDEF, CAIRN_DW_TAG_TYPEDEF, false, CAIRN_DW_AT_TYPE, CAIRN_DW_FORM_REF4,
                      0);
    test_dwarf_abbrev(w, ENUM, CAIRN_DW_TAG_ENUMERATION_TYPE, true, CAIRN_DW_AT_BYTE_SIZE,
                      CAIRN_DW_FORM_DATA1, 0);
    test_dwarf_abbrev(w, ENUMERATOR, CAIRN_DW_TAG_ENUMERATOR, false, CAIRN_DW_AT_NAME,
                      CAIRN_DW_FORM_STRING, CAIRN_DW_AT_CONST_VALUE, CAIRN_DW_FORM_SDATA, 0);
    test_dwarf_abbrev(w, RECORD, CAIRN_DW_TAG_STRUCTURE_TYPE, false, CAIRN_DW_AT_BYTE_SIZE,
                      CAIRN_DW_FORM_DATA1, 0);
}

static uint32_t here(const struct test_dwarf *w)
{
    return (uint32_t)(w->info.n - w->unit_start);
}

static uint32_t put_type(struct test_dwarf *w, unsigned code, uint64_t to)
{
    const uint32_t off = here(w);
    test_dwarf_uleb(&w->info, code);
    test_dwarf_u(w, &w->info, to, 4);
    return off;
}

static uint32_t put_base(struct test_dwarf *w, const char *name, unsigned bytes, unsigned encoding)
{
    const uint32_t off = here(w);
    test_dwarf_uleb(&w->info, BASE);
    test_dwarf_str(&w->info, name);
    test_dwarf_u(w, &w->info, bytes, 1);
    test_dwarf_u(w, &w->info, encoding, 1);
    return off;
}

static uint32_t put_enum(struct test_dwarf *w)
{
    const uint32_t off = here(w);
    test_dwarf_uleb(&w->info, ENUM);
    test_dwarf_u(w, &w->info, 4, 1);
    for (int i = 0; i < 2; i++) {
        test_dwarf_uleb(&w->info, ENUMERATOR);
        test_dwarf_str(&w->info, i ? "BACK" : "FAST");
        test_dwarf_sleb(&w->info, i ? -2 : 4);
    }
    test_dwarf_u(w, &w->info, 0, 1);
    return off;
}

static void put_parameter(struct test_dwarf *w, const char *name, uint32_t type)
{
    test_dwarf_uleb(&w->info, PARAMETER);
    test_dwarf_str(&w->info, name);
    test_dwarf_u(w, &w->info, type, 4);
}

/* long f(const char *text, enum mode how, record by_value, loop odd) */
static struct test_dwarf make(void)
{
    struct test_dwarf w = test_dwarf_of(5, false, 4, 8);
    put_abbrevs(&w);
    test_dwarf_unit_begin(&w);
    test_dwarf_uleb(&w.info, UNIT);
    test_dwarf_addr(&w, &w.info, 0x1000);
    test_dwarf_u(&w, &w.info, CAIRN_DW_LANG_C11, 1);
    const uint32_t integer = put_base(&w, "long", 8, CAIRN_DW_ATE_SIGNED);
    const uint32_t letter = put_base(&w, "char", 1, CAIRN_DW_ATE_SIGNED_CHAR);
    const uint32_t text = put_type(&w, POINTER, put_type(&w, QUALIFIER, letter));
    const uint32_t how = put_enum(&w), loop = put_type(&w, TYPEDEF, here(&w));
    const uint32_t record = here(&w);
    test_dwarf_uleb(&w.info, RECORD);
    test_dwarf_u(&w, &w.info, 24, 1);
    test_dwarf_uleb(&w.info, FUNCTION);
    test_dwarf_str(&w.info, "f");
    test_dwarf_u(&w, &w.info, integer, 4);
    test_dwarf_addr(&w, &w.info, AT);
    test_dwarf_u(&w, &w.info, SIZE, 4);
    put_parameter(&w, "text", text);
    put_parameter(&w, "how", how);
    put_parameter(&w, "by_value", record);
    put_parameter(&w, "odd", loop);
    test_dwarf_u(&w, &w.info, 0, 1);
    test_dwarf_u(&w, &w.info, 0, 1);
    test_dwarf_unit_end(&w);
    return w;
}

struct names {
    size_t n;
    uint64_t sum;
};

static int note(void *ctx, const char *name, uint64_t value)
{
    struct names *names = ctx;
    names->n += *name != 0;
    names->sum += value;
    return 0;
}

/* All that a file can be asked. False: the function is not there. */
static bool read_all(const struct cairn_dwarf *d, struct cairn_dwarf_prototype *ret_prototype,
                     struct names *names)
{
    struct cairn_dwarf_units units;
    uint64_t die;
    bool found = false;
    if (cairn_dwarf_units_init(&units, d, NULL) < 0)
        return false;
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_find(&units, 0x10);
    if (unit && cairn_dwarf_unit_open(&units, unit, NULL) == CAIRN_OK &&
        cairn_dwarf_subprogram_at(d, unit, AT, &die)) {
        found = cairn_dwarf_prototype_read(&units, unit, die, ret_prototype) == CAIRN_OK;
        for (unsigned i = 0; found && i < ret_prototype->n; i++)
            if (ret_prototype->items[i].type.what == CAIRN_DWARF_ENUM)
                (void)cairn_dwarf_enumerators(&ret_prototype->items[i].type.spot, note, names);
    }
    cairn_dwarf_units_done(&units);
    return found;
}

static void parameters_have_names_and_types(void **state)
{
    (void)state;
    struct test_dwarf w = make();
    struct cairn_dwarf d = test_dwarf_sections(&w);
    struct cairn_dwarf_prototype prototype;
    struct names names = {0};
    static const struct {
        const char *name;
        enum cairn_dwarf_what what;
        uint64_t bytes;
    } wanted[] = {{"text", CAIRN_DWARF_TEXT, 0},
                  {"how", CAIRN_DWARF_ENUM, 4},
                  {"by_value", CAIRN_DWARF_RECORD, 24},
                  {"odd", CAIRN_DWARF_STRANGE, 0}};
    assert_true(read_all(&d, &prototype, &names));
    assert_true(prototype.is_c && prototype.is_by_the_abi);
    assert_int_equal(prototype.result.what, CAIRN_DWARF_SIGNED);
    assert_int_equal(prototype.result.bytes, 8);
    assert_int_equal(prototype.n, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_string_equal(prototype.items[i].name, wanted[i].name);
        assert_int_equal(prototype.items[i].type.what, wanted[i].what);
        assert_int_equal(prototype.items[i].type.bytes, wanted[i].bytes);
    }
    assert_int_equal(names.n, 2);
    assert_int_equal((int64_t)names.sum, 2);
}

static void an_address_inside_of_a_function_is_no_begin(void **state)
{
    (void)state;
    struct test_dwarf w = make();
    struct cairn_dwarf d = test_dwarf_sections(&w);
    struct cairn_dwarf_units units;
    uint64_t die;
    assert_int_equal(cairn_dwarf_units_init(&units, &d, NULL), CAIRN_OK);
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_find(&units, 0x10);
    assert_non_null(unit);
    assert_int_equal(cairn_dwarf_unit_open(&units, unit, NULL), CAIRN_OK);
    assert_false(cairn_dwarf_subprogram_at(&d, unit, AT + 4, &die));
    assert_true(cairn_dwarf_subprogram_at(&d, unit, AT, &die));
    cairn_dwarf_units_done(&units);
}

static void damage_ends_the_list_and_no_more(void **state)
{
    (void)state;
    struct cairn_dwarf_prototype prototype;
    struct names names = {0};
    struct test_dwarf w = make();
    struct cairn_dwarf d = test_dwarf_sections(&w);
    for (size_t n = 0; n < w.abbrev.n; n++) {
        d.abbrev.size = n;
        (void)read_all(&d, &prototype, &names);
    }
    d = test_dwarf_sections(&w);
    for (size_t n = 0; n < w.info.n; n++) {
        d.info.size = n;
        (void)read_all(&d, &prototype, &names);
    }
    struct test_bytes *const parts[] = {&w.info, &w.abbrev};
    for (size_t part = 0; part < 2; part++)
        for (size_t bit = 0; bit < parts[part]->n * 8; bit++) {
            parts[part]->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            d = test_dwarf_sections(&w);
            (void)read_all(&d, &prototype, &names);
            parts[part]->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_have_names_and_types),
        cmocka_unit_test(an_address_inside_of_a_function_is_no_begin),
        cmocka_unit_test(damage_ends_the_list_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
