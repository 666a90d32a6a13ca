/* SPDX-License-Identifier: MIT */
/* What the process says of its own blocks: as text, as JSON, in numbers; and of a state that was
 * scribbled over. */
#include "heap/report.h"

#include <errno.h>

#include "heap/caller.h"
#include "heap/handed.h"
#include "heap/start.h"
#include "heap/stats.h"
#include "heap/track.h"
#include "support/apart.h"
#include "unit/heap/temporary.h"

static char area[1 << 16] __attribute__((aligned(4096)));

static int start(void **state)
{
    (void)state;
    return cairn_heap_start(&temporary_settings) ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    cairn_heap_state_remove(&cairn_heap_present()->state);
    return 0;
}

APART static void born(void *block, size_t bytes)
{
    cairn_heap_born(block, bytes, CAIRN_HEAP_KIND_MALLOC);
}

APART static void make_one(int i, size_t bytes)
{
    born(area + 64 * i, bytes);
    __asm__ volatile("" ::: "memory"); /* no tail call: its frame stays */
}

static void died(const void *block)
{
    cairn_heap_died(block, CAIRN_HEAP_KIND_MALLOC);
}

/* NUL-terminated, in out->text. */
static const char *make(enum cairn_heap_report_form form, struct cairn_heap_out *out)
{
    struct cairn_heap_stats stats;
    *out = (struct cairn_heap_out){.fd = -1};
    cairn_heap_stats(cairn_heap_present(), &stats);
    cairn_heap_report(cairn_heap_present(), form, &stats.counts, 0, out);
    assert_int_equal(out->failed, 0);
    cairn_heap_out_bytes(out, "", 1);
    return out->text.items;
}

static void without_blocks_it_says_so(void **state)
{
    (void)state;
    struct cairn_heap_out out;
    assert_string_equal(make(CAIRN_HEAP_REPORT_TEXT, &out), "=== Memory Leak Report ===\n"
                                                            "Total Allocations: 0 (0 bytes)\n"
                                                            "Total Frees: 0 (0 bytes)\n"
                                                            "Current Leaks: 0 (0 bytes)\n"
                                                            "\n"
                                                            "No memory leaks detected.\n");
    cairn_heap_out_done(&out);
    assert_string_equal(make(CAIRN_HEAP_REPORT_JSON, &out),
                        "{\"allocations\": {\"blocks\": 0, \"bytes\": 0},\n"
                        "\"frees\": {\"blocks\": 0, \"bytes\": 0},\n"
                        "\"live\": {\"blocks\": 0, \"bytes\": 0},\n"
                        "\"leaks\": []}\n");
    cairn_heap_out_done(&out);
}

static void a_block_has_its_stack_and_names(void **state)
{
    (void)state;
    struct cairn_heap_out out;
    char line[128];
    make_one(1, 100);
    make_one(2, 200);
    died(area + 64);
    const char *text = make(CAIRN_HEAP_REPORT_TEXT, &out);
    const char *totals = "Total Allocations: 2 (300 bytes)\nTotal Frees: 1 (100 bytes)\n"
                         "Current Leaks: 1 (200 bytes)\n\n";
    assert_non_null(strstr(text, totals));
    snprintf(line, sizeof(line), "Leak #1: ptr=%p, size=200, so=heap_report_test\n",
             (void *)(area + 128));
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, "  Backtrace ("));
    assert_non_null(strstr(text, " frames):\n    #0: 0x"));
    assert_non_null(strstr(text, " (make_one)\n    #1: 0x"));
    assert_non_null(strstr(text, " (a_block_has_its_stack_and_names)\n    #2: 0x"));
    assert_non_null(strstr(text, " (main)\n"));
    assert_null(strstr(text, "Leak #2"));
    cairn_heap_out_done(&out);
    text = make(CAIRN_HEAP_REPORT_JSON, &out);
    snprintf(line, sizeof(line),
             "{\"ptr\": \"%p\", \"size\": 200, \"age_ms\": ", (void *)(area + 128));
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, "\"function\": \"make_one\"}, {\"address\": \"0x"));
    assert_non_null(strstr(text, "\"offset\": \"0x"));
    cairn_heap_out_done(&out);
    died(area + 128);
}

static void blocks_are_listed_by_address(void **state)
{
    (void)state;
    struct cairn_heap_inside inside;
    for (int i = 9; i >= 0; i--)
        make_one(i, 1000 + (size_t)i);
    assert_true(cairn_heap_inside_open(&inside, cairn_heap_present()));
    const struct cairn_heap_live_block *blocks = inside.blocks.items;
    assert_int_equal(inside.blocks.n, 10);
    assert_int_equal(inside.bytes, 10045);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(blocks[i].va, (uintptr_t)area + 64 * (size_t)i);
        assert_int_equal(blocks[i].size, 1000 + i);
    }
    cairn_heap_inside_close(&inside);
}

static void a_large_block_has_its_size(void **state)
{
    (void)state;
    struct cairn_heap_out out;
    make_one(3, 100 << 20);
    assert_non_null(strstr(make(CAIRN_HEAP_REPORT_TEXT, &out), "size=104857600, "));
    cairn_heap_out_done(&out);
    died(area + 192);
}

static void a_block_without_stack_has_no_backtrace(void **state)
{
    (void)state;
    struct cairn_heap_out out;
    atomic_fetch_and(&cairn_heap_present()->state.header->flags, ~(unsigned)CAIRN_HEAP_STACKS_ON);
    cairn_heap_next_turn(cairn_heap_present()->state.header);
    make_one(1, 77);
    const char *text = make(CAIRN_HEAP_REPORT_TEXT, &out);
    /* The caller of the allocation function is known all the same. */
    assert_non_null(strstr(text, "size=77, so=heap_report_test\n\n"));
    assert_null(strstr(text, "Backtrace"));
    cairn_heap_out_done(&out);
}

