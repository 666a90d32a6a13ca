/* SPDX-License-Identifier: MIT */
/* The parts of a state, each by itself: sizes aside, the shadow table, stacks, counts, epochs. */
#include "heap/count.h"
#include "heap/epoch.h"
#include "heap/start.h"
#include "unit/heap/temporary.h"

static struct cairn_tracked_heap *heap;

static int make(void **state)
{
    (void)state;
    heap = cairn_heap_new(&temporary_settings);
    return heap ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    cairn_heap_state_remove(&heap->state);
    cairn_heap_leave(heap);
    return 0;
}

static void fill_up(void)
{
    while (cairn_heap_state_take(&heap->state, CAIRN_HEAP_LOG, 1, 0, 0))
        ;
    assert_true(cairn_heap_state_has(&heap->state, CAIRN_HEAP_FULL));
}

static void sizes_aside_are_found_once_and_their_places_used_again(void **state)
{
    (void)state;
    enum { N = CAIRN_HEAP_LARGE_A_CHUNK + 3 };
    for (uint64_t i = 1; i <= N; i++)
        assert_true(cairn_heap_large_put(&heap->large, &heap->state, i << 20, i));
    assert_int_equal(heap->large.n_chunks, 2);
    assert_int_equal(cairn_heap_large_take(&heap->large, 77), 0);
    for (uint64_t i = N; i >= 1; i--) {
        assert_int_equal(cairn_heap_large_take(&heap->large, i << 20), i);
        assert_int_equal(cairn_heap_large_take(&heap->large, i << 20), 0);
    }
    assert_true(cairn_heap_large_put(&heap->large, &heap->state, 5, 6));
    assert_int_equal(heap->large.n_chunks, 2);
    fill_up();
    for (uint64_t i = 1; i < 2 * CAIRN_HEAP_LARGE_A_CHUNK; i++)
        assert_true(cairn_heap_large_put(&heap->large, &heap->state, i << 20, i));
    assert_false(cairn_heap_large_put(&heap->large, &heap->state, 1, 1));
    assert_int_equal(cairn_heap_large_take(&heap->large, 5), 6);
}

static void every_address_has_a_place_of_its_own(void **state)
{
    (void)state;
    const uint64_t step = UINT64_C(1) << temporary_settings.granule_bits;
    const uint64_t bases[] = {0,
                              0xfff0,
                              UINT64_C(0x12340000),
                              UINT64_C(0x55aa00000000),
                              UINT64_C(0x7fffffff0000),
                              (UINT64_C(1) << CAIRN_HEAP_VA_BITS) - 4096};
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
        for (uint64_t k = 0; k < 64; k++) {
            uint64_t va = (bases[i] & UINTPTR_MAX) + k * step;
            _Atomic(uint64_t) *place = cairn_heap_shadow_make(&heap->shadow, &heap->state, va);
            assert_non_null(place);
            assert_ptr_equal(place, cairn_heap_shadow_find(&heap->shadow, va));
            assert_ptr_equal(place, cairn_heap_shadow_make(&heap->shadow, &heap->state, va));
            *place = va + 1;
        }
    for (size_t i = 2; i < sizeof(bases) / sizeof(bases[0]); i++)
        for (uint64_t k = 0; k < 64; k++) {
            uint64_t va = (bases[i] & UINTPTR_MAX) + k * step;
            assert_int_equal(*cairn_heap_shadow_find(&heap->shadow, va), va + 1);
        }
}

static void addresses_above_the_table_have_no_place(void **state)
{
    (void)state;
    const uint64_t above[] = {UINT64_C(1) << CAIRN_HEAP_VA_BITS, UINT64_MAX};
    for (int i = 0; i < 2; i++) {
        assert_null(cairn_heap_shadow_find(&heap->shadow, above[i]));
        assert_null(cairn_heap_shadow_make(&heap->shadow, &heap->state, above[i]));
    }
    assert_null(cairn_heap_shadow_find(&heap->shadow, 0x123450000));
    fill_up();
    assert_null(cairn_heap_shadow_make(&heap->shadow, &heap->state, 0x1000));
}

static uint32_t add_stack(uintptr_t salt, uint32_t n, bool *ret_is_new)
{
    static struct cairn_local_frame frames[CAIRN_HEAP_FRAMES];
    uint64_t hash = atomic_load(&heap->stacks.seed);
    for (uint32_t i = n; i-- > 0;) {
        frames[i].ret = salt + i;
        hash = cairn_heap_hash_step(hash, frames[i].ret);
    }
    const struct cairn_heap_new_stack new = {.frames = frames, .n = n};
    return cairn_heap_stacks_add(&heap->stacks, &heap->state, &heap->modules, hash, &new,
                                 ret_is_new);
}

