/* SPDX-License-Identifier: MIT */
/* What is made of a profile: merged, filtered, counted, ranked. The profiles are written as
 * collapsed stacks, which is what a person can read. */
#include "base/alloc.h"
#include "profile/profile.h"
#include "support/memory_io.h"
#include "support/test.h"

static struct cairn_profile *profile_of(const char *text)
{
    struct cairn_profile *profile;
    struct cairn_err err;
    assert_ok(test_read_profile(cairn_span_of(text), CAIRN_FORMAT_COLLAPSED, &profile, &err), err);
    return profile;
}

static void assert_stacks(const struct cairn_profile *profile, const char *expected)
{
    struct cairn_buffer out = {0};
    struct cairn_err err;
    assert_ok(cairn_profile_write(profile, CAIRN_FORMAT_COLLAPSED, test_write, &out, &err), err);
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
}

static uint32_t add_text(struct cairn_profile *p, const char *text)
{
    return cairn_profile_text(p, text, strlen(text));
}

static void label_sample(struct cairn_profile *p, size_t sample, const char *key, const char *text,
                         int64_t number)
{
    struct cairn_profile_label label = {
        .key = add_text(p, key), .text = text ? add_text(p, text) : 0, .number = number};
    p->samples[sample].labels = cairn_profile_add_labels(p, &label, 1);
}

static void cut_sample(struct cairn_profile *p, size_t sample, const char *reason)
{
    p->samples[sample].labels = cairn_profile_add_label_set(p, NULL, 0, add_text(p, reason), 0);
}

static void merging_joins_what_is_equal(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *a = profile_of("main;f 1\nmain;g 2\n");
    struct cairn_profile *b = profile_of("main;g 3\nstart;g 4\n");
    label_sample(b, 1, "tid", NULL, 7);
    cairn_profile_add_comment(a, "one");
    cairn_profile_add_comment(b, "one");
    cairn_profile_add_comment(b, "two");
    a->time_ns = 50, b->time_ns = 40, a->duration_ns = 5, b->duration_ns = 6;
    assert_ok(cairn_profile_merge(a, b, &err), err);
    assert_int_equal(a->n_functions, 1 + 4);
    assert_int_equal(a->n_stacks, 1 + 5);
    assert_int_equal(a->n_notes, 2);
    assert_int_equal(a->time_ns, 40);
    assert_int_equal(a->duration_ns, 11);
    assert_int_equal(cairn_profile_find_label(a, a->samples[3].labels, "tid")->number, 7);
    assert_stacks(a, "main;f 1\nmain;g 5\nstart;g 4\n");
    cairn_profile_free(a);
    cairn_profile_free(b);
}

static uint32_t add_marker(struct cairn_profile *p, size_t sample, const char *name,
                           int64_t time_ns)
{
    struct cairn_profile_label label = {.key = add_text(p, "tid"), .number = time_ns};
    const struct cairn_profile_marker marker = {
        .name = add_text(p, name),
        .stack = p->samples[sample].stack,
        .labels = cairn_profile_add_label_set(p, &label, 1, 0, time_ns),
        .duration_ns = 3};
    return cairn_profile_add_marker(p, &marker);
}

static void markers_are_merged_filtered_and_labelled(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = profile_of("main;f 1\nmain;g 2\n"), *from = profile_of("main;g 3\n");
    const struct cairn_profile_marker wrong = {.stack = 99};
    assert_int_equal(cairn_profile_add_marker(p, &wrong), UINT32_MAX);
    assert_int_equal(add_marker(p, 0, "open", 7), 0);
    assert_int_equal(add_marker(from, 0, "read", 8), 0);
    assert_ok(cairn_profile_merge(p, from, &err), err);
    assert_int_equal(p->n_markers, 2);
    assert_string_equal(cairn_strings_get(&p->strings, p->markers[1].name), "read");
    assert_int_equal(p->markers[1].stack, p->samples[1].stack);
    assert_int_equal(p->label_sets[p->markers[1].labels].time_ns, 8);
    assert_int_equal(p->markers[1].duration_ns, 3);
    assert_ok(cairn_profile_label_all(p, "input", "a", &err), err);
    assert_non_null(cairn_profile_find_label(p, p->markers[0].labels, "input"));
    assert_int_equal(p->label_sets[p->markers[0].labels].time_ns, 7);
    struct cairn_filter f = {.size = sizeof f, .function = "g"};
    assert_ok(cairn_profile_filter(p, &f, &err), err);
    assert_int_equal(p->n_markers, 1);
    f = (struct cairn_filter){.size = sizeof f, .label_key = "tid", .label_value = "7"};
    assert_ok(cairn_profile_filter(p, &f, &err), err);
    assert_int_equal(p->n_markers, 0);
    cairn_profile_free(p);
    cairn_profile_free(from);
}

