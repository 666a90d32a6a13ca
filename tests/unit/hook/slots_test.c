/* SPDX-License-Identifier: MIT */
/* Slots of modules that are written here, sound and lying. */
#include "hook/slots.h"

#include <elf.h>

#include "support/test.h"

/* One segment from vaddr 0 on: the tables, and from DATA on what slots lie in. */
enum {
    SYMBOLS = 0x100,
    NAMES = 0x200,
    VERSIONS = 0x300,
    NEEDS = 0x380,
    JUMP = 0x400,
    RELA = 0x500,
    PACKED = 0x600,
    DYNAMIC = 0x700,
    CODE = 0x1000,
    DATA = 0x2000,
    END = 0x3000
};

struct module {
    uint8_t bytes[END];
    size_t n_dynamic, n_names;
    struct cairn_slots_segment segments[3];
    struct cairn_slots_image image;
};

static void put64(struct module *m, size_t at, uint64_t value)
{
    memcpy(m->bytes + at, &value, sizeof value);
}

static void put_entry(struct module *m, uint64_t tag, uint64_t value)
{
    put64(m, DYNAMIC + m->n_dynamic, tag);
    put64(m, DYNAMIC + m->n_dynamic + 8, value);
    m->n_dynamic += 16;
}

static void put_symbol(struct module *m, unsigned number, const char *name, unsigned section)
{
    Elf64_Sym symbol = {.st_name = (uint32_t)m->n_names, .st_shndx = (uint16_t)section};
    memcpy(m->bytes + NAMES + m->n_names, name, strlen(name) + 1);
    m->n_names += strlen(name) + 1;
    memcpy(m->bytes + SYMBOLS + number * sizeof symbol, &symbol, sizeof symbol);
}

static void put_rela(struct module *m, size_t at, uint64_t place, uint64_t symbol, uint32_t type,
                     int64_t addend)
{
    const Elf64_Rela rela = {place, symbol << 32 | type, addend};
    memcpy(m->bytes + at, &rela, sizeof rela);
}

/* malloc (version 2), free, own_free (defined). */
static void begin(struct module *m)
{
    memset(m, 0, sizeof *m);
    m->n_names = 1;
    put_symbol(m, 1, "malloc", 0);
    put_symbol(m, 2, "free", 0);
    put_symbol(m, 3, "own_free", 7);
    const uint16_t versions[] = {0, 2, 1, 1};
    memcpy(m->bytes + VERSIONS, versions, sizeof versions);
    const Elf64_Verneed need = {1, 1, 0, sizeof need, 0};
    const Elf64_Vernaux aux = {0, 0, 2, (uint32_t)m->n_names, 0};
    memcpy(m->bytes + NEEDS, &need, sizeof need);
    memcpy(m->bytes + NEEDS + sizeof need, &aux, sizeof aux);
    strcpy((char *)m->bytes + NAMES + m->n_names, "V_2");
    m->n_names += 4;
    put_entry(m, DT_SYMTAB, SYMBOLS);
    put_entry(m, DT_STRTAB, NAMES);
    put_entry(m, DT_STRSZ, m->n_names);
    put_entry(m, DT_VERSYM, VERSIONS);
    put_entry(m, DT_VERNEED, NEEDS);
    m->segments[0] = (struct cairn_slots_segment){0, m->bytes, CODE, CODE, false};
    m->segments[1] =
        (struct cairn_slots_segment){CODE, m->bytes + CODE, DATA - CODE, DATA - CODE, true};
    m->segments[2] =
        (struct cairn_slots_segment){DATA, m->bytes + DATA, END - DATA, END - DATA, false};
    m->image = (struct cairn_slots_image){
        .segments = m->segments,
        .n_segments = 3,
        .dynamic_vaddr = DYNAMIC,
        .n_dynamic = CODE - DYNAMIC,
        .machine = EM_X86_64,
        .is_64 = true,
    };
}

enum { MOST = 16 };
struct seen {
    struct cairn_slot slots[MOST];
    size_t n, stop_after;
    struct cairn_slots_result result;
};

static int note(void *context, const struct cairn_slot *slot)
{
    struct seen *seen = context;
    assert_in_range(seen->n, 0, MOST - 1);
    seen->slots[seen->n++] = *slot;
    return seen->n == seen->stop_after;
}

