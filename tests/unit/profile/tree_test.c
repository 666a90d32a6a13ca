/* SPDX-License-Identifier: MIT */
/* Trees of calls, callees and callers: their shape, their numbers, and that these are those of the
 * table. Trees are compared as text, a node a line: depth by blanks, name, total, self. */
#include <cairn/tree.h>

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

static struct cairn_tree *tree_of(const struct cairn_profile *p, enum cairn_tree_kind kind,
                                  const char *function, uint32_t depth, int by_self)
{
    struct cairn_tree *tree;
    struct cairn_err err;
    struct cairn_tree_opts opts = {.size = sizeof opts,
                                   .kind = kind,
                                   .function = function,
                                   .depth = depth,
                                   .by_self = by_self};
    assert_ok(cairn_tree_new(p, &opts, &tree, &err), err);
    return tree;
}

static void assert_tree(const struct cairn_tree *tree, const char *expected)
{
    const struct cairn_tree_node *nodes;
    size_t n = cairn_tree_nodes(tree, &nodes);
    struct cairn_buffer out = {0};
    for (size_t i = 0; i < n; i++)
        cairn_buffer_printf(&out, "%*s%s %lld %lld\n", (int)nodes[i].depth, "",
                            nodes[i].row->function, (long long)nodes[i].total,
                            (long long)nodes[i].self);
    assert_string_equal(cairn_buffer_text(&out), expected);
    for (size_t i = 0; i < n; i++) { /* the ends say the same as the depths */
        size_t end = i + 1;
        while (end < n && nodes[end].depth > nodes[i].depth)
            end++;
        assert_int_equal(nodes[i].end, end);
    }
    cairn_buffer_done(&out);
}

static void assert_tree_of(const char *text, enum cairn_tree_kind kind, const char *function,
                           uint32_t depth, const char *expected)
{
    struct cairn_profile *p = profile_of(text);
    struct cairn_tree *tree = tree_of(p, kind, function, depth, 0);
    assert_tree(tree, expected);
    cairn_tree_free(tree);
    cairn_profile_free(p);
}

#define STACKS "a;b;c 5\na;c 3\na 1\nd;b 2\n"

static void calls_are_whole_stacks(void **state)
{
    (void)state;
    assert_tree_of(STACKS, CAIRN_TREE_CALLS, NULL, 0,
                   "a 9 1\n b 5 0\n  c 5 5\n c 3 3\nd 2 0\n b 2 2\n");
    assert_tree_of(STACKS, CAIRN_TREE_CALLS, NULL, 2, "a 9 1\n b 5 0\n c 3 3\nd 2 0\n b 2 2\n");
    assert_tree_of("z 1\ny 1\nx 2\n", CAIRN_TREE_CALLS, NULL, 0, "x 2 2\ny 1 1\nz 1 1\n");
}

static void callees_are_below_whoever_called(void **state)
{
    (void)state;
    assert_tree_of(STACKS, CAIRN_TREE_CALLEES, "b", 0, "b 7 2\n c 5 5\n");
    assert_tree_of(STACKS, CAIRN_TREE_CALLEES, NULL, 2,
                   "a 9 1\n b 5 0\n c 3 3\nc 8 8\nb 7 2\n c 5 5\nd 2 0\n b 2 2\n");
}

static void callers_are_above_with_what_they_cause(void **state)
{
    (void)state;
    assert_tree_of(STACKS, CAIRN_TREE_CALLERS, "b", 0, "b 7 2\n a 5 0\n d 2 2\n");
    assert_tree_of(STACKS, CAIRN_TREE_CALLERS, "c", 0, "c 8 8\n b 5 5\n  a 5 5\n a 3 3\n");
    assert_tree_of(STACKS, CAIRN_TREE_CALLERS, "c", 2, "c 8 8\n b 5 5\n a 3 3\n");
    assert_tree_of(STACKS, CAIRN_TREE_CALLERS, "c", 1, "c 8 8\n");
}

static void a_name_goes_before_a_part_of_one(void **state)
{
    (void)state;
    const char *text = "get 1\nget_all 2\ntarget 4\n";
    assert_tree_of(text, CAIRN_TREE_CALLEES, "get", 0, "get 1 1\n");
    assert_tree_of(text, CAIRN_TREE_CALLEES, "et_", 0, "get_all 2 2\n");
    assert_tree_of(text, CAIRN_TREE_CALLEES, "ge", 0, "target 4 4\nget_all 2 2\nget 1 1\n");
    assert_tree_of(text, CAIRN_TREE_CALLEES, "put", 0, "");
}

