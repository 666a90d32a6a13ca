/* SPDX-License-Identifier: MIT */
/*
 * LuaJIT's own allocator (lj_alloc.c, after Doug Lea's malloc) leaves what is freed as it was, so
 * that a lua_State which was collected looks like one that rests. Its chunks tell: each begins with
 * its size and with whether it is in use, and the next one begins where it ends. A chunk that is
 * freed becomes a part of a free one before it, whose word in front of the state stays as it was.
 * So the chunks of a segment are followed from its first one on.
 */
#include "guest/luajit/luajit.h"
#include "guest/words.h"

enum {
    PAGE = 4096,
    /* a chunk */
    HEAD = 8, /* the size, and in the lowest bits: */
    BEFORE_IS_USED = 1,
    IS_USED = 2,
    FLAGS = 7,
    OBJECT = 16, /* what malloc() returned */
    CHUNK_MIN = 32,
    STATE_CHUNK_MIN = 104, /* of a lua_State of 96 bytes; forks append to it */
    STATE_CHUNK_MAX = 192,
    /* malloc_state: it lies in a chunk of its own; and its list of segments */
    HEAP_CHUNK_MIN = 864,
    HEAP_CHUNK_MAX = 1024,
    SEGMENT = 840,
    SEGMENT_BYTES = 24,
    SEGMENTS_MAX = 1 << 16,
    /* global_State: where the pointer to malloc_state is, moves between versions */
    HEAP_WORDS = 16,
    STEPS_MAX = 1 << 27 /* of a whole search */
};

struct segment {
    uint64_t from, to;
};

static bool head_of(struct cairn_memory memory, struct cairn_guest_heap_walk *walk, uint64_t chunk,
                    uint64_t *ret_head)
{
    return walk->n_steps++ < STEPS_MAX && cairn_guest_u64(memory, chunk + HEAD, ret_head);
}

/* Does malloc_state lie at `heap`? Then finds the segment that holds `va`, if one does. */
static bool find_segment_of(struct cairn_memory memory, uint64_t heap, uint64_t va,
                            struct cairn_guest_heap_walk *walk, struct segment *ret_segment)
{
    uint8_t bytes[SEGMENT_BYTES];
    uint64_t head, at = heap + SEGMENT;
    bool is_heap = false;
    if (!heap || heap % 8 || !head_of(memory, walk, heap - OBJECT, &head) || !(head & IS_USED) ||
        (head & ~(uint64_t)FLAGS) < HEAP_CHUNK_MIN || (head & ~(uint64_t)FLAGS) > HEAP_CHUNK_MAX)
        return false;
    for (uint32_t i = 0; at && i < SEGMENTS_MAX && walk->n_steps++ < STEPS_MAX; i++) {
        if (!memory.read(memory.ctx, at, bytes, sizeof bytes))
            return false;
        uint64_t from = cairn_guest_word(bytes, 0), size = cairn_guest_word(bytes, 8);
        if (!from || from % PAGE || !size || size % PAGE || size > UINT64_MAX - from)
            return false;
        is_heap |= heap - from < size;
        if (va - from < size)
            *ret_segment = (struct segment){from, from + size};
        at = cairn_guest_word(bytes, 16);
    }
    return is_heap && !at;
}

static void restart(struct cairn_guest_heap_walk *walk)
{
    walk->before = walk->at = walk->from;
    walk->is_used = true; /* the first chunk says so of what is before it */
}

/* Goes to the segment that holds the state. False: it is not known to be in one. */
static bool find_segment(struct cairn_memory memory, uint64_t va,
                         struct cairn_guest_heap_walk *walk)
{
    struct cairn_lj_state state;
    struct segment segment = {0};
    uint8_t words[8 * HEAP_WORDS];
    if (!cairn_lj_state_read(memory, va, &state) ||
        !memory.read(memory.ctx, state.global, words, sizeof words))
        return false;
    for (size_t i = 0; i < HEAP_WORDS; i++) {
        uint64_t heap = cairn_guest_word(words, 8 * i);
        if (!find_segment_of(memory, heap, va, walk, &segment) || segment.from == segment.to)
            continue;
        walk->from = segment.from;
        walk->to = segment.to;
        restart(walk);
        return true;
    }
    return false;
}

/* To the first chunk that does not begin below `chunk`. */
static bool go_to(struct cairn_memory memory, struct cairn_guest_heap_walk *walk, uint64_t chunk)
{
    uint64_t head;
    while (walk->at < chunk) {
        if (!head_of(memory, walk, walk->at, &head) || !(head & BEFORE_IS_USED) != !walk->is_used)
            return false;
        uint64_t size = head & ~(uint64_t)FLAGS;
        if (size < CHUNK_MIN || size > walk->to - walk->at)
            return false;
        walk->before = walk->at;
        walk->at += size;
        walk->is_used = head & IS_USED;
    }
    return true;
}

uint8_t cairn_lj_life(struct cairn_memory memory, uint64_t va, struct cairn_guest_heap_walk *walk)
{
    const uint64_t chunk = va - OBJECT;
    uint64_t head;
    if (chunk - walk->from >= walk->to - walk->from && !find_segment(memory, va, walk))
        return CAIRN_GUEST_MAY_LIVE;
    if (walk->before < chunk && chunk < walk->at)
        return CAIRN_GUEST_IS_FREE;
    if (chunk < walk->at)
        restart(walk);
    if (!go_to(memory, walk, chunk)) {
        /* The process goes on: where the walk stood is no chunk any more. */
        restart(walk);
        if (!go_to(memory, walk, chunk))
            return CAIRN_GUEST_MAY_LIVE;
    }
    if (walk->at != chunk)
        return CAIRN_GUEST_IS_FREE;
    if (!head_of(memory, walk, chunk, &head))
        return CAIRN_GUEST_MAY_LIVE;
    uint64_t size = head & ~(uint64_t)FLAGS;
    return head & IS_USED && size >= STATE_CHUNK_MIN && size <= STATE_CHUNK_MAX
               ? CAIRN_GUEST_LIVES
               : CAIRN_GUEST_IS_FREE;
}
