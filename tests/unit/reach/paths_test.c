/* SPDX-License-Identifier: MIT */
/* Paths and dominators: random graphs against a simple reference, and shapes that are hard. */
#include <time.h>

#include "base/alloc.h"
#include "reach/graph.h"
#include "support/test.h"

enum { UNIT = 64, SPACE = 80, SMALL = 40, WORDS = UNIT / 8 };
static const uint64_t BASE = 0x500000000000;

static struct {
    struct cairn_reach *reach;
    struct cairn_reach_graph *graph;
    uint8_t *bytes;
    size_t size, reads_left;
} t;

static bool read_memory(void *ctx, uint64_t va, uint8_t *to, size_t size)
{
    (void)ctx;
    if (!t.reads_left--)
        return false;
    memset(to, 0, size);
    if (va >= BASE && va - BASE < t.size)
        memcpy(to, t.bytes + (va - BASE),
               size < t.size - (size_t)(va - BASE) ? size : t.size - (size_t)(va - BASE));
    return true;
}

static const struct cairn_reach_memory memory = {read_memory, NULL, NULL};

static uint64_t va_of(size_t i)
{
    return BASE + i * SPACE;
}

/* n blocks of UNIT bytes. */
static void begin(size_t n, uint32_t wanted)
{
    struct cairn_err err;
    t.size = (n + 1) * SPACE;
    t.bytes = calloc(1, t.size);
    t.reads_left = SIZE_MAX;
    assert_non_null(t.bytes);
    assert_ok(cairn_reach_new(&t.reach, &err), err);
    for (size_t i = 0; i < n; i++)
        assert_ok(cairn_reach_add(t.reach, va_of(i), UNIT, &err), err);
    assert_ok(cairn_reach_seal(t.reach, &err), err);
    assert_ok(cairn_reach_graph_new(t.reach, wanted, &t.graph, &err), err);
}

static void end(void)
{
    cairn_reach_graph_free(t.graph);
    cairn_reach_free(t.reach);
    free(t.bytes);
}

static void put(size_t block, size_t word, uint64_t value)
{
    memcpy(t.bytes + block * SPACE + word * 8, &value, sizeof value);
}

static void root(uint64_t va, size_t block, uint8_t rank)
{
    assert_int_equal(cairn_reach_graph_word(t.graph, va, va_of(block), rank), CAIRN_OK);
}

static void read_graph(void)
{
    struct cairn_err err;
    assert_ok(cairn_reach_graph_read(t.graph, &memory, &err), err);
}

/* The reference: links as a matrix, reached by whom while some block is closed. */
struct small {
    size_t n;
    bool link[SMALL][SMALL], root[SMALL];
};

static void reach_small(const struct small *s, size_t closed, unsigned *ret_depth)
{
    for (size_t i = 0; i < s->n; i++)
        ret_depth[i] = s->root[i] && i != closed ? 0 : UINT32_MAX;
    for (unsigned depth = 0; depth < s->n; depth++)
        for (size_t i = 0; i < s->n; i++)
            for (size_t k = 0; ret_depth[i] == depth && k < s->n; k++)
                if (s->link[i][k] && k != closed && ret_depth[k] == UINT32_MAX)
                    ret_depth[k] = depth + 1;
}

static uint64_t seed = 1;

static size_t any(size_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (size_t)(seed >> 33) % n;
}

static void make_small(struct small *s, uint32_t wanted)
{
    size_t n_links = any(s->n * 3), n_roots = 1 + any(3);
    begin(s->n, wanted);
    memset(s->link, 0, sizeof s->link);
    memset(s->root, 0, sizeof s->root);
    for (size_t i = 0; i < n_links; i++) {
        size_t from = any(s->n), to = any(s->n), word = any(WORDS - 1);
        uint64_t was;
        memcpy(&was, t.bytes + from * SPACE + word * 8, sizeof was);
        if (was || from == to)
            continue;
        put(from, word, va_of(to) + any(2) * 24);
        s->link[from][to] = true;
    }
    for (size_t i = 0; i < n_roots; i++) {
        size_t to = any(s->n);
        root(8 + i * 8, to, (uint8_t)any(CAIRN_REACH_RANKS));
        s->root[to] = true;
    }
    read_graph();
}

