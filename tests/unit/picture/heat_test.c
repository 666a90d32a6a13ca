/* SPDX-License-Identifier: MIT */
#include "picture/heat.h"

#include "base/alloc.h"
#include "unit/picture/stacks.h"

struct made {
    struct cairn_looks looks;
    struct cairn_heat heat;
};

static struct made make(const struct cairn_profile *p)
{
    struct made m;
    struct cairn_err err;
    assert_ok(cairn_looks_build(p, &m.looks, &err), err);
    assert_ok(cairn_heat_build(p, &m.looks, &m.heat, &err), err);
    return m;
}

static void done(struct made *m)
{
    cairn_heat_done(&m->heat);
    cairn_looks_done(&m->looks);
}

/* A spot a line: "name:line self/total". */
static void assert_heat(const struct cairn_profile *p, size_t first, size_t end,
                        const char *expected)
{
    struct made m = make(p);
    struct cairn_buffer out = {0};
    struct cairn_err err;
    int64_t sums[2][64];
    assert_true(m.heat.n <= 64);
    assert_ok(cairn_heat_sum(p, &m.looks, &m.heat, 0, first, end, sums[0], sums[1], &err), err);
    for (size_t i = 0; i < m.heat.n; i++) {
        const struct cairn_heat_spot *spot = &m.heat.spots[i];
        cairn_buffer_printf(&out, "%s:%u %lld/%lld\n",
                            cairn_strings_get(&m.looks.texts, m.looks.rows[spot->look].name),
                            spot->line, (long long)sums[0][i], (long long)sums[1][i]);
    }
    assert_string_equal(cairn_buffer_text(&out), expected);
    cairn_buffer_done(&out);
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
    struct cairn_profile_frame frame = {.address = address, .kind = CAIRN_FRAME_CFI};
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

static struct cairn_profile *new_profile(void)
{
    struct cairn_profile *p = stacks_new();
    cairn_profile_add_type(p, "samples", "count");
    return p;
}

static void what_ends_in_a_line_is_its_self_and_what_passes_its_total(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    ADD(p, 5, "main:10", "get:20");
    ADD(p, 3, "main:10", "get:21");
    ADD(p, 1, "main:11");
    assert_heat(p, 0, 3, "get:20 5/5\nget:21 3/3\nmain:10 0/8\nmain:11 1/1\n");
    assert_heat(p, 1, 2, "get:20 0/0\nget:21 3/3\nmain:10 0/3\nmain:11 0/0\n");
    assert_heat(p, 0, 0, "get:20 0/0\nget:21 0/0\nmain:10 0/0\nmain:11 0/0\n");
    cairn_profile_free(p);
}

static void a_line_that_is_several_times_on_a_stack_counts_once(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    ADD(p, 5, "f:1", "f:2", "f:1", "f:1");
    ADD(p, 3, "f:1", "f:2");
    assert_heat(p, 0, 2, "f:1 5/8\nf:2 3/8\n");
    cairn_profile_free(p);
}

static void inlined_calls_have_lines_of_their_own(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    ADD(p, 5, "main:1", "inner:7 middle:8 outer:9");
    assert_heat(p, 0, 1, "inner:7 5/5\nmain:1 0/5\nmiddle:8 0/5\nouter:9 0/5\n");
    cairn_profile_free(p);
}

/* Line 0 is none; its stack counts for the others on it. */
static void what_has_no_line_has_no_heat(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    ADD(p, 5, "main:3", "get:0");
    ADD(p, 2, "get:4294967295");
    assert_heat(p, 0, 2, "get:4294967295 2/2\nmain:3 0/5\n");
    struct cairn_profile *plain = new_profile();
    stacks_add(plain, "main;get 3");
    assert_heat(plain, 0, 1, "");
    cairn_profile_add_sample(plain, 0, 0, &(int64_t){1}); /* the empty stack */
    assert_heat(plain, 0, 2, "");
    cairn_profile_free(plain);
    cairn_profile_free(p);
}

static void sums_stop_at_the_ends_of_the_range(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    ADD(p, INT64_MAX, "main:1", "get:2");
    ADD(p, INT64_MAX, "main:1", "get:2");
    ADD(p, INT64_MIN, "low:4");
    ADD(p, -1, "low:4");
    ADD(p, 1, "other:5", "get:2");
    assert_heat(p, 0, 5,
                "get:2 9223372036854775807/9223372036854775807\n"
                "low:4 -9223372036854775808/-9223372036854775808\n"
                "main:1 0/9223372036854775807\n"
                "other:5 0/1\n");
    cairn_profile_free(p);
}

/* Stacks deeper than our own could be. */
static void deep_stacks_need_no_deep_calls(void **state)
{
    (void)state;
    enum { DEEP = 60000 };
    struct cairn_profile *p = new_profile();
    uint32_t stack = 0, frames[2] = {frame_of(p, "f:1"), frame_of(p, "f:2")};
    for (unsigned i = 0; i < DEEP; i++)
        stack = cairn_profile_add_stack(p, stack, frames[i % 2]);
    cairn_profile_add_sample(p, stack, 0, &(int64_t){3});
    assert_heat(p, 0, 1, "f:1 0/3\nf:2 3/3\n");
    cairn_profile_free(p);
}

static void without_memory_there_is_no_heat(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = new_profile();
    ADD(p, 5, "main:10", "get:20");
    struct made m = make(p);
    int code = CAIRN_E_NOMEM;
    for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
        struct cairn_heat heat = {0};
        int64_t self[2], total[2];
        cairn_alloc_fail_after(countdown);
        code = cairn_heat_build(p, &m.looks, &heat, &err);
        if (code == CAIRN_OK)
            code = cairn_heat_sum(p, &m.looks, &heat, 0, 0, 1, self, total, &err);
        cairn_alloc_fail_after(-1);
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
        cmocka_unit_test(what_ends_in_a_line_is_its_self_and_what_passes_its_total),
        cmocka_unit_test(a_line_that_is_several_times_on_a_stack_counts_once),
        cmocka_unit_test(inlined_calls_have_lines_of_their_own),
        cmocka_unit_test(what_has_no_line_has_no_heat),
        cmocka_unit_test(sums_stop_at_the_ends_of_the_range),
        cmocka_unit_test(deep_stacks_need_no_deep_calls),
        cmocka_unit_test(without_memory_there_is_no_heat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
