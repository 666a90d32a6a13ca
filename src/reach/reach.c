/* SPDX-License-Identifier: MIT */
/* Marks of blocks, and what words do to them. */
#include "reach/reach.h"

#include "base/alloc.h"
#include "base/error.h"
#include "reach/form.h"

/* Of a block's byte: its mark, whether a doubtful pointer points to it, and how many of those were
 * noted for a second look. */
enum { MARK = 3, DOUBTFUL = 4, TRIED_ONE = 8, TRIED = 3 * TRIED_ONE };
static const uint64_t ADDRESS_BITS = (UINT64_C(1) << 48) - 1;

int cairn_reach_new(struct cairn_reach **ret_reach, struct cairn_err *err)
{
    struct cairn_reach *reach = cairn_alloc(1, sizeof *reach);
    if (!reach)
        return cairn_fail_memory(err);
    *ret_reach = reach;
    return CAIRN_OK;
}

void cairn_reach_free(struct cairn_reach *reach)
{
    if (!reach)
        return;
    cairn_reach_blocks_done(&reach->blocks);
    cairn_free(reach->marks);
    cairn_free(reach->pending);
    cairn_free(reach->pending_words);
    cairn_free(reach->hints);
    cairn_free(reach->window);
    cairn_free(reach);
}

int cairn_reach_add(struct cairn_reach *reach, uint64_t va, uint64_t size, struct cairn_err *err)
{
    return cairn_reach_blocks_add(&reach->blocks, va, size, err);
}

int cairn_reach_seal(struct cairn_reach *reach, struct cairn_err *err)
{
    const struct cairn_reach_blocks *blocks = &reach->blocks;
    int code = cairn_reach_blocks_seal(&reach->blocks, err);
    if (code < 0)
        return code;
    size_t words = blocks->n / 64 + 1;
    reach->marks = cairn_alloc(blocks->n + 1, sizeof *reach->marks);
    reach->pending = cairn_alloc(words, sizeof *reach->pending);
    reach->pending_words = cairn_alloc(words / 64 + 1, sizeof *reach->pending_words);
    reach->window = cairn_alloc(CAIRN_REACH_WINDOW, 1);
    if (!reach->marks || !reach->pending || !reach->pending_words || !reach->window)
        return cairn_fail_memory(err);
    if (blocks->n_areas) {
        reach->low = blocks->areas[0].base;
        reach->high = blocks->areas[blocks->n_areas - 1].end;
    } else {
        reach->low = 1; /* above the end: no word is within */
    }
    return CAIRN_OK;
}

size_t cairn_reach_count(const struct cairn_reach *reach)
{
    return reach->blocks.n;
}

struct cairn_reach_block cairn_reach_get(const struct cairn_reach *reach, size_t index)
{
    return cairn_reach_blocks_get(&reach->blocks, (uint32_t)index);
}

enum cairn_reach_mark cairn_reach_mark_of(const struct cairn_reach *reach, size_t index)
{
    return (enum cairn_reach_mark)(reach->marks[index] & MARK);
}

bool cairn_reach_find(const struct cairn_reach *reach, uint64_t va, size_t *ret_index)
{
    uint32_t index;
    struct cairn_reach_block block;
    if (!cairn_reach_blocks_before(&reach->blocks, va, &index, &block) || block.va != va)
        return false;
    *ret_index = index;
    return true;
}

/* The tracker records an address without its last four bits. Only blocks of 8 bytes begin 8 bytes
 * behind such an address (C11, 6.2.8: alignment is not more than size). */
enum cairn_reach_hit cairn_reach_resolve(const struct cairn_reach *reach, uint64_t word,
                                         uint32_t *ret_index, uint64_t *ret_off)
{
    struct cairn_reach_block block;
    if (!cairn_reach_blocks_before(&reach->blocks, word, ret_index, &block))
        return CAIRN_REACH_MISS;
    uint64_t off = *ret_off = word - block.va;
    if (off == 0 || (off == CAIRN_REACH_ALIGN && block.size <= CAIRN_REACH_ALIGN))
        return CAIRN_REACH_START;
    if (off < block.size)
        return CAIRN_REACH_INSIDE;
    return off == block.size ? CAIRN_REACH_END : CAIRN_REACH_MISS;
}

void cairn_reach_raise(struct cairn_reach *reach, uint32_t index, enum cairn_reach_mark mark)
{
    uint8_t *byte = &reach->marks[index];
    if ((*byte & MARK) >= (int)mark)
        return;
    *byte = (uint8_t)((*byte & ~MARK) | mark);
    uint64_t *word = &reach->pending[index / 64], bit = UINT64_C(1) << index % 64;
    reach->n_pending += !(*word & bit);
    *word |= bit;
    reach->pending_words[index / 4096] |= UINT64_C(1) << index / 64 % 64;
}