static bool read(const struct module *m, struct seen *seen)
{
    size_t stop_after = seen->stop_after;
    *seen = (struct seen){.stop_after = stop_after};
    return cairn_slots_each(&m->image, note, seen, &seen->result);
}

static void check(const struct seen *seen, size_t i, uint64_t vaddr, const char *name,
                  enum cairn_slots_kind kind)
{
    assert_true(i < seen->n);
    assert_int_equal(seen->slots[i].vaddr, vaddr);
    assert_string_equal(seen->slots[i].name, name);
    assert_int_equal(seen->slots[i].kind, kind);
}

static void put_three(struct module *m)
{
    put_rela(m, JUMP, DATA, 1, R_X86_64_JUMP_SLOT, 0);
    put_rela(m, RELA, DATA + 8, 2, R_X86_64_GLOB_DAT, 0);
    put_rela(m, RELA + 24, DATA + 16, 2, R_X86_64_64, 0);
    put_rela(m, RELA + 48, DATA + 24, 2, R_X86_64_64, 5);
    put_rela(m, RELA + 72, DATA + 32, 3, R_X86_64_GLOB_DAT, 0);
    put_entry(m, DT_JMPREL, JUMP);
    put_entry(m, DT_PLTRELSZ, 24);
    put_entry(m, DT_PLTREL, DT_RELA);
    put_entry(m, DT_RELA, RELA);
    put_entry(m, DT_RELASZ, 96);
}

static void every_kind_is_reported_with_its_version(void **state)
{
    static struct module m;
    struct seen seen = {0};
    (void)state;
    begin(&m);
    put_three(&m);
    assert_true(read(&m, &seen));
    assert_int_equal(seen.n, 4); /* not the one with an addend */
    check(&seen, 0, DATA, "malloc", CAIRN_SLOTS_JUMP);
    assert_string_equal(seen.slots[0].version, "V_2");
    check(&seen, 1, DATA + 8, "free", CAIRN_SLOTS_DATA);
    assert_null(seen.slots[1].version);
    check(&seen, 2, DATA + 16, "free", CAIRN_SLOTS_POINTER);
    assert_false(seen.slots[2].is_defined);
    check(&seen, 3, DATA + 32, "own_free", CAIRN_SLOTS_DATA);
    assert_true(seen.slots[3].is_defined);
    assert_int_equal(seen.result.n_read, 5);
    assert_int_equal(seen.result.n_left, 0);
    assert_string_equal(cairn_slots_type_name(EM_X86_64, seen.slots[0].type), "R_X86_64_JUMP_SLOT");
    seen.stop_after = 2;
    assert_false(read(&m, &seen));
    assert_int_equal(seen.result.reason, CAIRN_SLOTS_STOPPED);
    assert_int_equal(seen.n, 2);
}

static void addresses_that_the_loader_has_relocated_are_read(void **state)
{
    static struct module m;
    struct seen seen = {0};
    (void)state;
    begin(&m);
    put_three(&m);
    m.image.load_base = 0x7f0000000000;
    for (size_t at = DYNAMIC; at < DYNAMIC + m.n_dynamic; at += 16) {
        uint64_t tag, value;
        memcpy(&tag, m.bytes + at, 8);
        memcpy(&value, m.bytes + at + 8, 8);
        if (tag != DT_STRSZ && tag != DT_PLTRELSZ && tag != DT_RELASZ && tag != DT_PLTREL)
            put64(&m, at + 8, value + m.image.load_base);
    }
    assert_true(read(&m, &seen));
    assert_int_equal(seen.n, 4);
}