static void recursion_counts_once(void **state)
{
    (void)state;
    const char *text = "main;f;g;f 5\nmain;f 2\nmain;f;g 1\n";
    assert_tree_of(text, CAIRN_TREE_CALLEES, "f", 0, "f 8 2\n g 6 1\n  f 5 5\n");
    assert_tree_of(text, CAIRN_TREE_CALLERS, "f", 0,
                   "f 8 7\n g 5 5\n  f 5 5\n   main 5 5\n main 3 2\n");
}

static void roots_can_stand_as_in_the_table(void **state)
{
    (void)state;
    struct cairn_profile *p = profile_of(STACKS);
    struct cairn_tree *tree = tree_of(p, CAIRN_TREE_CALLERS, NULL, 1, 1);
    assert_tree(tree, "c 8 8\nb 7 2\na 9 1\nd 2 0\n");
    cairn_tree_free(tree);
    cairn_profile_free(p);
}

/* What of a whole tree is to be kept; both lists are in the same order. */
static void assert_kept(const struct cairn_tree *whole, const struct cairn_tree *kept,
                        const struct cairn_tree_opts *opts)
{
    const struct cairn_tree_node *all, *some;
    size_t n_all = cairn_tree_nodes(whole, &all), n = cairn_tree_nodes(kept, &some), at = 0;
    uint64_t n_roots = 0, n_small = 0, n_nodes = 0, n_left = 0;
    double measure = (double)cairn_tree_sum(whole);
    for (size_t i = 0; i < n_all;) {
        n_roots += all[i].depth == 0;
        if (opts->n_roots && n_roots > opts->n_roots) {
            n_left++;
            i = all[i].end;
            continue;
        }
        if (all[i].depth == 0 && opts->kind != CAIRN_TREE_CALLS)
            measure = (double)all[i].total;
        if (100 * (double)all[i].total / measure < opts->least_percent) {
            n_small += all[i].end - i;
            n_nodes += all[i].end - i;
            i = all[i].end;
            continue;
        }
        assert_true(at < n);
        assert_string_equal(some[at].row->function, all[i].row->function);
        assert_int_equal(some[at].total, all[i].total);
        assert_int_equal(some[at].self, all[i].self);
        assert_int_equal(some[at].depth, all[i].depth);
        at++, i++, n_nodes++;
    }
    struct cairn_tree_counts counts = {.size = sizeof counts};
    cairn_tree_count(kept, &counts);
    assert_int_equal(at, n);
    assert_int_equal(counts.n_nodes, n_nodes);
    assert_int_equal(counts.n_small, n_small);
    assert_int_equal(counts.n_roots_left, n_left);
}

static void what_is_left_out_is_counted(void **state)
{
    (void)state;
    static const double leasts[] = {0, 4, 30, 100};
    struct cairn_buffer text = {0};
    struct cairn_err err;
    uint32_t random = 7;
    for (unsigned i = 0; i < 300; i++) {
        for (unsigned k = 0; k <= i % 9; k++) {
            random = random * 1103515245 + 12345;
            cairn_buffer_printf(&text, "%sf%u", k ? ";" : "", (random >> 16) % (4 + k));
        }
        cairn_buffer_printf(&text, " %u\n", 1 + i % 7);
    }
    struct cairn_profile *p = profile_of(cairn_buffer_text(&text));
    for (int kind = CAIRN_TREE_CALLS; kind <= CAIRN_TREE_CALLERS; kind++) {
        struct cairn_tree *whole = tree_of(p, (enum cairn_tree_kind)kind, NULL, 4, 0), *kept;
        for (unsigned i = 0; i < 8; i++) {
            struct cairn_tree_opts opts = {.size = sizeof opts,
                                           .kind = (enum cairn_tree_kind)kind,
                                           .depth = 4,
                                           .least_percent = leasts[i / 2],
                                           .n_roots = i % 2 ? 3 : 0};
            assert_ok(cairn_tree_new(p, &opts, &kept, &err), err);
            assert_kept(whole, kept, &opts);
            cairn_tree_free(kept);
        }
        cairn_tree_free(whole);
    }
    cairn_buffer_done(&text);
    cairn_profile_free(p);
}

