/* SPDX-License-Identifier: MIT */
#include "symbol/unit_finder.h"

#include "base/alloc.h"
#include "support/dwarfwriter.h"
#include "support/test.h"

enum { N_UNITS = 40, RANGES = 3 };

struct sample {
    struct test_dwarf w;
    struct cairn_dwarf d;
    struct cairn_dwarf_units units;
    uint64_t offs[N_UNITS];
    struct cairn_dwarf_range ranges[N_UNITS][RANGES];
    struct cairn_err err;
};

/* Units whose ranges overlap at random, a third of them over few addresses. Their abbreviations
 * stand at different places, the root's own behind others. */
static void fill(struct sample *s, bool big, unsigned offset_size)
{
    s->w = test_dwarf_of(4, big, offset_size, 8);
    struct test_dwarf *w = &s->w;
    test_dwarf_abbrev(w, 1, CAIRN_DW_TAG_SUBPROGRAM, false, CAIRN_DW_AT_LOW_PC, CAIRN_DW_FORM_ADDR,
                      0x2117, CAIRN_DW_FORM_IMPLICIT_CONST, -70000, 0);
    test_dwarf_abbrev(w, 300, CAIRN_DW_TAG_COMPILE_UNIT, false, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_RANGES, CAIRN_DW_FORM_SEC_OFFSET, 0);
    test_dwarf_abbrev(w, 2, CAIRN_DW_TAG_COMPILE_UNIT, false, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA8, 0);
    uint32_t seed = 7;
    for (int i = 0; i < N_UNITS; i++) {
        s->offs[i] = w->info.n;
        test_dwarf_unit_begin(w);
        size_t list = w->ranges.n;
        for (int k = 0; k < RANGES; k++) {
            seed = seed * 1664525 + 1013904223;
            uint64_t low = 0x1000 + (seed >> 8) % (i % 3 ? 0x1800 : 0x40);
            uint64_t high = low + (seed >> 20) % 0x80;
            s->ranges[i][k] = (struct cairn_dwarf_range){low, high};
            test_dwarf_addr(w, &w->ranges, low);
            test_dwarf_addr(w, &w->ranges, high);
        }
        test_dwarf_u(w, &w->ranges, 0, 8);
        test_dwarf_u(w, &w->ranges, 0, 8);
        bool whole = i % 5 == 0; /* one range, without a list */
        test_dwarf_uleb(&w->info, whole ? 2 : 300);
        test_dwarf_addr(w, &w->info, whole ? s->ranges[i][0].low : 0);
        if (whole)
            test_dwarf_u(w, &w->info, s->ranges[i][0].high - s->ranges[i][0].low, 8);
        else
            test_dwarf_off(w, &w->info, list);
        if (whole)
            s->ranges[i][1] = s->ranges[i][2] = (struct cairn_dwarf_range){0, 0};
        test_dwarf_unit_end(w);
        if (i == 0)
            w->abbrev.n -= 1; /* one table for all: the last end counts */
    }
}

/* The same as .debug_aranges, in no order. */
static void add_aranges(struct sample *s)
{
    struct test_dwarf *w = &s->w;
    struct test_bytes *b = &w->aranges;
    for (int k = 0; k < N_UNITS; k++) {
        int i = k * 17 % N_UNITS;
        size_t start = b->n;
        if (w->offset_size == 8)
            test_dwarf_u(w, b, 0xffffffff, 4);
        size_t length = b->n;
        test_dwarf_off(w, b, 0);
        size_t body = b->n;
        test_dwarf_u(w, b, 2, 2);
        test_dwarf_off(w, b, s->offs[i]);
        test_dwarf_u(w, b, 8, 1);
        test_dwarf_u(w, b, 0, 1);
        while ((b->n - start) % 16)
            test_dwarf_u(w, b, 0, 1);
        for (int r = 0; r < RANGES; r++) {
            uint64_t size = s->ranges[i][r].high - s->ranges[i][r].low;
            if (!size)
                continue;
            test_dwarf_addr(w, b, s->ranges[i][r].low);
            test_dwarf_addr(w, b, size);
        }
        test_dwarf_u(w, b, 0, 8);
        test_dwarf_u(w, b, 0, 8);
        test_dwarf_patch(w, b, length, b->n - body, w->offset_size);
    }
}

