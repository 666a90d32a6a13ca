/* SPDX-License-Identifier: MIT */
#include "sample/calls.h"

#include "base/alloc.h"
#include "sample/arch.h"
#include "sample/space.h"

enum { KNOWN_CALLS_MAX = 1 << 20 };

/* What lies before one return address, whichever process it is in. */
struct cairn_known_call {
    bool is_call, is_go_root;
    uint64_t file, off; /* of the function that is called; file 0: not known (yet) */
};

void cairn_calls_done(struct cairn_calls *calls)
{
    cairn_table_done(&calls->by_place);
    cairn_free(calls->known);
    *calls = (struct cairn_calls){0};
}

bool cairn_call_read(struct cairn_space *space, uint64_t ret, struct cairn_call *ret_call)
{
    uint8_t code[CAIRN_CALL_BYTES];
    return ret > sizeof code && cairn_stream_space_find(&space->code, ret) &&
           cairn_space_peek(space, ret - sizeof code, code, sizeof code) == sizeof code &&
           cairn_arch_call((struct cairn_span){code, sizeof code}, ret, ret_call);
}

uint64_t cairn_call_target(struct cairn_space *space, const struct cairn_call *call,
                           bool *ret_final)
{
    uint64_t target = call->target, pointer = call->pointer;
    uint8_t code[16];
    *ret_final = true;
    if (!target && !pointer)
        return 0;
    if (pointer && cairn_space_peek(space, pointer, &target, sizeof target) != sizeof target)
        return 0;
    size_t n = cairn_space_peek(space, target, code, sizeof code);
    if (!cairn_arch_jump((struct cairn_span){code, n}, target, &pointer))
        return target;
    /* Before the first call of a function that is bound lazily, the pointer leads back here. */
    uint64_t stub = target;
    if (cairn_space_peek(space, pointer, &target, sizeof target) != sizeof target)
        return 0;
    *ret_final = cairn_stream_space_find(&space->code, stub) !=
                 cairn_stream_space_find(&space->code, target);
    return target;
}

/* Where the place (file, off) is mapped in this process; 0: nowhere. */
static uint64_t va_of(const struct cairn_space *space, uint64_t file, uint64_t off)
{
    for (size_t i = 0; i < space->code.n; i++) {
        const struct cairn_stream_map *map = &space->code.maps[i];
        if (map->file == file && off - map->off < map->end - map->start)
            return map->start + (off - map->off);
    }
    return 0;
}

static void note_target(struct cairn_space *space, const struct cairn_call *call,
                        struct cairn_known_call *known)
{
    bool final;
    uint64_t target = cairn_call_target(space, call, &final);
    const struct cairn_stream_map *map =
        target && final ? cairn_stream_space_find(&space->code, target) : NULL;
    if (map && map->file) {
        known->file = map->file;
        known->off = target - map->start + map->off;
    }
}

static bool read_go_root(struct cairn_space *space, uint64_t va)
{
    uint8_t code[CAIRN_ARCH_GO_BYTES];
    return va > CAIRN_ARCH_GO_BEFORE &&
           cairn_space_peek(space, va - CAIRN_ARCH_GO_BEFORE, code, sizeof code) == sizeof code &&
           cairn_arch_go_root((struct cairn_span){code, sizeof code});
}

/* What is remembered, or read now and remembered; false where it cannot be told. */
static bool find_call(struct cairn_calls *calls, struct cairn_space *space, uint64_t ret,
                      struct cairn_known_call *ret_known)
{
    uint64_t place;
    uint32_t number;
    uint8_t byte;
    struct cairn_call call;
    struct cairn_known_call known = {0};
    bool in_file = cairn_space_place(space, ret, &place);
    bool seen = in_file && cairn_table_find(&calls->by_place, place, &number);
    if (seen && (!calls->known[number].is_call || calls->known[number].file)) {
        *ret_known = calls->known[number];
        return true;
    }
    known.is_call = cairn_call_read(space, ret, &call);
    if (known.is_call)
        note_target(space, &call, &known);
    else if (seen)
        known = calls->known[number]; /* it has ended: what was known stands */
    else if (cairn_space_peek(space, ret, &byte, 1) != 1)
        return false;
    else
        known.is_go_root = read_go_root(space, ret);
    *ret_known = known;
    if (seen)
        calls->known[number] = known;
    else if (in_file && calls->n < KNOWN_CALLS_MAX && /* a cache: a lack of memory costs little */
             cairn_grow((void **)&calls->known, &calls->cap, calls->n + 1, sizeof known) == 0 &&
             cairn_table_set(&calls->by_place, place, (uint32_t)calls->n) == 0)
        calls->known[calls->n++] = known;
    return true;
}

bool cairn_calls_end(struct cairn_calls *calls, struct cairn_space *space, uint64_t va)
{
    struct cairn_known_call known;
    if (!cairn_arch_knows_calls() || !find_call(calls, space, va, &known))
        return true; /* the process is gone, or not ours to read: the kernel's word stands */
    return known.is_call;
}

bool cairn_calls_go_root(struct cairn_calls *calls, struct cairn_space *space, uint64_t va)
{
    struct cairn_known_call known;
    return cairn_arch_knows_calls() && find_call(calls, space, va, &known) && known.is_go_root;
}

uint64_t cairn_calls_lead(struct cairn_calls *calls, struct cairn_space *space, uint64_t ret)
{
    struct cairn_known_call known;
    if (!find_call(calls, space, ret, &known) || !known.is_call || !known.file)
        return 0;
    return va_of(space, known.file, known.off);
}
