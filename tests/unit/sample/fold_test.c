/* SPDX-License-Identifier: MIT */
#include "sample/fold.h"

#include <unistd.h>

#include "base/alloc.h"
#include "tests/support/test.h"

/* No such processes: everything is known from what is told here. */
enum { PARENT = 0x3f000000, CHILD = 0x3f000100, CHILDREN = 3 * CAIRN_FOLD_KEPT };

static const uint64_t chain[] = {0x1010, 0x1020};

struct fixture {
    struct cairn_collect collect;
    uint32_t *numbers;
};

static struct fixture begin(void)
{
    struct fixture f = {0};
    const struct cairn_stream_mapping news = {
        .start = 0x1000, .size = 0x1000, .dev = 1, .inode = 2, .path = "/bin/program"};
    assert_int_equal(cairn_collect_init(&f.collect, cairn_event_get(CAIRN_EVENT_CPU), 1, NULL),
                     CAIRN_OK);
    struct cairn_space *space = cairn_spaces_get(&f.collect.spaces, PARENT);
    assert_int_equal(cairn_space_add(&f.collect.spaces, space, &news), CAIRN_OK);
    assert_int_equal(cairn_collect_name(&f.collect, PARENT, "parent"), CAIRN_OK);
    return f;
}

static void drop(struct fixture *f)
{
    cairn_free(f->numbers);
    cairn_collect_done(&f->collect);
}

static uint32_t sample(struct fixture *f, uint32_t pid, uint32_t tid, int64_t value)
{
    const struct cairn_sampled caught = {
        .pid = (int)pid, .tid = (int)tid, .user = {.chain = chain, .n_chain = 2}, .value = value};
    assert_int_equal(cairn_collect_add(&f->collect, &caught), CAIRN_OK);
    return f->collect.last;
}

static void born(struct fixture *f, uint32_t pid, uint32_t tid)
{
    const struct cairn_stream_birth birth = {
        .pid = (int)pid, .tid = (int)tid, .parent_pid = PARENT, .parent_tid = PARENT};
    assert_int_equal(cairn_collect_fork(&f->collect, &birth), CAIRN_OK);
}

static void end(struct fixture *f, uint32_t pid, uint32_t tid)
{
    assert_int_equal(cairn_stream_processes_exit(&f->collect.spaces.all, (int)pid, (int)tid),
                     CAIRN_OK);
}

static void fold(struct fixture *f)
{
    cairn_collect_turn(&f->collect);
    cairn_collect_turn(&f->collect);
    cairn_free(f->numbers);
    cairn_collect_fold(&f->collect, &f->numbers);
}

/* Of the row; 0: it has no such label. */
static int64_t number(const struct fixture *f, uint32_t row, const char *key)
{
    const struct cairn_profile *p = f->collect.profile;
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[row].labels, key);
    return label ? label->number : 0;
}

static int64_t total(const struct fixture *f)
{
    int64_t sum = 0;
    for (size_t i = 0; i < f->collect.profile->n_samples; i++)
        sum += f->collect.profile->values[2 * i + 1];
    return sum;
}

/* Children that end at once, each with `value` and its place among them if that rises. */
static void live(struct fixture *f, uint32_t first, uint32_t n, int64_t value, bool rises)
{
    for (uint32_t i = first; i < first + n; i++) {
        born(f, CHILD + i, CHILD + i);
        sample(f, CHILD + i, CHILD + i, value + (rises ? i : 0));
        end(f, CHILD + i, CHILD + i);
    }
}

static void of_many_that_ended_those_with_the_most_keep_their_numbers(void **state)
{
    (void)state;
    struct fixture f = begin();
    uint32_t parent = sample(&f, PARENT, PARENT, 1);
    live(&f, 0, CHILDREN, 2, true);
    uint32_t last = f.collect.last;
    int64_t before = total(&f);
    fold(&f);
    assert_non_null(f.numbers);
    assert_int_equal(f.collect.profile->n_samples, 1 + CAIRN_FOLD_KEPT + 1);
    assert_int_equal(total(&f), before);
    assert_int_equal(f.collect.n_folded, CHILDREN - CAIRN_FOLD_KEPT);
    assert_int_equal(number(&f, f.numbers[parent], "pid"), PARENT);
    assert_int_equal(f.collect.last, f.numbers[last]);
    for (uint32_t i = 0; i < CHILDREN; i++) {
        uint32_t row = f.numbers[1 + i];
        int64_t pid = i < CHILDREN - CAIRN_FOLD_KEPT ? 0 : CHILD + i;
        assert_int_equal(number(&f, row, "pid"), pid);
        assert_int_equal(number(&f, row, "tid"), pid);
    }
    const struct cairn_profile *p = f.collect.profile;
    const struct cairn_profile_label *name =
        cairn_profile_find_label(p, p->samples[f.numbers[1]].labels, "process");
    assert_string_equal(cairn_strings_get(&p->strings, name->text), "parent");
    drop(&f);
}

