/* SPDX-License-Identifier: MIT */
/* Graphs of blocks in a memory of our own. */
#include "base/alloc.h"
#include "reach/form.h"
#include "reach/reach.h"
#include "support/test.h"

enum { UNIT = 64 }; /* bytes of most blocks here, one behind the other with a gap of 16 */
static const uint64_t BASE = 0x500000000000;

static struct {
    struct cairn_reach *reach;
    uint8_t *bytes;
    size_t size;
    struct cairn_reach_memory memory;
    size_t reads_left;
} t;

static bool read_memory(void *ctx, uint64_t va, uint8_t *to, size_t size)
{
    (void)ctx;
    assert_true(size <= CAIRN_REACH_WINDOW);
    if (!t.reads_left--)
        return false;
    memset(to, 0, size);
    if (va >= BASE && va - BASE < t.size)
        memcpy(to, t.bytes + (va - BASE),
               size < t.size - (size_t)(va - BASE) ? size : t.size - (size_t)(va - BASE));
    return true;
}

static uint64_t skip_memory(void *ctx, uint64_t va, uint64_t end)
{
    (void)ctx;
    if (va < BASE)
        return BASE < end ? BASE : end;
    return va - BASE < t.size ? va : end;
}

static void begin(size_t size)
{
    struct cairn_err err;
    t.size = size;
    t.bytes = calloc(1, size);
    t.reads_left = SIZE_MAX;
    t.memory = (struct cairn_reach_memory){read_memory, skip_memory, NULL};
    assert_non_null(t.bytes);
    assert_ok(cairn_reach_new(&t.reach, &err), err);
}

static void end(void)
{
    cairn_reach_free(t.reach);
    free(t.bytes);
}

static void add(uint64_t va, uint64_t size)
{
    struct cairn_err err;
    assert_ok(cairn_reach_add(t.reach, va, size, &err), err);
}

static void seal(void)
{
    struct cairn_err err;
    assert_ok(cairn_reach_seal(t.reach, &err), err);
}

static void flood(void)
{
    struct cairn_err err;
    assert_ok(cairn_reach_flood(t.reach, &t.memory, &err), err);
}

static uint64_t va_of(size_t i)
{
    return BASE + i * (UNIT + 16);
}

/* n blocks of UNIT bytes. */
static void begin_blocks(size_t n)
{
    begin((n + 1) * (UNIT + 16));
    for (size_t i = 0; i < n; i++)
        add(va_of(i), UNIT);
    seal();
}

static void put(uint64_t at, uint64_t word)
{
    memcpy(t.bytes + (at - BASE), &word, sizeof word);
}

/* A letter a block: h, p, or - for none. */
static void assert_marks(const char *expected)
{
    char got[64] = "";
    for (size_t i = 0; i < cairn_reach_count(t.reach) && i + 1 < sizeof got; i++)
        got[i] = "-ph"[cairn_reach_mark_of(t.reach, i)];
    assert_string_equal(got, expected);
}

static void assert_heads(const uint32_t *expected, size_t n)
{
    uint32_t heads[64];
    struct cairn_err err;
    assert_ok(cairn_reach_group(t.reach, &t.memory, heads, &err), err);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(heads[i], expected[i]);
}

static void pointers_to_starts_hold(void **state)
{
    (void)state;
    begin_blocks(6);
    put(va_of(0), va_of(3));
    put(va_of(3) + 56, va_of(2)); /* the last word of a block */
    put(va_of(4), va_of(5));
    put(va_of(2) + 64, va_of(1)); /* behind its end */
    const uint64_t root[] = {1, va_of(0), UINT64_MAX};
    cairn_reach_root(t.reach, (struct cairn_span){(const uint8_t *)root, sizeof root});
    flood();
    assert_marks("h-hh--");
    const uint32_t none = UINT32_MAX;
    assert_heads((uint32_t[]){none, 1, none, none, 4, 4}, 6);
    end();
}

