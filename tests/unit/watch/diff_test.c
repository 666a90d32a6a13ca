/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "profile/profile.h"
#include "support/test.h"
#include "watch/heap.h"

enum { N = 4 };

/* A side: an app of some build at some address, with stacks of one or two frames. */
struct side {
    struct cairn_profile *p;
    uint32_t module;
    uint64_t base;
    struct cairn_heap_leak leaks[N];
    size_t n;
};
static struct side before, after;

static uint32_t text(struct side *s, const char *t)
{
    return cairn_profile_text(s->p, t, strlen(t));
}

static void begin(struct side *s, uint64_t base, const char *build_id)
{
    struct cairn_err err;
    *s = (struct side){.base = base};
    assert_ok(cairn_profile_new(&s->p, &err), err);
    const struct cairn_profile_module module = {.start = base,
                                                .end = base + 0x10000,
                                                .off = 0x1000,
                                                .path = text(s, "/bin/app"),
                                                .build_id = text(s, build_id)};
    s->module = cairn_profile_add_module(s->p, &module);
}

static uint32_t frame(struct side *s, uint64_t off, const char *function)
{
    const struct cairn_profile_function f = {.name = text(s, function)};
    const struct cairn_profile_line line = {.function = cairn_profile_add_function(s->p, &f)};
    const struct cairn_profile_frame row = {.address = s->base + off, .module = s->module};
    return cairn_profile_add_frame(s->p, &row, &line, *function ? 1 : 0);
}

static void leak(struct side *s, uint32_t caller, uint32_t callee, uint64_t bytes, uint64_t blocks)
{
    uint32_t stack = cairn_profile_add_stack(s->p, 0, caller);
    stack = callee ? cairn_profile_add_stack(s->p, stack, callee) : stack;
    s->leaks[s->n++] = (struct cairn_heap_leak){.stack = stack, .bytes = bytes, .n_blocks = blocks};
}

/* "+BYTES/+BLOCKS " of each change, marked b where its stack is of before. */
static void assert_changes(const char *expected)
{
    const struct cairn_heap_look a = {before.p, before.leaks, before.n};
    const struct cairn_heap_look b = {after.p, after.leaks, after.n};
    struct cairn_heap_change *changes;
    struct cairn_err err;
    char got[256] = "";
    size_t n;
    assert_ok(cairn_heap_diff(&a, &b, &changes, &n, &err), err);
    for (size_t i = 0; i < n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%+lld/%+lld%s ",
                 (long long)(changes[i].bytes[1] - changes[i].bytes[0]),
                 (long long)(changes[i].blocks[1] - changes[i].blocks[0]),
                 changes[i].is_of_after ? "" : "b");
    assert_string_equal(got, expected);
    cairn_heap_changes_free(changes);
    cairn_profile_free(before.p);
    cairn_profile_free(after.p);
}

static void of_one_build_places_are_compared(void **state)
{
    (void)state;
    begin(&before, 0x400000, "aa");
    leak(&before, frame(&before, 0x10, "main"), frame(&before, 0x100, "f"), 100, 1);
    leak(&before, frame(&before, 0x20, "main"), frame(&before, 0x100, "f"), 50, 5);
    leak(&before, frame(&before, 0x30, ""), 0, 7, 7);
    begin(&after, 0x7f0000000000, "aa");
    leak(&after, frame(&after, 0x30, ""), 0, 7, 7);
    leak(&after, frame(&after, 0x10, "main"), frame(&after, 0x100, "f"), 130, 2);
    leak(&after, frame(&after, 0x40, "main"), 0, 1000, 1);
    assert_changes("+1000/+1 +30/+1 -50/-5b ");
}

static void of_two_builds_functions_are_compared(void **state)
{
    (void)state;
    begin(&before, 0x400000, "aa");
    leak(&before, frame(&before, 0x10, "main"), frame(&before, 0x100, "f"), 100, 1);
    leak(&before, frame(&before, 0x20, "main"), frame(&before, 0x100, "f"), 50, 5);
    begin(&after, 0x500000, "bb");
    leak(&after, frame(&after, 0x18, "main"), frame(&after, 0x108, "f"), 140, 6);
    leak(&after, frame(&after, 0x18, "main"), frame(&after, 0x200, "g"), 1, 1);
    assert_changes("+1/+1 -10/+0 ");
}