static unsigned length_of(const struct cairn_reach_paths *p, uint32_t block)
{
    unsigned length = 0;
    for (; p->parents[block] != block; length++)
        block = p->parents[block];
    return length;
}

static void check_paths(const struct small *s, uint32_t target)
{
    unsigned depth[SMALL];
    struct cairn_err err;
    struct cairn_reach_paths p;
    size_t n_holders = 0;
    reach_small(s, target, depth);
    assert_ok(cairn_reach_paths_find(t.graph, target, SMALL, &p, &err), err);
    for (size_t i = 0; i < s->n; i++)
        n_holders += depth[i] != UINT32_MAX && s->link[i][target];
    assert_int_equal(p.n_holders, n_holders);
    for (size_t i = 0; i < p.n_holders; i++) {
        assert_true(s->link[p.holders[i]][target]);
        assert_int_equal(length_of(&p, p.holders[i]), depth[p.holders[i]]);
        if (i > 0)
            assert_true(depth[p.holders[i - 1]] <= depth[p.holders[i]]);
    }
    assert_int_equal(cairn_reach_graph_first_root(t.graph, target) < t.graph->n_roots,
                     s->root[target]);
    cairn_reach_paths_done(&p);
}

static void check_dominators(const struct small *s)
{
    struct cairn_err err;
    struct cairn_reach_dominators d;
    unsigned depth[SMALL], without[SMALL];
    uint32_t n_reached = 0;
    reach_small(s, SIZE_MAX, depth);
    for (size_t i = 0; i < s->n; i++)
        n_reached += depth[i] != UINT32_MAX;
    assert_ok(cairn_reach_dominators_find(t.graph, &d, &err), err);
    assert_int_equal(d.n, n_reached + 1);
    bool dominates[SMALL + 1][SMALL + 1] = {{0}}; /* by place, as they were found */
    for (uint32_t i = 1; i < d.n; i++) {
        assert_true(d.above[i] < i);
        memcpy(dominates[i], dominates[d.above[i]], sizeof dominates[i]);
        dominates[i][i] = true;
    }
    for (uint32_t i = 1; i < d.n; i++) {
        reach_small(s, d.blocks[i], without);
        for (uint32_t k = 1; k < d.n; k++)
            assert_int_equal(dominates[k][i], without[d.blocks[k]] == UINT32_MAX);
    }
    cairn_reach_dominators_done(&d);
}

static void random_graphs_are_as_the_reference_has_them(void **state)
{
    (void)state;
    for (int round = 0; round < 600; round++) {
        struct small s = {.n = 2 + any(SMALL - 2)};
        uint32_t target = (uint32_t)any(s.n);
        make_small(&s, target);
        check_paths(&s, target);
        check_dominators(&s);
        end();
    }
}

static void better_ranks_come_first_and_all_roots_of_the_wanted_are_kept(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_reach_paths p;
    begin(4, 3);
    for (uint64_t i = 0; i < 10; i++)
        root(100 + i, 3, 2);
    root(200, 3, 1);
    root(300, 0, 5);
    root(301, 0, 5);
    root(400, 1, 4);
    put(0, 0, va_of(2));
    put(1, 0, va_of(2));
    put(2, 0, va_of(3));
    read_graph();
    size_t first = cairn_reach_graph_first_root(t.graph, 3);
    assert_int_equal(t.graph->n_roots, 13);
    assert_int_equal(t.graph->roots[first].va, 200);
    assert_int_equal(t.graph->roots[first + 1].va, 100);
    assert_ok(cairn_reach_paths_find(t.graph, 3, 1, &p, &err), err);
    assert_int_equal(p.n_holders, 1);
    assert_int_equal(p.parents[2], 1);
    assert_int_equal(p.parents[3], UINT32_MAX);
    cairn_reach_paths_done(&p);
    end();
}

