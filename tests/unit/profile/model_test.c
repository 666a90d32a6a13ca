/* SPDX-License-Identifier: MIT */
/* Each thing once, whatever the index went through; limits; words for frames. */
#include "base/alloc.h"
#include "profile/profile.h"
#include "support/test.h"

static struct cairn_profile *profile;

static int make_profile(void **state)
{
    (void)state;
    return cairn_profile_new(&profile, NULL);
}

static int free_profile(void **state)
{
    (void)state;
    cairn_profile_free(profile);
    profile = NULL;
    return 0;
}

static uint32_t text(const char *text)
{
    return cairn_profile_text(profile, text, strlen(text));
}

static uint32_t add_address(uint64_t address)
{
    struct cairn_profile_frame frame = {.address = address, .how = CAIRN_HOW_TEXT};
    return cairn_profile_add_frame(profile, &frame, NULL, 0);
}

static uint32_t add_named(const char *name)
{
    struct cairn_profile_function function = {.name = text(name)};
    struct cairn_profile_line line = {cairn_profile_add_function(profile, &function), 7};
    struct cairn_profile_frame frame = {.how = CAIRN_HOW_TEXT};
    return cairn_profile_add_frame(profile, &frame, &line, 1);
}

static void equal_things_have_equal_numbers(void **state)
{
    (void)state;
    struct cairn_profile_module module = {.start = 1, .end = 9, .path = text("/lib/a.so")};
    assert_int_equal(cairn_profile_add_module(profile, &module), 1);
    module.has_lines = true;
    assert_int_equal(cairn_profile_add_module(profile, &module), 1);
    assert_true(profile->modules[1].has_lines); /* what naming found adds up */
    module.off = 4096;
    assert_int_equal(cairn_profile_add_module(profile, &module), 2);

    struct cairn_profile_function function = {.name = text("f"), .file = text("f.c")};
    assert_int_equal(cairn_profile_add_function(profile, &function), 1);
    assert_int_equal(cairn_profile_add_function(profile, &function), 1);
    function.start_line = 3;
    assert_int_equal(cairn_profile_add_function(profile, &function), 2);

    struct cairn_profile_line lines[] = {{1, 10}, {2, 20}};
    struct cairn_profile_frame frame = {.address = 5, .how = CAIRN_HOW_CFI};
    uint32_t both = cairn_profile_add_frame(profile, &frame, lines, 2);
    assert_int_equal(cairn_profile_add_frame(profile, &frame, lines, 2), both);
    uint32_t one = cairn_profile_add_frame(profile, &frame, lines, 1);
    assert_int_not_equal(one, both);
    frame.how = CAIRN_HOW_FP;
    assert_int_not_equal(cairn_profile_add_frame(profile, &frame, lines, 1), one);
    assert_int_equal(profile->lines[profile->frames[both].lines + 1].line, 20);
}

static void labels_are_a_set_in_any_order(void **state)
{
    (void)state;
    struct cairn_profile_label a[] = {{.key = text("tid"), .number = 4},
                                      {.key = text("thread"), .text = text("main")}};
    struct cairn_profile_label b[] = {a[1], a[0]};
    assert_int_equal(cairn_profile_add_labels(profile, a, 0), 0);
    assert_int_equal(cairn_profile_add_labels(profile, a, 2), 1);
    assert_int_equal(cairn_profile_add_labels(profile, b, 2), 1);
    assert_int_equal(cairn_profile_add_labels(profile, b, 1), 2);
    assert_int_equal(cairn_profile_find_label(profile, 1, "tid")->number, 4);
    assert_null(cairn_profile_find_label(profile, 2, "tid"));
    assert_null(cairn_profile_find_label(profile, 0, "tid"));
}

