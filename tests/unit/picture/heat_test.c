/* SPDX-License-Identifier: MIT */
#include "picture/heat.h"

#include "base/alloc.h"
#include "unit/picture/stacks.h"

struct made {
    struct cairn_looks looks;
    struct cairn_heat heat;
    struct cairn_layout tree;
};

static struct made make(const struct cairn_profile *p)
{
    struct made m;
    struct cairn_err err;
    assert_ok(cairn_looks_build(p, &m.looks, &err), err);
    assert_ok(cairn_heat_build(p, &m.looks, &m.heat, &err), err);
    assert_ok(cairn_heat_build_tree(p, &m.looks, &m.heat, SIZE_MAX, &m.tree, &err), err);
    return m;
}

static void done(struct made *m)
{
    cairn_layout_done(&m->tree);
    cairn_heat_done(&m->heat);
    cairn_looks_done(&m->looks);
}

static const char *name_of(const struct made *m, uint32_t look)
{
    return cairn_strings_get(&m->looks.texts, m->looks.rows[look].name);
}

static void add_name(struct cairn_buffer *out, const struct made *m, uint32_t number)
{
    if (number == CAIRN_LAYOUT_ROOT)
        cairn_buffer_str(out, "all");
    else if (number >= m->heat.n)
        cairn_buffer_str(out, name_of(m, (uint32_t)(number - m->heat.n)));
    else
        cairn_buffer_printf(out, "%s:%u", name_of(m, m->heat.spots[number].look),
                            m->heat.spots[number].line);
}

/* One node a line, "name:line self/total", indented by its depth. */
static void assert_tree(const struct cairn_profile *p, const char *expected)
{
    struct made m = make(p);
    struct cairn_buffer out = {0};
    const int64_t *self = cairn_layout_self(&m.tree, CAIRN_SIDE_NEW, 0);
    int64_t *totals = cairn_layout_totals(&m.tree, 0);
    assert_non_null(totals);
    for (size_t node = 0; node < m.tree.n; node++) {
        cairn_buffer_printf(&out, "%*s", (int)m.tree.depths[node], "");
        add_name(&out, &m, m.tree.looks[node]);
        cairn_buffer_printf(&out, " %lld/%lld\n", (long long)self[node], (long long)totals[node]);
    }
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
    cairn_free(totals);
    done(&m);
}

/* A frame of its own address, whose lines are "name:line", the innermost first. */
static uint32_t frame_of(struct cairn_profile *p, const char *lines)
{
    struct cairn_profile_line made[8];
    char copy[256], *rest = copy;
    uint32_t n = 0;
    uint64_t address = cairn_profile_text(p, lines, strlen(lines));
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *name; (name = strsep(&rest, " ")); n++) {
        char *colon = strrchr(name, ':');
        *colon = 0;
        made[n] = stacks_line(p, name, "a.c", (uint32_t)strtoul(colon + 1, NULL, 10));
    }
    struct cairn_profile_frame frame = {.address = address, .how = CAIRN_HOW_CFI};
    return cairn_profile_add_frame(p, &frame, made, n);
}

static void add(struct cairn_profile *p, int64_t value, const char *const *frames)
{
    uint32_t stack = 0;
    for (; *frames; frames++)
        stack = cairn_profile_add_stack(p, stack, frame_of(p, *frames));
    assert_int_not_equal(cairn_profile_add_sample(p, stack, 0, &value), UINT32_MAX);
}

#define ADD(p, value, ...) add(p, value, (const char *const[]){__VA_ARGS__, NULL})

static void a_line_of_a_function_is_a_node(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    ADD(p, 5, "main:10", "get:20");
    ADD(p, 3, "main:10", "get:21");
    ADD(p, 1, "main:11");
    ADD(p, 2, "main:10", "get:20");
    assert_tree(p, "all 0/11\n main:10 0/10\n  get:20 7/7\n  get:21 3/3\n main:11 1/1\n");
    struct made m = make(p);
    assert_int_equal(m.heat.n, 4);
    for (size_t i = 1; i < m.heat.n; i++) { /* by look, then line */
        const struct cairn_heat_spot *before = &m.heat.spots[i - 1], *spot = &m.heat.spots[i];
        assert_true(before->look < spot->look ||
                    (before->look == spot->look && before->line < spot->line));
    }
    done(&m);
    cairn_profile_free(p);
}

