/* SPDX-License-Identifier: MIT */
/*
 * A graph of blocks: what is reached must hold what it points to, and what is not reached must not
 * be pointed to. The input: how many blocks and root words there are, a block's gap and size, then
 * what the memory holds, words as u16 that are turned into addresses.
 *
 *     u8 blocks, u8 roots | u8 gap, u8 size, u8 flags | ... | u16 word | ...
 */
#include "base/reader.h"
#include "reach/reach.h"

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
    cairn_reach_free(r);
    return 0;
}