/* count 3, from DATA: a group of two by steps of 8 with the info in common, one on its own. */
static void packed_relocations_are_read(void **state)
{
    static struct module m;
    struct seen seen = {0};
    (void)state;
    static const uint8_t packed[] =
        {
            'A',  'P',  'S',  '2',  3,
            0xf8, 0xbf, 0, /* count, DATA - 8 */
            2,    3,    8,    0x86, 0x80,
            0x80, 0x80, 0x20, /* n, by info and step; 8; symbol 2, GLOB_DAT */
            1,    8,    0x10, 0x87, 0x80,
            0x80, 0x80, 0x10, 0 /* n, has addend; 16; symbol 1, JUMP_SLOT */
        };
    begin(&m);
    memcpy(m.bytes + PACKED, packed, sizeof packed);
    put_entry(&m, 0x60000011, PACKED);
    put_entry(&m, 0x60000012, sizeof packed);
    assert_true(read(&m, &seen));
    assert_int_equal(seen.n, 3);
    check(&seen, 0, DATA, "free", CAIRN_SLOTS_DATA);
    check(&seen, 1, DATA + 8, "free", CAIRN_SLOTS_DATA);
    check(&seen, 2, DATA + 24, "malloc", CAIRN_SLOTS_JUMP);
    for (size_t n = 0; n < sizeof packed; n++) {
        put64(&m, DYNAMIC + m.n_dynamic - 8, n);
        assert_int_equal(read(&m, &seen), n == 0);
        assert_int_equal(seen.result.reason, n ? CAIRN_SLOTS_PACKED : CAIRN_SLOTS_FINE);
    }
}

static void a_packed_count_without_end_is_refused(void **state)
{
    static struct module m;
    struct seen seen = {0};
    (void)state;
    static const uint8_t many[] = {'A', 'P', 'S', '2', 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0};
    static const uint8_t empty_groups[] = {'A', 'P', 'S', '2', 5, 0, 0, 0, 0, 0, 0, 0, 0};
    begin(&m);
    memcpy(m.bytes + PACKED, many, sizeof many);
    put_entry(&m, 0x60000011, PACKED);
    put_entry(&m, 0x60000012, sizeof many);
    assert_false(read(&m, &seen));
    assert_int_equal(seen.result.reason, CAIRN_SLOTS_LIMIT);
    memcpy(m.bytes + PACKED, empty_groups, sizeof empty_groups);
    put64(&m, DYNAMIC + m.n_dynamic - 8, sizeof empty_groups);
    assert_false(read(&m, &seen));
    assert_int_equal(seen.result.reason, CAIRN_SLOTS_PACKED);
}

static void expect(struct module *m, enum cairn_slots_reason reason)
{
    struct seen seen = {0};
    assert_int_equal(read(m, &seen), reason == CAIRN_SLOTS_FINE);
    assert_int_equal(seen.result.reason, reason);
    assert_true(strlen(cairn_slots_reason_text(reason)) > 0);
}

static void lying_sections_are_refused_with_the_reason(void **state)
{
    static struct module m;
    (void)state;
    begin(&m);
    put_three(&m);
    m.image.machine = EM_PPC64;
    expect(&m, CAIRN_SLOTS_MACHINE);
    m.image.machine = EM_X86_64;
    m.image.n_dynamic = 0;
    expect(&m, CAIRN_SLOTS_NO_DYNAMIC);
    m.image.n_dynamic = 16;
    m.image.dynamic_vaddr = END;
    expect(&m, CAIRN_SLOTS_DYNAMIC);
    /* Without DT_NULL up to the segment's end. */
    m.image.dynamic_vaddr = DYNAMIC;
    for (size_t at = DYNAMIC; at < CODE; at += 16)
        put64(&m, at, DT_DEBUG);
    expect(&m, CAIRN_SLOTS_DYNAMIC);

    begin(&m);
    put_entry(&m, DT_RELA, RELA);
    put_entry(&m, DT_RELASZ, UINT64_MAX);
    expect(&m, CAIRN_SLOTS_TABLE);
    put64(&m, DYNAMIC + m.n_dynamic - 8, 24);
    expect(&m, CAIRN_SLOTS_FINE);
    put64(&m, DYNAMIC + m.n_dynamic - 24, 0xffffffffffff0000);
    expect(&m, CAIRN_SLOTS_TABLE);
    memset(m.bytes + DYNAMIC, 0, CODE - DYNAMIC);
    m.n_dynamic = 0;
    put_entry(&m, DT_RELA, RELA);
    put_entry(&m, DT_RELASZ, 24);
    expect(&m, CAIRN_SLOTS_SYMBOLS);
}

