/* SPDX-License-Identifier: MIT */
#include "guest/guest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static const struct cairn_guest *const guests[] = {&cairn_guest_lua, &cairn_guest_luajit};
enum { N_GUESTS = sizeof guests / sizeof *guests };

void cairn_guest_look(const struct cairn_elf *elf, struct cairn_guest_file *ret_file)
{
    *ret_file = (struct cairn_guest_file){.state_reg = CAIRN_GUEST_NO_REG};
    for (size_t i = 0; i < N_GUESTS; i++) {
        if (guests[i]->look(elf, ret_file)) {
            ret_file->guest = guests[i];
            return;
        }
    }
}

static void begin(const struct cairn_guest_thread *thread, struct cairn_guest_result *result)
{
    result->n_frames = result->n_states = 0;
    result->n_own = thread->n_natives;
    if (result->n_own)
        memset(result->own, 0, result->n_own);
}

/* Frames with equal places stay in their order. Nearly all come sorted. */
static void sort_by_place(struct cairn_guest_result *result)
{
    for (size_t i = 1; i < result->n_frames; i++) {
        struct cairn_guest_frame frame = result->frames[i];
        size_t to = i;
        for (; to && result->frames[to - 1].place > frame.place; to--)
            result->frames[to] = result->frames[to - 1];
        result->frames[to] = frame;
    }
}

static bool has(const struct cairn_guest_thread *thread, const struct cairn_guest *guest)
{
    for (size_t i = 0; i < thread->n_modules; i++)
        if (thread->modules[i].file->guest == guest)
            return true;
    return false;
}

int cairn_guest_read(const struct cairn_guest_thread *thread, struct cairn_guest_cache *cache,
                     struct cairn_guest_result *result)
{
    int code = cairn_grow((void **)&result->own, &result->cap_own, thread->n_natives, 1);
    if (code < 0)
        return code;
    begin(thread, result);
    for (size_t i = 0; i < N_GUESTS && code == CAIRN_OK; i++)
        if (has(thread, guests[i]))
            code = guests[i]->read(thread, cache, result);
    sort_by_place(result);
    return code;
}

void cairn_guest_result_done(struct cairn_guest_result *result)
{
    cairn_strings_done(&result->strings);
    cairn_free(result->frames);
    cairn_free(result->states);
    cairn_free(result->own);
    *result = (struct cairn_guest_result){0};
}

void cairn_guest_cache_done(struct cairn_guest_cache *cache)
{
    for (size_t i = 0; i < N_GUESTS; i++)
        if (guests[i]->forget)
            guests[i]->forget(cache->of_guest[guests[i]->number]);
    *cache = (struct cairn_guest_cache){0};
}

struct cairn_guest_frame *cairn_guest_add_frame(struct cairn_guest_result *result, uint32_t state,
                                                enum cairn_guest_kind kind, uint32_t place)
{
    if (result->n_frames == CAIRN_GUEST_FRAMES_MAX ||
        cairn_grow((void **)&result->frames, &result->cap_frames, result->n_frames + 1,
                   sizeof *result->frames) < 0)
        return NULL;
    struct cairn_guest_frame *frame = &result->frames[result->n_frames++];
    *frame = (struct cairn_guest_frame){.state = state, .kind = (uint8_t)kind, .place = place};
    return frame;
}

struct cairn_guest_state *cairn_guest_add_state(struct cairn_guest_result *result, uint32_t module,
                                                uint64_t va)
{
    if (result->n_states == CAIRN_GUEST_STATES_MAX ||
        cairn_grow((void **)&result->states, &result->cap_states, result->n_states + 1,
                   sizeof *result->states) < 0)
        return NULL;
    struct cairn_guest_state *state = &result->states[result->n_states++];
    *state = (struct cairn_guest_state){.module = module, .va = va};
    return state;
}

void cairn_guest_mark_own(struct cairn_guest_result *result, size_t native)
{
    if (native < result->n_own)
        result->own[native] = 1;
}