static void sets_of_many_times_have_one_span_of_labels(void **state)
{
    (void)state;
    struct cairn_profile_label a[] = {{.key = text("tid"), .number = 4},
                                      {.key = text("thread"), .text = text("main")}};
    uint32_t cut = text("no rule"), sets[3];
    for (uint32_t i = 0; i < 3; i++)
        sets[i] = cairn_profile_add_label_set(profile, a, 2, cut, 1 + i);
    assert_int_equal(profile->n_labels, 2);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(cairn_profile_add_label_set(profile, a, 2, cut, 1 + i), sets[i]);
        assert_int_equal(profile->label_sets[sets[i]].time_ns, 1 + i);
        assert_int_equal(profile->label_sets[sets[i]].cut, cut);
        assert_int_equal(cairn_profile_find_label(profile, sets[i], "thread")->text, a[1].text);
    }
    uint32_t whole = cairn_profile_add_label_set(profile, a, 2, 0, 1);
    assert_int_not_equal(whole, sets[0]);
    assert_int_equal(profile->label_sets[whole].cut, 0);
    uint32_t bare = cairn_profile_add_label_set(profile, NULL, 0, 0, 5);
    assert_int_equal(profile->label_sets[bare].n, 0);
    assert_int_equal(profile->label_sets[bare].time_ns, 5);
    assert_int_equal(cairn_profile_add_label_set(profile, NULL, 0, 0, -5), 0);
}

static void more_labels_than_the_limit_are_refused(void **state)
{
    (void)state;
    static struct cairn_profile_label many[CAIRN_PROFILE_LABELS_MAX + 1];
    for (uint32_t i = 0; i <= CAIRN_PROFILE_LABELS_MAX; i++)
        many[i].number = CAIRN_PROFILE_LABELS_MAX - i;
    assert_int_equal(cairn_profile_add_labels(profile, many, CAIRN_PROFILE_LABELS_MAX), 1);
    assert_int_equal(cairn_profile_add_labels(profile, many, CAIRN_PROFILE_LABELS_MAX + 1),
                     UINT32_MAX);
    assert_int_equal(profile->labels[0].number, 1); /* in order */
}

/* More children than a chain takes, before and after the index was thrown away. */
static void a_stack_with_many_children_finds_each(void **state)
{
    (void)state;
    enum { N = 1000 };
    uint32_t stacks[N];
    uint32_t root = cairn_profile_add_stack(profile, 0, add_address(1));
    for (uint32_t i = 0; i < N; i++)
        stacks[i] = cairn_profile_add_stack(profile, root, add_address(100 + i));
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(cairn_profile_add_stack(profile, root, add_address(100 + i)),
                             stacks[i]);
        cairn_profile_drop_index(profile);
    }
    assert_int_equal(profile->n_stacks, N + 2);
    uint32_t news = cairn_profile_add_stack(profile, stacks[N - 1], add_address(100));
    assert_int_equal(news, N + 2);
    assert_int_equal(profile->stacks[news].parent, stacks[N - 1]);
}

static void stacks_of_nothing_are_refused(void **state)
{
    (void)state;
    uint32_t frame = add_address(1);
    assert_int_equal(cairn_profile_add_stack(profile, 1, frame), UINT32_MAX);
    assert_int_equal(cairn_profile_add_stack(profile, 0, frame + 1), UINT32_MAX);
    assert_int_equal(cairn_profile_add_stack(profile, 0, 0), UINT32_MAX);
}

static void what_was_changed_in_place_is_found_after_the_index_was_dropped(void **state)
{
    (void)state;
    uint32_t frame = add_address(0x10);
    profile->frames[frame].address = 0x20;
    cairn_profile_drop_index(profile);
    assert_int_equal(add_address(0x20), frame);
    assert_int_not_equal(add_address(0x10), frame);
}

static void types_come_before_samples(void **state)
{
    (void)state;
    assert_int_equal(cairn_profile_add_type(profile, "samples", "count"), 0);
    assert_int_equal(cairn_profile_add_type(profile, "cpu", "nanoseconds"), 1);
    const struct cairn_value_type *types;
    assert_int_equal(cairn_profile_value_types(profile, &types), 2);
    assert_string_equal(types[1].type, "cpu");
    assert_string_equal(types[1].unit, "nanoseconds");
    int64_t values[] = {1, 10};
    assert_int_equal(cairn_profile_add_sample(profile, 0, 0, values), 0);
    assert_int_equal(cairn_profile_add_type(profile, "late", "count"), UINT32_MAX);
    assert_int_equal(cairn_profile_add_sample(profile, 1, 0, values), UINT32_MAX);
    assert_int_equal(cairn_profile_add_sample(profile, 0, 1, values), UINT32_MAX);
}