static void relocations_outside_are_left_out(void **state)
{
    static struct module m;
    struct seen seen = {0};
    (void)state;
    begin(&m);
    put_rela(&m, RELA, END - 4, 1, R_X86_64_GLOB_DAT, 0);   /* half outside */
    put_rela(&m, RELA + 24, CODE + 8, 1, R_X86_64_64, 0);   /* in code */
    put_rela(&m, RELA + 48, DATA, 1000000, R_X86_64_64, 0); /* no such symbol */
    put_rela(&m, RELA + 72, DATA, 3, R_X86_64_GLOB_DAT, 0);
    put_entry(&m, DT_RELA, RELA);
    put_entry(&m, DT_RELASZ, 96);
    assert_true(read(&m, &seen));
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.result.n_left, 3);
    /* A name beyond DT_STRSZ. */
    Elf64_Sym symbol = {.st_name = 0x7fffffff};
    memcpy(m.bytes + SYMBOLS + 3 * sizeof symbol, &symbol, sizeof symbol);
    assert_true(read(&m, &seen));
    assert_int_equal(seen.n, 0);
}

static void versions_that_form_a_circle_end(void **state)
{
    static struct module m;
    struct seen seen = {0};
    (void)state;
    begin(&m);
    put_three(&m);
    Elf64_Verneed need = {1, 1, 0, sizeof need, (uint32_t)-32};
    Elf64_Vernaux aux = {0, 0, 9, 1, 0};
    memcpy(m.bytes + NEEDS, &need, sizeof need);
    memcpy(m.bytes + NEEDS + sizeof need, &aux, sizeof aux);
    assert_true(read(&m, &seen));
    assert_null(seen.slots[0].version);
}

static int count(void *context, const struct cairn_slot *slot)
{
    (void)slot;
    ++*(size_t *)context;
    return 0;
}

/* A few bytes ask for a million slots, and for each 256 entries are to be looked through. */
static void versions_do_not_take_for_ever(void **state)
{
    static struct module m;
    static const uint8_t packed[] = {'A',  'P',  'S',  '2',  0x80, 0x80, 0xc0, 0, /* count */
                                     0x80, 0xc0, 0,                               /* DATA */
                                     0x80, 0x80, 0xc0, 0,    3,    0, /* n, by info and step; 0 */
                                     0x87, 0x80, 0x80, 0x80, 0x10 /* symbol 1, JUMP_SLOT */};
    const Elf64_Verneed need = {1, 0xffff, 0, sizeof need, sizeof need};
    struct cairn_slots_result result;
    size_t n = 0;
    (void)state;
    begin(&m);
    for (size_t at = DATA; at < END; at += sizeof need) /* each is an entry of the ones before */
        memcpy(m.bytes + at, &need, sizeof need);
    put_entry(&m, DT_VERNEED, DATA);
    memcpy(m.bytes + PACKED, packed, sizeof packed);
    put_entry(&m, 0x60000011, PACKED);
    put_entry(&m, 0x60000012, sizeof packed);
    assert_false(cairn_slots_each(&m.image, count, &n, &result));
    assert_int_equal(result.reason, CAIRN_SLOTS_VERSIONS);
    assert_int_equal(result.vaddr, DATA);
    assert_in_range(n, 1, (1 << 20) - 1);
}

static void patterns_match_file_names_and_paths(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool matches;
    } rows[] = {
        {"libc.so.6", "/usr/lib/libc.so.6", true},
        {"libc.so", "/usr/lib/libc.so.6", false},
        {"libc.so*", "/usr/lib/libc.so.6", true},
        {"lib?.so.6", "/usr/lib/libc.so.6", true},
        {"/usr/*/libc.so.6", "/usr/lib/x/libc.so.6", true},
        {"/usr/lib/libc.so.6", "/usr/lib/libc.so.6", true},
        {"/lib/libc.so.6", "/usr/lib/libc.so.6", false},
        {"usr", "/usr/lib/libc.so.6", false},
        {"*", "", true},
        {"?", "", false},
        {"**a*b*", "xaxxb", true},
        {"a*b", "ac", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(cairn_slots_match(rows[i].pattern, rows[i].path), rows[i].matches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_reported_with_its_version),
        cmocka_unit_test(addresses_that_the_loader_has_relocated_are_read),
        cmocka_unit_test(packed_relocations_are_read),
        cmocka_unit_test(a_packed_count_without_end_is_refused),
        cmocka_unit_test(lying_sections_are_refused_with_the_reason),
        cmocka_unit_test(relocations_outside_are_left_out),
        cmocka_unit_test(versions_that_form_a_circle_end),
        cmocka_unit_test(versions_do_not_take_for_ever),
        cmocka_unit_test(patterns_match_file_names_and_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
