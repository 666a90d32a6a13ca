/* SPDX-License-Identifier: MIT */
#include "sample/pack.h"

#include "base/alloc.h"
#include "sample/fold.h"
#include "tests/support/test.h"

/* No such processes: everything is known from what is told here. */
enum { PARENT = 0x3f000000, CHILD = 0x3f000100, CHILDREN = 3 * CAIRN_FOLD_KEPT, PACK_ROWS = 500 };

static struct cairn_collect begin(size_t pack_rows)
{
    struct cairn_collect collect;
    const struct cairn_stream_mapping news = {
        .start = 0x1000, .size = 0x1000, .dev = 1, .inode = 2, .path = "/bin/program"};
    assert_int_equal(cairn_collect_init(&collect, cairn_event_get(CAIRN_EVENT_CPU), 1, NULL),
                     CAIRN_OK);
    collect.pack_rows = pack_rows;
    struct cairn_space *space = cairn_spaces_get(&collect.spaces, PARENT);
    assert_int_equal(cairn_space_add(&collect.spaces, space, &news), CAIRN_OK);
    assert_int_equal(cairn_collect_name(&collect, PARENT, "parent"), CAIRN_OK);
    return collect;
}

static void sample(struct cairn_collect *collect, uint32_t pid, uint64_t leaf, int64_t value)
{
    const uint64_t chain[] = {leaf, 0x1020};
    const struct cairn_sampled caught = {
        .pid = (int)pid, .tid = (int)pid, .user = {.chain = chain, .n_chain = 2}, .value = value};
    assert_int_equal(cairn_collect_add(collect, &caught), CAIRN_OK);
}

static void born(struct cairn_collect *collect, uint32_t pid)
{
    const struct cairn_stream_birth birth = {
        .pid = (int)pid, .tid = (int)pid, .parent_pid = PARENT, .parent_tid = PARENT};
    assert_int_equal(cairn_collect_fork(collect, &birth), CAIRN_OK);
}

static void end(struct cairn_collect *collect, uint32_t pid)
{
    assert_int_equal(cairn_stream_processes_exit(&collect->spaces.all, (int)pid, (int)pid),
                     CAIRN_OK);
}

static void turn(struct cairn_collect *collect)
{
    uint32_t *numbers;
    cairn_collect_turn(collect);
    cairn_collect_fold(collect, &numbers);
    cairn_free(numbers);
    cairn_collect_pack(collect);
}

static int64_t total(const struct cairn_profile *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        sum += p->values[2 * i + 1];
    return sum;
}

static int64_t pid_of(const struct cairn_profile *p, size_t row)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[row].labels, "pid");
    return label ? label->number : 0;
}

/* A server of a process for each request, each of some stacks, and itself. */
static void serve(struct cairn_collect *collect)
{
    for (uint32_t i = 0; i < CHILDREN; i++) {
        born(collect, CHILD + i);
        for (uint32_t k = 0; k < 3; k++)
            sample(collect, CHILD + i, 0x1100 + (i * 7 + k) % 0x300, CHILDREN - i);
        sample(collect, PARENT, 0x1500 + i % 0x700, 1);
        end(collect, CHILD + i);
        if (i % 100 == 99)
            turn(collect);
    }
    turn(collect);
    turn(collect);
}

/* Labels that no sample has any more are part of neither. */
static void assert_same_rows(const struct cairn_profile *a, const struct cairn_profile *b)
{
    assert_int_equal(a->n_samples, b->n_samples);
    assert_int_equal(total(a), total(b));
    int64_t *by_pid = cairn_alloc(CHILDREN + 2, sizeof *by_pid);
    for (size_t i = 0; i < a->n_samples; i++) {
        int64_t of_a = pid_of(a, i), of_b = pid_of(b, i);
        by_pid[of_a < CHILD ? CHILDREN + (of_a == PARENT) : of_a - CHILD] += a->values[2 * i + 1];
        by_pid[of_b < CHILD ? CHILDREN + (of_b == PARENT) : of_b - CHILD] -= b->values[2 * i + 1];
    }
    for (size_t i = 0; i < CHILDREN + 2; i++)
        assert_int_equal(by_pid[i], 0);
    cairn_free(by_pid);
}

static void what_is_packed_is_folded_as_what_is_not(void **state)
{
    (void)state;
    struct cairn_collect whole = begin(0), packed = begin(PACK_ROWS);
    serve(&whole);
    serve(&packed);
    assert_true(packed.packed.n_runs > 0);
    assert_int_equal(whole.packed.n_runs, 0);
    assert_true(packed.packed.n_runs < 5);
    assert_true(packed.profile->n_samples < 10 * 400 + PACK_ROWS);
    assert_true(packed.n_folded > CHILDREN / 2);
    assert_int_equal(packed.n_folded, whole.n_folded);
    assert_int_equal(cairn_collect_unpack(&packed), CAIRN_OK);
    assert_same_rows(packed.profile, whole.profile);
    cairn_collect_done(&packed);
    cairn_collect_done(&whole);
}

