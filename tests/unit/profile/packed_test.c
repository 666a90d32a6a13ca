/* SPDX-License-Identifier: MIT */
#include "profile/packed.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "support/test.h"

enum { FRAMES = 40, SETS = 5, ROWS = 6000, DEPTH = 12, PERIOD = 1001001 };

/* The same samples twice: into a profile whose rows are packed now and then, and into one that
 * keeps all of them. */
struct fixture {
    struct cairn_profile *profile, *whole;
    struct cairn_packed packed;
    uint64_t seed;
};

static uint32_t random_below(struct fixture *f, uint32_t n)
{
    f->seed = f->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(f->seed >> 33) % n;
}

static struct cairn_profile *new_profile(void)
{
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    assert_int_equal(cairn_profile_add_type(p, "samples", "count"), 0);
    assert_int_equal(cairn_profile_add_type(p, "cpu", "nanoseconds"), 1);
    p->period = PERIOD;
    for (uint32_t i = 1; i <= FRAMES; i++) {
        const struct cairn_profile_frame frame = {.address = 0x1000 + i};
        assert_int_equal(cairn_profile_add_frame(p, &frame, NULL, 0), i);
    }
    for (uint32_t i = 1; i <= SETS; i++) {
        const struct cairn_profile_label label = {.key = cairn_profile_text(p, "tid", 3),
                                                  .number = i};
        assert_int_equal(cairn_profile_add_labels(p, &label, 1), i);
    }
    return p;
}

static struct fixture begin(void)
{
    return (struct fixture){.profile = new_profile(), .whole = new_profile(), .seed = 1};
}

static void done(struct fixture *f)
{
    cairn_packed_done(&f->packed);
    cairn_profile_free(f->profile);
    cairn_profile_free(f->whole);
}

static void add_to(struct cairn_profile *p, const uint32_t *frames, size_t n, uint32_t labels,
                   const int64_t *values)
{
    uint32_t stack = 0;
    for (size_t i = 0; i < n; i++) {
        stack = cairn_profile_add_stack(p, stack, frames[i]);
        assert_int_not_equal(stack, UINT32_MAX);
    }
    assert_int_not_equal(cairn_profile_sum_sample(p, stack, labels, values), UINT32_MAX);
}

/* Stacks that have much in common, one in ten the empty one. */
static void add_random(struct fixture *f)
{
    uint32_t frames[DEPTH], n = random_below(f, 10) ? 1 + random_below(f, DEPTH) : 0;
    int64_t samples = 1 + random_below(f, 3);
    int64_t values[2] = {samples, samples * PERIOD + (random_below(f, 5) ? 0 : 77)};
    for (uint32_t i = 0; i < n; i++)
        frames[i] = i < 4 ? i + 1 : 1 + random_below(f, i < 8 ? 2 : FRAMES);
    uint32_t labels = random_below(f, SETS + 1);
    add_to(f->profile, frames, n, labels, values);
    add_to(f->whole, frames, n, labels, values);
}

struct row {
    uint64_t path;
    uint32_t labels;
    int64_t values[2];
};

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return a->labels < b->labels ? -1 : a->labels > b->labels;
}

static struct row *rows_of(const struct cairn_profile *p)
{
    struct row *rows = cairn_alloc(p->n_samples + 1, sizeof *rows);
    for (size_t i = 0; i < p->n_samples; i++) {
        uint64_t path = 0;
        for (uint32_t at = p->samples[i].stack; at; at = p->stacks[at].parent) {
            assert_true(p->stacks[at].parent < at);
            path = cairn_hash_u64(path + p->stacks[at].frame);
        }
        rows[i] =
            (struct row){path, p->samples[i].labels, {p->values[2 * i], p->values[2 * i + 1]}};
    }
    qsort(rows, p->n_samples, sizeof *rows, compare_rows);
    return rows;
}

static void assert_same(const struct cairn_profile *a, const struct cairn_profile *b)
{
    assert_int_equal(a->n_samples, b->n_samples);
    assert_int_equal(a->n_stacks, b->n_stacks);
    struct row *of_a = rows_of(a), *of_b = rows_of(b);
    for (size_t i = 0; i < a->n_samples; i++) {
        assert_int_equal(of_a[i].path, of_b[i].path);
        assert_int_equal(of_a[i].labels, of_b[i].labels);
        assert_int_equal(of_a[i].values[0], of_b[i].values[0]);
        assert_int_equal(of_a[i].values[1], of_b[i].values[1]);
    }
    cairn_free(of_a);
    cairn_free(of_b);
}

static void give(struct fixture *f)
{
    assert_int_equal(cairn_packed_give(&f->packed, f->profile), CAIRN_OK);
    assert_int_equal(f->packed.n_runs, 0);
}