/* One address in two inlined calls: three nodes, one below the other. */
static void inlined_functions_are_nodes(void **state)
{
    (void)state;
    struct cairn_profile *p = profile_of("x 0\n");
    static const char *const names[] = {"inner", "middle", "outer"};
    struct cairn_profile_line lines[3];
    for (unsigned i = 0; i < 3; i++) {
        struct cairn_profile_function function = {
            .name = cairn_profile_text(p, names[i], strlen(names[i]))};
        lines[i].function = cairn_profile_add_function(p, &function);
        lines[i].line = i;
    }
    struct cairn_profile_frame frame = {.address = 1, .how = CAIRN_HOW_CFI};
    uint32_t stack = cairn_profile_add_stack(p, 0, cairn_profile_add_frame(p, &frame, lines, 3));
    cairn_profile_add_sample(p, stack, 0, &(int64_t){4});
    struct cairn_tree *tree = tree_of(p, CAIRN_TREE_CALLS, NULL, 0, 0);
    assert_tree(tree, "outer 4 0\n middle 4 0\n  inner 4 4\nx 0 0\n");
    cairn_tree_free(tree);
    tree = tree_of(p, CAIRN_TREE_CALLERS, "inner", 0, 0);
    assert_tree(tree, "inner 4 4\n middle 4 4\n  outer 4 4\n");
    cairn_tree_free(tree);
    cairn_profile_free(p);
}

static void what_the_filter_dropped_is_no_node(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = profile_of(STACKS);
    struct cairn_filter filter = {.size = sizeof filter, .function = "d"};
    assert_ok(cairn_profile_filter(p, &filter, &err), err);
    for (int kind = CAIRN_TREE_CALLS; kind <= CAIRN_TREE_CALLEES; kind++) {
        struct cairn_tree *tree = tree_of(p, (enum cairn_tree_kind)kind, "d", 0, 0);
        assert_tree(tree, "d 2 0\n b 2 2\n");
        assert_int_equal(cairn_tree_sum(tree), 2);
        cairn_tree_free(tree);
    }
    struct cairn_tree *tree = tree_of(p, CAIRN_TREE_CALLEES, "a", 0, 0);
    assert_tree(tree, "");
    cairn_tree_free(tree);
    cairn_profile_free(p);
}

static void a_profile_without_samples_has_an_empty_tree(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_tree *tree;
    struct cairn_profile *p;
    assert_ok(cairn_profile_new(&p, &err), err);
    struct cairn_tree_opts opts = {.size = sizeof opts};
    assert_fails(cairn_tree_new(p, &opts, &tree, &err), CAIRN_E_ARG, err, "has 0");
    cairn_profile_add_type(p, "samples", "count");
    for (int kind = CAIRN_TREE_CALLS; kind <= CAIRN_TREE_CALLERS; kind++) {
        tree = tree_of(p, (enum cairn_tree_kind)kind, NULL, 0, 0);
        assert_tree(tree, "");
        cairn_tree_free(tree);
    }
    cairn_profile_add_sample(p, 0, 0, &(int64_t){7}); /* the empty stack */
    tree = tree_of(p, CAIRN_TREE_CALLS, NULL, 0, 0);
    assert_tree(tree, "");
    assert_int_equal(cairn_tree_sum(tree), 7);
    cairn_tree_free(tree);
    cairn_profile_free(p);
}

static void deep_stacks_need_no_deep_calls(void **state)
{
    (void)state;
    enum { DEEP = 60000 };
    struct cairn_buffer text = {0};
    for (unsigned i = 0; i < DEEP; i++)
        cairn_buffer_printf(&text, "f%u;", i % 50000); /* the last of them come twice */
    cairn_buffer_str(&text, "leaf 3\n");
    struct cairn_profile *p = profile_of(cairn_buffer_text(&text));
    for (int kind = CAIRN_TREE_CALLS; kind <= CAIRN_TREE_CALLERS; kind++) {
        const char *root = kind == CAIRN_TREE_CALLEES ? "f0" : "leaf";
        struct cairn_tree *tree = tree_of(p, (enum cairn_tree_kind)kind, root, 0, 0);
        const struct cairn_tree_node *nodes;
        assert_int_equal(cairn_tree_nodes(tree, &nodes), DEEP + 1);
        assert_int_equal(nodes[DEEP].depth, DEEP);
        assert_int_equal(nodes[DEEP].total, 3);
        assert_int_equal(nodes[0].end, DEEP + 1);
        cairn_tree_free(tree);
    }
    cairn_buffer_done(&text);
    cairn_profile_free(p);
}

