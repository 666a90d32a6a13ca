/* SPDX-License-Identifier: MIT */
/* Births and deaths as the interposed functions tell them; the counts against a scan of the table.
 */
#include "heap/track.h"

#include <pthread.h>
#include <sys/wait.h>

#include "unit/heap/tracked.h"

enum { THREADS = 4, ROUNDS = 20000 };

struct totals {
    int64_t blocks, bytes, allocs, frees, temporary, peak_bytes;
};

static void *row_chunk(const struct cairn_tracked_heap *heap, uint32_t chunk,
                       const struct cairn_heap_row **ret_row)
{
    *ret_row = (const struct cairn_heap_row *)(const void *)((const char *)heap->state.header +
                                                             CAIRN_HEAP_HEADER_BYTES) +
               chunk;
    return cairn_heap_state_at(&heap->state, chunk);
}

static void add_delta(const struct cairn_tracked_heap *heap, struct totals *counted,
                      const struct cairn_heap_delta *delta)
{
    uint64_t allocs = delta->allocs, frees = delta->frees;
    int64_t bytes =
        (int64_t)cairn_heap_counted_bytes(allocs) - (int64_t)cairn_heap_counted_bytes(frees);
    counted->allocs += (int64_t)cairn_heap_counted_blocks(allocs);
    counted->frees += (int64_t)cairn_heap_counted_blocks(frees);
    counted->bytes += bytes;
    counted->temporary += delta->n_temporary;
    /* Of the composition at the mark, if it is from before. */
    const struct cairn_heap_stack *stack =
        cairn_heap_stacks_at(&heap->stacks, (uint32_t)delta->key);
    if (delta->key >> 32 != heap->state.header->peak || stack->peak != heap->state.header->peak)
        counted->peak_bytes += delta->key >> 32 != heap->state.header->peak ? bytes : 0;
}

/* What the counts say, and what lies in the table. */
static void read_state(const struct cairn_tracked_heap *heap, struct totals *counted,
                       struct totals *live)
{
    *counted = *live = (struct totals){0};
    const struct cairn_heap_header *header = heap->state.header;
    for (uint32_t i = 0; i < header->n_stacks; i++) {
        const struct cairn_heap_stack *stack = cairn_heap_stacks_at(&heap->stacks, i);
        counted->allocs += (int64_t)stack->n_allocs;
        counted->frees += (int64_t)stack->n_frees;
        counted->bytes += (int64_t)(stack->alloc_bytes - stack->free_bytes);
        counted->temporary += stack->n_temporary;
        counted->peak_bytes += stack->peak == header->peak
                                   ? stack->peak_bytes
                                   : (int64_t)(stack->alloc_bytes - stack->free_bytes);
    }
    for (uint32_t i = 0; i < header->n_chunks; i++) {
        const struct cairn_heap_row *row;
        void *chunk = row_chunk(heap, i, &row);
        const struct cairn_heap_thread *thread = chunk;
        for (uint32_t k = 0; row->kind == CAIRN_HEAP_DELTAS && k < thread->n_deltas; k++)
            add_delta(heap, counted, &thread->deltas[k]);
        const uint64_t *entries = chunk;
        for (uint32_t k = 0; row->kind == CAIRN_HEAP_LEAF && k < 1u << CAIRN_HEAP_LEAF_BITS; k++)
            if (entries[k]) {
                live->blocks++;
                live->bytes += cairn_heap_entry_size(entries[k]);
            }
    }
    for (uint32_t i = 0; i < heap->large.n; i++)
        if (heap->large.chunks[0][i].va)
            live->bytes += (int64_t)heap->large.chunks[0][i].size - CAIRN_HEAP_SIZE_ASIDE;
    counted->blocks = counted->allocs - counted->frees;
}

static void agree(struct totals *counted)
{
    struct totals live;
    read_state(cairn_heap_present(), counted, &live);
    assert_int_equal(counted->blocks, live.blocks);
    assert_int_equal(counted->bytes, live.bytes);
}