/* A server that goes on so: what is kept has a bound. */
static void without_end_the_rows_stay_as_many(void **state)
{
    (void)state;
    struct fixture f = begin();
    size_t most = 0;
    for (uint32_t i = 0; i < 20; i++) {
        live(&f, i * CAIRN_FOLD_KEPT / 2, CAIRN_FOLD_KEPT / 2, 1, false);
        fold(&f);
        most = f.collect.profile->n_label_sets > most ? f.collect.profile->n_label_sets : most;
    }
    assert_in_range(most, CAIRN_FOLD_KEPT, 3 * CAIRN_FOLD_KEPT);
    assert_in_range(f.collect.profile->n_labels, 0, 4 * 3 * CAIRN_FOLD_KEPT);
    assert_int_equal(total(&f), 20 * CAIRN_FOLD_KEPT / 2);
    drop(&f);
}

static void who_lives_keeps_its_number_however_little_it_did(void **state)
{
    (void)state;
    struct fixture f = begin();
    live(&f, 0, CHILDREN, 9, false);
    uint32_t alive = CHILD + CHILDREN, row;
    born(&f, alive, alive);
    row = sample(&f, alive, alive, 1);
    fold(&f);
    assert_int_equal(number(&f, f.numbers[row], "pid"), alive);
    assert_int_equal(sample(&f, alive, alive, 1), f.numbers[row]);
    drop(&f);
}

/* A thread for each request: the process's number stays. */
static void threads_of_a_living_process_keep_its_number(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (uint32_t i = 0; i < CHILDREN; i++) {
        born(&f, PARENT, CHILD + i);
        sample(&f, PARENT, CHILD + i, 1);
        end(&f, PARENT, CHILD + i);
    }
    fold(&f);
    assert_int_equal(f.collect.profile->n_samples, CAIRN_FOLD_KEPT + 1);
    assert_int_equal(number(&f, f.numbers[0], "pid"), PARENT);
    assert_int_equal(number(&f, f.numbers[0], "tid"), 0); /* of equal ones the first go */
    assert_int_equal(number(&f, f.numbers[CHILDREN - 1], "tid"), CHILD + CHILDREN - 1);
    drop(&f);
}

static void who_woke_a_thread_is_told_by_number_while_it_exists(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (uint32_t i = 0; i < CHILDREN; i++) {
        const struct cairn_collected sleeper = {.pid = PARENT, .tid = PARENT};
        const struct cairn_collect_more more = {.n = 1,
                                                .value = 1,
                                                .off_cpu = "sleep",
                                                .waker = "waker",
                                                .waker_pid =
                                                    i == 5 ? (int)getpid() : (int)(CHILD + i)};
        assert_int_equal(cairn_collect_sample(&f.collect, &sleeper, &more), CAIRN_OK);
    }
    fold(&f);
    assert_int_equal(f.collect.profile->n_samples, 2);
    assert_int_equal(number(&f, f.numbers[5], "woken_by_pid"), getpid());
    assert_int_equal(number(&f, f.numbers[6], "woken_by_pid"), 0);
    assert_int_equal(number(&f, f.numbers[6], "pid"), PARENT);
    assert_int_equal(f.collect.n_folded, 0);
    drop(&f);
}