static void stacks_are_numbered_once_and_their_records_are_whole(void **state)
{
    (void)state;
    enum { N = 5000 }; /* more than a table, a list of hashes and a chunk begin with */
    bool is_new;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 1; i <= N; i++) {
            assert_int_equal(add_stack(i * 1000, 1 + i % 7, &is_new), i);
            assert_int_equal(is_new, round == 0);
        }
    for (uint32_t i = 1; i <= N; i++) {
        uint64_t at = cairn_heap_stacks_at(&heap->stacks, i)->log;
        const struct cairn_heap_log *log =
            (const struct cairn_heap_log *)(const void *)((const char *)heap->state.header + at);
        assert_int_equal(log->n, 1 + i % 7);
        for (uint32_t k = 0; k < log->n; k++)
            assert_int_equal(log->rets[k], i * 1000 + log->n - 1 - k);
    }
    assert_int_equal(add_stack(1, CAIRN_HEAP_FRAMES, &is_new), N + 1);
    fill_up();
    uint32_t last = 1;
    for (uint32_t i = 0; last != 0 && i < 100000; i++)
        last = add_stack(UINT32_C(1) << 30 | i * 1000, 100, &is_new);
    assert_int_equal(last, 0);
    assert_int_equal(add_stack(1000, 2, &is_new), 1); /* those that are known stay so */
}

static void counts_of_threads_add_up(void **state)
{
    (void)state;
    struct cairn_heap_own *own = calloc(1, sizeof(*own));
    assert_true(cairn_heap_count_begin(heap, own));
    bool is_new;
    enum { STACKS = 3000, ROUNDS = 10 }; /* more stacks than there are deltas at first */
    for (uint32_t i = 1; i <= STACKS; i++)
        add_stack(i * 1000, 2, &is_new);
    int64_t live = 0;
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 1; i <= STACKS; i++) {
            struct cairn_heap_delta *delta = cairn_heap_count_delta(heap, own, i);
            cairn_heap_count_add(heap, delta, &delta->allocs, i);
            cairn_heap_count_live(heap, own, i);
            live += i;
        }
    assert_true(own->mask > CAIRN_HEAP_FIRST_DELTAS - 1);
    cairn_heap_count_hand_in_live(heap, own);
    assert_int_equal(heap->state.header->live_bytes, live);
    for (uint32_t i = 0; i <= own->mask; i++)
        cairn_heap_count_hand_in(heap, &own->shared->deltas[i]);
    for (uint32_t i = 1; i <= STACKS; i++) {
        const struct cairn_heap_stack *stack = cairn_heap_stacks_at(&heap->stacks, i);
        assert_int_equal(stack->n_allocs, ROUNDS);
        assert_int_equal(stack->alloc_bytes, ROUNDS * (uint64_t)i);
    }
    int64_t peak = heap->state.header->peak_bytes;
    assert_in_range(peak, live - live / 64, live);
    free(own);
}

static void a_number_that_is_none_counts_for_no_stack(void **state)
{
    (void)state;
    const struct cairn_heap_share share = {1, 100};
    cairn_heap_count_large(heap, CAIRN_HEAP_MAX_STACKS, share, false);
    cairn_heap_count_directly(heap, 77, share, false);
    assert_int_equal(cairn_heap_stacks_at(&heap->stacks, 0)->alloc_bytes, 200);
    cairn_heap_count_undo_free(heap, 77, share);
    assert_int_equal(heap->state.header->live_bytes, 300);
}

static void epochs_begin_when_it_is_time(void **state)
{
    (void)state;
    struct cairn_heap_header *header = heap->state.header;
    struct cairn_heap_epoch *first = heap->epochs[0];
    assert_non_null(first);
    assert_int_equal(header->epoch, 0);
    cairn_heap_epoch_tick(heap);
    assert_int_equal(header->epoch, 0);
    first->begin_ns -= 2 * UINT64_C(1000000000);
    cairn_heap_epoch_tick(heap);
    assert_int_equal(header->epoch, 1);
    assert_true(first[1].begin_ns > first[0].begin_ns);
    assert_true(first[1].rss_bytes > 0);
    /* Longer ones, the more there were; the last one never ends; none where a mark's is not begun.
     */
    header->epoch = 1024;
    first[1024].begin_ns = cairn_heap_epoch_now_ns() - 1500000000;
    cairn_heap_epoch_tick(heap);
    assert_int_equal(header->epoch, 1024);
    first[1024].begin_ns = 0;
    cairn_heap_epoch_tick(heap);
    assert_int_equal(header->epoch, 1024);
    first[1024].begin_ns = cairn_heap_epoch_now_ns() - UINT64_C(2500000000);
    cairn_heap_epoch_tick(heap);
    assert_int_equal(header->epoch, 1025);
    assert_non_null(heap->epochs[1]); /* in good time */
    header->epoch = CAIRN_HEAP_MAX_EPOCHS - 1;
    cairn_heap_epoch_tick(heap);
    assert_int_equal(header->epoch, CAIRN_HEAP_MAX_EPOCHS - 1);
    header->epoch = UINT32_MAX; /* scribbled over */
    cairn_heap_epoch_tick(heap);
    assert_int_equal(header->epoch, UINT32_MAX);
}

static void what_does_not_fit_is_nowhere(void **state)
{
    (void)state;
    struct cairn_heap_settings settings = temporary_settings;
    memcpy(settings.dir, "/nowhere", sizeof("/nowhere"));
    assert_null(cairn_heap_new(&settings));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, leave)
    const struct CMUnitTest tests[] = {
        TEST(sizes_aside_are_found_once_and_their_places_used_again),
        TEST(every_address_has_a_place_of_its_own),
        TEST(addresses_above_the_table_have_no_place),
        TEST(stacks_are_numbered_once_and_their_records_are_whole),
        TEST(counts_of_threads_add_up),
        TEST(a_number_that_is_none_counts_for_no_stack),
        TEST(epochs_begin_when_it_is_time),
        TEST(what_does_not_fit_is_nowhere),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
