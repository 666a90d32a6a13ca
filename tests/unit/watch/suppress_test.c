/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "profile/profile.h"
#include "support/test.h"
#include "watch/heap.h"

enum { N = 4 };

/* Four stacks: alloc < one, alloc < two (inlined into two_outer), other.c's, and one without names
 * in a module. */
static struct cairn_profile *p;
static struct cairn_heap_leak leaks[N];

static uint32_t text(const char *s)
{
    return cairn_profile_text(p, s, strlen(s));
}

static struct cairn_profile_line line(const char *name, const char *file)
{
    const struct cairn_profile_function function = {.name = text(name), .file = text(file)};
    return (struct cairn_profile_line){.function = cairn_profile_add_function(p, &function)};
}

static uint32_t stack(uint32_t caller, uint64_t address, uint32_t module,
                      const struct cairn_profile_line *lines, uint32_t n)
{
    const struct cairn_profile_frame frame = {.address = address, .module = module};
    return cairn_profile_add_stack(p, caller, cairn_profile_add_frame(p, &frame, lines, n));
}

static int set_up(void **state)
{
    struct cairn_err err;
    (void)state;
    assert_ok(cairn_profile_new(&p, &err), err);
    const struct cairn_profile_module module = {
        .start = 0x1000, .end = 0x2000, .path = text("/lib/libknown.so.1")};
    const struct cairn_profile_line alloc = line("alloc", "a.c"), one = line("one", "a.c");
    const struct cairn_profile_line two[] = {line("two", "a.c"), line("two_outer", "a.c")};
    const struct cairn_profile_line other = line("third", "/src/other.c");
    uint32_t number = cairn_profile_add_module(p, &module);
    leaks[0].stack = stack(stack(0, 1, 0, &one, 1), 2, 0, &alloc, 1);
    leaks[1].stack = stack(stack(0, 3, 0, two, 2), 2, 0, &alloc, 1);
    leaks[2].stack = stack(0, 4, 0, &other, 1);
    leaks[3].stack = stack(0, 0x1010, number, NULL, 0);
    for (size_t i = 0; i < N; i++) {
        leaks[i].bytes = 10 * (i + 1);
        leaks[i].n_blocks = i + 1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cairn_profile_free(p);
    return 0;
}

/* The bytes of what is left, "10 20 ". */
static void assert_left(const char *file, const char *expected)
{
    struct cairn_heap_leak own[N];
    struct cairn_heap_suppressions *s;
    struct cairn_err err;
    char left[64] = "";
    size_t n = N;
    memcpy(own, leaks, sizeof own);
    const struct cairn_span bytes = {(const uint8_t *)file, strlen(file)};
    assert_ok(cairn_heap_suppressions_parse(bytes, &s, &err), err);
    assert_ok(cairn_heap_suppress(s, p, own, &n, &err), err);
    for (size_t i = 0; i < n; i++)
        snprintf(left + strlen(left), sizeof left - strlen(left), "%d ", (int)own[i].bytes);
    assert_string_equal(left, expected);
    cairn_heap_suppressions_free(s);
}

static void a_pattern_is_a_part_of_a_name(void **state)
{
    (void)state;
    assert_left("", "10 20 30 40 ");
    assert_left("# leak:one\n", "10 20 30 40 ");
    assert_left("leak:one", "20 30 40 ");
    assert_left("leak:ne\r\n\n", "20 30 40 ");
    assert_left("leak:two", "10 30 40 ");
    assert_left("leak:two_outer", "10 30 40 ");
    assert_left("leak:alloc", "30 40 ");
    assert_left("leak:other.c", "10 20 40 ");
    assert_left("leak:libknown", "10 20 30 ");
    assert_left("  leak:one\n\tleak:third  \n", "20 40 ");
}

static void stars_and_bounds(void **state)
{
    (void)state;
    assert_left("leak:^one$", "20 30 40 ");
    assert_left("leak:^ne", "10 20 30 40 ");
    assert_left("leak:on$", "10 20 30 40 ");
    assert_left("leak:t*d", "10 20 40 ");
    assert_left("leak:^t*o$", "10 30 40 ");
    assert_left("leak:*", "");
    assert_left("leak:^$", "10 20 30 40 ");
    assert_left("leak:^*o*o*t*r$", "10 30 40 ");
    assert_left("leak:l*known*.1$", "10 20 30 ");
}

static void each_pattern_counts_what_it_took(void **state)
{
    struct cairn_heap_leak own[N];
    struct cairn_heap_suppressions *s;
    struct cairn_heap_suppressed counts = {.size = sizeof counts};
    struct cairn_err err;
    static const char file[] = "leak:nothing\nleak:one\nleak:alloc\n";
    size_t n;
    (void)state;
    assert_ok(cairn_heap_suppressions_parse(
                  (struct cairn_span){(const uint8_t *)file, sizeof file - 1}, &s, &err),
              err);
    for (int i = 0; i < 2; i++) {
        memcpy(own, leaks, sizeof own);
        n = N;
        assert_ok(cairn_heap_suppress(s, p, own, &n, &err), err);
    }
    assert_int_equal(n, 2);
    assert_true(cairn_heap_suppressed(s, 0, &counts));
    assert_int_equal(counts.n_stacks, 0);
    /* The innermost frame of both stacks is met by the last pattern. */
    assert_true(cairn_heap_suppressed(s, 1, &counts));
    assert_int_equal(counts.n_stacks, 0);
    assert_true(cairn_heap_suppressed(s, 2, &counts));
    assert_string_equal(counts.pattern, "alloc");
    assert_int_equal(counts.n_stacks, 2);
    assert_int_equal(counts.n_blocks, 3);
    assert_int_equal(counts.bytes, 30);
    assert_false(cairn_heap_suppressed(s, 3, &counts));
    cairn_heap_suppressions_free(s);
}

static void what_is_no_suppression_is_named(void **state)
{
    static const char file[] = "# fine\nleak:one\nrace:two\n", bare[] = "leak:";
    struct cairn_heap_suppressions *s = NULL;
    struct cairn_err err;
    (void)state;
    assert_fails(cairn_heap_suppressions_parse(
                     (struct cairn_span){(const uint8_t *)file, sizeof file - 1}, &s, &err),
                 CAIRN_E_FORMAT, err, "line 3: \"race:two\"");
    assert_fails(cairn_heap_suppressions_parse(
                     (struct cairn_span){(const uint8_t *)bare, sizeof bare - 1}, &s, &err),
                 CAIRN_E_FORMAT, err, "line 1");
    assert_fails(cairn_heap_suppressions_read("/nothing/there", &s, &err), CAIRN_E_MISSING, err,
                 "/nothing/there");
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pattern_is_a_part_of_a_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stars_and_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_pattern_counts_what_it_took, set_up, tear_down),
        cmocka_unit_test(what_is_no_suppression_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
