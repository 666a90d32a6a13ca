/* SPDX-License-Identifier: MIT */
/*
 * Arenas of glibc (malloc/arena.c, malloc/malloc.c; 2.26 to 2.41, 64 bit), as they lie in memory:
 *
 *     [heap]       the main arena's; brk(2)
 *     64 MiB       | arena, previous heap, size, bytes with access | ... |    a thread arena's heap
 *     libc's data  | lock ... top | bins: 127 pairs of links | ... |          the main arena itself
 *
 * An empty bin's two links point to the bin as if it were a chunk, 16 bytes before it.
 */
#include "base/error.h"
#include "watch/lost_space.h"

enum {
    HEAP_BITS = 26,
    BINS_AT = 0x70, /* in an arena */
    NEXT_AT = 0x870,
    ARENA_BYTES = 0x898,
    BIN_WORDS = 254,
    EMPTY_LEAST = 40, /* words of bins that are empty: of 254, most are */
    LINK_BACK = 16,
    PARTS_MAX = 32 /* a program may map anything as libc.so.6, any number of times */
};

static bool is_page(uint64_t bytes)
{
    return bytes && bytes % 4096 == 0 && bytes <= UINT64_C(1) << HEAP_BITS;
}

/* The part of a thread arena's heap that has access. False: there is no such heap. */
static bool read_heap(struct cairn_lost_space *s, uint64_t va, uint64_t *ret_end)
{
    uint64_t info[4];
    const uint64_t mask = (UINT64_C(1) << HEAP_BITS) - 1;
    if (!cairn_lost_space_read(s, va, (uint8_t *)info, sizeof info))
        return false;
    bool is_first = (info[0] & ~mask) == va && info[0] - va <= 0x100;
    if (!info[0] || info[0] % 8 || (info[1] & mask) || !is_page(info[2]) || !is_page(info[3]) ||
        info[2] > info[3] || is_first == (info[1] != 0))
        return false;
    *ret_end = va + info[3];
    return true;
}

static int add_thread_heap(struct cairn_lost_space *s, uint64_t va)
{
    uint64_t start = va >> HEAP_BITS << HEAP_BITS, end;
    const struct cairn_lost_map *map = cairn_lost_space_map(s, va);
    if (!map || map->kind != CAIRN_LOST_OTHER ||
        (map->flags & (CAIRN_MAP_SHARED | CAIRN_MAP_FILE)) || map->start > start ||
        !read_heap(s, start, &end) || end > map->end)
        return CAIRN_OK;
    return cairn_lost_ranges_add(&s->arenas, start, end);
}

/* Without address space randomization the program's data end where brk(2) begins, and kernels
 * before 6.1 make one mapping of both. */
static int add_break(struct cairn_lost_space *s, const struct cairn_lost_map *map)
{
    uint64_t start = s->break_start > map->start ? s->break_start : map->start;
    uint64_t end = s->break_end && s->break_end < map->end ? s->break_end : map->end;
    if (!s->break_start || start >= end)
        return CAIRN_OK;
    return cairn_lost_ranges_add(&s->arenas, start, end);
}

/* Each 64 MiB that a block is in. */
static int add_heaps(struct cairn_lost_space *s, const struct cairn_reach_blocks *blocks)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < blocks->n; i++) {
        uint64_t va = cairn_reach_blocks_get(blocks, i).va;
        if (va < next)
            continue;
        const struct cairn_lost_map *map = cairn_lost_space_map(s, va);
        next = ((va >> HEAP_BITS) + 1) << HEAP_BITS;
        int code = CAIRN_OK;
        if (map && map->kind == CAIRN_LOST_BREAK) {
            next = map->end;
            code = add_break(s, map);
        } else {
            code = add_thread_heap(s, va);
        }
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

static bool is_empty_link(uint64_t word, uint64_t at)
{
    return word == at - LINK_BACK || word == at - LINK_BACK - 8;
}

static uint64_t word_at(const uint8_t *bytes, size_t off)
{
    uint64_t word;
    memcpy(&word, bytes + off, sizeof word);
    return word;
}

/* The next arena is this one itself, or begins a thread arena's first heap. */
static bool is_next(uint64_t word, uint64_t arena)
{
    uint64_t in_heap = word & ((UINT64_C(1) << HEAP_BITS) - 1);
    return word == arena || (word && (in_heap == 0x20 || in_heap == 0x30));
}

static bool is_arena(const uint8_t *bytes, uint64_t va)
{
    size_t n_empty = 0;
    if (!is_next(word_at(bytes, NEXT_AT), va))
        return false;
    for (size_t i = 0; i < BIN_WORDS; i++)
        n_empty += is_empty_link(word_at(bytes, BINS_AT + i * 8), va + BINS_AT + i * 8);
    return n_empty >= EMPTY_LEAST;
}

static int add_main_arena(struct cairn_lost_space *s, const struct cairn_lost_map *map)
{
    uint64_t size = map->end - map->start;
    if (size > CAIRN_REACH_WINDOW)
        return CAIRN_OK;
    if (!cairn_lost_space_read(s, map->start, s->piece, (size_t)size))
        return CAIRN_OK;
    for (uint64_t off = 0; off + ARENA_BYTES <= size; off += 8)
        if (is_arena(s->piece + off, map->start + off))
            return cairn_lost_ranges_add(&s->arenas, map->start + off,
                                         map->start + off + ARENA_BYTES);
    return CAIRN_OK;
}

int cairn_lost_space_find_arenas(struct cairn_lost_space *space,
                                 const struct cairn_reach_blocks *blocks, struct cairn_err *err)
{
    size_t n_parts = 0;
    int code = CAIRN_OK;
    if (!space->has_glibc)
        return CAIRN_OK;
    code = add_heaps(space, blocks);
    for (size_t i = 0; code == CAIRN_OK && i < space->n_maps; i++)
        if (space->maps[i].kind == CAIRN_LOST_GLIBC && (space->maps[i].flags & CAIRN_MAP_WRITE) &&
            n_parts++ < PARTS_MAX)
            code = add_main_arena(space, &space->maps[i]);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}
