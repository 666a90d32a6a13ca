/* SPDX-License-Identifier: MIT */
#include "unwind/table.h"

#include <elf.h>

#include "support/cfiwriter.h"
#include "support/tablecheck.h"
#include "support/test.h"
#include "unwind/page_search.h"
#include "unwind/rule_x86_64.h"

static const struct test_cie plain = {.version = 1, .letters = "zR", .encoding = 0x1b};
static const struct test_cie debug_plain = {.version = 4, .letters = ""};

enum { ENTRY = CAIRN_X86_64_SP << 25 | 1 << 9 }; /* at a function's first byte: CFA = rsp + 8 */

static uint32_t sp(uint32_t words)
{
    return cairn_x86_64_rule(CAIRN_X86_64_SP, words, CAIRN_X86_64_FP_SAME);
}

static uint32_t side(uint32_t i)
{
    return cairn_rule_make(CAIRN_RULE_SIDE, i);
}

/* def_cfa r7+8; r16 at cfa-8 */
static void put_cie(struct test_cfi *t, const struct test_cie *cie)
{
    test_cfi_cie(t, cie);
    test_cfi_put(t, "\x0c\x07\x08\x90\x01", 5);
    test_cfi_end(t);
}

static struct test_cfi start(const struct test_cie *cie)
{
    struct test_cfi t = test_cfi_of(false, 8);
    t.machine = EM_X86_64;
    t.debug_frame = cie == &debug_plain;
    put_cie(&t, cie);
    return t;
}

/* A function with `program`; returns where its entry is. */
static uint64_t put(struct test_cfi *t, uint64_t from, uint64_t size, const char *program, size_t n)
{
    uint64_t off = test_cfi_fde(t, from, size);
    test_cfi_put(t, program, n);
    test_cfi_end(t);
    return off;
}

#define PUT(t, from, size, program) put(t, from, size, program, sizeof program - 1)

struct made {
    struct cairn_cfi eh, debug;
    struct cairn_unwind_table_input input;
    struct test_table t;
};

static enum cairn_unwind_table_end try_make(struct made *m, const struct test_cfi *eh,
                                            const struct test_cfi *debug)
{
    memset(m, 0, sizeof *m);
    m->input = (struct cairn_unwind_table_input){
        .arch = &cairn_unwind_x86_64, .text_from = 0x1000, .text_to = 0x100000};
    if (eh) {
        m->eh = test_cfi_section(eh);
        m->input.eh_frame = &m->eh;
    }
    if (debug) {
        m->debug = test_cfi_section(debug);
        m->input.debug_frame = &m->debug;
    }
    return test_table_build(&m->input, &m->t);
}

static void make(struct made *m, const struct test_cfi *eh, const struct test_cfi *debug)
{
    assert_int_equal(try_make(m, eh, debug), CAIRN_TABLE_OK);
}

static void assert_rule(const struct made *m, uint64_t vaddr, uint32_t rule)
{
    uint32_t found = cairn_unwind_table_find(&m->t.table, vaddr);
    if (found != rule)
        fail_msg("at 0x%llx: 0x%x, expected 0x%x", (unsigned long long)vaddr, found, rule);
}