static void doubtful_pointers_are_asked_last(void **state)
{
    (void)state;
    struct cairn_err err;
    struct cairn_reach_paths p;
    struct cairn_reach_dominators d;
    begin(3, 2);
    root(8, 0, 0);
    assert_int_equal(cairn_reach_graph_word(t.graph, 16, va_of(1) | UINT64_C(0xfff8) << 48, 0),
                     CAIRN_OK);
    put(0, 0, va_of(2) + UNIT); /* behind its end */
    put(1, 1, va_of(2));
    read_graph();
    assert_ok(cairn_reach_paths_find(t.graph, 2, 9, &p, &err), err);
    assert_true(p.doubtful);
    assert_int_equal(p.n_holders, 2);
    cairn_reach_paths_done(&p);
    assert_ok(cairn_reach_dominators_find(t.graph, &d, &err), err);
    assert_int_equal(d.n, 2); /* neither 1 nor 2 is held for sure */
    cairn_reach_dominators_done(&d);
    end();
}

/* Each also points back, so that nothing is simple. */
static void a_list_of_a_million_has_a_path_and_dominators(void **state)
{
    (void)state;
    enum { N = 1000000 };
    struct cairn_err err;
    struct cairn_reach_paths p;
    struct cairn_reach_dominators d;
    begin(N, UINT32_MAX);
    root(8, N - 1, 0);
    for (size_t i = 0; i < N; i++) {
        if (i > 0)
            put(i, 0, va_of(i - 1));
        if (i + 1 < N)
            put(i, 1, va_of(i + 1));
        put(i, 2, va_of(any(i + 1)) + 8 * (i % 2)); /* and on, to any: the end dominates little */
    }
    read_graph();
    clock_t start = clock();
    assert_ok(cairn_reach_paths_find(t.graph, 0, 1, &p, &err), err);
    assert_true(length_of(&p, p.holders[0]) < N);
    cairn_reach_paths_done(&p);
    assert_ok(cairn_reach_dominators_find(t.graph, &d, &err), err);
    assert_int_equal(d.n, N + 1);
    print_message("%.2f s\n", (double)(clock() - start) / CLOCKS_PER_SEC);
    cairn_reach_dominators_done(&d);
    for (size_t i = 0; i < N; i++)
        put(i, 2, 0);
    cairn_reach_graph_free(t.graph);
    assert_ok(cairn_reach_graph_new(t.reach, 0, &t.graph, &err), err);
    root(8, N - 1, 0);
    read_graph();
    assert_ok(cairn_reach_paths_find(t.graph, 0, 1, &p, &err), err);
    assert_int_equal(length_of(&p, p.holders[0]), N - 2);
    cairn_reach_paths_done(&p);
    assert_ok(cairn_reach_dominators_find(t.graph, &d, &err), err);
    for (uint32_t i = 1; i < d.n; i++)
        assert_int_equal(d.above[i], i - 1);
    cairn_reach_dominators_done(&d);
    end();
}

static void reading_may_end_and_nothing_may_be_there(void **state)
{
    (void)state;
    struct cairn_err err = {0};
    struct cairn_reach_dominators d;
    begin(4, UINT32_MAX);
    t.reads_left = 0;
    assert_int_equal(cairn_reach_graph_read(t.graph, &memory, &err), CAIRN_E_STOPPED);
    end();
    begin(0, UINT32_MAX);
    assert_int_equal(cairn_reach_graph_word(t.graph, 8, BASE, 0), CAIRN_OK);
    read_graph();
    assert_ok(cairn_reach_dominators_find(t.graph, &d, &err), err);
    assert_int_equal(d.n, 1);
    cairn_reach_dominators_done(&d);
    end();
    cairn_reach_graph_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_as_the_reference_has_them),
        cmocka_unit_test(better_ranks_come_first_and_all_roots_of_the_wanted_are_kept),
        cmocka_unit_test(doubtful_pointers_are_asked_last),
        cmocka_unit_test(a_list_of_a_million_has_a_path_and_dominators),
        cmocka_unit_test(reading_may_end_and_nothing_may_be_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
