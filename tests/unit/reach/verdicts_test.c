/* SPDX-License-Identifier: MIT */
/* Random graphs: each verdict and each group against a simple reference. */
#include "reach/reach.h"
#include "support/test.h"

enum { UNIT = 64, SPACE = 80, SMALL = 40, WORDS = UNIT / 8, INSIDE = 40, ROUNDS = 3000 };
static const uint64_t BASE = 0x500000000000, TAG = UINT64_C(0xb4) << 56;

/* What a pointer is worth: with a tag, into the block where its bytes do not say why, to its
 * start. */
enum worth { NOTHING, TAGGED, WITHIN, SURE };

static struct {
    size_t n;
    struct cairn_reach *reach;
    uint8_t bytes[(SMALL + 1) * SPACE];
    enum worth link[SMALL][SMALL], root[SMALL];
} t;

static uint64_t seed = 1;

static size_t any(size_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (size_t)(seed >> 33) % n;
}

static bool read_memory(void *ctx, uint64_t va, uint8_t *to, size_t size)
{
    (void)ctx;
    memset(to, 0, size);
    for (size_t i = 0; i < size; i++)
        if (va + i >= BASE && va + i - BASE < sizeof t.bytes)
            to[i] = t.bytes[va + i - BASE];
    return true;
}

static const struct cairn_reach_memory memory = {read_memory, NULL, NULL};

static uint64_t pointer_to(size_t block, enum worth worth)
{
    uint64_t va = BASE + block * SPACE;
    return worth == SURE ? va : worth == WITHIN ? va + INSIDE : va | TAG;
}

static enum worth any_worth(void)
{
    return any(4) ? SURE : any(2) ? WITHIN : TAGGED;
}

static void make(void)
{
    struct cairn_err err;
    size_t n_links = any(t.n * 2), n_roots = any(3);
    memset(t.bytes, 0, sizeof t.bytes);
    memset(t.link, 0, sizeof t.link);
    memset(t.root, 0, sizeof t.root);
    assert_ok(cairn_reach_new(&t.reach, &err), err);
    for (size_t i = 0; i < t.n; i++)
        assert_ok(cairn_reach_add(t.reach, BASE + i * SPACE, UNIT, &err), err);
    assert_ok(cairn_reach_seal(t.reach, &err), err);
    for (size_t i = 0; i < n_links; i++) {
        size_t from = any(t.n), to = any(t.n);
        uint8_t *at = t.bytes + from * SPACE + any(WORDS) * 8;
        enum worth worth = any_worth();
        uint64_t word, is_taken;
        memcpy(&is_taken, at, sizeof is_taken);
        if (is_taken || from == to || t.link[from][to])
            continue;
        word = pointer_to(to, worth);
        memcpy(at, &word, sizeof word);
        t.link[from][to] = worth;
    }
    for (size_t i = 0; i < n_roots; i++) {
        size_t to = any(t.n);
        enum worth worth = any_worth();
        cairn_reach_word(t.reach, pointer_to(to, worth));
        t.root[to] = worth > t.root[to] ? worth : t.root[to];
    }
    assert_ok(cairn_reach_flood(t.reach, &memory, &err), err);
}

/* All that is reached by pointers of this worth at least. */
static void mark(bool *marks, enum worth least)
{
    bool has_changed = true;
    for (size_t i = 0; i < t.n; i++)
        marks[i] = t.root[i] >= least;
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < t.n; i++)
            for (size_t k = 0; marks[i] && k < t.n; k++)
                if (t.link[i][k] >= least && !marks[k])
                    marks[k] = has_changed = true;
    }
}

/* Does the head lead to the block, by blocks that nothing else reaches? */
static bool leads(size_t head, size_t block, const bool *reached)
{
    bool marks[SMALL] = {false}, has_changed = true;
    marks[head] = true;
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < t.n; i++)
            for (size_t k = 0; marks[i] && k < t.n; k++)
                if (t.link[i][k] >= WITHIN && !reached[k] && !marks[k])
                    marks[k] = has_changed = true;
    }
    return marks[block];
}

static void check_groups(const bool *reached)
{
    uint32_t heads[SMALL];
    struct cairn_err err;
    assert_ok(cairn_reach_group(t.reach, &memory, heads, &err), err);
    for (size_t i = 0; i < t.n; i++) {
        assert_int_equal(heads[i] == UINT32_MAX, reached[i]);
        if (reached[i])
            continue;
        assert_int_equal(heads[heads[i]], heads[i]);
        assert_true(leads(heads[i], i, reached));
        for (size_t k = 0; k < t.n && heads[i] == i; k++)
            assert_false(k != i && heads[k] == k && leads(k, i, reached));
    }
}

static void random_graphs_have_the_verdicts_of_the_reference(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        bool held[SMALL], reached[SMALL];
        t.n = 1 + any(SMALL);
        make();
        mark(held, SURE);
        mark(reached, TAGGED);
        for (size_t i = 0; i < t.n; i++)
            assert_int_equal(cairn_reach_mark_of(t.reach, i), held[i]      ? CAIRN_REACH_HELD
                                                              : reached[i] ? CAIRN_REACH_POSSIBLY
                                                                           : CAIRN_REACH_NONE);
        check_groups(reached);
        cairn_reach_free(t.reach);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_have_the_verdicts_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