/* Whatever the stacks are: what the table says of a function is said by its trees, too. */
static void numbers_are_those_of_the_table(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_buffer text = {0};
    uint32_t random = 1;
    for (unsigned i = 0; i < 400; i++) {
        unsigned depth = 1 + i % 13;
        for (unsigned k = 0; k < depth; k++) {
            random = random * 1103515245 + 12345;
            cairn_buffer_printf(&text, "%sf%u", k ? ";" : "", (random >> 16) % 9);
        }
        cairn_buffer_printf(&text, " %u\n", i % 7);
    }
    struct cairn_profile *p = profile_of(cairn_buffer_text(&text));
    struct cairn_top *top;
    const struct cairn_top_row *rows;
    assert_ok(cairn_profile_top(p, 0, &top, &err), err);
    size_t n = cairn_top_rows(top, &rows);
    assert_int_equal(n, 9);
    for (size_t i = 0; i < n; i++) {
        for (int kind = CAIRN_TREE_CALLS; kind <= CAIRN_TREE_CALLERS; kind++) {
            struct cairn_tree *tree =
                tree_of(p, (enum cairn_tree_kind)kind, rows[i].function, 0, 0);
            const struct cairn_tree_node *nodes;
            int64_t self = 0, roots = 0;
            size_t n_nodes = cairn_tree_nodes(tree, &nodes);
            for (size_t k = 0; k < n_nodes; k++) {
                bool is_it = strcmp(nodes[k].row->function, rows[i].function) == 0;
                self += is_it ? nodes[k].self : 0;
                roots += nodes[k].depth == 0 ? nodes[k].total : 0;
            }
            if (kind == CAIRN_TREE_CALLS) {
                assert_int_equal(roots, cairn_top_sum(top));
            } else {
                assert_int_equal(nodes[0].total, rows[i].total);
                assert_int_equal(nodes[0].row->total, rows[i].total);
                assert_int_equal(nodes[0].row->self, rows[i].self);
            }
            if (kind == CAIRN_TREE_CALLERS)
                assert_int_equal(nodes[0].self, rows[i].self);
            else
                assert_int_equal(self, rows[i].self);
            cairn_tree_free(tree);
        }
    }
    cairn_top_free(top);
    cairn_buffer_done(&text);
    cairn_profile_free(p);
}

static void without_memory_there_is_no_tree(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_profile *p = profile_of(STACKS "0x10;0x20;a;b 3\n");
    for (int kind = CAIRN_TREE_CALLS; kind <= CAIRN_TREE_CALLERS; kind++) {
        struct cairn_tree_opts opts = {.size = sizeof opts, .kind = (enum cairn_tree_kind)kind};
        int code = CAIRN_E_NOMEM;
        for (long countdown = 0; code == CAIRN_E_NOMEM; countdown++) {
            struct cairn_tree *tree = NULL;
            cairn_alloc_fail_after(countdown);
            code = cairn_tree_new(p, &opts, &tree, &err);
            cairn_alloc_fail_after(-1);
            assert_true((code == CAIRN_OK) == (tree != NULL));
            cairn_tree_free(tree);
            assert_true(countdown < 10000);
        }
        assert_int_equal(code, CAIRN_OK);
    }
    cairn_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_whole_stacks),
        cmocka_unit_test(callees_are_below_whoever_called),
        cmocka_unit_test(callers_are_above_with_what_they_cause),
        cmocka_unit_test(a_name_goes_before_a_part_of_one),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(roots_can_stand_as_in_the_table),
        cmocka_unit_test(what_is_left_out_is_counted),
        cmocka_unit_test(inlined_functions_are_nodes),
        cmocka_unit_test(what_the_filter_dropped_is_no_node),
        cmocka_unit_test(a_profile_without_samples_has_an_empty_tree),
        cmocka_unit_test(deep_stacks_need_no_deep_calls),
        cmocka_unit_test(numbers_are_those_of_the_table),
        cmocka_unit_test(without_memory_there_is_no_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