static void rows_hold_from_where_they_begin_and_functions_end(void **state)
{
    (void)state;
    struct test_cfi eh = start(&plain);
    struct made m;
    /* push rbx; sub 0x18; ... add 0x18; pop rbx; then the last function ends the text */
    PUT(&eh, 0x1080, 0x50, "\x41\x0e\x10\x44\x0e\x28\x02\x30\x0e\x10\x41\x0e\x08");
    PUT(&eh, 0x10d0, 0x10, "");
    PUT(&eh, 0x1200, 0x300, "\x41\x0e\x10\x86\x02\x43\x0d\x06");
    make(&m, &eh, NULL);
    assert_int_equal(m.t.built.n_fdes, 3);
    assert_rule(&m, 0x0fff, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1000, CAIRN_RULE_NONE);
    assert_rule(&m, 0x107f, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1080, ENTRY);
    assert_rule(&m, 0x1081, sp(2));
    assert_rule(&m, 0x1084, sp(2));
    assert_rule(&m, 0x1085, sp(5));
    assert_rule(&m, 0x10b4, sp(5));
    assert_rule(&m, 0x10b5, sp(2));
    assert_rule(&m, 0x10b6, ENTRY);
    assert_rule(&m, 0x10df, ENTRY); /* the next function goes on in the same way: no row */
    assert_rule(&m, 0x10e0, CAIRN_RULE_NONE);
    assert_rule(&m, 0x11ff, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1200, ENTRY);
    assert_rule(&m, 0x1201, cairn_x86_64_rule(CAIRN_X86_64_SP, 2, 2));
    assert_rule(&m, 0x1204, cairn_x86_64_rule(CAIRN_X86_64_FP, 2, 2));
    assert_rule(&m, 0x1300, cairn_x86_64_rule(CAIRN_X86_64_FP, 2, 2)); /* a page without a row */
    assert_rule(&m, 0x14ff, cairn_x86_64_rule(CAIRN_X86_64_FP, 2, 2));
    assert_rule(&m, 0x1500, CAIRN_RULE_NONE);
    assert_rule(&m, 0x15ff, CAIRN_RULE_NONE);
    assert_rule(&m, UINT64_MAX, CAIRN_RULE_NONE);
    assert_rule(&m, 0x100001080, CAIRN_RULE_NONE);
    assert_int_equal(m.t.table.from, 0x1080);
    assert_int_equal(m.t.table.to, 0x1500);
    test_table_done(&m.t);
}

static void entries_may_come_in_any_order_and_overlap(void **state)
{
    (void)state;
    struct test_cfi eh = start(&plain);
    struct made m;
    PUT(&eh, 0x3000, 0x10, "\x0e\x30");
    PUT(&eh, 0x1000, 0x800, "\x0e\x10"); /* over the two below */
    PUT(&eh, 0x1100, 0x10, "\x0e\x18");
    PUT(&eh, 0x2000, 0x20, "\x0e\x20");
    PUT(&eh, 0x1120, 0x10, "\x0e\x28");
    PUT(&eh, 0x2000, 0x10, "\x0e\x38"); /* the same function again: the last one holds */
    make(&m, &eh, NULL);
    assert_rule(&m, 0x1000, sp(2));
    assert_rule(&m, 0x10ff, sp(2));
    assert_rule(&m, 0x1100, sp(3));
    assert_rule(&m, 0x110f, sp(3));
    assert_rule(&m, 0x1110, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1120, sp(5));
    assert_rule(&m, 0x1130, CAIRN_RULE_NONE);
    assert_rule(&m, 0x2000, sp(7));
    assert_rule(&m, 0x2010, CAIRN_RULE_NONE);
    assert_rule(&m, 0x3000, sp(6));
    test_table_done(&m.t);
}

static void debug_frame_fills_the_gaps(void **state)
{
    (void)state;
    struct test_cfi eh = start(&plain), debug = start(&debug_plain);
    struct made m;
    PUT(&eh, 0x1100, 0x10, "\x0e\x18");
    PUT(&eh, 0x1200, 0x10, "\x0e\x20");
    PUT(&debug, 0x1000, 0x180, "\x0e\x28\x02\x80\x0e\x30\x02\x88\x0e\x38"); /* 1080, 1108 */
    PUT(&debug, 0x1200, 0x20, "\x0e\x40\x44\x0e\x48");
    PUT(&debug, 0x1400, 0x10, "\x16\x06\x00"); /* val_expression: to the side */
    make(&m, &eh, &debug);
    assert_int_equal(m.t.built.n_fdes, 5);
    assert_rule(&m, 0x1000, sp(5));
    assert_rule(&m, 0x107f, sp(5));
    assert_rule(&m, 0x1080, sp(6));
    assert_rule(&m, 0x10ff, sp(6));
    assert_rule(&m, 0x1100, sp(3));
    assert_rule(&m, 0x110f, sp(3));
    assert_rule(&m, 0x1110, sp(7));
    assert_rule(&m, 0x117f, sp(7));
    assert_rule(&m, 0x1180, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1200, sp(4));
    assert_rule(&m, 0x1210, sp(9));
    assert_rule(&m, 0x1220, CAIRN_RULE_NONE);
    struct cairn_unwind_table_side entry;
    assert_rule(&m, 0x1400, side(0));
    assert_true(cairn_unwind_table_side(&m.t.table, side(0), &entry));
    assert_int_equal(entry.source, CAIRN_TABLE_DEBUG_FRAME);
    assert_false(cairn_unwind_table_side(&m.t.table, side(1), &entry));
    assert_false(cairn_unwind_table_side(&m.t.table, sp(0), &entry));
    test_table_done(&m.t);
}

