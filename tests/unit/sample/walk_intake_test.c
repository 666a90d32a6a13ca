/* SPDX-License-Identifier: MIT */
#include "sample/walk_intake.h"

#include "base/clock.h"
#include "tests/support/test.h"

/* No such processes; stacks come as from the ring, without a walker. */
enum { PID = 0x3f000000, ROUNDS = 5000, EACH_TURN = 50, PERIOD_NS = 10 };

struct fixture {
    struct cairn_walk_intake intake;
    struct cairn_collect collect;
};

static struct fixture begin(void)
{
    struct fixture f = {.intake = {.period_ns = PERIOD_NS}};
    assert_int_equal(
        cairn_collect_init(&f.collect, cairn_event_get(CAIRN_EVENT_CPU), PERIOD_NS, NULL),
        CAIRN_OK);
    return f;
}

static void drop(struct fixture *f)
{
    cairn_walk_intake_close(&f->intake);
    cairn_collect_done(&f->collect);
}

/* A stack of one frame, of a process of one thread. */
static void come(struct fixture *f, uint32_t tid, uint64_t hash, enum cairn_bpf_message what)
{
    const struct cairn_bpf_stack stack = {.hash = hash,
                                          .time_ns = 1,
                                          .pid = tid,
                                          .tid = tid,
                                          .id = 7,
                                          .n = what == CAIRN_BPF_STACK,
                                          .what = (uint8_t)what};
    const uint64_t frame = 0x1000 + hash;
    cairn_buffer_add(&f->intake.waiting, &stack, sizeof stack);
    cairn_buffer_add(&f->intake.waiting, &frame, stack.n * sizeof frame);
    assert_int_equal(cairn_walk_intake_pass(&f->intake, &f->collect), CAIRN_OK);
}

/* A stack of one frame with a copy of eight bytes, which lead nowhere. */
static void come_copied(struct fixture *f, uint32_t tid)
{
    const struct cairn_bpf_stack stack = {.time_ns = 1,
                                          .pid = tid,
                                          .tid = tid,
                                          .id = 7,
                                          .n = 1,
                                          .end = CAIRN_END_NO_RULE,
                                          .what = CAIRN_BPF_STACK,
                                          .copied = sizeof(uint64_t),
                                          .pages = 1};
    const uint64_t words[1 + CAIRN_BPF_COPY_REGS + 1] = {0x1000};
    cairn_buffer_add(&f->intake.waiting, &stack, sizeof stack);
    cairn_buffer_add(&f->intake.waiting, words, sizeof words);
    assert_int_equal(cairn_walk_intake_pass(&f->intake, &f->collect), CAIRN_OK);
}

/* How many copies in a row led no further: nobody knows of one that was not walked. */
static void a_copy_that_was_not_walked_is_not_judged(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct cairn_space *space = cairn_spaces_get(&f.collect.spaces, PID);
    assert_non_null(space);
    space->share = (struct cairn_share){.since_ns = cairn_now_ns(), .left_ns = INT64_MIN / 2};
    for (unsigned i = 0; i < 20; i++)
        come_copied(&f, PID);
    assert_int_equal(f.collect.walk.end, CAIRN_END_SPENT);
    assert_int_equal(f.intake.fruitless.n, 0);
    space->share = (struct cairn_share){0};
    come_copied(&f, PID);
    assert_int_not_equal(f.collect.walk.end, CAIRN_END_SPENT);
    assert_int_equal(f.intake.fruitless.n, 1);
    drop(&f);
}

static int met_as(struct fixture *f, uint32_t tid, uint64_t hash, uint64_t n, bool is_last)
{
    const struct cairn_bpf_count key = {.hash = hash, .tid = tid, .id = 7};
    const struct cairn_bpf_sum sum = {n, n * PERIOD_NS};
    return cairn_walk_intake_met(&f->intake, &f->collect, &key, &sum, is_last);
}

static int met(struct fixture *f, uint32_t tid, uint64_t hash, uint64_t n)
{
    return met_as(f, tid, hash, n, false);
}

static void end(struct fixture *f, uint32_t tid)
{
    assert_int_equal(cairn_stream_processes_exit(&f->collect.spaces.all, (int)tid, (int)tid),
                     CAIRN_OK);
}