static void stacks_of_markers_are_seen_as_those_of_samples(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = profile_of("main;loop;f 1\nmain;g 2\n");
    const struct cairn_profile_sample first = p->samples[0];
    uint32_t marked = p->stacks[first.stack].parent; /* as no sample has it */
    p->frames[p->stacks[first.stack].frame].what = CAIRN_WHAT_INTERPRETED;
    p->frames[p->stacks[marked].frame].own = true;
    add_marker(p, 0, "open", 7);
    const struct cairn_profile_marker other = {.stack = marked};
    assert_int_equal(cairn_profile_add_marker(p, &other), 1);
    assert_ok(cairn_profile_view_guests(p, CAIRN_GUEST_FOLD, &err), err);
    assert_stacks(p, "main;f 1\nmain;g 2\n");
    assert_int_equal(p->markers[0].stack, p->samples[0].stack);
    assert_int_equal(p->markers[1].stack, p->stacks[p->samples[0].stack].parent);
    cairn_profile_free(p);
}

static void a_new_profile_takes_all_of_another(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *empty, *from = profile_of("a;b_[k] 1\n0x10;a 2\n");
    from->period = 9;
    from->default_type = add_text(from, "samples");
    assert_ok(cairn_profile_new(&empty, &err), err);
    assert_ok(cairn_profile_merge(empty, from, &err), err);
    assert_int_equal(empty->period, 9);
    assert_int_equal(cairn_profile_default_value(empty), 0);
    assert_stacks(empty, "a;b_[k] 1\n0x10;a 2\n");
    cairn_profile_free(from); /* nothing of it is borrowed */
    assert_stacks(empty, "a;b_[k] 1\n0x10;a 2\n");
    cairn_profile_free(empty);
}

static struct cairn_profile *typed(const char *first, const char *second, int64_t x, int64_t y)
{
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, first, "count");
    cairn_profile_add_type(p, second, "count");
    cairn_profile_add_sample(p, 0, 0, (int64_t[]){x, y});
    return p;
}

static void types_are_matched_by_name_not_by_place(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *a = typed("in", "out", 1, 2), *b = typed("out", "in", 30, 40);
    struct cairn_profile *c = typed("in", "up", 1, 2), *d = profile_of("a 1\n");
    assert_ok(cairn_profile_merge(a, b, &err), err);
    assert_int_equal(a->values[2], 40);
    assert_int_equal(a->values[3], 30);
    assert_fails(cairn_profile_merge(a, c, &err), CAIRN_E_ARG, err, "\"out\"");
    assert_fails(cairn_profile_merge(a, d, &err), CAIRN_E_ARG, err, "2 types of values and 1");
    assert_fails(cairn_profile_merge(a, a, &err), CAIRN_E_ARG, err, "itself");
    assert_int_equal(a->n_samples, 2);
    cairn_profile_free(a);
    cairn_profile_free(b);
    cairn_profile_free(c);
    cairn_profile_free(d);
}

static void periods_that_differ_are_forgotten(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *a = profile_of("a 1\n"), *b = profile_of("a 1\n");
    a->period = 5, b->period = 6;
    assert_ok(cairn_profile_merge(a, b, &err), err);
    assert_int_equal(a->period, 0);
    cairn_profile_free(a);
    cairn_profile_free(b);
}

static int filter(struct cairn_profile *p, const char *key, const char *value, const char *function,
                  struct cairn_err *err)
{
    struct cairn_filter f = {sizeof f, key, value, function};
    return cairn_profile_filter(p, &f, err);
}

static void samples_are_kept_by_function(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p =
        profile_of("main;parse;read 1\nmain;write 2\nmain;parser 3\n0xabc 4\n");
    assert_ok(filter(p, NULL, NULL, NULL, &err), err);
    assert_int_equal(p->n_samples, 4);
    assert_ok(filter(p, NULL, NULL, "parse", &err), err);
    assert_stacks(p, "main;parse;read 1\nmain;parser 3\n");
    assert_ok(filter(p, NULL, NULL, "nothing has this", &err), err);
    assert_stacks(p, "");
    cairn_profile_free(p);
}