static void what_is_not_text_is_left_out(void **state)
{
    (void)state;
    struct test_cfi eh = start(&plain);
    struct made m;
    PUT(&eh, 0x10, 0x2000, "");            /* begins before the text */
    PUT(&eh, 0xfff00, 0x1000, "\x0e\x10"); /* ends behind it */
    PUT(&eh, 0x200000, 0x10, "");
    make(&m, &eh, NULL);
    assert_int_equal(m.t.built.n_fdes, 1);
    assert_rule(&m, 0x1000, CAIRN_RULE_NONE);
    assert_rule(&m, 0xfff00, sp(2));
    assert_rule(&m, 0xfffff, sp(2));
    assert_rule(&m, 0x100000, CAIRN_RULE_NONE);
    test_table_done(&m.t);
    struct test_cfi none = start(&plain);
    assert_int_equal(try_make(&m, &none, NULL), CAIRN_TABLE_NOTHING);
    test_table_done(&m.t);
    assert_int_equal(try_make(&m, NULL, NULL), CAIRN_TABLE_NOTHING);
}

static void a_damaged_program_loses_its_function_alone(void **state)
{
    (void)state;
    struct test_cfi eh = start(&plain);
    struct made m;
    PUT(&eh, 0x1000, 0x40, "\x0e\x10\x44\x0e\x18\x44\x3f\x44"); /* 0x3f: no instruction */
    PUT(&eh, 0x1040, 0x40, "\x0b");                             /* restores what is not there */
    PUT(&eh, 0x1080, 0x40, "\x0e\x20");
    make(&m, &eh, NULL);
    assert_rule(&m, 0x1000, sp(2));
    assert_rule(&m, 0x1004, sp(3));
    assert_rule(&m, 0x1008, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1040, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1080, sp(4));
    test_table_done(&m.t);
}

/* Instructions that rules can say, ones that they cannot, and bytes that are none. */
static size_t put_any(uint8_t *program, size_t size, uint32_t *seed)
{
    static const uint8_t usual[] = {0x41, 0x44, 0x42, 0x0e, 0x10, 0x0e, 0x20, 0x86, 0x02, 0x83,
                                    0x03, 0x0d, 0x06, 0x0a, 0x0b, 0xc6, 0x0c, 0x07, 0x08, 0x02,
                                    0x30, 0x03, 0x01, 0x00, 0x2e, 0x05, 0x90, 0x07, 0xd0, 0x87};
    size_t n = 0;
    while (n < size) {
        *seed = *seed * 1664525 + 1013904223;
        uint32_t pick = *seed >> 16;
        program[n++] = pick % 7 ? usual[pick % sizeof usual] : (uint8_t)(pick >> 7);
    }
    return n;
}

static void a_run_over_rules_gives_what_one_over_rows_gives(void **state)
{
    enum { TIMES = 3000, FUNCTIONS = 4, SIZE = 24 };
    (void)state;
    struct cairn_unwind_arch by_rows = cairn_unwind_x86_64;
    uint32_t seed = 1;
    by_rows.run = NULL;
    assert_non_null(cairn_unwind_x86_64.run);
    for (unsigned i = 0; i < TIMES; i++) {
        struct test_cfi eh = start(&plain);
        struct test_table rows;
        struct made m;
        for (unsigned k = 0; k < FUNCTIONS; k++) {
            uint8_t program[SIZE];
            size_t n = put_any(program, seed >> 16 & (SIZE - 1), &seed);
            put(&eh, 0x1000 + 0x20 * k, i & 1 ? 0x20 : 0x28, (const char *)program, n);
        }
        make(&m, &eh, NULL);
        m.input.arch = &by_rows;
        assert_int_equal(test_table_build(&m.input, &rows), CAIRN_TABLE_OK);
        assert_int_equal(rows.built.image.size, m.t.built.image.size);
        assert_memory_equal(rows.built.image.data, m.t.built.image.data, rows.built.image.size);
        test_table_done(&rows);
        test_table_done(&m.t);
    }
}

