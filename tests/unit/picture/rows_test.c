/* SPDX-License-Identifier: MIT */
#include "picture/rows.h"

#include "base/alloc.h"
#include "unit/picture/stacks.h"

static struct cairn_profile_label number(struct cairn_profile *p, const char *key, int64_t value)
{
    return (struct cairn_profile_label){.key = stacks_text(p, key), .number = value};
}

static struct cairn_profile_label text(struct cairn_profile *p, const char *key, const char *value)
{
    return (struct cairn_profile_label){.key = stacks_text(p, key), .text = stacks_text(p, value)};
}

static void add_timed(struct cairn_profile *p, const char *name, int64_t time_ns, int64_t value,
                      const struct cairn_profile_label *labels, uint32_t n)
{
    uint32_t stack = cairn_profile_add_stack(p, 0, stacks_frame(p, name, '-', 0));
    uint32_t set = cairn_profile_add_label_set(p, labels, n, 0, time_ns);
    assert_int_not_equal(cairn_profile_add_sample(p, stack, set, &value), UINT32_MAX);
}

static void add_sample(struct cairn_profile *p, const char *name, int64_t value,
                       const struct cairn_profile_label *labels, uint32_t n)
{
    add_timed(p, name, 0, value, labels, n);
}

static void add_thread(struct cairn_profile *p, const char *name, const char *thread,
                       int64_t time_ns, int64_t value)
{
    add_timed(p, name, time_ns, value, (struct cairn_profile_label[]){text(p, "thread", thread)},
              1);
}

struct made {
    struct cairn_looks looks;
    struct cairn_layout layout;
    struct cairn_row_sets sets;
    struct cairn_rows rows;
};

static struct made make(const struct cairn_profile *p, size_t first, size_t end)
{
    struct made m;
    struct cairn_err err;
    assert_ok(cairn_looks_build(p, &m.looks, &err), err);
    assert_ok(cairn_layout_build(p, &m.looks, SIZE_MAX, &m.layout, &err), err);
    assert_ok(cairn_row_sets_build(p, &m.sets, &err), err);
    assert_ok(cairn_rows_build(p, &m.layout, &m.sets, first, end, 0, &m.rows, &err), err);
    return m;
}

static void done(struct made *m)
{
    cairn_rows_done(&m->rows);
    cairn_row_sets_done(&m->sets);
    cairn_layout_done(&m->layout);
    cairn_looks_done(&m->looks);
}

/* A row a line: "name thread time_us value". */
static void assert_rows(const struct cairn_profile *p, size_t first, size_t end,
                        const char *expected)
{
    struct made m = make(p, first, end);
    struct cairn_buffer out = {0};
    for (size_t i = 0; i < m.rows.n; i++) {
        const struct cairn_row *row = &m.rows.rows[i];
        uint32_t look = m.layout.looks[row->node];
        const struct cairn_profile_label *thread =
            cairn_profile_find_label(p, m.sets.examples[row->set], "thread");
        cairn_buffer_printf(&out, "%s %s %lld %lld\n",
                            cairn_strings_get(&m.looks.texts, m.looks.rows[look].name),
                            thread ? cairn_strings_get(&p->strings, thread->text) : "-",
                            (long long)row->time_us, (long long)m.rows.values[i]);
    }
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
    done(&m);
}

static void rows_stand_by_node_then_time_then_set(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    add_thread(p, "b", "main", 9000, 1);
    add_thread(p, "a", "pool", 12000, 2);
    add_thread(p, "a", "main", 5000, 4);
    add_thread(p, "a", "main", 12000, 8);
    assert_rows(p, 0, 4, "a main 0 4\na main 7 8\na pool 7 2\nb main 4 1\n");
    cairn_profile_free(p);
}

static void equal_rows_are_summed_and_stop_at_the_ends_of_the_range(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    add_thread(p, "a", "main", 5000, 4);
    add_thread(p, "a", "main", 5999, 3); /* the same microsecond */
    add_thread(p, "a", "main", 6000, 1);
    add_thread(p, "b", "main", 5000, INT64_MAX);
    add_thread(p, "b", "main", 5000, 1);
    add_thread(p, "c", "main", 5000, INT64_MIN);
    add_thread(p, "c", "main", 5000, -1);
    assert_rows(p, 0, 7,
                "a main 0 7\na main 1 1\nb main 0 9223372036854775807\n"
                "c main 0 -9223372036854775808\n");
    cairn_profile_free(p);
}