static void samples_are_kept_by_label(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = profile_of("a 1\nb 2\nc 3\nd 4\n");
    label_sample(p, 0, "thread", "main", 0);
    label_sample(p, 1, "tid", NULL, -12);
    label_sample(p, 2, "thread", "worker", 0);
    assert_fails(filter(p, NULL, "main", NULL, &err), CAIRN_E_ARG, err, "label key");
    assert_int_equal(p->n_samples, 4);
    assert_ok(filter(p, "thread", NULL, NULL, &err), err);
    assert_stacks(p, "a 1\nc 3\n");
    assert_ok(filter(p, "thread", "worker", NULL, &err), err);
    assert_stacks(p, "c 3\n");
    cairn_profile_free(p);

    p = profile_of("a 1\nb 2\n");
    label_sample(p, 1, "tid", NULL, -12);
    assert_ok(filter(p, "tid", "-12", NULL, &err), err);
    assert_stacks(p, "b 2\n");
    cairn_profile_free(p);
}

static void a_filter_of_an_older_caller_is_short(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = profile_of("a 1\nb 2\n");
    struct cairn_filter f = {.size = offsetof(struct cairn_filter, function), .function = "b"};
    assert_ok(cairn_profile_filter(p, &f, &err), err);
    assert_int_equal(p->n_samples, 2);
    cairn_profile_free(p);
}

static void the_quality_is_counted_in_samples(void **state)
{
    (void)state;
    struct cairn_profile *p = profile_of("a;0x10 10\nb 20\na;libx.so+0x3 5\nc 1\n");
    cut_sample(p, 0, "no rule");
    cut_sample(p, 1, "too deep");
    cut_sample(p, 2, "no rule");
    p->duration_ns = 77;
    struct cairn_profile_stats stats = {.size = sizeof stats};
    cairn_profile_stats(p, &stats);
    assert_int_equal(stats.n_samples, 36);
    assert_int_equal(stats.n_cut, 35);
    assert_int_equal(stats.n_frames, 5);
    assert_int_equal(stats.n_unnamed, 2);
    assert_int_equal(stats.n_stacks, 5);
    assert_int_equal(stats.duration_ns, 77);

    struct cairn_cut_row rows[2];
    assert_int_equal(cairn_profile_cuts(p, rows, 2), 2);
    assert_string_equal(rows[0].reason, "too deep");
    assert_int_equal(rows[0].n_samples, 20);
    assert_string_equal(rows[1].reason, "no rule");
    assert_int_equal(rows[1].n_samples, 15);
    rows[1].reason = "untouched";
    assert_int_equal(cairn_profile_cuts(p, rows, 1), 2);
    assert_string_equal(rows[1].reason, "untouched");
    cairn_profile_free(p);
}

static const struct cairn_top_row *row_of(const struct cairn_top *top, const char *function)
{
    const struct cairn_top_row *rows;
    size_t n = cairn_top_rows(top, &rows);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].function, function) == 0)
            return &rows[i];
    fail_msg("there is no row for %s", function);
    return NULL;
}

static void assert_row(const struct cairn_top *top, const char *function, int64_t self,
                       int64_t total)
{
    const struct cairn_top_row *row = row_of(top, function);
    assert_int_equal(row->self, self);
    assert_int_equal(row->total, total);
}

static void recursion_counts_once(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_top *top;
    struct cairn_profile *p = profile_of("main;fib;fib;fib 5\nmain;fib 2\nmain;fib;leaf;fib 1\n");
    assert_ok(cairn_profile_top(p, 0, &top, &err), err);
    assert_int_equal(cairn_top_sum(top), 8);
    assert_row(top, "fib", 8, 8);
    assert_row(top, "main", 0, 8);
    assert_row(top, "leaf", 0, 1);
    cairn_top_free(top);
    assert_fails(cairn_profile_top(p, 1, &top, &err), CAIRN_E_ARG, err, "has 1");
    cairn_profile_free(p);
}

static void rows_are_sorted_by_self_then_total_then_name(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_top *top;
    struct cairn_profile *p = profile_of("z;b 1\nz;a 1\ny;c 9\n");
    assert_ok(cairn_profile_top(p, 0, &top, &err), err);
    static const char *const expected[] = {"c", "a", "b", "y", "z"};
    const struct cairn_top_row *rows;
    assert_int_equal(cairn_top_rows(top, &rows), 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(rows[i].function, expected[i]);
    cairn_top_free(top);
    cairn_profile_free(p);
}

/* One address in two inlined calls: three functions, of which the innermost has the self time. */
static void inlined_functions_are_functions(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_top *top;
    struct cairn_profile *p = profile_of("x 0\n");
    static const char *const names[] = {"inner", "middle", "outer"};
    struct cairn_profile_line lines[3];
    for (unsigned i = 0; i < 3; i++) {
        struct cairn_profile_function function = {.name = add_text(p, names[i])};
        lines[i].function = cairn_profile_add_function(p, &function);
        lines[i].line = i;
    }
    struct cairn_profile_frame frame = {.address = 1, .how = CAIRN_HOW_CFI};
    uint32_t stack = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, lines, 3));
    cairn_profile_add_sample(p, stack, 0, &(int64_t){4});
    assert_ok(cairn_profile_top(p, 0, &top, &err), err);
    assert_row(top, "inner", 4, 4);
    assert_row(top, "middle", 0, 4);
    assert_row(top, "outer", 0, 4);
    assert_int_equal(row_of(top, "inner")->kind, CAIRN_FRAME_INLINED);
    assert_int_equal(row_of(top, "outer")->kind, CAIRN_FRAME_CFI);
    cairn_top_free(top);
    assert_stacks(p, "x 0\nouter;middle_[i];inner_[i] 4\n");
    cairn_profile_free(p);
}

