/* SPDX-License-Identifier: MIT */
/*
 * Thread pointers that no registers gave: the addresses of glibc's struct pthread on x86-64, found
 * in memory. A thread's is in the last pages of its stack's mapping, the main thread's in a mapping
 * that the loader made.
 */
#include <elf.h>

#include "watch/holds.h"

enum { LEAST = 0x310, TOP_BYTES = 3 * CAIRN_LOST_PAGE };

/* In bytes that were read at `va`: the first struct pthread of that thread; 0: none. */
static uint64_t find_in(const uint8_t *bytes, uint64_t va, size_t size, int tid)
{
    const struct cairn_span span = {bytes, size};
    int32_t number;
    for (size_t at = 0; cairn_lost_find_pthread(span, va, LEAST, &at, &number);
         at += CAIRN_LOST_PTHREAD_ALIGN)
        if (number == tid)
            return va + at;
    return 0;
}

static uint64_t find_above(struct cairn_lost_space *s, const struct cairn_lost_thread *thread)
{
    const struct cairn_lost_map *map = cairn_lost_space_map(s, thread->sp);
    if (!map || map->kind == CAIRN_LOST_STACK)
        return 0;
    uint64_t size = map->end - map->start < TOP_BYTES ? map->end - map->start : TOP_BYTES;
    if (!cairn_lost_space_read(s, map->end - size, s->piece, (size_t)size))
        return 0;
    return find_in(s->piece, map->end - size, (size_t)size, thread->tid);
}

static uint64_t find_anywhere(struct cairn_lost_space *s, int tid)
{
    const uint32_t access = CAIRN_MAP_READ | CAIRN_MAP_WRITE;
    uint64_t tp = 0;
    for (size_t i = 0; i < s->n_maps && !tp; i++) {
        const struct cairn_lost_map *map = &s->maps[i];
        uint64_t size = map->end - map->start;
        if (map->kind == CAIRN_LOST_OTHER && map->flags == access && size <= CAIRN_REACH_WINDOW &&
            cairn_lost_space_read(s, map->start, s->piece, (size_t)size))
            tp = find_in(s->piece, map->start, (size_t)size, tid);
    }
    return tp;
}

void cairn_holds_find_threads(struct cairn_lost_search *search)
{
    struct cairn_lost_space *s = &search->space;
    for (size_t i = 0; i < search->threads.n_list && s->has_glibc && s->machine == EM_X86_64; i++) {
        struct cairn_lost_thread *thread = &search->threads.list[i];
        if (!thread->tp)
            thread->tp = find_above(s, thread);
        if (!thread->tp && thread->tid == search->pid)
            thread->tp = find_anywhere(s, thread->tid);
    }
}