static void what_was_taken_now_and_then_comes_back_whole(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (uint32_t i = 0; i < ROWS; i++) {
        add_random(&f);
        if (random_below(&f, 200) == 0) {
            assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
            assert_int_equal(f.profile->n_samples, 0);
            assert_int_equal(f.profile->n_stacks, 1);
        }
    }
    assert_true(f.packed.n_runs > 0);
    give(&f);
    assert_same(f.profile, f.whole);
    add_random(&f); /* what is back is found again */
    assert_same(f.profile, f.whole);
    done(&f);
}

/* A load that is steady: its stacks are the same ones again and again. */
static void rows_that_come_again_take_no_more_room(void **state)
{
    (void)state;
    struct fixture f = begin();
    size_t first = 0;
    for (uint32_t round = 0; round < 20; round++) {
        f.seed = 7;
        for (uint32_t i = 0; i < ROWS / 10; i++)
            add_random(&f);
        assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
        assert_int_equal(f.packed.n_runs, 1);
        first = first ? first : f.packed.runs[0].n_rows;
        assert_int_equal(f.packed.runs[0].n_rows, first);
    }
    give(&f);
    assert_same(f.profile, f.whole);
    done(&f);
}

static void runs_are_few_and_rows_small(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (uint32_t i = 0; i < ROWS; i++) {
        add_random(&f);
        if (i % 100 == 99)
            assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
        assert_true(f.packed.n_runs <= 8);
    }
    size_t bytes = 0;
    for (size_t i = 0; i < f.packed.n_runs; i++)
        bytes += f.packed.runs[i].bytes.size;
    assert_true(bytes < 12 * cairn_packed_rows(&f.packed));
    give(&f);
    assert_same(f.profile, f.whole);
    done(&f);
}

static void values_of_any_size_come_back(void **state)
{
    (void)state;
    static const int64_t hostile[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MIN + 1, 1ll << 62};
    struct fixture f = begin();
    const size_t n = sizeof hostile / sizeof *hostile;
    for (uint32_t i = 0; i < n * n; i++) {
        const uint32_t frames[] = {1 + i % FRAMES, 1 + i / FRAMES};
        const int64_t values[] = {hostile[i / n], hostile[i % n]};
        add_to(f.profile, frames, 2, 0, values);
        add_to(f.whole, frames, 2, 0, values);
    }
    assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
    give(&f);
    assert_same(f.profile, f.whole);
    done(&f);
}

static void sums_of_two_runs_stop_at_the_end(void **state)
{
    (void)state;
    struct fixture f = begin();
    const uint32_t frame = 1;
    const int64_t most[2] = {INT64_MAX, INT64_MIN};
    for (int i = 0; i < 2; i++) {
        add_to(f.profile, &frame, 1, 1, most);
        assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
    }
    give(&f);
    assert_int_equal(f.profile->n_samples, 1);
    assert_int_equal(f.profile->values[0], INT64_MAX);
    assert_int_equal(f.profile->values[1], INT64_MIN);
    done(&f);
}

static void a_stack_may_be_as_deep_as_any(void **state)
{
    (void)state;
    struct fixture f = begin();
    static uint32_t frames[CAIRN_PROFILE_DEPTH_MAX];
    const int64_t values[2] = {1, PERIOD};
    for (uint32_t i = 0; i < CAIRN_PROFILE_DEPTH_MAX; i++)
        frames[i] = 1 + i % FRAMES;
    add_to(f.profile, frames, CAIRN_PROFILE_DEPTH_MAX, 2, values);
    add_to(f.whole, frames, CAIRN_PROFILE_DEPTH_MAX, 2, values);
    assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
    give(&f);
    assert_same(f.profile, f.whole);
    done(&f);
}

static void labels_are_given_other_numbers(void **state)
{
    (void)state;
    static const uint32_t new_of[SETS + 1] = {0, 3, 3, 1, 1, 5};
    struct fixture f = begin();
    for (uint32_t i = 0; i < ROWS; i++) {
        add_random(&f);
        if (i % 1000 == 999)
            assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
    }
    assert_int_equal(cairn_packed_relabel(&f.packed, new_of), CAIRN_OK);
    for (size_t i = 0; i < f.whole->n_samples; i++)
        f.whole->samples[i].labels = new_of[f.whole->samples[i].labels];
    assert_int_equal(cairn_profile_sum_equal(f.whole), CAIRN_OK);
    give(&f);
    assert_same(f.profile, f.whole);
    done(&f);
}

struct met {
    uint64_t samples;
    size_t n_rows;
};

static int on_path(void *ctx, const struct cairn_packed_path *path)
{
    struct met *met = ctx;
    assert_true(path->n_same <= path->n);
    for (size_t i = 0; i < path->n_rows; i++)
        met->samples += (uint64_t)path->values[2 * i];
    met->n_rows += path->n_rows;
    return met->n_rows > 50 && met->samples == 0 ? CAIRN_E_ARG : CAIRN_OK;
}