static void doubtful_pointers_hold_nothing_for_sure(void **state)
{
    (void)state;
    begin_blocks(7);
    cairn_reach_word(t.reach, va_of(0) + 20);
    put(va_of(0), va_of(1)); /* hangs on a doubtful one */
    cairn_reach_word(t.reach, va_of(2) + UNIT);
    cairn_reach_word(t.reach, va_of(3) | UINT64_C(0xb4) << 56);
    cairn_reach_word(t.reach, va_of(4) | UINT64_C(0xfff8) << 48);
    cairn_reach_word(t.reach, va_of(5) + UNIT + 1);
    cairn_reach_word(t.reach, va_of(6) + 33);
    cairn_reach_word(t.reach, va_of(6));
    flood();
    assert_marks("ppppp-h");
    end();
}

static void a_tag_that_the_machine_ignores_is_no_doubt(void **state)
{
    (void)state;
    begin_blocks(2);
    t.reach->tag_bits = UINT64_C(0xff) << 56;
    cairn_reach_word(t.reach, va_of(0) | UINT64_C(0xb4) << 56);
    put(va_of(0), va_of(1) | UINT64_C(0x01) << 56);
    flood();
    assert_marks("hh");
    end();
}

static void the_end_of_a_block_may_be_the_start_of_the_next(void **state)
{
    (void)state;
    begin(4096);
    add(BASE, 32);
    add(BASE + 32, 32);
    add(BASE + 64, 8);
    seal();
    cairn_reach_word(t.reach, BASE + 32);
    cairn_reach_word(t.reach, BASE + 72); /* a block of 8 bytes may begin there */
    flood();
    assert_marks("phh");
    end();
}

static void forms_of_the_languages_hold(void **state)
{
    (void)state;
    static const struct cairn_reach_range tables[] = {{0x1000, 0x2000}, {0x8000, 0x9000}};
    begin_blocks(10);
    t.reach->tables = tables;
    t.reach->n_tables = 2;
    put(va_of(0), 7); /* new[7] of 8 bytes */
    cairn_reach_word(t.reach, va_of(0) + 8);
    put(va_of(1), UNIT - 8); /* the size of the rest */
    cairn_reach_word(t.reach, va_of(1) + 8);
    put(va_of(2), 30); /* std::string */
    put(va_of(2) + 8, 30);
    cairn_reach_word(t.reach, va_of(2) + 24);
    put(va_of(3), 0x1010); /* two vtables */
    put(va_of(3) + 40, 0x8ff8);
    cairn_reach_word(t.reach, va_of(3) + 40);
    put(va_of(4) + 32, va_of(4)); /* aligned by hand */
    cairn_reach_word(t.reach, va_of(4) + 40);
    put(va_of(5), UNIT / 16 - 2); /* a DTV */
    cairn_reach_word(t.reach, va_of(5) + 16);
    put(va_of(6), 0x1010); /* one vtable alone */
    put(va_of(6) + 40, 0x2000);
    cairn_reach_word(t.reach, va_of(6) + 40);
    put(va_of(7), 31); /* longer than there is room for */
    put(va_of(7) + 8, 40);
    cairn_reach_word(t.reach, va_of(7) + 24);
    put(va_of(1) + 16, va_of(8)); /* what hangs on them is held, too */
    put(va_of(8), 5);
    put(va_of(7) + 40, va_of(9));
    flood();
    assert_marks("hhhhhhpphp");
    end();
}

static void lengths_before_a_text_hold(void **state)
{
    (void)state;
    begin(4096);
    add(BASE, 8);       /* redis: 5 bits, a byte of flags */
    add(BASE + 16, 40); /* 8 bits, and two more bytes */
    add(BASE + 64, 520);
    add(BASE + 600, 40); /* no length that fits */
    seal();
    put(BASE, 6 << 3);
    put(BASE + 16, 36);
    put(BASE + 64, 514);
    put(BASE + 600, 7);
    cairn_reach_word(t.reach, BASE + 1);
    cairn_reach_word(t.reach, BASE + 16 + 3);
    cairn_reach_word(t.reach, BASE + 64 + 5);
    cairn_reach_word(t.reach, BASE + 600 + 3);
    flood();
    assert_marks("hhhp");
    end();
}

