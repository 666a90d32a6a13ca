/* SPDX-License-Identifier: MIT */
/* Threads, and signal handlers within their calls, allocate and free all over while leaves are
 * given back as fast as that goes. */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "heap/epoch.h"
#include "unit/heap/tracked.h"

enum {
    THREADS = 4,
    LEAVES = 160, /* that they share, each block with neighbours of other threads */
    BLOCKS = 128,
    SPAN = (1 << CAIRN_HEAP_LEAF_BITS) << 4, /* bytes that a leaf stands for: temporary.h */
    SECONDS = 2
};

static struct {
    atomic_bool end;
    _Atomic(uint64_t) n_wrong, n_born, n_in_handler;
    pthread_t threads[THREADS];
    const struct cairn_tracked_heap *heap;
} run;

static _Thread_local uint32_t number, seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void *at(uint32_t leaf, uint32_t slot, uint32_t thread)
{
    return (void *)(((uintptr_t)leaf + 16) * SPAN + ((uintptr_t)slot * 2 * THREADS + thread) * 32);
}

CAIRN_THREAD_BLOCK_ACCESS static void expect(bool is_right)
{
    if (!is_right)
        atomic_fetch_add(&run.n_wrong, 1);
}

/* By both ways that there are. */
CAIRN_THREAD_BLOCK_ACCESS static void free_one(void *block, uint32_t bytes)
{
    if (any(2)) {
        struct cairn_heap_death death = cairn_heap_died_fully(block, CAIRN_HEAP_KIND_MALLOC);
        expect(death.entry != 0 && death.bytes == bytes);
    } else {
        died(block); /* what it does not find is counted as unknown */
    }
}

/* Sparse or dense, for a while or not: so that leaves empty, and fill while they are closed. */
CAIRN_THREAD_BLOCK_ACCESS static void allocate_and_free(void)
{
    void *blocks[BLOCKS];
    uint32_t n = 1 + any(BLOCKS), first = any(LEAVES), leaves = 1 + any(3);
    const struct timespec pause = {0, (long)any(12) * 1000 * 1000};
    for (uint32_t i = 0; i < n; i++) {
        blocks[i] = at((first + i % leaves) % LEAVES, i, number);
        born(blocks[i], i + 1);
    }
    atomic_fetch_add(&run.n_born, n);
    if (any(8) == 0)
        nanosleep(&pause, NULL);
    for (uint32_t i = 0; i < n; i++)
        free_one(blocks[i], i + 1);
    if (any(4) == 0)
        nanosleep(&pause, NULL);
}

/* Within a call a block for which there is no leaf is not recorded; one that is must be there. */
CAIRN_THREAD_BLOCK_ACCESS static void in_handler(int signo)
{
    (void)signo;
    void *block = at(any(LEAVES), BLOCKS, THREADS + number);
    born(block, 77);
    const _Atomic(uint64_t) *place =
        cairn_heap_shadow_find(&run.heap->shadow, cairn_heap_va(block));
    if (place) /* else it was closed since, which holds no block */
        expect(*place == 0 || cairn_heap_entry_size(*place) == 77);
    died(block);
    atomic_fetch_add(&run.n_in_handler, 1);
}

static void *work(void *arg)
{
    number = (uint32_t)(uintptr_t)arg;
    seed = number * 7919 + 1;
    while (!atomic_load(&run.end))
        allocate_and_free();
    return NULL;
}

CAIRN_THREAD_BLOCK_ACCESS static uint32_t holes(void)
{
    return ((const volatile struct cairn_tracked_state *)&run.heap->state)->n_holes;
}

static uint64_t lost(enum cairn_heap_loss loss)
{
    return atomic_load(&run.heap->state.header->loss_blocks[loss]);
}

static void no_block_is_lost_while_leaves_are_given_back(void **state)
{
    (void)state;
    const struct timespec tick = {0, 1000 * 1000};
    const struct sigaction handler = {.sa_handler = in_handler, .sa_flags = SA_RESTART};
    uint32_t was = 0, n_changes = 0;
    run.heap = cairn_heap_present();
    cairn_heap_empty_pause_ns = 8 * 1000 * 1000; /* two of the coarse clock's ticks or more */
    assert_int_equal(sigaction(SIGUSR1, &handler, NULL), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&run.threads[i], NULL, work, (void *)i), 0);
    /* Longer where the machine is busy with other things. */
    for (int i = 0; i < SECONDS * 1000 || (n_changes < 10 && i < SECONDS * 15000); i++) {
        nanosleep(&tick, NULL);
        pthread_kill(run.threads[i % THREADS], SIGUSR1);
        n_changes += holes() != was;
        was = holes();
    }
    atomic_store(&run.end, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(run.threads[i], NULL);
    print_message("%llu blocks, %llu of handlers, holes changed %u times\n",
                  (unsigned long long)run.n_born, (unsigned long long)run.n_in_handler, n_changes);
    assert_int_equal(run.n_wrong, 0);
    assert_int_equal(lost(CAIRN_HEAP_LOSS_UNKNOWN), 0);
    assert_int_equal(lost(CAIRN_HEAP_LOSS_OVERLAP), 0);
    assert_in_range(n_changes, 10, UINT32_MAX);
    for (uint32_t i = 1; i < run.heap->state.n_chunks; i++)
        if (cairn_heap_state_row(&run.heap->state, i)->kind == CAIRN_HEAP_LEAF)
            assert_int_equal(cairn_heap_state_zeros(cairn_heap_state_at(&run.heap->state, i)),
                             1 << CAIRN_HEAP_LEAF_BITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_block_is_lost_while_leaves_are_given_back, start, stop),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