/* Of one side of a comparison: what the other one begins with does not count. */
static void times_begin_with_the_first_of_the_samples_asked_for(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    add_thread(p, "a", "main", 1000, 1);
    add_thread(p, "a", "main", 51000, 2);
    add_thread(p, "a", "main", 54000, 4);
    assert_rows(p, 1, 3, "a main 0 2\na main 3 4\n");
    assert_rows(p, 1, 1, "");
    struct made m = make(p, 1, 3);
    assert_int_equal(m.rows.first_ns, 51000);
    done(&m);
    cairn_profile_free(p);
}

/* A zero and what lies before 1970 are no times. */
static void odd_times_are_none(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    add_thread(p, "a", "main", 0, 2);
    add_thread(p, "a", "main", -5, 4);
    add_thread(p, "a", "main", INT64_MIN, 8);
    assert_rows(p, 0, 3, "a main -1 14\n");
    struct made m = make(p, 0, 3);
    assert_false(m.sets.has_times);
    assert_int_equal(m.rows.first_ns, 0);
    assert_int_equal(m.rows.n, 1);
    done(&m);
    add_thread(p, "a", "main", INT64_MAX, 16);
    add_thread(p, "a", "main", 1, 32);
    assert_rows(p, 0, 5, "a main -1 14\na main 0 32\na main 9223372036854775 16\n");
    cairn_profile_free(p);
}

static void sets_that_differ_in_times_alone_are_one(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    for (int64_t i = 1; i <= 100; i++)
        add_thread(p, "a", i % 2 ? "main" : "pool", i * 1000, 1);
    add_timed(p, "a", 7, 1, NULL, 0);
    struct made m = make(p, 0, p->n_samples);
    assert_int_equal(m.sets.n, 3); /* the empty one, main, pool */
    assert_true(m.sets.has_times);
    assert_int_equal(m.sets.of_profile[0], 0);
    assert_int_equal(m.sets.of_profile[p->samples[100].labels], 0);
    done(&m);
    cairn_profile_free(p);
}

/* Values of keys are told apart by all that a label has. */
static void labels_differ_by_key_text_number_and_unit(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    struct cairn_profile_label labels[] = {text(p, "k", "v"), text(p, "k", "w"), text(p, "l", "v"),
                                           number(p, "k", 1), number(p, "k", 2), number(p, "k", 2)};
    labels[5].unit = stacks_text(p, "bytes");
    for (size_t i = 0; i < 6; i++)
        add_sample(p, "a", 1, &labels[i], 1);
    struct made m = make(p, 0, 6);
    assert_int_equal(m.sets.n, 7);
    assert_int_equal(m.rows.n, 6);
    done(&m);
    cairn_profile_free(p);
}

static void without_memory_there_are_no_rows(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = stacks_of_samples();
    add_thread(p, "a", "main", 5000, 4);
    add_thread(p, "b", "pool", 6000, 4);
    struct made m = make(p, 0, 2);
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_row_sets sets = {0};
        struct cairn_rows rows = {0};
        cairn_alloc_fail_after(countdown);
        code = cairn_row_sets_build(p, &sets, &err);
        assert_true((code == CAIRN_OK) == (sets.of_profile != NULL));
        if (code == CAIRN_OK)
            code = cairn_rows_build(p, &m.layout, &sets, 0, 2, 0, &rows, &err);
        cairn_alloc_fail_after(-1);
        cairn_rows_done(&rows);
        cairn_row_sets_done(&sets);
        assert_true(countdown < 1000);
    }
    assert_int_equal(code, CAIRN_OK);
    done(&m);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stand_by_node_then_time_then_set),
        cmocka_unit_test(equal_rows_are_summed_and_stop_at_the_ends_of_the_range),
        cmocka_unit_test(times_begin_with_the_first_of_the_samples_asked_for),
        cmocka_unit_test(odd_times_are_none),
        cmocka_unit_test(sets_that_differ_in_times_alone_are_one),
        cmocka_unit_test(labels_differ_by_key_text_number_and_unit),
        cmocka_unit_test(without_memory_there_are_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