/* A pointer that alone does not hold the block. One that was not noted stays doubtful. */
static void doubt(struct cairn_reach *reach, uint32_t index, uint64_t off,
                  enum cairn_reach_mark mark)
{
    uint8_t *byte = &reach->marks[index];
    if (mark == CAIRN_REACH_POSSIBLY) {
        cairn_reach_raise(reach, index, mark);
        return;
    }
    if ((*byte & MARK) == CAIRN_REACH_HELD)
        return;
    *byte |= DOUBTFUL;
    if (!cairn_reach_form_is_off(off) || (*byte & TRIED) == TRIED ||
        cairn_grow((void **)&reach->hints, &reach->cap_hints, reach->n_hints + 1,
                   sizeof *reach->hints) < 0)
        return;
    *byte = (uint8_t)(*byte + TRIED_ONE);
    reach->hints[reach->n_hints++] = (struct cairn_reach_hint){index, (uint32_t)off};
}

/* Blocks may lie side by side, so that the end of one is the start of the next. */
static void doubt_before(struct cairn_reach *reach, uint32_t index, uint64_t va,
                         enum cairn_reach_mark mark, uint32_t self)
{
    if (index == 0 || index - 1 == self || (reach->marks[index - 1] & MARK) >= (int)mark)
        return;
    const struct cairn_reach_block before = cairn_reach_blocks_get(&reach->blocks, index - 1);
    if (before.va + before.size == va)
        doubt(reach, index - 1, UINT64_MAX, mark);
}

static void follow(struct cairn_reach *reach, uint64_t word, enum cairn_reach_mark mark,
                   uint32_t self)
{
    uint32_t index;
    uint64_t off;
    switch (cairn_reach_resolve(reach, word, &index, &off)) {
    case CAIRN_REACH_START:
        if (off == 0)
            doubt_before(reach, index, word, mark, self);
        if (index != self)
            cairn_reach_raise(reach, index, mark);
        break;
    case CAIRN_REACH_INSIDE:
        if (index != self)
            doubt(reach, index, off, mark);
        break;
    case CAIRN_REACH_END:
        if (index != self)
            doubt(reach, index, UINT64_MAX, mark);
        break;
    default:
        break;
    }
}

/* Bits above the address: a tag, or the exponent of a double that boxes a pointer. */
static void follow_boxed(struct cairn_reach *reach, uint64_t word, enum cairn_reach_mark mark,
                         uint32_t self)
{
    uint32_t index;
    uint64_t off;
    if (cairn_reach_resolve(reach, word & ADDRESS_BITS, &index, &off) != CAIRN_REACH_MISS &&
        index != self)
        doubt(reach, index, UINT64_MAX, mark);
}

static void take(struct cairn_reach *reach, uint64_t word, enum cairn_reach_mark mark,
                 uint32_t self)
{
    uint64_t untagged = word & ~reach->tag_bits;
    if (untagged - reach->low <= reach->high - reach->low)
        follow(reach, untagged, mark, self);
    else if (word >> 48 && (word & ADDRESS_BITS) - reach->low <= reach->high - reach->low)
        follow_boxed(reach, word, mark, self);
}

void cairn_reach_words(struct cairn_reach *reach, const uint8_t *bytes, size_t size,
                       enum cairn_reach_mark mark, uint32_t self)
{
    if (!reach->blocks.n)
        return;
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        if (word)
            take(reach, word, mark, self);
    }
}

void cairn_reach_root(struct cairn_reach *reach, struct cairn_span bytes)
{
    cairn_reach_words(reach, bytes.data, bytes.size, CAIRN_REACH_HELD, UINT32_MAX);
}

void cairn_reach_word(struct cairn_reach *reach, uint64_t word)
{
    cairn_reach_words(reach, (const uint8_t *)&word, sizeof word, CAIRN_REACH_HELD, UINT32_MAX);
}

void cairn_reach_hold(struct cairn_reach *reach, uint64_t va)
{
    uint32_t index;
    uint64_t off;
    enum cairn_reach_hit hit = cairn_reach_resolve(reach, va, &index, &off);
    if (hit == CAIRN_REACH_START || hit == CAIRN_REACH_INSIDE)
        cairn_reach_raise(reach, index, CAIRN_REACH_HELD);
}

void cairn_reach_doubt(struct cairn_reach *reach, uint64_t va)
{
    size_t index;
    if (cairn_reach_find(reach, va, &index))
        cairn_reach_raise(reach, (uint32_t)index, CAIRN_REACH_POSSIBLY);
}

void cairn_reach_raise_doubtful(struct cairn_reach *reach)
{
    for (uint32_t i = 0; i < reach->blocks.n; i++)
        if (reach->marks[i] & DOUBTFUL)
            cairn_reach_raise(reach, i, CAIRN_REACH_POSSIBLY);
}