static void blocks_live_until_they_die(void **state)
{
    (void)state;
    static char blocks[64][64];
    struct totals totals;
    for (int i = 0; i < 64; i++)
        born(blocks[i], (size_t)i);
    agree(&totals);
    assert_int_equal(totals.blocks, 64);
    assert_int_equal(totals.bytes, 63 * 64 / 2);
    for (int i = 0; i < 64; i += 2)
        died(blocks[i]);
    agree(&totals);
    assert_int_equal(totals.blocks, 32);
    assert_int_equal(totals.temporary, 0);
}

static void an_entry_tells_the_whole_address(void **state)
{
    (void)state;
    static char blocks[64] __attribute__((aligned(64)));
    for (int i = 0; i < 64; i += 16) {
        uint64_t va = cairn_heap_va(blocks + i), entry;
        born(blocks + i, 8);
        entry = *cairn_heap_shadow_find(&cairn_heap_present()->shadow, va);
        assert_int_equal(cairn_heap_entry_va(entry, va & ~UINT64_C(31), 5), va);
        assert_int_equal(cairn_heap_entry_va(entry, va, 4), va);
        assert_int_equal(cairn_heap_entry_kind(entry), CAIRN_HEAP_KIND_MALLOC);
        assert_int_equal(cairn_heap_entry_size(entry), 8);
    }
}

static void a_block_that_dies_before_the_next_is_temporary(void **state)
{
    (void)state;
    static char a[64], b[64];
    struct totals totals;
    born(a, 10);
    died(a);
    born(a, 10);
    born(b, 20);
    died(a);
    died(b);
    agree(&totals);
    assert_int_equal(totals.blocks, 0);
    assert_int_equal(totals.temporary, 2);
}

static void large_blocks_have_their_sizes_aside(void **state)
{
    (void)state;
    static char a[64], b[64];
    struct totals totals;
    born(a, 5 << 20);
    born(b, CAIRN_HEAP_SIZE_ASIDE);
    agree(&totals);
    assert_int_equal(totals.bytes, (5 << 20) + CAIRN_HEAP_SIZE_ASIDE);
    died(a);
    agree(&totals);
    assert_int_equal(totals.bytes, CAIRN_HEAP_SIZE_ASIDE);
    died(b);
    agree(&totals);
    assert_int_equal(totals.blocks, 0);
}

static void what_a_failed_realloc_took_is_put_back(void **state)
{
    (void)state;
    static char a[64], b[64];
    struct totals totals;
    static const size_t sizes[] = {10, 6 << 20};
    for (int i = 0; i < 2; i++) {
        born(a, sizes[i]);
        born(b, 1);
        struct cairn_heap_death death = cairn_heap_died_fully(a, CAIRN_HEAP_KIND_MALLOC);
        assert_int_equal(death.bytes, sizes[i]);
        cairn_heap_put_back(a, &death);
        agree(&totals);
        assert_int_equal(totals.blocks, 2);
        assert_int_equal(totals.bytes, sizes[i] + 1);
        died(a);
        died(b);
    }
    agree(&totals);
    assert_int_equal(totals.blocks, 0);
}

static void what_died_plainly_is_put_back_too(void **state)
{
    (void)state;
    static char a[64], other[64];
    struct totals totals;
    born(a, 100);
    born(other, 1);
    struct cairn_heap_death death = cairn_heap_died(a, CAIRN_HEAP_KIND_MALLOC);
    assert_int_equal(death.bytes, 100);
    cairn_heap_put_back(a, &death);
    agree(&totals);
    assert_int_equal(totals.bytes, 101);
}

/* More of them than a thread's word can count. */
static void counts_are_handed_in_before_they_are_full(void **state)
{
    (void)state;
    enum { MANY = (1 << 21) + 1000 };
    static char block[64];
    struct totals totals;
    struct cairn_heap_header *header = cairn_heap_present()->state.header;
    atomic_fetch_and(&header->flags, ~(unsigned)CAIRN_HEAP_STACKS_ON); /* it takes long on arm */
    cairn_heap_next_turn(header);
    for (int i = 0; i < MANY; i++) {
        born(block, (unsigned)i % 2 * (CAIRN_HEAP_SIZE_ASIDE - 1));
        died(block);
    }
    agree(&totals);
    assert_int_equal(totals.allocs, MANY);
    assert_int_equal(totals.frees, MANY);
    assert_int_equal(totals.temporary, MANY);
    assert_int_equal(totals.bytes, 0);
}