static void each_row_is_handed_out(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct met met = {0};
    uint64_t samples = 0;
    for (uint32_t i = 0; i < 1000; i++)
        add_random(&f);
    for (size_t i = 0; i < f.whole->n_samples; i++)
        samples += (uint64_t)f.whole->values[2 * i];
    assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
    assert_int_equal(cairn_packed_each(&f.packed, on_path, &met), CAIRN_OK);
    assert_int_equal(met.n_rows, f.whole->n_samples);
    assert_int_equal(met.n_rows, cairn_packed_rows(&f.packed));
    assert_int_equal(met.samples, samples);
    done(&f);
}

static int refuse(void *ctx, const struct cairn_packed_path *path)
{
    (void)path;
    ++*(int *)ctx;
    return CAIRN_E_LIMIT;
}

static void the_callback_ends_it(void **state)
{
    (void)state;
    struct fixture f = begin();
    int n = 0;
    for (uint32_t i = 0; i < 100; i++)
        add_random(&f);
    assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
    assert_int_equal(cairn_packed_each(&f.packed, refuse, &n), CAIRN_E_LIMIT);
    assert_int_equal(n, 1);
    done(&f);
}

static void where_nothing_was_taken_nothing_changes(void **state)
{
    (void)state;
    struct fixture f = begin();
    assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
    assert_int_equal(f.packed.n_runs, 0);
    add_random(&f);
    give(&f);
    assert_same(f.profile, f.whole);
    assert_int_equal(f.profile->samples[0].stack, f.whole->samples[0].stack);
    done(&f);
}

/* A profile that takes in no more takes back what was its own. */
static void what_is_closed_takes_back_its_own(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (uint32_t i = 0; i < 100; i++)
        add_random(&f);
    assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
    f.profile->closed = CAIRN_PROFILE_NO_SAMPLES;
    give(&f);
    assert_int_equal(f.profile->closed, CAIRN_PROFILE_NO_SAMPLES);
    assert_same(f.profile, f.whole);
    done(&f);
}

static void without_memory_nothing_is_lost(void **state)
{
    (void)state;
    struct fixture f = begin();
    static const uint32_t same[SETS + 1] = {0, 1, 2, 3, 4, 5};
    int code = CAIRN_E_NOMEM;
    long n_failed = 0;
    for (uint32_t i = 0; i < 300; i++)
        add_random(&f);
    for (; code == CAIRN_E_NOMEM; n_failed++) {
        cairn_alloc_fail_after(n_failed);
        code = cairn_packed_take(&f.packed, f.profile);
        cairn_alloc_fail_after(-1);
        if (code == CAIRN_E_NOMEM)
            assert_same(f.profile, f.whole);
    }
    assert_true(n_failed > 5);
    for (code = CAIRN_E_NOMEM, n_failed = 0; code == CAIRN_E_NOMEM; n_failed++) {
        cairn_alloc_fail_after(n_failed);
        code = cairn_packed_relabel(&f.packed, same);
        cairn_alloc_fail_after(-1);
    }
    assert_true(n_failed > 5);
    give(&f);
    assert_same(f.profile, f.whole);
    done(&f);
}

/* Two runs that should be one stay two. */
static void without_memory_for_it_runs_stay_apart(void **state)
{
    (void)state;
    size_t n_apart = 0;
    for (long n = 0; n < 60; n++) {
        struct fixture f = begin();
        for (uint32_t i = 0; i < 400; i++) {
            add_random(&f);
            if (i == 199)
                assert_int_equal(cairn_packed_take(&f.packed, f.profile), CAIRN_OK);
        }
        cairn_alloc_fail_after(n);
        (void)cairn_packed_take(&f.packed, f.profile);
        cairn_alloc_fail_after(-1);
        n_apart += f.packed.n_runs > 1;
        give(&f);
        assert_same(f.profile, f.whole);
        done(&f);
    }
    assert_true(n_apart > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_taken_now_and_then_comes_back_whole),
        cmocka_unit_test(rows_that_come_again_take_no_more_room),
        cmocka_unit_test(runs_are_few_and_rows_small),
        cmocka_unit_test(values_of_any_size_come_back),
        cmocka_unit_test(sums_of_two_runs_stop_at_the_end),
        cmocka_unit_test(a_stack_may_be_as_deep_as_any),
        cmocka_unit_test(labels_are_given_other_numbers),
        cmocka_unit_test(each_row_is_handed_out),
        cmocka_unit_test(the_callback_ends_it),
        cmocka_unit_test(where_nothing_was_taken_nothing_changes),
        cmocka_unit_test(what_is_closed_takes_back_its_own),
        cmocka_unit_test(without_memory_nothing_is_lost),
        cmocka_unit_test(without_memory_for_it_runs_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
