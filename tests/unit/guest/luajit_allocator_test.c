/* SPDX-License-Identifier: MIT */
/* States in a heap of LuaJIT's own allocator: in use, freed, and in damaged heaps. */
#include <string.h>

#include "guest/luajit/luajit.h"
#include "support/test.h"

enum {
    BASE = 0x100000,
    SIZE = 0x4000,
    USED = 2,
    BEFORE_USED = 1,
    /* chunks, in order; a state lies 16 bytes behind the beginning of its own */
    HEAP = 0,
    HEAP_SIZE = 880,
    MAIN = HEAP + HEAP_SIZE,
    MAIN_SIZE = 800,
    FIRST = MAIN + MAIN_SIZE,
    STATE_SIZE = 104,
    SECOND = FIRST + STATE_SIZE,
    THIRD = SECOND + STATE_SIZE,
    LAST = THIRD + STATE_SIZE,
    GLOBAL = MAIN + 16 + 96,
    N_STATES = 3
};

static uint8_t memory[SIZE];

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    if (va < BASE || va - BASE > SIZE || size > SIZE - (va - BASE))
        return false;
    memcpy(to, memory + (va - BASE), size);
    return true;
}

static const struct cairn_memory reader = {.read = read_memory};
static const size_t chunks[N_STATES] = {FIRST, SECOND, THIRD};

static void put(size_t at, uint64_t value)
{
    memcpy(memory + at, &value, sizeof value);
}

static void put_state(size_t chunk)
{
    const size_t at = chunk + 16;
    memory[at + 9] = 6; /* a thread */
    put(at + 16, BASE + GLOBAL);
    put(at + 32, BASE + 0x3010);
    put(at + 48, BASE + 0x3100);
    put(at + 56, BASE + 0x3000);
}

static void make(void)
{
    memset(memory, 0, sizeof memory);
    put(HEAP + 8, HEAP_SIZE | USED | BEFORE_USED);
    put(HEAP + 16 + 840, BASE); /* the segment */
    put(HEAP + 16 + 848, SIZE);
    put(MAIN + 8, MAIN_SIZE | USED | BEFORE_USED);
    put(GLOBAL + 8, BASE + HEAP + 16);
    put(GLOBAL + 192, BASE + MAIN + 16);
    put_state(MAIN);
    for (size_t i = 0; i < N_STATES; i++) {
        put_state(chunks[i]);
        put(chunks[i] + 8, STATE_SIZE | USED | BEFORE_USED);
    }
    put(LAST + 8, (SIZE - LAST - 80) | BEFORE_USED);
}

static void expect(uint8_t first, uint8_t second, uint8_t third)
{
    const uint8_t wanted[N_STATES] = {first, second, third};
    struct cairn_guest_heap_walk walk = {0}, other;
    for (size_t i = 0; i < N_STATES; i++) {
        assert_int_equal(cairn_lj_life(reader, BASE + chunks[i] + 16, &walk), wanted[i]);
        other = (struct cairn_guest_heap_walk){0};
        assert_int_equal(cairn_lj_life(reader, BASE + chunks[i] + 16, &other), wanted[i]);
    }
    for (size_t i = N_STATES; i-- > 0;) /* backwards, which costs more */
        assert_int_equal(cairn_lj_life(reader, BASE + chunks[i] + 16, &walk), wanted[i]);
}

static void states_whose_chunks_are_in_use_live(void **ctx)
{
    (void)ctx;
    make();
    expect(CAIRN_GUEST_LIVES, CAIRN_GUEST_LIVES, CAIRN_GUEST_LIVES);
}

static void a_freed_chunk_is_free(void **ctx)
{
    (void)ctx;
    make();
    put(SECOND + 8, STATE_SIZE | BEFORE_USED);
    put(THIRD + 8, STATE_SIZE | USED);
    expect(CAIRN_GUEST_LIVES, CAIRN_GUEST_IS_FREE, CAIRN_GUEST_LIVES);
}

/* Its own word says that it is in use, as before: only the chunk before it knows better. */
static void a_chunk_that_became_part_of_the_one_before_is_free(void **ctx)
{
    (void)ctx;
    make();
    put(FIRST + 8, 2 * STATE_SIZE | BEFORE_USED);
    put(THIRD + 8, STATE_SIZE | USED);
    expect(CAIRN_GUEST_IS_FREE, CAIRN_GUEST_IS_FREE, CAIRN_GUEST_LIVES);
    /* and was given away again, as a part of something larger */
    put(FIRST + 8, 2 * STATE_SIZE | USED | BEFORE_USED);
    put(THIRD + 8, STATE_SIZE | USED | BEFORE_USED);
    expect(CAIRN_GUEST_IS_FREE, CAIRN_GUEST_IS_FREE, CAIRN_GUEST_LIVES);
}

static void where_chunks_make_no_sense_it_is_not_known(void **ctx)
{
    (void)ctx;
    static const uint64_t wrong[] = {0, 8, SIZE, UINT64_MAX & ~(uint64_t)7, STATE_SIZE};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        make();
        put(SECOND + 8, wrong[i]);
        expect(CAIRN_GUEST_LIVES, CAIRN_GUEST_IS_FREE, CAIRN_GUEST_MAY_LIVE);
    }
}

static void without_its_own_allocator_nothing_is_known(void **ctx)
{
    (void)ctx;
    make();
    put(GLOBAL + 8, BASE + 0x3000);
    expect(CAIRN_GUEST_MAY_LIVE, CAIRN_GUEST_MAY_LIVE, CAIRN_GUEST_MAY_LIVE);
    make();
    put(HEAP + 16 + 848, SIZE / 8); /* the segment ends early */
    expect(CAIRN_GUEST_MAY_LIVE, CAIRN_GUEST_MAY_LIVE, CAIRN_GUEST_MAY_LIVE);
    make();
    put(HEAP + 16 + 856, BASE + HEAP + 16 + 840); /* a ring of segments */
    expect(CAIRN_GUEST_MAY_LIVE, CAIRN_GUEST_MAY_LIVE, CAIRN_GUEST_MAY_LIVE);
    assert_int_equal(cairn_lj_life(reader, 8, &(struct cairn_guest_heap_walk){0}),
                     CAIRN_GUEST_MAY_LIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_whose_chunks_are_in_use_live),
        cmocka_unit_test(a_freed_chunk_is_free),
        cmocka_unit_test(a_chunk_that_became_part_of_the_one_before_is_free),
        cmocka_unit_test(where_chunks_make_no_sense_it_is_not_known),
        cmocka_unit_test(without_its_own_allocator_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