static void no_stack_is_a_stack_too(void **state)
{
    (void)state;
    begin(&before, 0x400000, "aa");
    before.leaks[before.n++] = (struct cairn_heap_leak){.bytes = 10, .n_blocks = 1};
    begin(&after, 0x400000, "aa");
    after.leaks[after.n++] = (struct cairn_heap_leak){.bytes = 10, .n_blocks = 2};
    assert_changes("+0/+1 ");
}

static void keys_hold_over_many_looks(void **state)
{
    struct cairn_heap_keys *keys;
    struct cairn_err err;
    uint32_t first[N], second[N];
    (void)state;
    begin(&before, 0x400000, "aa");
    leak(&before, frame(&before, 0x10, "main"), 0, 1, 1);
    leak(&before, frame(&before, 0x10, "main"), frame(&before, 0x20, "f"), 1, 1);
    begin(&after, 0x600000, "aa");
    leak(&after, frame(&after, 0x10, "main"), frame(&after, 0x20, "f"), 1, 1);
    leak(&after, frame(&after, 0x30, "main"), 0, 1, 1);
    assert_ok(cairn_heap_keys_new(NULL, 0, &keys, &err), err);
    assert_ok(cairn_heap_keys_of(keys, before.p, before.leaks, before.n, first, &err), err);
    assert_ok(cairn_heap_keys_of(keys, after.p, after.leaks, after.n, second, &err), err);
    assert_int_not_equal(first[0], first[1]);
    assert_int_equal(second[0], first[1]);
    assert_int_not_equal(second[1], first[0]);
    cairn_heap_keys_free(keys);
    cairn_profile_free(before.p);
    cairn_profile_free(after.p);
}

/* The same app once more in the same profile, as another process has it. */
static void begin_again(struct side *s, uint64_t base, const char *build_id)
{
    const struct cairn_profile_module module = {.start = base,
                                                .end = base + 0x10000,
                                                .off = 0x1000,
                                                .path = text(s, "/bin/app"),
                                                .build_id = text(s, build_id)};
    s->base = base;
    s->module = cairn_profile_add_module(s->p, &module);
}

/* Two processes with a stack each; how many are left of them. */
static size_t merged(const char *build_id, const char *other_id, uint64_t off, const char *cut)
{
    struct cairn_err err;
    begin(&before, 0x400000, build_id);
    leak(&before, frame(&before, 0x10, "main"), frame(&before, 0x100, "f"), 100, 1);
    begin_again(&before, 0x700000, other_id);
    leak(&before, frame(&before, 0x10, "main"), frame(&before, off, "f"), 300, 2);
    for (uint32_t i = 0; i < 2; i++) {
        before.leaks[i].n_processes = 1;
        before.leaks[i].process = i;
        before.leaks[i].error_bytes = 3 + i;
        before.leaks[i].oldest_ns = 20 + i;
        before.leaks[i].youngest_ns = 10 + i;
        before.leaks[i].cut = i ? cut : NULL;
    }
    assert_ok(cairn_heap_merge_leaks(before.p, before.leaks, &before.n, &err), err);
    cairn_profile_free(before.p);
    return before.n;
}

static void of_several_processes_a_stack_is_one(void **state)
{
    (void)state;
    assert_int_equal(merged("aa", "aa", 0x100, NULL), 1);
    const struct cairn_heap_leak *one = &before.leaks[0];
    assert_int_equal(one->bytes, 400);
    assert_int_equal(one->n_blocks, 3);
    assert_int_equal(one->n_processes, 2);
    assert_int_equal(one->process, 1);
    assert_int_equal(one->error_bytes, 5);
    assert_int_equal(one->oldest_ns, 21);
    assert_int_equal(one->youngest_ns, 10);
    assert_int_equal(merged("", "", 0x100, NULL), 1);
}

static void of_other_builds_and_places_it_is_not(void **state)
{
    (void)state;
    assert_int_equal(merged("aa", "bb", 0x100, NULL), 2);
    assert_int_equal(before.leaks[0].bytes, 300);
    assert_int_equal(merged("aa", "aa", 0x108, NULL), 2);
    assert_int_equal(merged("", "", 0x108, NULL), 2); /* of the same function, too */
    assert_int_equal(merged("aa", "", 0x100, NULL), 2);
    assert_int_equal(merged("aa", "aa", 0x100, "no rule"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_build_places_are_compared),
        cmocka_unit_test(of_two_builds_functions_are_compared),
        cmocka_unit_test(no_stack_is_a_stack_too),
        cmocka_unit_test(keys_hold_over_many_looks),
        cmocka_unit_test(of_several_processes_a_stack_is_one),
        cmocka_unit_test(of_other_builds_and_places_it_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
