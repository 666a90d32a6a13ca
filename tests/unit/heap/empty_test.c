/* SPDX-License-Identifier: MIT */
/* Leaves that have emptied are given back, and nothing is lost by it. */
#include "heap/empty.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "heap/epoch.h"
#include "support/emulated.h"
#include "unit/heap/tracked.h"

enum {
    LEAF_BYTES = (1 << CAIRN_HEAP_LEAF_BITS) << 4, /* that a leaf stands for: temporary.h */
    STEPS = 3                                      /* looking, closed, due */
};

static uint64_t now_ns;

/* Never touched: the tracker is told of them alone. */
static void *at(uintptr_t leaf, uintptr_t off)
{
    return (void *)((leaf << 20) * 4 + off);
}

static struct cairn_tracked_heap *heap(void)
{
    return cairn_heap_present();
}

/* Of the clock that is given, so that the tracker's own looks come never or long after. */
static void look(int n)
{
    for (; n > 0; n--) {
        now_ns += 100 * cairn_heap_empty_pause_ns;
        cairn_heap_empty_look(heap(), now_ns);
    }
}

static int begin(void **state)
{
    if (start(state) != 0)
        return -1;
    now_ns = cairn_heap_epoch_now_ns() + (UINT64_C(1) << 50);
    cairn_heap_empty_look(heap(), now_ns);
    return 0;
}

static _Atomic(uint64_t) *find(const void *block)
{
    return cairn_heap_shadow_find(&heap()->shadow, cairn_heap_va(block));
}

static blkcnt_t blocks(void)
{
    struct stat found;
    assert_int_equal(stat(heap()->state.file.path, &found), 0);
    return found.st_blocks;
}

static uint64_t lost(enum cairn_heap_loss loss)
{
    return atomic_load(&heap()->state.header->loss_blocks[loss]);
}

static void what_has_emptied_is_given_back_and_made_anew(void **state)
{
    (void)state;
    if (is_emulated("MADV_POPULATE_WRITE does nothing"))
        skip();
    enum { N = 8 };
    born(at(20, 0), 7); /* so that the thread has all that it needs */
    blkcnt_t before = blocks();
    for (uintptr_t i = 0; i < N; i++)
        born(at(i, 64), 8);
    assert_int_equal(blocks() - before, N * CAIRN_HEAP_CHUNK / 512);
    for (uintptr_t i = 0; i < N; i++)
        died(at(i, 64));
    uint32_t n_chunks = heap()->state.n_chunks;
    look(STEPS);
    assert_int_equal(blocks(), before);
    for (uintptr_t i = 0; i < N; i++)
        assert_null(find(at(i, 64)));
    for (uintptr_t i = 0; i < N; i++)
        born(at(i + 8, 128), 9 + i);
    assert_int_equal(heap()->state.n_chunks, n_chunks);
    assert_int_equal(blocks() - before, N * CAIRN_HEAP_CHUNK / 512);
    for (uintptr_t i = 0; i < N; i++) {
        assert_int_equal(cairn_heap_entry_size(*find(at(i + 8, 128))), 9 + i);
        assert_int_equal(*find(at(i + 8, 64)), 0);
    }
    assert_int_equal(cairn_heap_entry_size(*find(at(20, 0))), 7);
}

static void a_leaf_with_one_block_stays(void **state)
{
    (void)state;
    born(at(1, 0), 8);
    born(at(1, LEAF_BYTES - 16), 9); /* the last entry */
    died(at(1, 0));
    look(5 * STEPS);
    assert_int_equal(cairn_heap_entry_size(*find(at(1, LEAF_BYTES - 16))), 9);
}

static void a_block_that_is_born_meanwhile_opens_it(void **state)
{
    (void)state;
    for (int steps = 1; steps < STEPS; steps++) {
        born(at(1, 0), 8);
        const _Atomic(uint64_t) *place = find(at(1, 0));
        died(at(1, 0));
        look(steps);
        assert_null(find(at(1, 0)));
        born(at(1, 32), 9);
        assert_ptr_equal(find(at(1, 0)), place);
        look(STEPS - steps);
        assert_int_equal(cairn_heap_entry_size(*find(at(1, 32))), 9);
        died(at(1, 32));
        look(STEPS);
    }
}

/* Who opened it may be within that call still, and about to write. */
static void what_was_opened_stays_though_it_is_empty(void **state)
{
    (void)state;
    for (int steps = 1; steps < STEPS; steps++) {
        born(at(1, 0), 8);
        died(at(1, 0));
        look(steps);
        born(at(1, 32), 9);
        died(at(1, 32));
        look(STEPS - steps);
        assert_int_equal(heap()->state.n_holes, 0);
        assert_non_null(find(at(1, 0)));
        look(STEPS);
        assert_int_equal(heap()->state.n_holes, 1);
    }
}