static void what_is_met_again_is_added_up(void **state)
{
    (void)state;
    struct fixture f = begin();
    come(&f, PID, 1, CAIRN_BPF_STACK);
    come(&f, PID, 2, CAIRN_BPF_STACK);
    assert_int_equal(met(&f, PID, 1, 0), CAIRN_OK);
    assert_int_equal(met(&f, PID, 1, 3), CAIRN_OK);
    assert_int_equal(met(&f, PID, 1, 3), CAIRN_OK);
    assert_int_equal(met(&f, PID, 1, 5), CAIRN_OK);
    assert_int_equal(met(&f, PID, 3, 5), CAIRN_OK); /* waits yet */
    assert_int_equal(f.collect.n_samples, 2 + 5);
    assert_int_equal(f.collect.profile->values[0], 1 + 5);
    assert_int_equal(f.collect.profile->values[1], (1 + 5) * PERIOD_NS);
    drop(&f);
}

/* All are forgotten in the kernel, of which one has not come yet: what it counted is not lost. */
static void what_was_counted_of_a_stack_that_waits_is_added_once(void **state)
{
    (void)state;
    struct fixture f = begin();
    assert_int_equal(met_as(&f, PID, 1, 4, false), CAIRN_OK);
    assert_int_equal(met_as(&f, PID, 1, 4, true), CAIRN_OK);
    come(&f, PID, 1, CAIRN_BPF_STACK);
    assert_int_equal(f.collect.n_samples, 1 + 4);
    assert_int_equal(met(&f, PID, 1, 2), CAIRN_OK); /* the kernel counts anew */
    assert_int_equal(f.collect.n_samples, 1 + 4 + 2);
    come(&f, PID, 1, CAIRN_BPF_STACK); /* as it was met again at first, and waited */
    assert_int_equal(f.collect.n_samples, 1 + 4 + 2 + 1);
    assert_int_equal(met(&f, PID, 1, 2), CAIRN_OK);
    assert_int_equal(f.collect.n_samples, 1 + 4 + 2 + 1);
    assert_int_equal(f.collect.profile->values[0], 8);
    assert_int_equal(f.collect.profile->values[1], 8 * PERIOD_NS);
    drop(&f);
}

/* The kernel's numbers are of 64 bits. */
static void a_count_may_pass_what_is_kept_of_it(void **state)
{
    (void)state;
    const uint64_t large = 3ull << 31;
    struct fixture f = begin();
    come(&f, PID, 1, CAIRN_BPF_STACK);
    assert_int_equal(met(&f, PID, 1, INT32_MAX), CAIRN_OK);
    assert_int_equal(met(&f, PID, 1, 1ull << 31), CAIRN_OK);
    assert_int_equal(f.collect.n_samples, 1 + (1ull << 31));
    assert_int_equal(met(&f, PID, 1, large - 1), CAIRN_OK);
    assert_int_equal(met(&f, PID, 1, large), CAIRN_OK);
    drop(&f);
}

static void stacks_of_threads_without_end_are_kept_for_two_turns(void **state)
{
    (void)state;
    struct fixture f = begin();
    uint32_t n_over = 0; /* below that number, all are */
    for (uint32_t i = 0; i < ROUNDS; i++) {
        come(&f, PID + i, 1, CAIRN_BPF_STACK);
        come(&f, PID + i, 2, CAIRN_BPF_STACK);
        end(&f, PID + i);
        if (i % EACH_TURN)
            continue;
        for (; cairn_ended_is_over(&f.collect.spaces.all.ended, PID + n_over); n_over++) {
            assert_int_equal(met(&f, PID + n_over, 1, 0), CAIRN_WALKER_FORGET);
            assert_int_equal(met(&f, PID + n_over, 2, 4), CAIRN_WALKER_FORGET);
        }
        assert_int_equal(met(&f, PID + i, 2, 0), CAIRN_OK);
        cairn_collect_turn(&f.collect);
    }
    assert_in_range(n_over, ROUNDS - 2 * EACH_TURN - 2, ROUNDS);
    assert_in_range(f.intake.n_known, 2 * EACH_TURN, 4 * EACH_TURN + 4);
    assert_int_equal(f.intake.n_known - f.intake.n_free, 2 * (ROUNDS - n_over));
    assert_int_equal(f.intake.by_key.n, 2 * (ROUNDS - n_over));
    assert_int_equal(f.collect.n_samples, 2 * ROUNDS + 4 * n_over);
    drop(&f);
}

/* After it was forgotten here and in the kernel. */
static void a_stack_that_comes_late_counts_from_nothing(void **state)
{
    (void)state;
    struct fixture f = begin();
    come(&f, PID, 1, CAIRN_BPF_STACK);
    end(&f, PID);
    cairn_collect_turn(&f.collect);
    assert_int_equal(met(&f, PID, 1, 6), CAIRN_WALKER_FORGET);
    come(&f, PID, 1, CAIRN_BPF_STACK);
    assert_int_equal(met(&f, PID, 1, 2), CAIRN_WALKER_FORGET);
    assert_int_equal(f.collect.n_samples, 1 + 6 + 1 + 2);
    assert_int_equal(met(&f, PID, 9, 0), CAIRN_WALKER_FORGET); /* was lost on the way */
    drop(&f);
}