static void a_block_does_not_hold_itself(void **state)
{
    (void)state;
    begin_blocks(2);
    put(va_of(0), va_of(0));
    put(va_of(1), va_of(1) + 8);
    flood();
    assert_marks("--");
    assert_heads((uint32_t[]){0, 1}, 2);
    end();
}

static void a_cycle_is_one_group(void **state)
{
    (void)state;
    begin_blocks(9);
    put(va_of(0), va_of(1)); /* 0 1 2: a cycle, on which 3 hangs */
    put(va_of(1), va_of(2));
    put(va_of(2), va_of(0));
    put(va_of(2) + 8, va_of(3) + 24);
    put(va_of(6), va_of(5)); /* 6 comes before 5 and 4 */
    put(va_of(5), va_of(4));
    put(va_of(4) + 8, va_of(4));
    put(va_of(8), va_of(7)); /* two heads share one */
    put(va_of(6) + 8, va_of(7));
    flood();
    assert_marks("---------");
    uint32_t heads[9];
    struct cairn_err err;
    assert_ok(cairn_reach_group(t.reach, &t.memory, heads, &err), err);
    for (int i = 0; i < 4; i++)
        assert_int_equal(heads[i], 0);
    for (int i = 4; i < 7; i++)
        assert_int_equal(heads[i], 6);
    assert_true(heads[7] == 6 || heads[7] == 8);
    assert_int_equal(heads[8], 8);
    end();
}

enum shape { FORWARD, BACKWARD, SHUFFLED };

/* A list through all blocks, whose order is that of `next`. */
static void chain(enum shape shape, uint32_t n, bool is_held)
{
    uint32_t *order = malloc(n * sizeof *order);
    assert_non_null(order);
    begin_blocks(n);
    for (uint32_t i = 0; i < n; i++)
        order[i] = shape == BACKWARD ? n - 1 - i : i;
    uint64_t seed = 1;
    for (uint32_t i = n; shape == SHUFFLED && i > 1; i--) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint32_t k = (uint32_t)((seed >> 33) % i), was = order[i - 1];
        order[i - 1] = order[k];
        order[k] = was;
    }
    for (uint32_t i = 0; i + 1 < n; i++)
        put(va_of(order[i]) + 8, va_of(order[i + 1]));
    if (is_held)
        cairn_reach_word(t.reach, va_of(order[0]));
    flood();
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(cairn_reach_mark_of(t.reach, i), is_held ? CAIRN_REACH_HELD : 0);
    if (!is_held) {
        uint32_t *heads = malloc(n * sizeof *heads);
        struct cairn_err err;
        assert_non_null(heads);
        assert_ok(cairn_reach_group(t.reach, &t.memory, heads, &err), err);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(heads[i], order[0]);
        free(heads);
    }
    free(order);
    end();
}

static void lists_of_a_million_are_followed(void **state)
{
    (void)state;
    chain(FORWARD, 1000000, true);
    chain(BACKWARD, 1000000, true);
    chain(FORWARD, 1000000, false);
    chain(BACKWARD, 1000000, false);
    chain(SHUFFLED, 100000, true);
    chain(SHUFFLED, 100000, false);
}

static void a_block_may_hold_a_million(void **state)
{
    (void)state;
    enum { N = 1000000 };
    const uint64_t table = BASE + N * UINT64_C(16), size = N * UINT64_C(8);
    begin((size_t)(table + size - BASE));
    for (uint64_t i = 0; i < N; i++)
        add(BASE + i * 16, 8);
    add(table, size);
    seal();
    for (uint64_t i = 0; i < N; i++)
        put(table + i * 8, BASE + (N - 1 - i) * 16);
    cairn_reach_word(t.reach, table);
    flood();
    for (size_t i = 0; i <= N; i++)
        assert_int_equal(cairn_reach_mark_of(t.reach, i), CAIRN_REACH_HELD);
    end();
}