/* Few threads of many stacks each, as of a program that is started again and again. */
static void of_many_rows_so_many_are_kept(void **state)
{
    (void)state;
    enum { EACH = CAIRN_FOLD_KEPT_ROWS / 4, RUNS = 9 };
    struct fixture f = begin();
    for (uint32_t run = 0; run < RUNS; run++) {
        born(&f, CHILD + run, CHILD + run);
        for (uint32_t i = 0; i < EACH; i++) {
            const uint64_t own[] = {0x1010 + i % 0x800, 0x1020 + i / 0x800};
            const struct cairn_sampled caught = {.pid = (int)(CHILD + run),
                                                 .tid = (int)(CHILD + run),
                                                 .user = {.chain = own, .n_chain = 2},
                                                 .value = 1 + (run == 2)};
            assert_int_equal(cairn_collect_add(&f.collect, &caught), CAIRN_OK);
        }
        end(&f, CHILD + run, CHILD + run);
        fold(&f);
        assert_true((f.numbers != NULL) == (run == 7));
        if (run != 7)
            continue;
        /* The one with the most, and the latest. */
        assert_int_equal(f.collect.n_folded, 4);
        assert_int_equal(f.collect.profile->n_samples, 4 * EACH + EACH);
        assert_int_equal(number(&f, f.numbers[2 * EACH], "pid"), CHILD + 2);
        assert_int_equal(number(&f, f.numbers[3 * EACH], "pid"), 0);
        assert_int_equal(number(&f, f.numbers[7 * EACH], "pid"), CHILD + 7);
    }
    assert_int_equal(total(&f), RUNS * EACH + EACH);
    drop(&f);
}

/* Its names are in a file that is called by the pid. */
static void who_ran_code_that_was_made_keeps_its_number(void **state)
{
    (void)state;
    const struct cairn_stream_mapping made = {
        .start = 0x20000, .size = 0x1000, .dev = 0, .inode = 0, .path = "//anon"};
    const uint64_t own[] = {0x20010, 0x1020};
    struct fixture f = begin();
    live(&f, 0, CHILDREN, 9, false);
    born(&f, CHILD + CHILDREN, CHILD + CHILDREN);
    struct cairn_space *space = cairn_spaces_get(&f.collect.spaces, CHILD + CHILDREN);
    assert_int_equal(cairn_space_add(&f.collect.spaces, space, &made), CAIRN_OK);
    const struct cairn_sampled caught = {.pid = CHILD + CHILDREN,
                                         .tid = CHILD + CHILDREN,
                                         .user = {.chain = own, .n_chain = 2},
                                         .value = 1};
    assert_int_equal(cairn_collect_add(&f.collect, &caught), CAIRN_OK);
    uint32_t row = f.collect.last;
    end(&f, CHILD + CHILDREN, CHILD + CHILDREN);
    fold(&f);
    assert_int_equal(number(&f, f.numbers[row], "pid"), CHILD + CHILDREN);
    assert_int_equal(f.collect.n_folded, CHILDREN + 1 - CAIRN_FOLD_KEPT);
    drop(&f);
}

static void samples_with_times_and_small_profiles_stay(void **state)
{
    (void)state;
    struct fixture f = begin();
    live(&f, 0, CAIRN_FOLD_KEPT + 1, 1, false);
    fold(&f);
    assert_null(f.numbers);
    f.collect.has_times = true;
    live(&f, CAIRN_FOLD_KEPT + 1, CHILDREN, 1, false);
    fold(&f);
    assert_null(f.numbers);
    assert_int_equal(f.collect.profile->n_samples, CAIRN_FOLD_KEPT + 1 + CHILDREN);
    drop(&f);
}

static void without_memory_it_does_less(void **state)
{
    (void)state;
    for (long countdown = 0; countdown < 12; countdown++) {
        struct fixture f = begin();
        live(&f, 0, 2 * CAIRN_FOLD_KEPT + 9, 1, false);
        cairn_alloc_fail_after(countdown);
        cairn_collect_fold(&f.collect, &f.numbers);
        cairn_alloc_fail_after(-1);
        assert_int_equal(total(&f), 2 * CAIRN_FOLD_KEPT + 9);
        if (f.numbers)
            assert_in_range(f.numbers[0], 0, f.collect.profile->n_samples - 1);
        drop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_many_that_ended_those_with_the_most_keep_their_numbers),
        cmocka_unit_test(without_end_the_rows_stay_as_many),
        cmocka_unit_test(who_lives_keeps_its_number_however_little_it_did),
        cmocka_unit_test(threads_of_a_living_process_keep_its_number),
        cmocka_unit_test(who_woke_a_thread_is_told_by_number_while_it_exists),
        cmocka_unit_test(of_many_rows_so_many_are_kept),
        cmocka_unit_test(who_ran_code_that_was_made_keeps_its_number),
        cmocka_unit_test(samples_with_times_and_small_profiles_stay),
        cmocka_unit_test(without_memory_it_does_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