/* Every CFI that rules have a kind for, and what goes to the side. */
static void kinds_are_told_from_rows(void **state)
{
    (void)state;
    struct test_cfi eh = start(&plain);
    struct made m;
    struct cairn_unwind_table_side entry;
    PUT(&eh, 0x1000, 0x10, "\x07\x10"); /* rip is undefined */
    PUT(&eh, 0x1020, 0x20, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");
    uint64_t drap = PUT(&eh, 0x1040, 0x20,
                        "\x0c\x0a\x00"                          /* CFA = r10 */
                        "\x44\x10\x06\x02\x76\x00"              /* rbp at *rbp, */
                        "\x44\x0f\x03\x76\x78\x06"              /* CFA = *(rbp - 8) */
                        "\x44\x0c\x06\x10");                    /* CFA = rbp + 16 */
    PUT(&eh, 0x1060, 0x10, "\x0f\x06\x77\xc0\x00\x06\x23\x08"); /* CFA = *(rsp + 64) + 8 */
    uint64_t far = PUT(&eh, 0x1080, 0x10, "\x0e\x88\x80\x20\x44\x86\x80\x04\x0e\x10");
    PUT(&eh, 0x10a0, 0x10, "\x0e\xf8\xff\x1f"); /* 65,535 words: they fit */
    make(&m, &eh, NULL);
    assert_rule(&m, 0x1000, cairn_rule_make(CAIRN_RULE_OUTERMOST, 0));
    assert_rule(&m, 0x1020, cairn_x86_64_rule(CAIRN_X86_64_PLT, 1, 11));
    assert_rule(&m, 0x1040, side(0));
    assert_rule(&m, 0x1044, side(0));
    assert_rule(&m, 0x1048, cairn_x86_64_rule(CAIRN_X86_64_FP_DEREF, 1, CAIRN_X86_64_FP_AT_FP));
    assert_rule(&m, 0x104c, cairn_x86_64_rule(CAIRN_X86_64_FP, 2, 2));
    assert_rule(&m, 0x1060, cairn_x86_64_rule(CAIRN_X86_64_SP_DEREF, 8, CAIRN_X86_64_FP_SAME));
    assert_rule(&m, 0x1080, side(1));
    assert_rule(&m, 0x1084, side(1));
    assert_rule(&m, 0x10a0, sp(0xffff));
    assert_true(cairn_unwind_table_side(&m.t.table, side(0), &entry));
    assert_int_equal(entry.source, CAIRN_TABLE_EH_FRAME);
    assert_int_equal(entry.off, drap);
    assert_true(cairn_unwind_table_side(&m.t.table, side(1), &entry));
    assert_int_equal(entry.off, far);
    test_table_done(&m.t);
}

static void only_the_kernels_signal_frame_is_one(void **state)
{
    (void)state;
    static const struct test_cie signal = {.version = 1, .letters = "zRS", .encoding = 0x1b};
    struct test_cfi eh = start(&signal);
    struct made m;
    PUT(&eh, 0x1000, 0x10,
        "\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf8\x00\x10\x10\x03\x77\xa8\x01");
    PUT(&eh, 0x1020, 0x10,
        "\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf0\x00\x10\x10\x03\x77\xa8\x01");
    PUT(&eh, 0x1040, 0x10, "");
    make(&m, &eh, NULL);
    assert_rule(&m, 0x1000, cairn_rule_make(CAIRN_RULE_SIGNAL, 0));
    assert_rule(&m, 0x1020, side(0));
    assert_rule(&m, 0x1040, side(1));
    test_table_done(&m.t);
}

/* A row every byte: 256 in a page, and searches of more than 16. */
static void pages_may_be_full(void **state)
{
    (void)state;
    struct test_cfi eh = start(&plain);
    struct made m;
    char program[3 * 700];
    for (unsigned i = 0; i < 700; i++) {
        program[3 * i] = '\x0e';
        program[3 * i + 1] = (char)(8 + 8 * (i % 15));
        program[3 * i + 2] = '\x41';
    }
    put(&eh, 0x10f0, 700, program, sizeof program);
    make(&m, &eh, NULL);
    for (unsigned i = 0; i < 700; i++)
        assert_rule(&m, 0x10f0 + i, sp(1 + i % 15));
    assert_rule(&m, 0x10f0 + 700, CAIRN_RULE_NONE);
    for (uint32_t i = 0; i < m.t.table.n_rows; i++) {
        uint64_t vaddr;
        uint32_t rule;
        assert_true(cairn_unwind_table_row(&m.t.table, i, &vaddr, &rule));
        assert_int_equal(vaddr, i ? 0x10f0 + i - 1 : 0x1000);
        assert_rule(&m, vaddr, rule);
    }
    test_table_done(&m.t);
}

static void every_way_to_count_counts_the_same(void **state)
{
    (void)state;
    uint8_t low[CAIRN_TABLE_PAGE + CAIRN_TABLE_PAD];
    struct cairn_unwind_table t = {.n_pages = 1, .low = low};
    uint32_t rules[CAIRN_TABLE_PAGE], pages[2] = {0};
    t.pages = pages;
    t.rules = rules;
    for (uint32_t i = 0; i < CAIRN_TABLE_PAGE; i++)
        rules[i] = i + 1;
    for (unsigned step = 1; step < 40; step++) {
        uint32_t n = 0;
        memset(low, 0, sizeof low); /* what lies behind is smaller than every key */
        for (unsigned at = step / 3; at < 256; at += 1 + (at * step + n) % step)
            low[n++] = (uint8_t)at;
        pages[1] = t.n_rows = n;
        for (unsigned key = 0; key < 256; key++) {
            uint32_t expected = 0;
            while (expected < n && low[expected] <= key)
                expected++;
            assert_int_equal(cairn_page_count_portable(low, n, (uint8_t)key), expected);
            assert_int_equal(cairn_unwind_table_find(&t, key), expected);
        }
    }
}

static void images_are_the_same_every_time_and_wherever_they_lie(void **state)
{
    (void)state;
    struct test_cfi eh = start(&plain);
    struct made m, again;
    PUT(&eh, 0x1080, 0x50, "\x41\x0e\x10\x44\x0e\x28\x02\x30\x0e\x10\x41\x0e\x08");
    PUT(&eh, 0x1040, 0x10, "\x16\x06\x00");
    make(&m, &eh, NULL);
    struct cairn_span image = m.t.built.image;
    assert_int_equal(cairn_unwind_table_measure(&m.input, &again.t.work_bytes), CAIRN_TABLE_OK);
    uint8_t *work = malloc((size_t)again.t.work_bytes);
    assert_non_null(work);
    memset(work, 0xa5, (size_t)again.t.work_bytes);
    struct cairn_unwind_table_built built;
    assert_int_equal(cairn_unwind_table_build(&m.input, work, again.t.work_bytes - 1, &built),
                     CAIRN_TABLE_NO_ROOM);
    assert_int_equal(cairn_unwind_table_build(&m.input, work, again.t.work_bytes, &built),
                     CAIRN_TABLE_OK);
    assert_int_equal(built.image.size, image.size);
    assert_memory_equal(built.image.data, image.data, image.size);
    free(work);
    test_table_done(&m.t);
}

/* Text without rows does not cost an index: four functions in a megabyte, at the edges of blocks.
 */
static void pages_without_rows_are_left_out(void **state)
{
    enum { BLOCK = CAIRN_TABLE_BLOCK * CAIRN_TABLE_PAGE, FAR = 0x1000 + 60 * BLOCK };
    (void)state;
    struct test_cfi eh = start(&plain);
    struct made m;
    PUT(&eh, 0x1080, 0x50, "\x41\x0e\x10\x44\x0e\x28");
    PUT(&eh, 0x1000 + 7 * BLOCK - 2, 4, "\x0e\x18\x42\x0e\x20"); /* over an edge */
    PUT(&eh, 0x1000 + 20 * BLOCK, 3 * BLOCK, "\x0e\x30");        /* over whole blocks */
    PUT(&eh, FAR + 5, 1, "\x0e\x38");
    make(&m, &eh, NULL);
    assert_true(m.t.table.n_blocks > 60);
    assert_true(m.t.table.n_kept <= 6 * CAIRN_TABLE_BLOCK);
    assert_true(m.t.built.image.size < 3000);
    assert_rule(&m, 0x107f, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1080, ENTRY);
    assert_rule(&m, 0x1085, sp(5));
    assert_rule(&m, 0x10d0, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1000 + 7 * BLOCK - 3, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1000 + 7 * BLOCK - 1, sp(3));
    assert_rule(&m, 0x1000 + 7 * BLOCK, sp(4));
    assert_rule(&m, 0x1000 + 7 * BLOCK + 2, CAIRN_RULE_NONE);
    assert_rule(&m, 0x1000 + 20 * BLOCK - 1, CAIRN_RULE_NONE);
    for (unsigned i = 0; i < 6; i++)
        assert_rule(&m, 0x1000 + 20 * BLOCK + i * BLOCK / 2, sp(6));
    assert_rule(&m, 0x1000 + 23 * BLOCK, CAIRN_RULE_NONE);
    assert_rule(&m, FAR + 5, sp(7));
    assert_rule(&m, FAR + 6, CAIRN_RULE_NONE);
    for (uint32_t i = 0; i < m.t.table.n_rows; i++) {
        uint64_t vaddr;
        uint32_t rule;
        assert_true(cairn_unwind_table_row(&m.t.table, i, &vaddr, &rule));
        assert_rule(&m, vaddr, rule);
    }
    test_table_done(&m.t);
}

/* Every truncation, and a change of each byte: open refuses, or every look-up stays inside, which
 * is the sanitizer's to see. */
static void damage(uint64_t second, bool has_blocks)
{
    struct test_cfi eh = start(&plain);
    struct made m;
    struct cairn_unwind_table t;
    PUT(&eh, 0x1080, 0x50, "\x41\x0e\x10\x44\x0e\x28\x02\x30\x0e\x10\x41\x0e\x08");
    PUT(&eh, second, 0x10, "\x16\x06\x00");
    make(&m, &eh, NULL);
    assert_int_equal(m.t.table.n_blocks != 0, has_blocks);
    struct cairn_span image = m.t.built.image;
    for (size_t size = 0; size < image.size; size++) {
        uint8_t *copy = test_copy(image.data, size);
        assert_false(cairn_unwind_table_open((struct cairn_span){copy, size}, &t));
        free(copy);
    }
    uint8_t *copy = test_copy(image.data, image.size);
    size_t n_opened = 0;
    for (size_t i = 0; i < image.size; i++) {
        for (unsigned change = 1; change < 256; change = change * 3 + 1) {
            copy[i] ^= (uint8_t)change;
            if (cairn_unwind_table_open((struct cairn_span){copy, image.size}, &t)) {
                struct cairn_unwind_table_side entry;
                uint64_t vaddr;
                uint32_t rule;
                n_opened++;
                for (uint64_t at = 0xf00; at < 0x1400; at += 5)
                    cairn_unwind_table_side(&t, cairn_unwind_table_find(&t, at), &entry);
                for (uint64_t at = second & ~UINT64_C(0xffff); at < second + 64; at += 0x91)
                    cairn_unwind_table_find(&t, at);
                for (uint32_t row = 0; row < 20; row++)
                    cairn_unwind_table_row(&t, row, &vaddr, &rule);
            }
            copy[i] ^= (uint8_t)change;
        }
    }
    assert_true(n_opened > image.size);
    free(copy);
    test_table_done(&m.t);
}

static void damaged_images_give_wrong_rules_at_most(void **state)
{
    (void)state;
    damage(0x1240, false);
    damage(0x1240 + 40 * CAIRN_TABLE_BLOCK * CAIRN_TABLE_PAGE, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_hold_from_where_they_begin_and_functions_end),
        cmocka_unit_test(entries_may_come_in_any_order_and_overlap),
        cmocka_unit_test(debug_frame_fills_the_gaps),
        cmocka_unit_test(what_is_not_text_is_left_out),
        cmocka_unit_test(a_damaged_program_loses_its_function_alone),
        cmocka_unit_test(a_run_over_rules_gives_what_one_over_rows_gives),
        cmocka_unit_test(kinds_are_told_from_rows),
        cmocka_unit_test(only_the_kernels_signal_frame_is_one),
        cmocka_unit_test(pages_may_be_full),
        cmocka_unit_test(every_way_to_count_counts_the_same),
        cmocka_unit_test(images_are_the_same_every_time_and_wherever_they_lie),
        cmocka_unit_test(pages_without_rows_are_left_out),
        cmocka_unit_test(damaged_images_give_wrong_rules_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