static void the_value_to_show_is_the_first_unless_another_is_chosen(void **state)
{
    (void)state;
    struct cairn_err err;
    cairn_profile_add_type(profile, "samples", "count");
    cairn_profile_add_type(profile, "cpu", "nanoseconds");
    assert_int_equal(cairn_profile_default_value(profile), 0);
    assert_ok(cairn_profile_set_default_value(profile, 1, &err), err);
    assert_int_equal(cairn_profile_default_value(profile), 1);
    assert_fails(cairn_profile_set_default_value(profile, 2, &err), CAIRN_E_ARG, err, "has 2");
}

static void equal_samples_are_summed_and_ends_of_the_range_hold(void **state)
{
    (void)state;
    cairn_profile_add_type(profile, "samples", "count");
    uint32_t stack = cairn_profile_add_stack(profile, 0, add_address(1));
    struct cairn_profile_label label = {.key = text("tid"), .number = 1};
    uint32_t labels = cairn_profile_add_labels(profile, &label, 1);
    int64_t one = 1, huge = INT64_MAX;
    cairn_profile_add_sample(profile, stack, 0, &one);
    cairn_profile_add_sample(profile, stack, labels, &one);
    cairn_profile_add_sample(profile, stack, 0, &huge);
    cairn_profile_add_sample(profile, stack, labels, &one);
    assert_int_equal(cairn_profile_sum_equal(profile), CAIRN_OK);
    assert_int_equal(profile->n_samples, 2);
    assert_true(profile->values[0] == INT64_MAX);
    assert_int_equal(profile->values[1], 2);
}

static void a_sum_without_memory_loses_nothing(void **state)
{
    (void)state;
    cairn_profile_add_type(profile, "samples", "count");
    enum { N = 100 };
    int64_t one = 1;
    for (uint32_t i = 0; i < N; i++)
        cairn_profile_add_sample(profile, cairn_profile_add_stack(profile, 0, add_address(1 + i)),
                                 0, &one);
    for (long countdown = 0; countdown < 4; countdown++) {
        cairn_alloc_fail_after(countdown);
        int code = cairn_profile_sum_equal(profile);
        cairn_alloc_fail_after(-1);
        assert_true(code == CAIRN_E_NOMEM || code == CAIRN_OK);
        assert_int_equal(profile->n_samples, N);
    }
}

static void samples_are_summed_as_they_come(void **state)
{
    (void)state;
    enum { N = 200 };
    const struct cairn_profile_label label = {.key = text("half"), .text = text("upper")};
    const struct cairn_filter upper = {
        .size = sizeof upper, .label_key = "half", .label_value = "upper"};
    int64_t one = 1;
    cairn_profile_add_type(profile, "samples", "count");
    uint32_t labels = cairn_profile_add_labels(profile, &label, 1);
    for (uint32_t i = 0; i < 3 * N; i++) {
        uint32_t stack = cairn_profile_add_stack(profile, 0, add_address(1 + i % N));
        assert_int_equal(cairn_profile_sum_sample(profile, stack, i % N < N / 2 ? 0 : labels, &one),
                         i % N);
    }
    assert_int_equal(profile->n_samples, N);
    assert_int_equal(profile->values[N - 1], 3);
    assert_int_equal(cairn_profile_filter(profile, &upper, NULL), CAIRN_OK);
    assert_int_equal(profile->n_samples, N / 2); /* and they have other numbers */
    uint32_t last = cairn_profile_add_stack(profile, 0, add_address(N));
    assert_int_equal(cairn_profile_sum_sample(profile, last, labels, &one), N / 2 - 1);
    assert_int_equal(profile->values[N / 2 - 1], 4);
}

static void a_sample_without_memory_is_not_there(void **state)
{
    (void)state;
    int64_t one = 1;
    cairn_profile_add_type(profile, "samples", "count");
    uint32_t stack = cairn_profile_add_stack(profile, 0, add_address(1)), number = UINT32_MAX;
    for (long countdown = 0; number == UINT32_MAX; countdown++) {
        assert_int_equal(profile->n_samples, 0);
        cairn_alloc_fail_after(countdown);
        number = cairn_profile_sum_sample(profile, stack, 0, &one);
        cairn_alloc_fail_after(-1);
    }
    assert_int_equal(cairn_profile_sum_sample(profile, stack, 0, &one), number);
    assert_int_equal(profile->values[number], 2);
}