static void begin(struct sample *s)
{
    s->d = test_dwarf_sections(&s->w);
    assert_ok(cairn_dwarf_units_init(&s->units, &s->d, &s->err), s->err);
}

struct list {
    uint64_t units[N_UNITS];
    int n, stop_after;
};

static int note(void *ctx, uint64_t unit_off, struct cairn_err *err)
{
    struct list *list = ctx;
    (void)err;
    list->units[list->n++] = unit_off;
    return list->n == list->stop_after;
}

/* What a look at every range says: the lowest 32. */
static struct list list_slowly(const struct sample *s, uint64_t vaddr)
{
    struct list list = {.n = 0};
    for (int i = 0; i < N_UNITS; i++) {
        bool claims = false;
        for (int k = 0; k < RANGES; k++)
            claims |= vaddr >= s->ranges[i][k].low && vaddr < s->ranges[i][k].high;
        if (claims && list.n < 32)
            list.units[list.n++] = s->offs[i];
    }
    return list;
}

static void assert_lists_equal(const struct list *a, const struct list *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->units, b->units, (size_t)a->n * sizeof *a->units);
}

static void every_way_names_the_same_units_lowest_first(void **state)
{
    (void)state;
    static struct sample s;
    for (unsigned variant = 0; variant < 4; variant++) {
        struct cairn_unit_finder f;
        fill(&s, variant & 1, variant & 2 ? 8 : 4);
        add_aranges(&s);
        begin(&s);
        cairn_unit_finder_init(&f, &s.units);
        for (uint64_t vaddr = 0xff0; vaddr < 0x2900; vaddr += 3) {
            struct list expected = list_slowly(&s, vaddr);
            for (int way = 0; way < 4; way++) {
                struct list list = {.n = 0};
                f.has_aranges = f.has_roots = way & 1; /* made below, after the first address */
                f.n_scans = f.n_walks = 0;
                if (way & 1)
                    assert_true(f.aranges.n && f.roots.n);
                int code = way < 2 ? cairn_unit_finder_ask_aranges(&f, vaddr, note, &list, &s.err)
                                   : cairn_unit_finder_ask_roots(&f, vaddr, note, &list, &s.err);
                assert_ok(code, s.err);
                assert_lists_equal(&list, &expected);
                if (!f.aranges.n)
                    assert_ok(cairn_unit_finder_need_maps(&f, &s.err), s.err);
            }
        }
        assert_int_equal(s.units.n, 0);
        cairn_unit_finder_done(&f);
        cairn_dwarf_units_done(&s.units);
    }
}

static void add_lines(struct test_dwarf *w, uint64_t low, unsigned size)
{
    test_dwarf_line_begin(w);
    test_dwarf_line_at(w, low);
    test_dwarf_line_row(w, 0, 1);
    test_dwarf_line_row(w, 4, 1);
    test_dwarf_line_sequence_end(w, size - 4);
    test_dwarf_line_at(w, low + 0x400);
    test_dwarf_line_row(w, 0, 1);
    test_dwarf_line_sequence_end(w, size);
    test_dwarf_line_end(w);
}

