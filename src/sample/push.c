/* SPDX-License-Identifier: MIT */
#include "sample/push.h"

#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/alloc.h"
#include "sample/cut_words.h"
#include "sample/guest_walk.h"
#include "target/woven.h"

/* The program's own module is the first of the profile, as pprof wants it. */
static int add_program(struct cairn_collect *collect, struct cairn_space *space)
{
    for (size_t i = 0; space->code.program && i < space->code.n; i++)
        if (space->code.maps[i].path == space->code.program)
            return cairn_space_module(&collect->spaces, space, &space->code.maps[i]) == UINT32_MAX
                       ? CAIRN_E_NOMEM
                       : CAIRN_OK;
    return CAIRN_OK;
}

/* Puts a frame of the profile below `*stack`. */
static int push_number(struct cairn_collect *collect, uint32_t *stack, uint32_t number)
{
    uint32_t child = number == UINT32_MAX
                         ? UINT32_MAX
                         : cairn_profile_add_stack(collect->profile, *stack, number);
    if (child == UINT32_MAX)
        return cairn_collect_no_room(collect);
    *stack = child;
    return CAIRN_OK;
}

/* `frame->address` is as it was caught: exact, or a return address. */
static int push(struct cairn_collect *collect, uint32_t *stack, struct cairn_profile_frame frame,
                bool is_exact)
{
    frame.address =
        cairn_lookup_address(frame.address, is_exact ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN);
    return push_number(collect, stack, cairn_profile_add_frame(collect->profile, &frame, NULL, 0));
}

/* In place of frames that are not kept. Recursion is of many depths: so that the pictures and sums
 * have few of these, they tell the largest power of two that is not more. */
static int push_gap(struct cairn_collect *collect, uint32_t *stack, uint64_t n_missing)
{
    struct cairn_profile *p = collect->profile;
    const struct cairn_profile_frame frame = {.how = CAIRN_HOW_TEXT};
    char text[CAIRN_CUT_WORDS_BYTES];
    uint64_t least = 1;
    while (least <= n_missing / 2)
        least *= 2;
    int size =
        snprintf(text, sizeof text, "[%llu or more frames left out]", (unsigned long long)least);
    struct cairn_profile_function function = {.name = cairn_profile_text(p, text, (size_t)size)};
    function.system_name = function.name;
    if (function.name == UINT32_MAX)
        return cairn_collect_no_room(collect);
    const struct cairn_profile_line line = {.function = cairn_profile_add_function(p, &function)};
    if (line.function == UINT32_MAX)
        return cairn_collect_no_room(collect);
    return push_number(collect, stack, cairn_profile_add_frame(p, &frame, &line, 1));
}

/* Frame `i` of the walk. `own`: it is native code of an interpreter. */
static int push_native(struct cairn_collect *collect, struct cairn_space *space, size_t i, bool own,
                       uint32_t *stack)
{
    const struct cairn_user_walk *walk = &collect->walk;
    struct cairn_profile_frame frame = {
        .address = walk->addresses[i],
        .what = CAIRN_WHAT_NATIVE,
        .how = walk->how[i],
        .own = own,
    };
    struct cairn_stream_map *map = cairn_stream_space_find(&space->code, frame.address);
    frame.module = map ? cairn_space_module(&collect->spaces, space, map) : 0;
    if (frame.module == UINT32_MAX)
        return cairn_collect_no_room(collect);
    if (map)
        frame.address = cairn_stream_va(collect->profile, map, frame.address);
    return push(collect, stack, frame, walk->exact[i]);
}

static int push_user(struct cairn_collect *collect, struct cairn_space *space, uint32_t *stack)
{
    const struct cairn_user_walk *walk = &collect->walk;
    int code = CAIRN_OK;
    for (size_t i = walk->n; i-- > 0 && code == CAIRN_OK;) {
        code = push_native(collect, space, i, false, stack);
        if (code == CAIRN_OK && walk->n_missing && i == walk->gap_at)
            code = push_gap(collect, stack, walk->n_missing);
    }
    return code;
}

/* The list is innermost first, a stack of the profile begins at its root. */
struct woven_list {
    struct cairn_woven *items;
    size_t n, cap;
};

static int keep_woven(void *ctx, const struct cairn_woven *woven)
{
    struct woven_list *list = ctx;
    if (cairn_grow((void **)&list->items, &list->cap, list->n + 1, sizeof *list->items) < 0)
        return CAIRN_E_NOMEM;
    list->items[list->n++] = *woven;
    return CAIRN_OK;
}

static int push_woven(struct cairn_collect *collect, struct cairn_space *space,
                      const struct cairn_guest_walk *guests, uint32_t *stack)
{
    struct woven_list list = {0};
    int code = cairn_target_guests_weave(&guests->guests, collect->profile, keep_woven, &list);
    if (code == CAIRN_E_LIMIT)
        code = CAIRN_COLLECT_FULL;
    for (size_t i = list.n; i-- > 0 && code == CAIRN_OK;) {
        const struct cairn_woven *woven = &list.items[i];
        code = woven->frame ? push_number(collect, stack, woven->number)
                            : push_native(collect, space, woven->native, woven->own, stack);
    }
    cairn_free(list.items);
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
    for (size_t i = caught->n_kernel; i-- > 0 && code == CAIRN_OK;) {
        const struct cairn_profile_frame frame = {
            .address = caught->kernel[i],
            .module = collect->kernel_module,
            .what = CAIRN_WHAT_KERNEL,
            .how = CAIRN_HOW_KERNEL,
        };
        code = push(collect, stack, frame, i == 0);
    }
    return code;
}

int cairn_collect_push(struct cairn_collect *collect, struct cairn_space *space,
                       const struct cairn_sampled *caught, uint32_t *stack)
{
    int code = CAIRN_OK;
    if (collect->profile->n_modules <= 1 && !collect->profile->closed)
        code = add_program(collect, space);
    if (code == CAIRN_OK && caught->guests && cairn_guest_walk_is_woven(caught->guests))
        code = push_woven(collect, space, caught->guests, stack);
    else if (code == CAIRN_OK)
        code = push_user(collect, space, stack);
    return code == CAIRN_OK ? push_kernel(collect, caught, stack) : code;
}
