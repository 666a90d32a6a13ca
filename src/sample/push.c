/* SPDX-License-Identifier: MIT */
#include "sample/push.h"

#include <stdio.h>

#include "base/alloc.h"
#include "sample/cut_words.h"
#include "sample/guest_walk.h"
#include "target/woven.h"

struct pushing {
    struct cairn_collect *collect;
    struct cairn_space *space;
};

static uint32_t module_of(void *ctx, struct cairn_stream_map *map)
{
    const struct pushing *of = ctx;
    return cairn_space_module(&of->collect->spaces, of->space, map);
}

/* In place of frames that are not kept. Recursion is of many depths: so that the pictures and sums
 * have few of these, they tell the largest power of two that is not more. */
static struct cairn_stream_frame gap_of(struct cairn_profile *profile, uint64_t n_missing)
{
    char text[CAIRN_CUT_WORDS_BYTES];
    uint64_t least = 1;
    while (least <= n_missing / 2)
        least *= 2;
    snprintf(text, sizeof text, "[%llu or more frames left out]", (unsigned long long)least);
    return (struct cairn_stream_frame){.number = cairn_stream_named_frame(profile, text)};
}

static bool push_user(const struct cairn_stream_sink *to, const struct cairn_space *space,
                      const struct cairn_user_walk *walk, uint32_t *stack)
{
    size_t inner = walk->n_missing && walk->gap_at < walk->n ? walk->gap_at : 0;
    if (!cairn_stream_push(to, &space->code, walk->frames + inner, walk->n - inner, stack))
        return false;
    if (!inner)
        return true;
    const struct cairn_stream_frame gap = gap_of(to->profile, walk->n_missing);
    return cairn_stream_push(to, &space->code, &gap, 1, stack) &&
           cairn_stream_push(to, &space->code, walk->frames, inner, stack);
}

struct woven_list {
    const struct cairn_user_walk *walk;
    struct cairn_stream_frame *frames;
    size_t n, cap;
};

static int keep_woven(void *ctx, const struct cairn_woven *woven)
{
    struct woven_list *list = ctx;
    struct cairn_stream_frame frame = {.number = woven->number};
    if (cairn_grow((void **)&list->frames, &list->cap, list->n + 1, sizeof *list->frames) < 0)
        return CAIRN_E_NOMEM;
    if (!woven->frame) {
        frame = list->walk->frames[woven->native];
        frame.own = woven->own;
    }
    list->frames[list->n++] = frame;
    return CAIRN_OK;
}

static int push_woven(struct cairn_collect *collect, const struct cairn_stream_sink *to,
                      const struct cairn_space *space, const struct cairn_guest_walk *guests,
                      uint32_t *stack)
{
    struct woven_list list = {.walk = &collect->walk};
    int code = cairn_target_guests_weave(&guests->guests, collect->profile, keep_woven, &list);
    if (code == CAIRN_E_LIMIT)
        code = CAIRN_COLLECT_FULL;
    if (code == CAIRN_OK && !cairn_stream_push(to, &space->code, list.frames, list.n, stack))
        code = cairn_collect_no_room(collect);
    cairn_free(list.frames);
    return code;
}

static int add_kernel(struct cairn_collect *collect)
{
    cairn_running_kernel(&collect->kernel);
    uint32_t number =
        cairn_profile_add_kernel(collect->profile, collect->kernel.text, collect->kernel.build_id);
    if (number == UINT32_MAX)
        return cairn_collect_no_room(collect);
    collect->kernel_module = number;
    return CAIRN_OK;
}

static int push_kernel(struct cairn_collect *collect, const struct cairn_sampled *caught,
                       uint32_t *stack)
{
    int code = caught->n_kernel && !collect->kernel_module ? add_kernel(collect) : CAIRN_OK;
    for (size_t i = caught->n_kernel; i-- > 0 && code == CAIRN_OK;)
        if (!cairn_stream_push_kernel(collect->profile, caught->kernel[i], i == 0,
                                      collect->kernel_module, 0, stack))
            code = cairn_collect_no_room(collect);
    return code;
}

int cairn_collect_push(struct cairn_collect *collect, struct cairn_space *space,
                       const struct cairn_sampled *caught, uint32_t *stack)
{
    struct pushing of = {collect, space};
    const struct cairn_stream_sink to = {collect->profile, module_of, &of};
    bool is_first = collect->profile->n_modules <= 1 && !collect->profile->closed;
    if (is_first && !cairn_stream_add_program(&to, &space->code))
        return CAIRN_E_NOMEM;
    int code = CAIRN_OK;
    if (caught->guests && cairn_guest_walk_is_woven(caught->guests))
        code = push_woven(collect, &to, space, caught->guests, stack);
    else if (!push_user(&to, space, &collect->walk, stack))
        code = cairn_collect_no_room(collect);
    return code == CAIRN_OK ? push_kernel(collect, caught, stack) : code;
}