/* A thread that had found the place before it was closed writes behind that. */
static void what_was_written_late_stays(void **state)
{
    (void)state;
    born(at(1, 0), 8);
    _Atomic(uint64_t) *place = find(at(1, LEAF_BYTES - 16));
    died(at(1, 0));
    look(1);
    *place = 77;
    look(STEPS - 1);
    assert_ptr_equal(find(at(1, LEAF_BYTES - 16)), place);
    assert_int_equal(*place, 77);
}

static void what_was_written_late_is_found_by_its_free(void **state)
{
    (void)state;
    born(at(1, 0), 8);
    _Atomic(uint64_t) *place = find(at(1, 16));
    died(at(1, 0));
    look(2);
    assert_null(find(at(1, 0)));
    *place = cairn_heap_entry(cairn_heap_va(at(1, 16)), 0, 5, CAIRN_HEAP_KIND_MALLOC, 0);
    struct cairn_heap_death death = cairn_heap_died_fully(at(1, 16), CAIRN_HEAP_KIND_MALLOC);
    assert_int_equal(death.bytes, 5);
    *place = death.entry;
    look(1);
    assert_ptr_equal(find(at(1, 16)), place);
    look(2);
    look(1);
    assert_ptr_equal(find(at(1, 16)), place);
    died(at(1, 16));
    assert_int_equal(lost(CAIRN_HEAP_LOSS_UNKNOWN), 0);
}

static void a_realloc_that_fails_puts_back_into_a_new_leaf(void **state)
{
    (void)state;
    born(at(1, 48), 8);
    struct cairn_heap_death death = cairn_heap_died_fully(at(1, 48), CAIRN_HEAP_KIND_MALLOC);
    look(STEPS);
    assert_null(find(at(1, 48)));
    cairn_heap_put_back(at(1, 48), &death);
    assert_int_equal(*find(at(1, 48)), death.entry);
}

static struct {
    _Atomic(int) stage;
    pthread_t thread;
} other;

static void await(int stage)
{
    while (atomic_load(&other.stage) != stage)
        sched_yield();
}

CAIRN_THREAD_BLOCK_ACCESS static void *stay_within(void *unused)
{
    (void)unused;
    born(at(30, 0), 8);
    cairn_heap_enter(cairn_heap_mine);
    atomic_store(&other.stage, 1);
    await(2);
    cairn_heap_mine->idle = cairn_heap_mine->ready;
    atomic_store(&other.stage, 3);
    await(4);
    return NULL;
}

static void a_thread_within_a_call_is_waited_for(void **state)
{
    (void)state;
    atomic_store(&other.stage, 0);
    born(at(1, 0), 8);
    assert_int_equal(pthread_create(&other.thread, NULL, stay_within, NULL), 0);
    await(1);
    uint32_t n_holes = heap()->state.n_holes;
    died(at(1, 0));
    look(10 * STEPS);
    assert_null(find(at(1, 0)));
    assert_int_equal(heap()->state.n_holes, n_holes);
    atomic_store(&other.stage, 2);
    await(3);
    look(STEPS);
    assert_int_equal(heap()->state.n_holes, n_holes + 1);
    atomic_store(&other.stage, 4);
    pthread_join(other.thread, NULL);
}

static void *free_late(void *block)
{
    born(at(30, 0), 8);
    atomic_store(&other.stage, 1);
    await(2);
    died(block);
    return NULL;
}

/* Whoever had found the leaf before it was closed has left a block there, which another thread
 * frees just when the leaf is read for the last time. */
static void a_block_is_found_by_its_free_while_its_leaf_is_read(void **state)
{
    (void)state;
    enum { ROUNDS = 1000 };
    void *last = at(1, LEAF_BYTES - 16);
    for (int i = 0; i < ROUNDS; i++) {
        born(at(1, 0), 8);
        _Atomic(uint64_t) *place = find(last);
        died(at(1, 0));
        look(2);
        assert_null(find(last));
        *place = cairn_heap_entry(cairn_heap_va(last), 0, 5, CAIRN_HEAP_KIND_MALLOC, 0);
        atomic_store(&other.stage, 0);
        assert_int_equal(pthread_create(&other.thread, NULL, free_late, last), 0);
        await(1);
        atomic_store(&other.stage, 2);
        look(1);
        pthread_join(other.thread, NULL);
        assert_int_equal(*place, 0);
        assert_int_equal(lost(CAIRN_HEAP_LOSS_UNKNOWN), 0);
        look(STEPS);
    }
}

static void a_reader_is_not_robbed(void **state)
{
    (void)state;
    born(at(1, 0), 8);
    const _Atomic(uint64_t) *place = find(at(1, 0));
    died(at(1, 0));
    cairn_heap_state_read_begin(&heap()->state);
    look(5 * STEPS + 2);
    cairn_heap_state_read_end(&heap()->state);
    assert_int_equal(heap()->state.n_holes, 0);
    born(at(1, 0), 8);
    assert_ptr_equal(find(at(1, 0)), place);
}