static void what_goes_wrong_is_counted(void **state)
{
    (void)state;
    static char a[64], b[64];
    const struct cairn_heap_header *header = cairn_heap_present()->state.header;
    struct totals totals;
    died(a);
    assert_int_equal(header->loss_blocks[CAIRN_HEAP_LOSS_UNKNOWN], 1);
    born(a, 8);
    born(a, 9);
    assert_int_equal(header->loss_blocks[CAIRN_HEAP_LOSS_OVERLAP], 1);
    assert_int_equal(header->loss_bytes[CAIRN_HEAP_LOSS_OVERLAP], 8);
    cairn_heap_died(a, CAIRN_HEAP_KIND_NEW);
    assert_int_equal(header->loss_blocks[CAIRN_HEAP_LOSS_MISMATCHED], 1);
    born((void *)(UINTPTR_MAX - 4095), 3);
    assert_int_equal(
        header->loss_blocks[sizeof(void *) == 8 ? CAIRN_HEAP_LOSS_ADDRESS : CAIRN_HEAP_LOSS_FULL],
        sizeof(void *) == 8);
    (void)b;
    agree(&totals);
}

static void equal_stacks_have_equal_numbers(void **state)
{
    (void)state;
    static char blocks[8][64];
    volatile int n = 2;
    for (int i = 0; i < n; i++) {
        one_way(blocks[i]);
        other_way(blocks[i + 2]);
        born(blocks[i + 4], 1);
    }
    for (int i = 0; i < 6; i += 2) {
        assert_int_not_equal(number_at(blocks[i]), 0);
        assert_int_equal(number_at(blocks[i]), number_at(blocks[i + 1]));
    }
    assert_int_not_equal(number_at(blocks[0]), number_at(blocks[2]));
    assert_int_not_equal(number_at(blocks[0]), number_at(blocks[4]));
}

static void without_stacks_a_caller_has_a_number(void **state)
{
    (void)state;
    static char blocks[6][64];
    struct cairn_tracked_heap *heap = cairn_heap_present();
    struct totals totals;
    volatile int n = 2;
    one_way(blocks[4]);
    atomic_fetch_and(&heap->state.header->flags, ~(unsigned)CAIRN_HEAP_STACKS_ON);
    cairn_heap_next_turn(heap->state.header);
    for (int i = 0; i < n; i++)
        cairn_heap_born_fully(blocks[i], 1, CAIRN_HEAP_KIND_MALLOC, 0x1000, cairn_heap_sp(), 0);
    cairn_heap_born_fully(blocks[2], 1, CAIRN_HEAP_KIND_MALLOC, 0x2000, cairn_heap_sp(), 0);
    assert_int_equal(number_at(blocks[0]), number_at(blocks[1]));
    assert_int_not_equal(number_at(blocks[0]), number_at(blocks[2]));
    assert_true(is_of_caller(heap, number_at(blocks[0])) &&
                is_of_caller(heap, number_at(blocks[2])));
    assert_false(is_of_caller(heap, number_at(blocks[4])));
    /* Where a module was unloaded, the caller is looked up again. */
    cairn_heap_mine->callers[(0x1000 ^ 0x1000 >> 10) % CAIRN_HEAP_CALLERS].number = 12345;
    atomic_fetch_add(&cairn_unload_generation, 1);
    cairn_heap_born_fully(blocks[3], 1, CAIRN_HEAP_KIND_MALLOC, 0x1000, cairn_heap_sp(), 0);
    assert_int_not_equal(number_at(blocks[3]), 12345);
    for (int i = 0; i < 5; i++)
        died(blocks[i]);
    agree(&totals);
    assert_int_equal(totals.blocks, 0);
}

static void the_composition_at_the_mark_adds_up(void **state)
{
    (void)state;
    enum { N = 4000, BYTES = 512 };
    static char blocks[N][64];
    struct totals totals;
    for (int i = 0; i < N; i++)
        i % 2 ? one_way(blocks[i]) : other_way(blocks[i]);
    for (int i = 0; i < N; i++)
        born(blocks[i] + 32, BYTES);
    for (int i = 0; i < N; i++) {
        died(blocks[i]);
        died(blocks[i] + 32);
    }
    agree(&totals);
    assert_int_equal(totals.blocks, 0);
    int64_t peak = cairn_heap_present()->state.header->peak_bytes, most = N * (BYTES + 8);
    assert_in_range(peak, most - most / 64, most);
    assert_in_range(totals.peak_bytes, peak - peak / 64, most);
}

