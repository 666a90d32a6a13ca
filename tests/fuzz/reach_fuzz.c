/* SPDX-License-Identifier: MIT */
/*
 * A graph of blocks: what is reached must hold what it points to, and what is not reached must not
 * be pointed to; a path leads from a root to its block, and all that is reached has a dominator.
 * The input: how many blocks and root words there are, a block's gap and size, then what the memory
 * holds, words as u16 that are turned into addresses.
 *
 *     u8 blocks, u8 roots | u8 gap, u8 size, u8 flags | ... | u16 word | ...
 */
#include "base/reader.h"
#include "reach/graph.h"

enum { WORDS = 4096, LIE = 1, FAR = 2, ODD = 4 };
static const uint64_t BASE = 0x600000000000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t memory[WORDS];
static size_t n_words;

static bool read_memory(void *ctx, uint64_t va, uint8_t *to, size_t size)
{
    (void)ctx;
    memset(to, 0, size);
    for (size_t i = 0; i < size; i++)
        if (va + i >= BASE && va + i - BASE < n_words * 8)
            to[i] = ((const uint8_t *)memory)[va + i - BASE];
    return true;
}

static uint64_t skip_memory(void *ctx, uint64_t va, uint64_t end)
{
    (void)ctx;
    uint64_t at = va < BASE ? BASE : va;
    return at - BASE < n_words * 8 && at < end ? at : end;
}

/* A u16: a pointer to one of the memory's words, with a tag or without, or a number. */
static uint64_t word_of(unsigned x)
{
    uint64_t va = BASE + x % 4096 * UINT64_C(4);
    return x >> 12 < 12 ? va : x >> 12 == 15 ? va | UINT64_C(0xfffa) << 48 : x % 4096;
}

static void fail_unless(bool holds)
{
    if (!holds)
        __builtin_trap();
}

/* What a word of a block of that mark points to has the same mark at least, if it is no doubtful
 * pointer. */
static void check_word(const struct cairn_reach *r, uint64_t word, enum cairn_reach_mark mark,
                       size_t self)
{
    uint32_t index;
    uint64_t off;
    enum cairn_reach_hit hit = cairn_reach_resolve(r, word, &index, &off);
    if (hit == CAIRN_REACH_MISS || index == self)
        return;
    enum cairn_reach_mark least = hit == CAIRN_REACH_START ? mark : CAIRN_REACH_POSSIBLY;
    fail_unless(cairn_reach_mark_of(r, index) >= least);
}

static void check(struct cairn_reach *r, const uint64_t *roots, size_t n_roots)
{
    for (size_t i = 0; i < n_roots; i++)
        check_word(r, roots[i], CAIRN_REACH_HELD, SIZE_MAX);
    for (size_t i = 0; i < cairn_reach_count(r); i++) {
        const struct cairn_reach_block block = cairn_reach_get(r, i);
        enum cairn_reach_mark mark = cairn_reach_mark_of(r, i);
        size_t from = (size_t)(block.va - BASE) / 8;
        for (size_t k = from; mark && k < n_words && (k - from + 1) * 8 <= block.size; k++)
            check_word(r, memory[k], mark, i);
    }
}

static void check_heads(struct cairn_reach *r, const struct cairn_reach_memory *m)
{
    static uint32_t heads[256];
    fail_unless(cairn_reach_group(r, m, heads, NULL) == CAIRN_OK);
    for (size_t i = 0; i < cairn_reach_count(r); i++) {
        bool reached = cairn_reach_mark_of(r, i) != CAIRN_REACH_NONE;
        fail_unless(reached == (heads[i] == UINT32_MAX));
        fail_unless(reached || heads[heads[i]] == heads[i]);
    }
}