static void a_million_doubts_about_one_block_are_bounded(void **state)
{
    (void)state;
    enum { N = 1000000 };
    begin((size_t)N * 16);
    add(BASE, N * 8);
    add(BASE + N * 8, N * 8);
    seal();
    for (uint64_t i = 0; i < N; i++)
        put(BASE + i * 8, BASE + N * 8 + (i + 1) % N * 8 / 2);
    put(BASE, 0);
    cairn_reach_word(t.reach, BASE);
    cairn_reach_flood(t.reach, &t.memory, NULL);
    assert_true(t.reach->cap_hints < 100);
    end();
}

static void lies_about_sizes_are_survived(void **state)
{
    (void)state;
    begin(1 << 20);
    add(BASE, UINT64_C(1) << 60);
    add(BASE + 128, UINT64_C(1) << 60);
    add(BASE + (UINT64_C(1) << 40), 64);
    add(BASE + (UINT64_C(1) << 41), UINT64_MAX);
    seal();
    put(BASE + 8, BASE + 128);
    put(BASE + 4096, BASE + (UINT64_C(1) << 40));
    put(BASE + 4104, BASE + (UINT64_C(1) << 41));
    cairn_reach_word(t.reach, BASE);
    flood();
    assert_marks("hhhh");
    end();
}

static void reading_may_end_at_any_time(void **state)
{
    (void)state;
    struct cairn_err err = {0};
    uint32_t heads[4];
    int code = -1;
    for (size_t reads = 0; code < 0; reads++) {
        begin_blocks(4);
        put(va_of(0), va_of(1) + 8);
        put(va_of(2), va_of(3));
        cairn_reach_word(t.reach, va_of(0));
        t.reads_left = reads;
        code = cairn_reach_flood(t.reach, &t.memory, &err);
        if (code == CAIRN_OK)
            code = cairn_reach_group(t.reach, &t.memory, heads, &err);
        if (code < 0)
            assert_int_equal(code, CAIRN_E_STOPPED);
        end();
    }
    assert_int_equal(code, CAIRN_OK);
}

static void no_blocks_are_fine(void **state)
{
    (void)state;
    begin(64);
    seal();
    cairn_reach_word(t.reach, 0);
    cairn_reach_word(t.reach, 1);
    cairn_reach_word(t.reach, UINT64_MAX);
    cairn_reach_hold(t.reach, 1);
    flood();
    assert_int_equal(cairn_reach_count(t.reach), 0);
    end();
}

static void empty_blocks_are_reached(void **state)
{
    (void)state;
    begin(4096);
    add(BASE, 0);
    add(BASE + 16, 0);
    seal();
    cairn_reach_word(t.reach, BASE + 16);
    flood();
    assert_marks("-h");
    cairn_reach_hold(t.reach, BASE);
    flood();
    assert_marks("hh");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_to_starts_hold),
        cmocka_unit_test(doubtful_pointers_hold_nothing_for_sure),
        cmocka_unit_test(a_tag_that_the_machine_ignores_is_no_doubt),
        cmocka_unit_test(the_end_of_a_block_may_be_the_start_of_the_next),
        cmocka_unit_test(forms_of_the_languages_hold),
        cmocka_unit_test(lengths_before_a_text_hold),
        cmocka_unit_test(a_block_does_not_hold_itself),
        cmocka_unit_test(a_cycle_is_one_group),
        cmocka_unit_test(lists_of_a_million_are_followed),
        cmocka_unit_test(a_block_may_hold_a_million),
        cmocka_unit_test(a_million_doubts_about_one_block_are_bounded),
        cmocka_unit_test(lies_about_sizes_are_survived),
        cmocka_unit_test(reading_may_end_at_any_time),
        cmocka_unit_test(no_blocks_are_fine),
        cmocka_unit_test(empty_blocks_are_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
