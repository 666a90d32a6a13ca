/* SPDX-License-Identifier: MIT */
/* Mappings by their addresses: made, unmade in parts, laid over each other; against a map of pages
 * that is kept beside. */
#include "heap/maps.h"

#include <stdlib.h>

#include "unit/heap/temporary.h"

enum { PAGES = 200, PAGE = 4096, ROUNDS = 20000 };
static const uint64_t base = UINT64_C(0x7f0000000000) & UINTPTR_MAX;

static struct cairn_tracked_state made;
static struct cairn_heap_maps maps;

static int make(void **state)
{
    (void)state;
    memset(&made, 0, sizeof(made));
    memset(&maps, 0, sizeof(maps));
    return cairn_heap_state_make(&made, temporary_settings.dir, temporary_settings.max_bytes) ? 0
                                                                                              : -1;
}

static int leave(void **state)
{
    (void)state;
    cairn_heap_state_remove(&made);
    cairn_heap_state_leave(&made);
    return 0;
}

static void put(uint64_t from, uint64_t to, uint32_t stack)
{
    const struct cairn_heap_range range = {base + from * PAGE, base + to * PAGE, stack, 0,
                                           CAIRN_HEAP_MAP_MEMORY};
    cairn_heap_maps_put(&maps, &made, &range);
}

static void cut(uint64_t from, uint64_t to)
{
    cairn_heap_maps_cut(&maps, &made, base + from * PAGE, base + to * PAGE);
}

static const struct cairn_heap_map *nth(uint32_t i)
{
    return &maps.chunks[0][maps.order[i]];
}

static void is(uint32_t i, uint64_t from, uint64_t to, uint32_t stack)
{
    assert_true(i < maps.n);
    assert_int_equal(nth(i)->from, base + from * PAGE);
    assert_int_equal(nth(i)->to, base + to * PAGE);
    assert_int_equal(nth(i)->stack, stack);
}

static void parts_are_taken_away(void **state)
{
    (void)state;
    put(10, 20, 1);
    cut(0, 5);
    cut(20, 30);
    is(0, 10, 20, 1);
    cut(8, 12);
    is(0, 12, 20, 1);
    cut(18, 25);
    is(0, 12, 18, 1);
    cut(14, 15);
    is(0, 12, 14, 1);
    is(1, 15, 18, 1);
    assert_int_equal(maps.n, 2);
    assert_int_equal(made.header->live_maps, 2);
    assert_int_equal(made.header->live_map_bytes, 5 * PAGE);
    assert_int_equal(made.header->peak_map_bytes, 10 * PAGE);
    assert_int_equal(made.header->n_mapped, 1);
    cut(0, 100);
    assert_int_equal(maps.n, 0);
    assert_int_equal(made.header->live_map_bytes, 0);
}

static void the_allocators_own_are_told_apart(void **state)
{
    (void)state;
    const struct cairn_heap_range range = {base, base + PAGE, 1, 0, CAIRN_HEAP_MAP_ALLOCATOR};
    cairn_heap_maps_put(&maps, &made, &range);
    put(5, 6, 2);
    assert_int_equal(maps.n, 2);
    assert_int_equal(made.header->live_maps, 1);
    assert_int_equal(made.header->mapped_bytes, PAGE);
    assert_int_equal(cairn_heap_maps_kind(&maps, base + 7, CAIRN_HEAP_MAP_FILE),
                     CAIRN_HEAP_MAP_ALLOCATOR);
    assert_int_equal(cairn_heap_maps_kind(&maps, base + 2 * PAGE, CAIRN_HEAP_MAP_FILE),
                     CAIRN_HEAP_MAP_FILE);
}

static void whatever_comes_agrees_with_a_list_of_pages(void **state)
{
    (void)state;
    static uint32_t pages[PAGES];
    uint32_t random = 12345;
    memset(pages, 0, sizeof(pages));
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        random = random * 1664525 + 1013904223;
        uint32_t from = (random >> 16) % PAGES, n = 1 + (random >> 8) % 20;
        uint32_t to = from + n < PAGES ? from + n : PAGES;
        uint32_t stack = random >> 31 ? round : 0;
        stack ? put(from, to, stack) : cut(from, to);
        for (uint32_t i = from; i < to; i++)
            pages[i] = stack;
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < maps.n; i++) {
            uint64_t first = (nth(i)->from - base) / PAGE, end = (nth(i)->to - base) / PAGE;
            assert_true(i == 0 || nth(i - 1)->to <= nth(i)->from);
            for (uint64_t k = first; k < end; k++)
                assert_int_equal(pages[k], nth(i)->stack);
            bytes += (end - first) * PAGE;
        }
        assert_int_equal(made.header->live_maps, maps.n);
        assert_int_equal(made.header->live_map_bytes, bytes);
        uint64_t n_pages = 0;
        for (uint32_t i = 0; i < PAGES; i++)
            n_pages += pages[i] != 0;
        assert_int_equal(n_pages * PAGE, bytes);
    }
    assert_in_range(maps.n_made, 1, PAGES);
}

static void what_finds_no_room_is_counted(void **state)
{
    (void)state;
    uint32_t i = 0;
    while (!cairn_heap_state_has(&made, CAIRN_HEAP_FULL))
        cairn_heap_state_take(&made, CAIRN_HEAP_LOG, 1, 0, i++);
    put(1, 2, 1);
    assert_int_equal(made.header->loss_blocks[CAIRN_HEAP_LOSS_MAPPING], 1);
    assert_int_equal(made.header->loss_bytes[CAIRN_HEAP_LOSS_MAPPING], PAGE);
    cut(0, 10);
    assert_int_equal(made.header->live_maps, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, leave)
    const struct CMUnitTest tests[] = {
        TEST(parts_are_taken_away),
        TEST(the_allocators_own_are_told_apart),
        TEST(whatever_comes_agrees_with_a_list_of_pages),
        TEST(what_finds_no_room_is_counted),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