/* Each holder points to the target, and the blocks before it to the next one, up to a root. */
static void check_path(const struct cairn_reach_graph *g, const struct cairn_reach_paths *p,
                       uint32_t block, uint32_t next)
{
    size_t n_steps = 0;
    for (;; next = block, block = p->parents[block]) {
        uint32_t from, end;
        bool points = false;
        cairn_reach_graph_links(g, block, &from, &end);
        for (; from < end; from++)
            points |=
                g->links[from] == next && (p->doubtful || !cairn_reach_graph_is_doubtful(g, from));
        fail_unless(points && n_steps++ < g->reach->blocks.n);
        if (p->parents[block] == block)
            break;
    }
    fail_unless(cairn_reach_graph_first_root(g, block) < g->n_roots);
}

static void check_paths(const struct cairn_reach_graph *g, uint32_t target)
{
    struct cairn_reach_paths p;
    fail_unless(cairn_reach_paths_find(g, target, 8, &p, NULL) == CAIRN_OK);
    fail_unless(p.n_holders <= 8);
    for (size_t i = 0; i < p.n_holders; i++)
        check_path(g, &p, p.holders[i], target);
    cairn_reach_paths_done(&p);
}

static void check_dominators(const struct cairn_reach_graph *g)
{
    struct cairn_reach_dominators d;
    fail_unless(cairn_reach_dominators_find(g, &d, NULL) == CAIRN_OK);
    fail_unless(d.n >= 1 && d.n <= g->reach->blocks.n + 1);
    for (uint32_t i = 1; i < d.n; i++)
        fail_unless(d.above[i] < i && d.blocks[i] < g->reach->blocks.n);
    cairn_reach_dominators_done(&d);
}

static void check_graph(struct cairn_reach *r, const struct cairn_reach_memory *m,
                        const uint64_t *roots, size_t n_roots)
{
    struct cairn_reach_graph *g;
    size_t n = cairn_reach_count(r);
    uint32_t target = n && n_roots ? (uint32_t)(roots[0] / 4 % n) : 0;
    fail_unless(cairn_reach_graph_new(r, target, &g, NULL) == CAIRN_OK);
    for (size_t i = 0; i < n_roots; i++)
        fail_unless(cairn_reach_graph_word(g, i * 8, roots[i], (uint8_t)(i % CAIRN_REACH_RANKS)) ==
                    CAIRN_OK);
    fail_unless(cairn_reach_graph_read(g, m, NULL) == CAIRN_OK);
    if (target < n)
        check_paths(g, target);
    check_dominators(g);
    cairn_reach_graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_reader in = cairn_reader_of((struct cairn_span){data, size}, false);
    const struct cairn_reach_memory m = {read_memory, skip_memory, NULL};
    const struct cairn_reach_range tables = {BASE, BASE + 64};
    uint64_t roots[256], va = BASE;
    size_t n_blocks = cairn_reader_u8(&in), n_roots = cairn_reader_u8(&in);
    struct cairn_reach *r;
    fail_unless(cairn_reach_new(&r, NULL) == CAIRN_OK);
    for (size_t i = 0; i < n_blocks; i++) {
        uint64_t gap = cairn_reader_u8(&in), bytes = cairn_reader_u8(&in);
        unsigned flags = cairn_reader_u8(&in);
        va += gap * 8 + (flags & FAR ? UINT64_C(1) << 33 : 0) + (flags & ODD);
        fail_unless(cairn_reach_add(r, va, flags & LIE ? bytes << 56 : bytes, NULL) == CAIRN_OK);
    }
    for (size_t i = 0; i < n_roots; i++)
        roots[i] = word_of(cairn_reader_u16(&in));
    for (n_words = 0; n_words < WORDS && cairn_reader_more(&in); n_words++)
        memory[n_words] = word_of(cairn_reader_u16(&in));
    fail_unless(cairn_reach_seal(r, NULL) == CAIRN_OK);
    r->tables = &tables;
    r->n_tables = 1;
    cairn_reach_root(r, (struct cairn_span){(const uint8_t *)roots, n_roots * sizeof *roots});
    fail_unless(cairn_reach_flood(r, &m, NULL) == CAIRN_OK);
    check(r, roots, n_roots);
    check_heads(r, &m);
    check_graph(r, &m, roots, n_roots);
    cairn_reach_free(r);
    return 0;
}
