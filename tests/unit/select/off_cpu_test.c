/* SPDX-License-Identifier: MIT */
/* Samples of time off the CPU beside samples of what ran. */
#include <cairn/select.h>

#include "profile/profile.h"
#include "support/test.h"

static const int64_t rows[][3] = {{1, 10, 0}, {2, 20, 0}, {4, 0, 4000}, {8, 0, 8000}};
enum { N_ROWS = sizeof rows / sizeof *rows };

static struct cairn_profile *make(const char *clock, const char *unit, const char *last)
{
    struct cairn_profile *p;
    struct cairn_err err;
    assert_ok(cairn_profile_new(&p, &err), err);
    cairn_profile_add_type(p, "samples", "count");
    cairn_profile_add_type(p, clock, unit);
    cairn_profile_add_type(p, last, "nanoseconds");
    p->default_type = p->types[1].type;
    for (size_t i = 0; i < N_ROWS; i++)
        cairn_profile_add_sample(p, 0, 0, rows[i]);
    return p;
}

static int apply(struct cairn_profile *p, const char *mode, struct cairn_select_step *ret_step,
                 struct cairn_err *err)
{
    struct cairn_select *select;
    struct cairn_select_step step = {.size = sizeof step, .name = ""};
    assert_ok(cairn_select_new(&select, err), *err);
    assert_ok(cairn_select_add(select, CAIRN_SELECT_OFF_CPU, 0, mode, err), *err);
    int code = cairn_select_apply(select, p, NULL, err);
    if (cairn_select_step(select, 0, &step) == CAIRN_OK)
        step.type = step.unit = "";
    *ret_step = step;
    cairn_select_free(select);
    return code;
}

static int64_t sum_shown(const struct cairn_profile *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        sum += p->values[i * p->n_types + cairn_profile_default_value(p)];
    return sum;
}

static void each_mode_shows_what_it_leaves(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *shown, *step;
        size_t n;
        int64_t sum;
        int changes;
        uint64_t n_step;
    } cases[] = {
        {"only", "off_cpu", "off-cpu", 2, 12000, 0, 3},
        {"with", "cpu-clock", "", 4, 30, 0, 0},
        {"none", "cpu-clock", "off-cpu", 2, 30, 0, 12},
        {"mixed", "wall", "off-cpu", 4, 12030, 1, 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_profile *p = make("cpu-clock", "nanoseconds", "off_cpu");
        struct cairn_select_step step;
        struct cairn_err err;
        assert_ok(apply(p, cases[i].mode, &step, &err), err);
        assert_int_equal(p->n_samples, cases[i].n);
        assert_string_equal(p->public_types[cairn_profile_default_value(p)].type, cases[i].shown);
        assert_int_equal(sum_shown(p), cases[i].sum);
        assert_string_equal(step.name, cases[i].step);
        assert_int_equal(step.changes, cases[i].changes);
        assert_int_equal(step.n_samples, cases[i].n_step);
        cairn_profile_free(p);
    }
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *clock, *unit, *last, *message; /* NULL: it goes */
    } cases[] = {
        {"only", "cpu-clock", "nanoseconds", "x", "--off-cpu: there is no time off the CPU"},
        {"mixed", "cpu-clock", "nanoseconds", "x", "--off-cpu: there is no time off the CPU"},
        {"mixed", "cycles", "count", "off_cpu",
         "--off-cpu=mixed: no value is time on the CPU, in nanoseconds"},
        {"none", "cycles", "count", "x", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cairn_profile *p = make(cases[i].clock, cases[i].unit, cases[i].last);
        struct cairn_select_step step;
        struct cairn_err err = {0};
        int code = apply(p, cases[i].mode, &step, &err);
        assert_int_equal(code, cases[i].message ? CAIRN_E_ARG : CAIRN_OK);
        assert_string_equal(err.msg, cases[i].message ? cases[i].message : "");
        assert_int_equal(p->n_samples, N_ROWS);
        assert_int_equal(cairn_profile_default_value(p), 1);
        cairn_profile_free(p);
    }
}

static void another_mode_is_refused(void **state)
{
    (void)state;
    struct cairn_select *select;
    struct cairn_err err;
    assert_ok(cairn_select_new(&select, &err), err);
    assert_int_equal(cairn_select_add(select, CAIRN_SELECT_OFF_CPU, 0, "both", &err), CAIRN_E_ARG);
    assert_string_equal(err.msg, "\"both\", expected only, with, mixed or none");
    cairn_select_free(select);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mode_shows_what_it_leaves),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(another_mode_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