/* Blocks go round the threads; their addresses are reused at once. */
static void *churn(void *arg)
{
    uint64_t random = (uintptr_t)arg;
    void *kept[32] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned k = (unsigned)(random >> 40) % 32;
        if (kept[k]) {
            died(kept[k]);
            free(kept[k]);
        }
        size_t bytes = 16 + (size_t)((random >> 50) % 200);
        kept[k] = malloc(bytes);
        born(kept[k], bytes);
    }
    for (unsigned k = 0; k < 32; k++)
        if (kept[k]) {
            died(kept[k]);
            free(kept[k]);
        }
    return NULL;
}

static void threads_that_exchange_addresses_lose_nothing(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct totals totals;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(i * 77 + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    agree(&totals);
    assert_int_equal(totals.blocks, 0);
    assert_int_equal(totals.allocs, THREADS * ROUNDS);
    assert_int_equal(cairn_heap_present()->state.header->loss_blocks[CAIRN_HEAP_LOSS_OVERLAP], 0);
}

static void *one_block(void *arg)
{
    born(arg, 1);
    return NULL;
}

static void threads_that_came_and_went_leave_their_counts(void **state)
{
    (void)state;
    enum { N = 300 };
    static char blocks[N][64];
    struct totals totals;
    struct cairn_tracked_state *heap_state = &cairn_heap_present()->state;
    uint32_t before = heap_state->header->n_threads, n_tables = 0;
    for (int i = 0; i < N; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, one_block, blocks[i]), 0);
        pthread_join(thread, NULL);
    }
    agree(&totals);
    assert_int_equal(totals.blocks, N);
    assert_int_equal(heap_state->header->n_threads - before, N);
    for (uint32_t i = 1; i < heap_state->header->n_chunks; i++)
        n_tables += cairn_heap_state_row(heap_state, i)->kind == CAIRN_HEAP_DELTAS;
    assert_in_range(n_tables, 1, 40); /* one has that of another, which ended */
}

static void a_child_of_fork_has_a_state_of_its_own(void **state)
{
    (void)state;
    static char a[64], b[64];
    const struct cairn_tracked_heap *heap = cairn_heap_present();
    struct totals totals;
    born(a, 100);
    pid_t child = fork();
    if (child == 0) {
        if (cairn_heap_root.heap != NULL)
            _exit(2);
        died(a);
        born(b, 7);
        const struct cairn_heap_header *own = cairn_heap_present()->state.header;
        struct totals counted, live;
        read_state(cairn_heap_present(), &counted, &live);
        bool right = own->parent == (uint32_t)getppid() && own->pid == (uint32_t)getpid() &&
                     own->loss_blocks[CAIRN_HEAP_LOSS_INHERITED] == 1 && live.blocks == 1 &&
                     live.bytes == 7;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 2) {
        print_message(
            "skipped: qemu-user accepts MADV_WIPEONFORK and does nothing (guest/arm64 runs it)\n");
        skip();
    }
    assert_int_equal(status, 0);
    assert_ptr_equal(cairn_heap_present(), heap);
    agree(&totals);
    assert_int_equal(totals.bytes, 100);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(blocks_live_until_they_die),
        TEST(an_entry_tells_the_whole_address),
        TEST(a_block_that_dies_before_the_next_is_temporary),
        TEST(large_blocks_have_their_sizes_aside),
        TEST(what_a_failed_realloc_took_is_put_back),
        TEST(what_died_plainly_is_put_back_too),
        TEST(counts_are_handed_in_before_they_are_full),
        TEST(what_goes_wrong_is_counted),
        TEST(equal_stacks_have_equal_numbers),
        TEST(without_stacks_a_caller_has_a_number),
        TEST(the_composition_at_the_mark_adds_up),
        TEST(threads_that_exchange_addresses_lose_nothing),
        TEST(threads_that_came_and_went_leave_their_counts),
        TEST(a_child_of_fork_has_a_state_of_its_own),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