/* Its names are in a file that is called by the pid. */
static void who_ran_code_that_was_made_keeps_its_number(void **state)
{
    (void)state;
    const struct cairn_stream_mapping made = {
        .start = 0x20000, .size = 0x1000, .dev = 0, .inode = 0, .path = "//anon"};
    struct cairn_collect collect = begin(1);
    bool is_there = false;
    uint32_t maker = CHILD + CHILDREN;
    born(&collect, maker);
    struct cairn_space *space = cairn_spaces_get(&collect.spaces, (int)maker);
    assert_int_equal(cairn_space_add(&collect.spaces, space, &made), CAIRN_OK);
    sample(&collect, maker, 0x20010, 1);
    end(&collect, maker);
    serve(&collect);
    assert_int_equal(cairn_collect_unpack(&collect), CAIRN_OK);
    for (size_t i = 0; i < collect.profile->n_samples; i++)
        is_there |= pid_of(collect.profile, i) == maker;
    assert_true(is_there);
    cairn_collect_done(&collect);
}

static void few_rows_stay_and_deep_stacks_count(void **state)
{
    (void)state;
    struct cairn_collect collect = begin(10);
    for (uint32_t i = 0; i < 9; i++)
        sample(&collect, PARENT, 0x1100 + i, 1);
    assert_false(cairn_collect_is_crowded(&collect));
    cairn_collect_pack(&collect);
    assert_int_equal(collect.profile->n_samples, 9);
    for (uint32_t i = 0; collect.profile->n_stacks < 40; i++)
        assert_int_not_equal(cairn_profile_add_stack(collect.profile, i, 1), UINT32_MAX);
    assert_true(cairn_collect_is_crowded(&collect));
    cairn_collect_pack(&collect);
    assert_int_equal(collect.profile->n_samples, 0);
    assert_int_equal(collect.last, CAIRN_COLLECT_UNKEPT);
    collect.pack_rows = 0;
    for (uint32_t i = 0; i < 100; i++)
        sample(&collect, PARENT, 0x1100 + i, 1);
    assert_false(cairn_collect_is_crowded(&collect));
    cairn_collect_done(&collect);
}

static void sample_each(struct cairn_collect *collect, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sample(collect, PARENT, 0x1100 + i, 1);
}

/* A load that has more stacks than are wanted here, again and again. */
static void it_is_not_done_all_the_time(void **state)
{
    (void)state;
    struct cairn_collect collect = begin(10);
    sample_each(&collect, 10);
    assert_true(cairn_collect_is_crowded(&collect));
    cairn_collect_pack(&collect);
    sample_each(&collect, 79);
    assert_false(cairn_collect_is_crowded(&collect));
    sample_each(&collect, 80);
    assert_true(cairn_collect_is_crowded(&collect));
    cairn_collect_pack(&collect);
    sample_each(&collect, 79);
    for (int i = 0; i < 10; i++) {
        assert_false(cairn_collect_is_crowded(&collect));
        cairn_collect_turn(&collect);
    }
    assert_true(cairn_collect_is_crowded(&collect));
    assert_int_equal(cairn_collect_unpack(&collect), CAIRN_OK);
    assert_int_equal(collect.profile->n_samples, 80);
    assert_int_equal(total(collect.profile), 10 + 79 + 80 + 79);
    cairn_collect_done(&collect);
}

/* What is there is to be found when nothing new is taken in. */
static void near_the_bound_of_memory_rows_stay(void **state)
{
    (void)state;
    struct cairn_collect collect = begin(10);
    for (uint32_t i = 0; i < 20; i++)
        sample(&collect, PARENT, 0x1100 + i, 1);
    collect.memory_max = cairn_collect_bytes(&collect) * 2 + 100;
    assert_true(cairn_collect_is_crowded(&collect));
    collect.memory_max = cairn_collect_bytes(&collect) * 2 - 100;
    assert_false(cairn_collect_is_crowded(&collect));
    collect.memory_max = 0;
    collect.profile->closed = CAIRN_PROFILE_NO_STACKS;
    assert_false(cairn_collect_is_crowded(&collect));
    cairn_collect_done(&collect);
}

/* The bound is for what there will be in the end. */
static void what_is_packed_counts_as_it_will_be(void **state)
{
    (void)state;
    struct cairn_collect collect = begin(100);
    for (uint32_t i = 0; i < 0x300; i++)
        sample(&collect, PARENT, 0x1100 + i, 1);
    cairn_profile_drop_index(collect.profile);
    uint64_t before = cairn_collect_bytes(&collect);
    cairn_collect_pack(&collect);
    assert_int_equal(collect.profile->n_samples, 0);
    assert_in_range(cairn_collect_bytes(&collect), before, before + 12 * 0x300);
    cairn_collect_done(&collect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_folded_as_what_is_not),
        cmocka_unit_test(who_ran_code_that_was_made_keeps_its_number),
        cmocka_unit_test(few_rows_stay_and_deep_stacks_count),
        cmocka_unit_test(it_is_not_done_all_the_time),
        cmocka_unit_test(near_the_bound_of_memory_rows_stay),
        cmocka_unit_test(what_is_packed_counts_as_it_will_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