/* As clang 3.2 writes units at -O0: DW_AT_low_pc is 0, and there is nothing else. */
static void a_unit_that_does_not_say_what_it_covers_claims_its_lines(void **state)
{
    (void)state;
    static struct sample s;
    struct cairn_unit_finder f;
    uint64_t offs[2];
    s.w = test_dwarf_of(3, false, 4, 8);
    test_dwarf_abbrev(&s.w, 1, CAIRN_DW_TAG_COMPILE_UNIT, false, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_STMT_LIST, CAIRN_DW_FORM_DATA4, 0);
    for (unsigned i = 0; i < 2; i++) {
        offs[i] = s.w.info.n;
        test_dwarf_unit_begin(&s.w);
        test_dwarf_uleb(&s.w.info, 1);
        test_dwarf_addr(&s.w, &s.w.info, 0);
        test_dwarf_u(&s.w, &s.w.info, s.w.line.n, 4);
        test_dwarf_unit_end(&s.w);
        if (i == 0)
            s.w.abbrev.n -= 1; /* one table for both: the last end counts */
        add_lines(&s.w, 0x1000 + 0x100 * i, 0x20);
    }
    begin(&s);
    cairn_unit_finder_init(&f, &s.units);
    static const struct {
        uint64_t vaddr;
        int unit; /* -1: none */
    } wanted[] = {{0x1000, 0},  {0x101f, 0}, {0x1020, -1}, {0x1400, 0},  {0x141f, 0},
                  {0x1420, -1}, {0x1100, 1}, {0x151f, 1},  {0x1520, -1}, {0xfff, -1}};
    for (size_t i = 0; i < 2 * (sizeof wanted / sizeof *wanted); i++) {
        struct list list = {.n = 0};
        int unit = wanted[i / 2].unit;
        f.n_walks = i & 1; /* by a walk, and by the map */
        assert_ok(cairn_unit_finder_ask_roots(&f, wanted[i / 2].vaddr, note, &list, &s.err), s.err);
        assert_int_equal(list.n, unit >= 0);
        if (unit >= 0)
            assert_int_equal(list.units[0], offs[unit]);
    }
    cairn_unit_finder_done(&f);
    cairn_dwarf_units_done(&s.units);
}

/* dwz moves DIEs to partial units, which keep DW_AT_stmt_list for DW_AT_decl_file. */
static void a_partial_unit_claims_no_code_by_its_lines(void **state)
{
    (void)state;
    static struct sample s;
    struct cairn_unit_finder f;
    s.w = test_dwarf_of(4, false, 4, 8);
    test_dwarf_abbrev(&s.w, 1, CAIRN_DW_TAG_PARTIAL_UNIT, false, CAIRN_DW_AT_STMT_LIST,
                      CAIRN_DW_FORM_SEC_OFFSET, 0);
    test_dwarf_abbrev(&s.w, 2, CAIRN_DW_TAG_COMPILE_UNIT, false, CAIRN_DW_AT_LOW_PC,
                      CAIRN_DW_FORM_ADDR, CAIRN_DW_AT_HIGH_PC, CAIRN_DW_FORM_DATA8,
                      CAIRN_DW_AT_STMT_LIST, CAIRN_DW_FORM_SEC_OFFSET, 0);
    test_dwarf_unit_begin(&s.w);
    test_dwarf_uleb(&s.w.info, 1);
    test_dwarf_off(&s.w, &s.w.info, 0);
    test_dwarf_unit_end(&s.w);
    s.w.abbrev.n -= 1; /* one table for both: the last end counts */
    uint64_t compile_unit = s.w.info.n;
    test_dwarf_unit_begin(&s.w);
    test_dwarf_uleb(&s.w.info, 2);
    test_dwarf_addr(&s.w, &s.w.info, 0x1000);
    test_dwarf_u(&s.w, &s.w.info, 0x20, 8);
    test_dwarf_off(&s.w, &s.w.info, 0);
    test_dwarf_unit_end(&s.w);
    add_lines(&s.w, 0x1000, 0x20);
    begin(&s);
    cairn_unit_finder_init(&f, &s.units);
    for (unsigned by_map = 0; by_map < 2; by_map++) {
        struct list list = {.n = 0};
        f.n_walks = by_map;
        assert_ok(cairn_unit_finder_ask_roots(&f, 0x1010, note, &list, &s.err), s.err);
        assert_int_equal(list.n, 1);
        assert_int_equal(list.units[0], compile_unit);
        list.n = 0;
        assert_ok(cairn_unit_finder_ask_roots(&f, 0x1410, note, &list, &s.err), s.err);
        assert_int_equal(list.n, 0);
    }
    cairn_unit_finder_done(&f);
    cairn_dwarf_units_done(&s.units);
}

static void a_content_asker_ends_the_search(void **state)
{
    (void)state;
    static struct sample s;
    struct cairn_unit_finder f;
    fill(&s, false, 4);
    begin(&s);
    cairn_unit_finder_init(&f, &s.units);
    for (int way = 0; way < 2; way++) {
        struct list list = {.stop_after = 2};
        assert_int_equal(cairn_unit_finder_ask_roots(&f, 0x1030, note, &list, &s.err), 1);
        assert_int_equal(list.n, 2);
        assert_true(list.units[0] < list.units[1]);
        assert_int_equal(f.has_roots, way); /* the second question made the map */
    }
    cairn_unit_finder_done(&f);
    cairn_dwarf_units_done(&s.units);
}