static void recursion_is_told_apart_by_lines(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    ADD(p, 5, "f:1", "f:2", "f:1", "f:1");
    ADD(p, 3, "f:1", "f:2");
    assert_tree(p, "all 0/8\n f:1 0/8\n  f:2 3/8\n   f:1 0/5\n    f:1 5/5\n");
    cairn_profile_free(p);
}

static void inlined_calls_have_lines_of_their_own(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    ADD(p, 5, "main:1", "inner:7 middle:8 outer:9");
    assert_tree(p, "all 0/5\n main:1 0/5\n  outer:9 0/5\n   middle:8 0/5\n    inner:7 5/5\n");
    cairn_profile_free(p);
}

static void what_has_no_line_is_a_function(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    ADD(p, 5, "main:3", "get:0");
    ADD(p, 2, "get:4294967295");
    assert_tree(p, "all 0/7\n get:4294967295 2/2\n main:3 0/5\n  get 5/5\n");
    cairn_profile_free(p);
    p = stacks_of_samples();
    stacks_add(p, "main;get 3");
    assert_tree(p, "all 0/3\n main 0/3\n  get 3/3\n");
    cairn_profile_add_sample(p, 0, 0, &(int64_t){1}); /* the empty stack */
    assert_tree(p, "all 1/4\n main 0/3\n  get 3/3\n");
    struct made m = make(p);
    assert_int_equal(m.heat.n, 0);
    done(&m);
    cairn_profile_free(p);
}

static void sums_stop_at_the_ends_of_the_range(void **state)
{
    (void)state;
    struct cairn_profile *p = stacks_of_samples();
    ADD(p, INT64_MAX, "main:1", "get:2");
    ADD(p, INT64_MAX, "main:1", "get:2");
    ADD(p, 1, "main:1", "put:3");
    assert_tree(p, "all 0/9223372036854775807\n main:1 0/9223372036854775807\n"
                   "  get:2 9223372036854775807/9223372036854775807\n  put:3 1/1\n");
    cairn_profile_free(p);
    p = stacks_of_samples();
    ADD(p, INT64_MIN, "low:4");
    ADD(p, -1, "low:4");
    assert_tree(p, "all 0/-9223372036854775808\n"
                   " low:4 -9223372036854775808/-9223372036854775808\n");
    cairn_profile_free(p);
}

/* Stacks deeper than our own could be. */
static void deep_stacks_need_no_deep_calls(void **state)
{
    (void)state;
    enum { DEEP = 60000 };
    struct cairn_profile *p = stacks_of_samples();
    uint32_t stack = 0, frames[2] = {frame_of(p, "f:1"), frame_of(p, "f:2")};
    for (unsigned i = 0; i < DEEP; i++)
        stack = cairn_profile_add_stack(p, stack, frames[i % 2]);
    cairn_profile_add_sample(p, stack, 0, &(int64_t){3});
    struct made m = make(p);
    assert_int_equal(m.heat.n, 2);
    assert_int_equal(m.tree.n, DEEP + 1);
    assert_int_equal(cairn_layout_self(&m.tree, CAIRN_SIDE_NEW, 0)[DEEP], 3);
    done(&m);
    cairn_profile_free(p);
}

static void without_memory_there_is_no_heat(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = stacks_of_samples();
    ADD(p, 5, "main:10", "get:20");
    struct made m = make(p);
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_heat heat = {0};
        struct cairn_layout tree = {0};
        cairn_alloc_fail_after(countdown);
        code = cairn_heat_build(p, &m.looks, &heat, &err);
        assert_true((code == CAIRN_OK) == (heat.spots != NULL));
        if (code == CAIRN_OK)
            code = cairn_heat_build_tree(p, &m.looks, &heat, SIZE_MAX, &tree, &err);
        cairn_alloc_fail_after(-1);
        assert_true((code == CAIRN_OK) == (tree.n != 0));
        cairn_layout_done(&tree);
        cairn_heat_done(&heat);
        assert_true(countdown < 1000);
    }
    assert_int_equal(code, CAIRN_OK);
    done(&m);
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_a_function_is_a_node),
        cmocka_unit_test(recursion_is_told_apart_by_lines),
        cmocka_unit_test(inlined_calls_have_lines_of_their_own),
        cmocka_unit_test(what_has_no_line_is_a_function),
        cmocka_unit_test(sums_stop_at_the_ends_of_the_range),
        cmocka_unit_test(deep_stacks_need_no_deep_calls),
        cmocka_unit_test(without_memory_there_is_no_heat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
