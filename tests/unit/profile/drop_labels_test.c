/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "profile/profile.h"
#include "support/test.h"

enum { PIDS = 50, STACKS = 4, ROWS = PIDS * STACKS };

struct fixture {
    struct cairn_profile *profile;
    uint32_t pid_key, name_key, numbers[ROWS];
};

static uint32_t text(struct fixture *f, const char *text)
{
    return cairn_profile_text(f->profile, text, strlen(text));
}

static uint32_t labels_of(struct fixture *f, int64_t pid)
{
    const struct cairn_profile_label labels[] = {{.key = f->name_key, .text = text(f, "server")},
                                                 {.key = f->pid_key, .number = pid}};
    return cairn_profile_add_labels(f->profile, labels, 2);
}

static uint32_t stack_of(struct fixture *f, uint64_t address)
{
    const struct cairn_profile_frame frame = {.address = address, .how = CAIRN_HOW_TEXT};
    return cairn_profile_add_stack(f->profile, 0,
                                   cairn_profile_add_frame(f->profile, &frame, NULL, 0));
}

/* Of each pid the same stacks, once. */
static struct fixture begin(void)
{
    struct fixture f = {0};
    const int64_t one = 1;
    assert_int_equal(cairn_profile_new(&f.profile, NULL), CAIRN_OK);
    assert_int_equal(cairn_profile_add_type(f.profile, "samples", "count"), 0);
    f.pid_key = text(&f, "pid");
    f.name_key = text(&f, "process");
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(cairn_profile_sum_sample(f.profile, stack_of(&f, 1 + i % STACKS),
                                                  labels_of(&f, i / STACKS), &one),
                         i);
    return f;
}

static bool keeps_even(void *ctx, const struct cairn_profile_label *labels, uint32_t n,
                       const struct cairn_profile_label *label)
{
    const struct fixture *f = ctx;
    assert_int_equal(n, 2);
    assert_true(label == &labels[0] || label == &labels[1]);
    return label->key != f->pid_key || label->number % 2 == 0;
}

static int64_t total(const struct cairn_profile *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        sum += p->values[i];
    return sum;
}

static int64_t pid_at(const struct cairn_profile *p, size_t row)
{
    const struct cairn_profile_label *pid =
        cairn_profile_find_label(p, p->samples[row].labels, "pid");
    return pid ? pid->number : -1;
}

static void rows_that_became_equal_are_one_and_each_is_found_again(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct cairn_profile *p = f.profile;
    uint32_t stack[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        stack[i] = p->samples[i].stack;
    assert_int_equal(cairn_profile_drop_labels(p, NULL, keeps_even, &f, f.numbers), CAIRN_OK);
    assert_int_equal(p->n_samples, (PIDS / 2 + 1) * STACKS);
    assert_int_equal(p->n_label_sets, 1 + PIDS / 2 + 1);
    assert_int_equal(total(p), ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        int64_t pid = i / STACKS;
        assert_in_range(f.numbers[i], 0, p->n_samples - 1);
        assert_int_equal(p->samples[f.numbers[i]].stack, stack[i]);
        assert_int_equal(pid_at(p, f.numbers[i]), pid % 2 ? -1 : pid);
        assert_int_equal(p->values[f.numbers[i]], pid % 2 ? PIDS / 2 : 1);
    }
    cairn_profile_free(p);
}

/* What makes rows unique goes on from where it was. */
static void what_comes_afterwards_finds_its_row(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct cairn_profile *p = f.profile;
    const int64_t one = 1;
    assert_int_equal(cairn_profile_drop_labels(p, NULL, keeps_even, &f, f.numbers), CAIRN_OK);
    size_t n = p->n_samples, n_sets = p->n_label_sets;
    assert_int_equal(cairn_profile_sum_sample(p, stack_of(&f, 1), labels_of(&f, 2), &one),
                     f.numbers[2 * STACKS]);
    assert_int_equal(p->values[f.numbers[2 * STACKS]], 2);
    assert_int_equal(p->n_samples, n);
    assert_int_equal(cairn_profile_sum_sample(p, stack_of(&f, 1), labels_of(&f, 3), &one), n);
    assert_int_equal(p->n_label_sets, n_sets + 1);
    cairn_profile_free(p);
}

static void without_memory_nothing_is_lost(void **state)
{
    (void)state;
    unsigned n_failed = 0;
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code != CAIRN_OK; countdown++) {
        struct fixture f = begin();
        cairn_alloc_fail_after(countdown);
        code = cairn_profile_drop_labels(f.profile, NULL, keeps_even, &f, f.numbers);
        cairn_alloc_fail_after(-1);
        n_failed += code != CAIRN_OK;
        assert_int_equal(total(f.profile), ROWS);
        for (uint32_t i = 0; i < ROWS; i++) {
            int64_t pid = pid_at(f.profile, f.numbers[i]);
            assert_true(pid == i / STACKS || (pid == -1 && i / STACKS % 2));
        }
        cairn_profile_free(f.profile);
    }
    assert_in_range(n_failed, 3, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_became_equal_are_one_and_each_is_found_again),
        cmocka_unit_test(what_comes_afterwards_finds_its_row),
        cmocka_unit_test(without_memory_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