static void what_the_filter_dropped_has_no_row(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_top *top;
    struct cairn_profile *p = profile_of("a;b 1\na;c 2\n");
    assert_ok(filter(p, NULL, NULL, "b", &err), err);
    assert_ok(cairn_profile_top(p, 0, &top, &err), err);
    const struct cairn_top_row *rows;
    assert_int_equal(cairn_top_rows(top, &rows), 2);
    cairn_top_free(top);
    cairn_profile_free(p);
}

static void sums_stop_at_the_ends_of_the_range(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_top *top;
    struct cairn_profile *p =
        profile_of("a;b 9223372036854775807\na;c 9223372036854775807\nn -9223372036854775807\n"
                   "n -9223372036854775807\n");
    assert_ok(cairn_profile_top(p, 0, &top, &err), err);
    assert_true(row_of(top, "a")->total == INT64_MAX);
    assert_true(row_of(top, "n")->self == INT64_MIN);
    cairn_top_free(top);
    cairn_profile_free(p);
}

/* Every allocation fails once, from the first to the last: an error, and no sample added. */
static void merging_without_memory_adds_no_sample(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *from = profile_of("a;b_[k];c 1\na;b;0x10 2\n");
    label_sample(from, 0, "tid", NULL, 7);
    cairn_profile_add_comment(from, "comment");
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_profile *into = profile_of("a;x 5\n");
        cairn_alloc_fail_after(countdown);
        code = cairn_profile_merge(into, from, &err);
        cairn_alloc_fail_after(-1);
        assert_int_equal(into->n_samples, code == CAIRN_OK ? 3 : 1);
        cairn_profile_free(into);
        assert_true(countdown < 10000);
    }
    assert_int_equal(code, CAIRN_OK);
    cairn_profile_free(from);
}

static void ranking_and_filtering_without_memory_fail_cleanly(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = profile_of("a;b;c 1\na;b;d 2\n0x10;0x20 3\n");
    label_sample(p, 0, "tid", NULL, 7);
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_top *top = NULL;
        cairn_alloc_fail_after(countdown);
        code = cairn_profile_top(p, 0, &top, &err);
        cairn_alloc_fail_after(-1);
        assert_true((code == CAIRN_OK) == (top != NULL));
        cairn_top_free(top);
    }
    assert_int_equal(code, CAIRN_OK);
    code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        cairn_alloc_fail_after(countdown);
        code = filter(p, "tid", NULL, "c", &err);
        cairn_alloc_fail_after(-1);
        assert_int_equal(p->n_samples, code == CAIRN_OK ? 1 : 3);
    }
    assert_int_equal(code, CAIRN_OK);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_joins_what_is_equal),
        cmocka_unit_test(markers_are_merged_filtered_and_labelled),
        cmocka_unit_test(stacks_of_markers_are_seen_as_those_of_samples),
        cmocka_unit_test(a_new_profile_takes_all_of_another),
        cmocka_unit_test(types_are_matched_by_name_not_by_place),
        cmocka_unit_test(periods_that_differ_are_forgotten),
        cmocka_unit_test(samples_are_kept_by_function),
        cmocka_unit_test(samples_are_kept_by_label),
        cmocka_unit_test(a_filter_of_an_older_caller_is_short),
        cmocka_unit_test(the_quality_is_counted_in_samples),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(rows_are_sorted_by_self_then_total_then_name),
        cmocka_unit_test(inlined_functions_are_functions),
        cmocka_unit_test(what_the_filter_dropped_has_no_row),
        cmocka_unit_test(sums_stop_at_the_ends_of_the_range),
        cmocka_unit_test(merging_without_memory_adds_no_sample),
        cmocka_unit_test(ranking_and_filtering_without_memory_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
