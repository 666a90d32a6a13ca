/* SPDX-License-Identifier: MIT */
/* A state that is made of blocks, read again. */
#include "formats/heap_make.h"

#include <elf.h>
#include <stdio.h>

#include "base/alloc.h"
#include "formats/heap_view.h"
#include "support/test.h"

enum { BLOCKS_MAX = 70000 };

static struct {
    struct cairn_heap_make make;
    struct cairn_heap_view view;
    struct cairn_buffer bytes;
    struct cairn_heap_block blocks[BLOCKS_MAX]; /* that are expected */
    size_t n, n_seen;
} t;

static int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    cairn_heap_make_begin(&t.make, EM_X86_64, 42, "a program");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cairn_heap_view_close(&t.view);
    cairn_buffer_done(&t.bytes);
    cairn_heap_make_done(&t.make);
    return 0;
}

static void add(uint64_t va, uint64_t bytes, uint32_t kind)
{
    assert_true(t.n < BLOCKS_MAX);
    t.blocks[t.n++] = (struct cairn_heap_block){.va = va, .size = bytes, .stack = kind};
    cairn_heap_make_block(&t.make, va, bytes, kind);
}

static void see(void *ctx, const struct cairn_heap_block *block)
{
    (void)ctx;
    assert_true(t.n_seen < t.n);
    assert_int_equal(block->va, t.blocks[t.n_seen].va);
    assert_int_equal(block->size, t.blocks[t.n_seen].size);
    assert_int_equal(block->stack, t.blocks[t.n_seen].stack);
    t.n_seen++;
}

static void finish(void)
{
    struct cairn_err err;
    size_t size;
    assert_ok(cairn_heap_make_end(&t.make, &t.bytes, &err), err);
    assert_int_equal(t.bytes.size % CAIRN_HEAP_CHUNK, 0);
    assert_ok(cairn_heap_view_open(cairn_buffer_span(&t.bytes), &t.view, &size, &err), err);
    assert_int_equal(size, t.bytes.size);
}

static void assert_all(void)
{
    assert_int_equal(cairn_heap_view_sorted_blocks(&t.view, see, NULL), CAIRN_OK);
    assert_int_equal(t.n_seen, t.n);
}

static void assert_text(uint32_t kind, const char *expected)
{
    struct cairn_heap_record record;
    assert_true(cairn_heap_view_record(&t.view, kind, &record));
    assert_true(record.head.flags & CAIRN_HEAP_LOG_KIND);
    assert_true(record.head.n * 8u > strlen(expected));
    assert_memory_equal(record.rets, expected, strlen(expected) + 1);
}

static void blocks_come_back_in_their_order(void **state)
{
    (void)state;
    uint32_t small = cairn_heap_make_kind(&t.make, "[24 bytes]");
    uint32_t large = cairn_heap_make_kind(&t.make, "[app::Session, 5 bytes]");
    add(0x10, 24, small);
    add(0x30, 0, small);
    add(0x500000000010, UINT64_C(1) << 40, large);
    add(0x500000000030, 24, 0);
    add(0x7fffffffffe0, UINT64_MAX, large);
    finish();
    assert_all();
    assert_text(small, "[24 bytes]");
    assert_text(large, "[app::Session, 5 bytes]");
    assert_int_equal(t.view.header.pid, 42);
    assert_string_equal(t.view.header.command, "a program");
    assert_int_equal(t.view.header.live_bytes, INT64_MAX);
}

static void many_chunks_have_rows_of_their_own(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 12000; i++) { /* a chunk of the table for each */
        add(0x10000 + (uint64_t)i * (1 << 20), i, 0);
    }
    finish();
    assert_all();
}

static void many_kinds_and_large_blocks_fill_chunks(void **state)
{
    (void)state;
    char text[32];
    for (uint32_t i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "[%u bytes]", i);
        uint32_t kind = cairn_heap_make_kind(&t.make, text);
        assert_int_equal(kind, i + 1);
        add(0x10000 + (uint64_t)i * 64, (UINT64_C(1) << 33) + i, kind);
    }
    finish();
    assert_all();
    assert_text(1, "[0 bytes]");
    assert_text(20000, "[19999 bytes]");
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    uint32_t kind = cairn_heap_make_kind(&t.make, text);
    uint32_t empty = cairn_heap_make_kind(&t.make, "");
    add(0x1000, 8, kind);
    finish();
    text[CAIRN_HEAP_MAKE_TEXT_MAX - 1] = '\0';
    assert_text(kind, text);
    assert_text(empty, "");
}

static void two_blocks_in_one_place_are_survived(void **state)
{
    (void)state;
    cairn_heap_make_block(&t.make, 0x1000, 8, 0);
    cairn_heap_make_block(&t.make, 0x1000, 9, 7); /* a kind that there is not */
    cairn_heap_make_block(&t.make, 0x1008, 10, UINT32_MAX);
    finish();
}

static void a_state_has_an_end(void **state)
{
    (void)state;
    struct cairn_err err;
    t.make.is_full = true;
    assert_int_equal(cairn_heap_make_kind(&t.make, "[1 bytes]"), 0);
    cairn_heap_make_block(&t.make, 0x1000, 8, 0);
    assert_fails(cairn_heap_make_end(&t.make, &t.bytes, &err), CAIRN_E_LIMIT, err, "more blocks");
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    struct cairn_err err;
    int result = CAIRN_E_NOMEM;
    for (long n = 0; result == CAIRN_E_NOMEM; n++) {
        cairn_heap_make_done(&t.make);
        cairn_buffer_done(&t.bytes);
        cairn_alloc_fail_after(n);
        cairn_heap_make_begin(&t.make, EM_X86_64, 42, "a program");
        for (uint64_t i = 0; i < 8; i++) {
            uint32_t kind = cairn_heap_make_kind(&t.make, "[a kind]");
            cairn_heap_make_block(&t.make, i << 20, UINT64_C(1) << 40, kind);
        }
        result = cairn_heap_make_end(&t.make, &t.bytes, &err);
        cairn_alloc_fail_after(-1);
    }
    assert_ok(result, err);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(blocks_come_back_in_their_order),
        CASE(many_chunks_have_rows_of_their_own),
        CASE(many_kinds_and_large_blocks_fill_chunks),
        CASE(long_texts_are_cut),
        CASE(two_blocks_in_one_place_are_survived),
        CASE(a_state_has_an_end),
        CASE(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