static void numbers_begin_anew(void **state)
{
    (void)state;
    struct cairn_tracked_heap *heap = cairn_heap_present();
    struct cairn_heap_stats stats;
    cairn_heap_stats_reset(heap); /* of what the tests before had */
    make_one(1, 20000);
    make_one(2, 20000);
    died(area + 64);
    cairn_heap_stats(heap, &stats);
    assert_int_equal(stats.counts.n_allocs, 2);
    assert_int_equal(stats.counts.n_frees, 1);
    assert_int_equal(stats.n_live, 1);
    assert_int_equal(stats.live_bytes, 20000);
    assert_in_range(stats.peak_bytes, 40000 - 4096, 40000);
    cairn_heap_stats_reset(heap);
    cairn_heap_stats(heap, &stats);
    assert_int_equal(stats.counts.n_allocs, 0);
    assert_int_equal(stats.counts.free_bytes, 0);
    assert_int_equal(stats.n_live, 1);
    assert_int_equal(stats.live_bytes, 20000);
    assert_int_equal(stats.peak_bytes, 20000);
    died(area + 128);
    cairn_heap_stats(heap, &stats);
    assert_int_equal(stats.counts.n_frees, 1);
    assert_int_equal(stats.live_bytes, 0);
    assert_int_equal(stats.peak_bytes, 20000);
}

static void what_was_seen_is_in_the_peak(void **state)
{
    (void)state;
    struct cairn_heap_stats stats;
    cairn_heap_stats_reset(cairn_heap_present());
    make_one(1, 300);
    cairn_heap_stats(cairn_heap_present(), &stats);
    died(area + 64);
    cairn_heap_stats(cairn_heap_present(), &stats);
    assert_int_equal(stats.live_bytes, 0);
    assert_int_equal(stats.peak_bytes, 300);
}

static void what_was_handed_out_is_known_once(void **state)
{
    (void)state;
    struct cairn_tracked_heap *heap = cairn_heap_present();
    cairn_heap_handed_put(area + 512);
    died(area + 512);
    assert_int_equal(heap->state.header->loss_blocks[CAIRN_HEAP_LOSS_UNKNOWN], 0);
    died(area + 512);
    assert_int_equal(heap->state.header->loss_blocks[CAIRN_HEAP_LOSS_UNKNOWN], 1);
    assert_false(cairn_heap_handed_take(NULL));
}

static void names_are_escaped(void **state)
{
    (void)state;
    struct cairn_heap_out out = {.fd = -1};
    cairn_heap_out_name(&out, "a\n\"\\\xff", 5);
    cairn_heap_out_json(&out, "a\n\"\\\xff", 5);
    cairn_heap_out_bytes(&out, "", 1);
    assert_string_equal(out.text.items, "a\\x0a\"\\\\xff\"a\\u000a\\u0022\\u005c\\u00ff\"");
    cairn_heap_out_done(&out);
}

static void a_full_device_is_said(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    struct cairn_heap_out out = {.fd = fileno(full)};
    cairn_heap_out_str(&out, "text");
    cairn_heap_out_flush(&out);
    assert_int_equal(out.failed, ENOSPC);
    cairn_heap_out_done(&out);
    fclose(full);
}

/* Mostly where there is something: the header, rows, beginnings of chunks. */
static void scribble(unsigned seed)
{
    struct cairn_tracked_heap *heap = cairn_heap_present();
    size_t bytes = (size_t)heap->state.header->n_chunks << CAIRN_HEAP_CHUNK_BITS;
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int i = 0; i < 4000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t chunk = (size_t)(random >> 20) % (bytes >> CAIRN_HEAP_CHUNK_BITS);
        size_t off = (size_t)(random >> 40) % (i % 4 ? 512 : CAIRN_HEAP_CHUNK);
        if (chunk == 0)
            off = i % 2 ? off % 512 : CAIRN_HEAP_HEADER_BYTES + off % 512;
        ((uint8_t *)heap->state.header)[(chunk << CAIRN_HEAP_CHUNK_BITS) + off] ^=
            (uint8_t)(1u << (random >> 60) % 8);
    }
}

static void a_state_that_was_scribbled_over_harms_nobody(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 30; seed++) {
        assert_int_equal(start(NULL), 0);
        for (int i = 0; i < 20; i++)
            make_one(i, i % 5 ? (size_t)i : 8 << 20);
        scribble(seed);
        struct cairn_heap_stats stats;
        struct cairn_heap_out out = {.fd = -1};
        cairn_heap_stats(cairn_heap_present(), &stats);
        cairn_heap_report(cairn_heap_present(), seed % 2, &stats.counts, 0, &out);
        cairn_heap_out_done(&out);
        stop(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_blocks_it_says_so, start, stop),
        cmocka_unit_test_setup_teardown(a_block_has_its_stack_and_names, start, stop),
        cmocka_unit_test_setup_teardown(blocks_are_listed_by_address, start, stop),
        cmocka_unit_test_setup_teardown(a_large_block_has_its_size, start, stop),
        cmocka_unit_test_setup_teardown(a_block_without_stack_has_no_backtrace, start, stop),
        cmocka_unit_test_setup_teardown(numbers_begin_anew, start, stop),
        cmocka_unit_test_setup_teardown(what_was_seen_is_in_the_peak, start, stop),
        cmocka_unit_test_setup_teardown(what_was_handed_out_is_known_once, start, stop),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(a_full_device_is_said),
        cmocka_unit_test(a_state_that_was_scribbled_over_harms_nobody),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
