/* SPDX-License-Identifier: MIT */
/* Of which samples it is known whether their stack is whole. */
#include "profile/frame_kind.h"
#include "profile/profile.h"
#include "support/test.h"

static struct cairn_profile *make_profile(void)
{
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(cairn_profile_new(&p, &err), err);
    assert_int_equal(cairn_profile_add_type(p, "samples", "count"), 0);
    return p;
}

/* `weight` samples of a stack whose frames, from the root on, were found in these ways, cut for
 * the reason that is given, or not. */
static void add_sample(struct cairn_profile *p, const char *kinds, int64_t weight, const char *cut)
{
    uint32_t stack = 0;
    for (size_t i = 0; kinds[i]; i++) {
        struct cairn_profile_frame frame = {.address = 0x10 + i};
        assert_true(cairn_frame_set_kind(&frame, (unsigned char)kinds[i]));
        stack = cairn_profile_add_stack(p, stack, cairn_profile_add_frame(p, &frame, NULL, 0));
    }
    uint32_t text = cut ? cairn_profile_text(p, cut, strlen(cut)) : 0;
    uint32_t labels = cairn_profile_add_label_set(p, NULL, 0, text, 0);
    assert_int_not_equal(cairn_profile_add_sample(p, stack, labels, &weight), UINT32_MAX);
}

/* A stack with a gap has its root: it ends nowhere early, and is not whole either. */
static void a_stack_with_a_gap_is_neither_cut_nor_whole(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    struct cairn_profile_stats stats = {.size = sizeof stats};
    struct cairn_cut_row rows[3];
    add_sample(p, "cc", 5, NULL);
    add_sample(p, "cc", 7, CAIRN_PROFILE_GAP);
    add_sample(p, "cc", 11, "no unwind rule in prog");
    cairn_profile_stats(p, &stats);
    assert_int_equal(stats.n_samples, 23);
    assert_int_equal(stats.n_judged, 23);
    assert_int_equal(stats.n_cut, 11);
    assert_int_equal(stats.n_gap, 7);
    assert_int_equal(cairn_profile_cuts(p, rows, 3), 1);
    assert_string_equal(rows[0].reason, "no unwind rule in prog");
    assert_int_equal(rows[0].n_samples, 11);
    cairn_profile_free(p);
}

static void assert_judged(struct cairn_profile *p, uint64_t n_judged, uint64_t n_cut)
{
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(p, &stats);
    assert_int_equal(stats.n_judged, n_judged);
    assert_int_equal(stats.n_cut, n_cut);
    cairn_profile_free(p);
}

static void text_without_kinds_is_not_judged(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    add_sample(p, "---", 5, NULL);
    add_sample(p, "", 2, NULL);
    assert_judged(p, 0, 0);
}

static void stacks_that_a_walker_found_are_judged_by_their_weight(void **state)
{
    (void)state;
    static const char *const walked[] = {"c", "ff", "g", "ll", "fk", "cji"};
    for (size_t i = 0; i < sizeof walked / sizeof *walked; i++) {
        struct cairn_profile *p = make_profile();
        add_sample(p, walked[i], 7, NULL);
        assert_judged(p, 7, 0);
    }
}

static void one_frame_that_nobody_speaks_for_is_enough(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    add_sample(p, "ff", 1, NULL);
    add_sample(p, "f-", 10, NULL);
    add_sample(p, "-f", 100, NULL);
    add_sample(p, "f-f", 1000, NULL);
    assert_judged(p, 1, 0);
}

/* Collapsed text marks these too. */
static void kernel_inlined_and_jit_frames_tell_nothing_alone(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    add_sample(p, "kk", 1, NULL);
    add_sample(p, "ij", 2, NULL);
    assert_judged(p, 0, 0);
    p = make_profile();
    add_sample(p, "kk", 1, NULL);
    add_sample(p, "f", 2, NULL); /* a walker was here, so the kernel's stack is whole as well */
    assert_judged(p, 3, 0);
}

static void what_was_cut_is_judged_whoever_found_it(void **state)
{
    (void)state;
    struct cairn_profile *p = make_profile();
    add_sample(p, "--", 3, "no rule");
    add_sample(p, "--", 4, NULL);
    assert_judged(p, 3, 3);
    p = make_profile();
    add_sample(p, "f", 3, "no rule");
    add_sample(p, "ff", 4, NULL);
    assert_judged(p, 7, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_with_a_gap_is_neither_cut_nor_whole),
        cmocka_unit_test(text_without_kinds_is_not_judged),
        cmocka_unit_test(stacks_that_a_walker_found_are_judged_by_their_weight),
        cmocka_unit_test(one_frame_that_nobody_speaks_for_is_enough),
        cmocka_unit_test(kernel_inlined_and_jit_frames_tell_nothing_alone),
        cmocka_unit_test(what_was_cut_is_judged_whoever_found_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