/* In a child, for a limit cannot be raised again. */
static void a_hole_for_which_there_is_no_room_stays_one(void **state)
{
    (void)state;
    born(at(1, 0), 8);
    died(at(1, 0));
    look(STEPS);
    struct cairn_tracked_state *made = &heap()->state; /* in the child the way to it is wiped */
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {CAIRN_HEAP_CHUNK, CAIRN_HEAP_CHUNK};
        bool right = made->n_holes == 1 && setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                     !cairn_heap_state_take(made, CAIRN_HEAP_LEAF, 1, 4, 0) &&
                     !cairn_heap_state_take(made, CAIRN_HEAP_LEAF, 1, 4, 0) && made->n_holes == 1;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void where_no_room_can_be_given_back_all_stays(void **state)
{
    (void)state;
    struct cairn_heap_file *file = &heap()->state.file;
    born(at(1, 0), 8);
    const _Atomic(uint64_t) *place = find(at(1, 0));
    died(at(1, 0));
    uint64_t ino = file->ino;
    file->ino++;
    look(STEPS);
    file->ino = ino;
    assert_ptr_equal(find(at(1, 0)), place);
    assert_int_equal(heap()->state.n_holes, 0);
    assert_int_equal(
        cairn_heap_state_row(&heap()->state, cairn_heap_state_chunk(&heap()->state, place))->kind,
        CAIRN_HEAP_LEAF);
}

static void a_copy_has_the_holes(void **state)
{
    (void)state;
    if (is_emulated("MADV_POPULATE_WRITE does nothing"))
        skip();
    struct stat found;
    for (uintptr_t i = 0; i < 8; i++)
        born(at(i, 0), 8);
    for (uintptr_t i = 1; i < 8; i++)
        died(at(i, 0));
    look(STEPS);
    assert_int_equal(heap()->state.n_holes, 7);
    blkcnt_t before = blocks();
    int fd = cairn_heap_state_copy(&heap()->state, temporary_settings.dir);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &found), 0);
    assert_int_equal(found.st_size, (off_t)heap()->state.n_chunks << CAIRN_HEAP_CHUNK_BITS);
    assert_in_range(found.st_blocks, before, before + CAIRN_HEAP_CHUNK / 512);
    assert_int_equal(blocks(), before);
    cairn_heap_file_close(fd);
}

static void rows_that_were_scribbled_over_harm_nobody(void **state)
{
    (void)state;
    born(at(1, 0), 8);
    struct cairn_heap_row *row = cairn_heap_state_row(
        &heap()->state, cairn_heap_state_chunk(&heap()->state, find(at(1, 0))));
    died(at(1, 0));
    const uint64_t args[] = {UINT64_MAX, 1, UINT64_C(1) << 47, (uintptr_t)at(2, 0), row->arg};
    const uint16_t bits[] = {0, 2, 3, 7, 8, 64, UINT16_MAX};
    for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++)
        for (size_t k = 0; k < sizeof(bits) / sizeof(bits[0]); k++) {
            atomic_store(&row->arg, args[i]);
            row->granule_bits = bits[k];
            look(STEPS);
            assert_non_null(find(at(1, 0)));
        }
}

/* As on a kernel before 5.14, where the file's limit and number count. */
static int begin_with_fd(void **state)
{
    cairn_heap_state_keeps_fd = true;
    int result = begin(state);
    cairn_heap_state_keeps_fd = false;
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_has_emptied_is_given_back_and_made_anew, begin, stop),
        cmocka_unit_test_setup_teardown(a_leaf_with_one_block_stays, begin, stop),
        cmocka_unit_test_setup_teardown(a_block_that_is_born_meanwhile_opens_it, begin, stop),
        cmocka_unit_test_setup_teardown(what_was_opened_stays_though_it_is_empty, begin, stop),
        cmocka_unit_test_setup_teardown(what_was_written_late_stays, begin, stop),
        cmocka_unit_test_setup_teardown(what_was_written_late_is_found_by_its_free, begin, stop),
        cmocka_unit_test_setup_teardown(a_realloc_that_fails_puts_back_into_a_new_leaf, begin,
                                        stop),
        cmocka_unit_test_setup_teardown(a_thread_within_a_call_is_waited_for, begin, stop),
        cmocka_unit_test_setup_teardown(a_block_is_found_by_its_free_while_its_leaf_is_read, begin,
                                        stop),
        cmocka_unit_test_setup_teardown(a_reader_is_not_robbed, begin, stop),
        cmocka_unit_test_setup_teardown(a_hole_for_which_there_is_no_room_stays_one, begin_with_fd,
                                        stop),
        cmocka_unit_test_setup_teardown(where_no_room_can_be_given_back_all_stays, begin_with_fd,
                                        stop),
        cmocka_unit_test_setup_teardown(a_copy_has_the_holes, begin, stop),
        cmocka_unit_test_setup_teardown(rows_that_were_scribbled_over_harm_nobody, begin, stop),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
