/* SPDX-License-Identifier: MIT */
#include "bpf/strip.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "support/test.h"

enum { BASE = 0x400000, PAGE = CAIRN_TABLE_PAGE, STRIP = 1 << CAIRN_BPF_STRIP_SHIFT };

/* A table with rows where they are put; pages are all kept. */
struct made {
    struct cairn_unwind_table table;
    uint32_t *pages, *rules, n;
    uint8_t *low;
    uint64_t *at;
};

static struct made make(uint32_t n_pages, uint32_t rows_max)
{
    struct made m = {.table = {.base = BASE, .n_pages = n_pages, .n_kept = n_pages}};
    m.pages = cairn_alloc(n_pages + 1, sizeof *m.pages);
    m.rules = cairn_alloc(rows_max + 1, sizeof *m.rules);
    m.low = cairn_alloc(rows_max + CAIRN_TABLE_PAD, 1);
    m.at = cairn_alloc(rows_max + 1, sizeof *m.at);
    return m;
}

static void put(struct made *m, uint64_t at, uint32_t rule)
{
    m->at[m->n] = at;
    m->low[m->n] = (uint8_t)at;
    m->rules[m->n++] = rule;
}

static void close_table(struct made *m)
{
    uint32_t row = 0;
    for (uint64_t p = 0; p <= m->table.n_pages; p++) {
        while (row < m->n && m->at[row] < p * PAGE)
            row++;
        m->pages[p] = row;
    }
    m->table.n_rows = m->n;
    m->table.pages = m->pages;
    m->table.rules = m->rules;
    m->table.low = m->low;
}

static void done(struct made *m)
{
    cairn_free(m->pages);
    cairn_free(m->rules);
    cairn_free(m->low);
    cairn_free(m->at);
}

/* As the program in the kernel does it, but for the masks. */
static uint32_t find_in(const struct cairn_strip *strip, const uint8_t *bytes, uint32_t text)
{
    const uint32_t *pages = (const void *)bytes;
    const uint32_t *rules = (const void *)(bytes + CAIRN_BPF_STRIP_RULES);
    const uint8_t *low = bytes + CAIRN_BPF_STRIP_RULES + 4 * (size_t)strip->n_rows;
    uint32_t page = text / PAGE, at = pages[page];
    assert_true(pages[page + 1] >= at && pages[page + 1] - at <= PAGE);
    while (at < pages[page + 1] && low[at] <= text % PAGE)
        at++;
    return rules[at - 1];
}

/* Every row, and the byte before it, in all strips. */
static void hold_against_the_table(const struct made *m)
{
    for (uint32_t i = 0; i < cairn_strips_of(&m->table); i++) {
        struct cairn_strip strip = cairn_strip_measure(&m->table, i);
        uint8_t *bytes = cairn_alloc(strip.bytes + 1, 1);
        assert_true(!strip.bytes || cairn_strip_write(&m->table, &strip, bytes));
        for (uint32_t text = 0; text < STRIP; text += text % PAGE == 255 ? 1 : 51) {
            uint32_t rule = strip.bytes ? find_in(&strip, bytes, text) : strip.rule;
            uint64_t at = (uint64_t)i * STRIP + text;
            assert_int_equal(rule, cairn_unwind_table_find(&m->table, BASE + at));
        }
        for (uint32_t r = 0; r < m->n; r++)
            for (uint64_t at = m->at[r] - (m->at[r] > 0); at <= m->at[r]; at++)
                if (at / STRIP == i && strip.bytes)
                    assert_int_equal(find_in(&strip, bytes, (uint32_t)(at % STRIP)),
                                     cairn_unwind_table_find(&m->table, BASE + at));
        cairn_free(bytes);
    }
}

static void strips_say_what_the_table_says(void **state)
{
    (void)state;
    srand(7);
    for (unsigned run = 0; run < 8; run++) {
        uint32_t n_pages = 1 + (uint32_t)rand() % 3000, rule = 0;
        struct made m = make(n_pages, 6000);
        uint64_t at = 0;
        while (m.n < 6000 && at < (uint64_t)n_pages * PAGE) {
            put(&m, at, 0x8000000u + ++rule);
            at += 1 + (uint64_t)rand() % (run % 2 ? 40 : 900);
        }
        close_table(&m);
        hold_against_the_table(&m);
        done(&m);
    }
}

static void a_page_may_have_a_row_at_every_byte(void **state)
{
    (void)state;
    struct made m = make(3, 3 * PAGE);
    for (uint32_t at = 0; at < 3 * PAGE; at++)
        put(&m, at, 0x8000000u + at);
    close_table(&m);
    hold_against_the_table(&m);
    done(&m);
}

static void text_without_rows_needs_no_bytes(void **state)
{
    (void)state;
    struct made m = make(4 * CAIRN_BPF_STRIP_PAGES, 2);
    put(&m, 0, 0x8000011);
    put(&m, 3 * STRIP, CAIRN_RULE_NONE);
    close_table(&m);
    assert_int_equal(cairn_strips_of(&m.table), 4);
    struct cairn_strip middle = cairn_strip_measure(&m.table, 1);
    assert_int_equal(middle.bytes, 0);
    assert_int_equal(cairn_strip_word(&middle, 0, 0), 0x8000011);
    hold_against_the_table(&m);
    done(&m);
}

static void a_word_says_where_the_strip_lies(void **state)
{
    (void)state;
    struct cairn_strip strip = {.n_rows = 0x12345, .bytes = 16};
    uint64_t word = cairn_strip_word(&strip, 200, CAIRN_BPF_SEGMENT_BYTES - 16);
    assert_int_equal(word >> 48, 201);
    assert_int_equal((word >> 24 & 0xffffff) * 16, CAIRN_BPF_SEGMENT_BYTES - 16);
    assert_int_equal(word & 0xffffff, 0x12345);
}

static void a_table_that_changes_while_it_is_cut_is_refused(void **state)
{
    (void)state;
    struct made m = make(CAIRN_BPF_STRIP_PAGES, 100);
    for (uint32_t i = 0; i < 50; i++)
        put(&m, i * 64, 0x8000000u + i);
    close_table(&m);
    struct cairn_strip strip = cairn_strip_measure(&m.table, 0);
    uint8_t *bytes = cairn_alloc(strip.bytes, 1);
    for (uint32_t i = 0; i < 50; i++)
        put(&m, 50 * 64 + i * 64, 0x8000000u + i);
    close_table(&m);
    assert_false(cairn_strip_write(&m.table, &strip, bytes));
    m.pages[1] = 99999; /* damage */
    struct cairn_strip other = cairn_strip_measure(&m.table, 0);
    assert_true(other.n_rows <= 102);
    cairn_free(bytes);
    done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strips_say_what_the_table_says),
        cmocka_unit_test(a_page_may_have_a_row_at_every_byte),
        cmocka_unit_test(text_without_rows_needs_no_bytes),
        cmocka_unit_test(a_word_says_where_the_strip_lies),
        cmocka_unit_test(a_table_that_changes_while_it_is_cut_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