static void with_times_each_finds_its_stack_until_its_thread_is_over(void **state)
{
    (void)state;
    struct fixture f = begin();
    f.intake.keeps_stacks = f.collect.has_times = true;
    come(&f, PID, 1, CAIRN_BPF_STACK);
    come(&f, PID + 1, 1, CAIRN_BPF_STACK);
    come(&f, PID, 1, CAIRN_BPF_AGAIN);
    assert_int_equal(f.collect.n_samples, 3);
    end(&f, PID);
    cairn_collect_turn(&f.collect);
    come(&f, PID, 1, CAIRN_BPF_AGAIN);
    assert_int_equal(f.collect.n_samples, 4);
    assert_int_equal(met(&f, PID, 1, 0), CAIRN_WALKER_FORGET);
    assert_int_equal(met(&f, PID + 1, 1, 0), CAIRN_OK);
    assert_null(cairn_walk_intake_find(&f.intake, 1, PID, 7));
    assert_int_equal(cairn_walk_intake_find(&f.intake, 1, PID + 1, 7)->tid, PID + 1);
    drop(&f);
}

/* Their sums were read before. */
static void stacks_of_time_off_the_cpu_are_kept_as_long(void **state)
{
    (void)state;
    struct fixture f = begin();
    f.intake.keeps_stacks = f.intake.is_off_cpu = true;
    come(&f, PID, 1, CAIRN_BPF_STACK);
    come(&f, PID + 1, 1, CAIRN_BPF_STACK);
    assert_int_equal(f.collect.n_samples, 0);
    end(&f, PID);
    assert_int_equal(met(&f, PID, 1, 0), CAIRN_OK);
    cairn_collect_turn(&f.collect);
    assert_int_equal(met(&f, PID, 1, 0), CAIRN_WALKER_FORGET);
    assert_int_equal(met(&f, PID + 1, 1, 0), CAIRN_OK);
    assert_null(cairn_walk_intake_find(&f.intake, 1, PID, 7));
    assert_non_null(cairn_walk_intake_find(&f.intake, 1, PID + 1, 7));
    drop(&f);
}

/* Numbers that are free lead from one to the next, and to no sample. */
static void samples_may_have_other_numbers_while_some_are_free(void **state)
{
    (void)state;
    const uint32_t numbers[] = {3, 2, 1, 0};
    struct fixture f = begin();
    for (uint32_t i = 0; i < 4; i++)
        come(&f, PID + i, 1, CAIRN_BPF_STACK);
    end(&f, PID);
    end(&f, PID + 1);
    cairn_collect_turn(&f.collect);
    assert_int_equal(met(&f, PID, 1, 0), CAIRN_WALKER_FORGET);
    assert_int_equal(met(&f, PID + 1, 1, 0), CAIRN_WALKER_FORGET);
    cairn_walk_intake_renumber(&f.intake, numbers);
    assert_int_equal(met(&f, PID + 2, 1, 10), CAIRN_OK);
    assert_int_equal(met(&f, PID + 3, 1, 20), CAIRN_OK);
    assert_int_equal(f.collect.profile->values[2 * 1], 1 + 10);
    assert_int_equal(f.collect.profile->values[2 * 0], 1 + 20);
    for (uint32_t i = 4; i < 8; i++)
        come(&f, PID + i, 1, CAIRN_BPF_STACK);
    assert_int_equal(f.intake.n_known, 4 + 2);
    assert_int_equal(f.intake.n_free, 0);
    assert_int_equal(met(&f, PID + 7, 1, 30), CAIRN_OK);
    assert_int_equal(f.collect.profile->values[2 * 7], 1 + 30);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_that_was_not_walked_is_not_judged),
        cmocka_unit_test(what_is_met_again_is_added_up),
        cmocka_unit_test(what_was_counted_of_a_stack_that_waits_is_added_once),
        cmocka_unit_test(a_count_may_pass_what_is_kept_of_it),
        cmocka_unit_test(stacks_of_threads_without_end_are_kept_for_two_turns),
        cmocka_unit_test(a_stack_that_comes_late_counts_from_nothing),
        cmocka_unit_test(with_times_each_finds_its_stack_until_its_thread_is_over),
        cmocka_unit_test(stacks_of_time_off_the_cpu_are_kept_as_long),
        cmocka_unit_test(samples_may_have_other_numbers_while_some_are_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
