/* SPDX-License-Identifier: MIT */
#include "stream/push.h"

#include "stream/module.h"

_Static_assert(sizeof(struct cairn_stream_frame) == 16, "frames are hashed by their bytes");

static uint32_t module_of(const struct cairn_stream_sink *to, struct cairn_stream_map *map)
{
    return map->module ? map->module : to->module(to->ctx, map);
}

static bool push(struct cairn_profile *profile, uint32_t number, uint32_t *stack)
{
    uint32_t child =
        number == UINT32_MAX ? UINT32_MAX : cairn_profile_add_stack(profile, *stack, number);
    if (child == UINT32_MAX)
        return false;
    *stack = child;
    return true;
}

uint32_t cairn_stream_frame_number(const struct cairn_stream_sink *to,
                                   const struct cairn_stream_space *space,
                                   const struct cairn_stream_frame *walked)
{
    if (walked->number)
        return walked->number;
    struct cairn_profile_frame frame = {
        .what = walked->what, .how = walked->how, .own = walked->own};
    frame.address = cairn_stream_lookup(walked);
    struct cairn_stream_map *map = space ? cairn_stream_space_find(space, frame.address) : NULL;
    frame.module = map ? module_of(to, map) : 0;
    if (frame.module == UINT32_MAX)
        return UINT32_MAX;
    if (map)
        frame.address = cairn_stream_va(to->profile, map, frame.address);
    return cairn_profile_add_frame(to->profile, &frame, NULL, 0);
}

bool cairn_stream_push(const struct cairn_stream_sink *to, const struct cairn_stream_space *space,
                       const struct cairn_stream_frame *frames, size_t n, uint32_t *stack)
{
    while (n-- > 0)
        if (!push(to->profile, cairn_stream_frame_number(to, space, &frames[n]), stack))
            return false;
    return true;
}

/* UINT32_MAX: memory is gone, or the profile takes no more. */
static uint32_t add_named(struct cairn_profile *profile, const struct cairn_profile_frame *frame,
                          uint32_t name)
{
    const struct cairn_profile_function function = {.name = name, .system_name = name};
    const struct cairn_profile_line line = {
        .function = name ? cairn_profile_add_function(profile, &function) : 0};
    return line.function == UINT32_MAX ? UINT32_MAX
                                       : cairn_profile_add_frame(profile, frame, &line, name != 0);
}

uint32_t cairn_stream_kernel_frame(struct cairn_profile *profile, uint64_t va, bool is_exact,
                                   uint32_t module, uint32_t name)
{
    const struct cairn_profile_frame frame = {
        .address = cairn_lookup_address(va, is_exact ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN),
        .module = module,
        .what = CAIRN_WHAT_KERNEL,
        .how = CAIRN_HOW_KERNEL,
    };
    return module == UINT32_MAX ? UINT32_MAX : add_named(profile, &frame, name);
}

bool cairn_stream_push_kernel(struct cairn_profile *profile, uint64_t va, bool is_exact,
                              uint32_t module, uint32_t name, uint32_t *stack)
{
    return push(profile, cairn_stream_kernel_frame(profile, va, is_exact, module, name), stack);
}

uint32_t cairn_stream_named_frame(struct cairn_profile *profile, const char *name)
{
    const struct cairn_profile_frame frame = {.how = CAIRN_HOW_TEXT};
    uint32_t text = cairn_profile_text(profile, name, strlen(name));
    return text == UINT32_MAX ? UINT32_MAX : add_named(profile, &frame, text);
}

bool cairn_stream_add_program(const struct cairn_stream_sink *to,
                              const struct cairn_stream_space *space)
{
    for (size_t i = 0; space->program && i < space->n; i++)
        if (space->maps[i].path == space->program)
            return module_of(to, &space->maps[i]) != UINT32_MAX;
    return true;
}
