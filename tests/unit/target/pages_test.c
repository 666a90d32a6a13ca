/* SPDX-License-Identifier: MIT */
#include "target/pages.h"

#include "support/test.h"

enum { FIRST = 100, END = 400, HOLE = 250, PAGE = CAIRN_PAGE };

struct memory {
    struct cairn_pages pages;
    size_t n_reads, n_read; /* system calls, and pages that came */
};

/* Pages FIRST to END - 1 are there, but for HOLE; each word holds its own address. */
static size_t read_words(void *ctx, uint64_t va, uint8_t *to, size_t n, size_t asked)
{
    struct memory *memory = ctx;
    size_t got = 0;
    assert_true(va % PAGE == 0 && asked < n && n <= CAIRN_PAGE_SLOTS);
    memory->n_reads++;
    for (; got < n; got++) {
        uint64_t page = va / PAGE + got;
        if (page < FIRST || page >= END || page == HOLE)
            break;
        for (size_t i = 0; i < PAGE; i += 8) {
            uint64_t word = page * PAGE + i;
            memcpy(to + got * PAGE + i, &word, sizeof word);
        }
    }
    memory->n_read += got;
    return got;
}

static struct memory *open_memory(void)
{
    struct memory *memory = calloc(1, sizeof *memory);
    assert_non_null(memory);
    memory->pages.read = read_words;
    memory->pages.ctx = memory;
    cairn_pages_forget(&memory->pages);
    return memory;
}

static bool has(struct memory *memory, uint64_t va)
{
    uint64_t word = 0;
    if (!cairn_pages_read(&memory->pages, va, &word, sizeof word))
        return false;
    assert_int_equal(word, va);
    return true;
}

static void upwards_and_downwards_pages_come_several_at_once(void **state)
{
    (void)state;
    struct memory *memory = open_memory();
    for (uint64_t va = FIRST * PAGE; va < HOLE * PAGE; va += 64)
        assert_true(has(memory, va));
    assert_in_range(memory->n_reads, 1, 13);
    memory->n_reads = 0;
    cairn_pages_forget(&memory->pages);
    for (uint64_t va = END * PAGE - 64; va > HOLE * PAGE + PAGE; va -= 64)
        assert_true(has(memory, va));
    assert_in_range(memory->n_reads, 1, 20);
    free(memory);
}

static void three_in_turn_are_not_in_each_others_way(void **state)
{
    (void)state;
    enum { N = 90 };
    struct memory *memory = open_memory();
    for (uint64_t i = 0; i < N * 64; i++) {
        assert_true(has(memory, FIRST * PAGE + i * 64));
        assert_true(has(memory, (HOLE - 1) * PAGE + PAGE - 64 - i % 64 * 64));
        assert_true(has(memory, END * PAGE - 64 - i * 64));
        assert_true(has(memory, (FIRST + 96) * PAGE));
    }
    assert_in_range(memory->n_reads, 1, 40);
    free(memory);
}

static void any_order_gives_what_is_there(void **state)
{
    (void)state;
    struct memory *memory = open_memory();
    uint64_t random = 12345;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t page = FIRST - 4 + (random >> 33) % (END - FIRST + 8);
        if (i % 3)
            page = FIRST - 4 + (uint64_t)i / 40 % (END - FIRST + 8);
        bool is_there = page >= FIRST && page < END && page != HOLE;
        assert_int_equal(has(memory, page * PAGE + random % 511 * 8), is_there);
    }
    free(memory);
}

static void what_is_hoped_for_takes_nothing_away(void **state)
{
    (void)state;
    struct memory *memory = open_memory();
    for (uint64_t page = HOLE + 9; page > HOLE; page--)
        assert_true(has(memory, page * PAGE));
    assert_false(has(memory, HOLE * PAGE));
    assert_true(has(memory, (HOLE - 1) * PAGE));
    for (uint64_t page = END - 9; page < END; page++)
        assert_true(has(memory, page * PAGE));
    assert_false(has(memory, (uint64_t)END * PAGE));
    assert_false(has(memory, 0));
    assert_false(has(memory, UINT64_MAX - 7));
    free(memory);
}

static void forgotten_pages_are_read_anew(void **state)
{
    (void)state;
    struct memory *memory = open_memory();
    assert_true(has(memory, FIRST * PAGE));
    assert_true(has(memory, FIRST * PAGE + 8));
    assert_int_equal(memory->n_reads, 1);
    cairn_pages_forget(&memory->pages);
    assert_true(has(memory, FIRST * PAGE + 8));
    assert_int_equal(memory->n_reads, 2);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upwards_and_downwards_pages_come_several_at_once),
        cmocka_unit_test(three_in_turn_are_not_in_each_others_way),
        cmocka_unit_test(any_order_gives_what_is_there),
        cmocka_unit_test(what_is_hoped_for_takes_nothing_away),
        cmocka_unit_test(forgotten_pages_are_read_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