static void a_frame_without_a_name_says_where_it_is(void **state)
{
    (void)state;
    char buf[64];
    struct cairn_profile_module module = {
        .start = 0x7f0000, .end = 0x7f9000, .off = 0x1000, .path = text("/usr/lib/libfoo.so")};
    struct cairn_profile_frame frame = {.address = 0x7f0234,
                                        .module = cairn_profile_add_module(profile, &module)};
    uint32_t number = cairn_profile_add_frame(profile, &frame, NULL, 0);
    assert_string_equal(cairn_profile_frame_text(profile, number, buf, sizeof buf),
                        "libfoo.so+0x1234");
    assert_string_equal(cairn_profile_frame_text(profile, number, buf, 5), "libf");
    assert_string_equal(cairn_profile_frame_text(profile, add_address(0xff), buf, sizeof buf),
                        "0xff");
    assert_string_equal(cairn_profile_frame_text(profile, add_address(0), buf, sizeof buf),
                        "[unknown]");
}

static void addresses_in_disguise_are_no_names(void **state)
{
    (void)state;
    static const char *const no_names[] = {"0x12", "libfoo.so+0x12", "[unknown]", ""};
    static const char *const names[] = {"main", "operator+", "f(0x12)", "a+0xg", "0x", "+"};
    for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++)
        assert_false(cairn_profile_is_named(profile, add_named(no_names[i])));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(cairn_profile_is_named(profile, add_named(names[i])));
    assert_false(cairn_profile_is_named(profile, add_address(5)));
}

static void a_label_for_all_leaves_those_that_have_one(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile_label own = {.key = text("input"), .text = text("mine")};
    struct cairn_profile_label other = {.key = text("tid"), .number = 7};
    int64_t value = 1;
    cairn_profile_add_type(profile, "samples", "count");
    cairn_profile_add_sample(profile, 0, 0, &value);
    cairn_profile_add_sample(profile, 0, cairn_profile_add_labels(profile, &own, 1), &value);
    cairn_profile_add_sample(profile, 0, cairn_profile_add_labels(profile, &other, 1), &value);
    assert_fails(cairn_profile_label_all(profile, "input", "", &err), CAIRN_E_ARG, err, "a value");
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        assert_null(cairn_profile_find_label(profile, profile->samples[0].labels, "input"));
        cairn_alloc_fail_after(countdown);
        code = cairn_profile_label_all(profile, "input", "all", &err);
        cairn_alloc_fail_after(-1);
    }
    assert_int_equal(code, CAIRN_OK);
    static const char *const wanted[] = {"all", "mine", "all"};
    for (size_t i = 0; i < 3; i++) {
        const struct cairn_profile_label *label =
            cairn_profile_find_label(profile, profile->samples[i].labels, "input");
        assert_non_null(label);
        assert_string_equal(cairn_strings_get(&profile->strings, label->text), wanted[i]);
    }
    assert_non_null(cairn_profile_find_label(profile, profile->samples[2].labels, "tid"));
}

static void comments_are_lent_in_order(void **state)
{
    (void)state;
    assert_int_equal(cairn_profile_add_comment(profile, "command: ls"), CAIRN_OK);
    assert_int_equal(cairn_profile_add_comment(profile, ""), CAIRN_OK);
    const char *const *comments;
    assert_int_equal(cairn_profile_comments(profile, &comments), 2);
    assert_string_equal(comments[0], "command: ls");
    assert_string_equal(comments[1], "");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_profile, free_profile)
    const struct CMUnitTest tests[] = {
        CASE(equal_things_have_equal_numbers),
        CASE(labels_are_a_set_in_any_order),
        CASE(sets_of_many_times_have_one_span_of_labels),
        CASE(more_labels_than_the_limit_are_refused),
        CASE(a_stack_with_many_children_finds_each),
        CASE(stacks_of_nothing_are_refused),
        CASE(what_was_changed_in_place_is_found_after_the_index_was_dropped),
        CASE(types_come_before_samples),
        CASE(the_value_to_show_is_the_first_unless_another_is_chosen),
        CASE(equal_samples_are_summed_and_ends_of_the_range_hold),
        CASE(samples_are_summed_as_they_come),
        CASE(a_sample_without_memory_is_not_there),
        CASE(a_sum_without_memory_loses_nothing),
        CASE(a_frame_without_a_name_says_where_it_is),
        CASE(addresses_in_disguise_are_no_names),
        CASE(a_label_for_all_leaves_those_that_have_one),
        CASE(comments_are_lent_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