static void a_saved_map_answers_the_same(void **state)
{
    (void)state;
    static struct sample s;
    struct cairn_unit_finder f;
    struct cairn_buffer saved = {0};
    struct cairn_unit_map loaded = {0};
    fill(&s, false, 4);
    begin(&s);
    cairn_unit_finder_init(&f, &s.units);
    assert_ok(cairn_unit_finder_need_roots(&f, &s.err), s.err);
    cairn_unit_map_save(&f.roots, &saved);
    assert_false(saved.failed);
    assert_ok(cairn_unit_map_load(cairn_buffer_span(&saved), &s.units, &loaded, &s.err), s.err);
    assert_int_equal(loaded.n, f.roots.n);
    assert_memory_equal(loaded.spans, f.roots.spans, loaded.n * sizeof *loaded.spans);
    cairn_unit_finder_take_roots(&f, &loaded);
    struct list list = {.n = 0}, expected = list_slowly(&s, 0x1020);
    assert_ok(cairn_unit_finder_ask_roots(&f, 0x1020, note, &list, &s.err), s.err);
    assert_lists_equal(&list, &expected);
    cairn_unit_finder_done(&f);
    cairn_buffer_done(&saved);
    cairn_dwarf_units_done(&s.units);
}

static void a_damaged_map_is_refused(void **state)
{
    (void)state;
    static struct sample s;
    struct cairn_unit_map map;
    fill(&s, false, 4);
    begin(&s);
    static const uint32_t bad[][6] = {
        {8, 8, 0, 9, 10, 0},                        /* empty */
        {8, 9, 0, 7, 9, 0},                         /* not sorted */
        {8, 9, 0, 9, 10, TEST_DWARF_BYTES_MAX + 1}, /* no such unit */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct test_dwarf w = test_dwarf_of(4, false, 4, 8);
        struct test_bytes b = {.n = 0};
        for (int k = 0; k < 6; k++)
            test_dwarf_u(&w, &b, bad[i][k], 4);
        struct cairn_span span = {b.data, b.n};
        assert_fails(cairn_unit_map_load(span, &s.units, &map, &s.err), CAIRN_E_FORMAT, s.err,
                     "unit map: span ");
        span.size--;
        assert_fails(cairn_unit_map_load(span, &s.units, &map, &s.err), CAIRN_E_FORMAT, s.err,
                     "of 23 bytes");
    }
    cairn_dwarf_units_done(&s.units);
}

static void memory_may_be_gone_at_any_time(void **state)
{
    (void)state;
    static struct sample s;
    fill(&s, false, 4);
    add_aranges(&s);
    begin(&s);
    for (long n = 0;; n++) {
        struct cairn_unit_finder f;
        struct list list = {.n = 0};
        cairn_unit_finder_init(&f, &s.units);
        cairn_alloc_fail_after(n);
        int code = CAIRN_OK;
        for (int i = 0; i < 6 && code == CAIRN_OK; i++) {
            list.n = 0;
            code = cairn_unit_finder_ask_aranges(&f, 0x1020, note, &list, &s.err);
            list.n = 0;
            if (code == CAIRN_OK)
                code = cairn_unit_finder_ask_roots(&f, 0x1020, note, &list, &s.err);
        }
        cairn_alloc_fail_after(-1);
        cairn_unit_finder_done(&f);
        if (code == CAIRN_OK)
            break;
        assert_int_equal(code, CAIRN_E_NOMEM);
        assert_true(n < 200);
    }
    cairn_dwarf_units_done(&s.units);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_names_the_same_units_lowest_first),
        cmocka_unit_test(a_unit_that_does_not_say_what_it_covers_claims_its_lines),
        cmocka_unit_test(a_partial_unit_claims_no_code_by_its_lines),
        cmocka_unit_test(a_content_asker_ends_the_search),
        cmocka_unit_test(a_saved_map_answers_the_same),
        cmocka_unit_test(a_damaged_map_is_refused),
        cmocka_unit_test(memory_may_be_gone_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
