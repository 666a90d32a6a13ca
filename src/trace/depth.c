/* SPDX-License-Identifier: MIT */
#include "trace/depth.h"

#include "base/alloc.h"

static const char why[] = "more than --depth frames";

void cairn_depth_done(struct cairn_depth *depth)
{
    cairn_table_done(&depth->known);
    *depth = (struct cairn_depth){0};
}

/* The same stack where it has no more frames. UINT32_MAX: memory is gone. */
static uint32_t shorten(const struct cairn_depth *depth, struct cairn_profile *p, uint32_t stack)
{
    uint32_t *frames = cairn_alloc(depth->max, sizeof *frames), n = 0, at = stack;
    if (!frames)
        return UINT32_MAX;
    for (; at && n < depth->max; at = p->stacks[at].parent)
        frames[n++] = p->stacks[at].frame;
    if (at) {
        for (stack = 0; n > 0 && stack != UINT32_MAX; n--)
            stack = cairn_profile_add_stack(p, stack, frames[n - 1]);
    }
    cairn_free(frames);
    return stack;
}

int cairn_depth_cut(struct cairn_depth *depth, struct cairn_profile *profile,
                    const struct cairn_collected *stack, struct cairn_collected *ret_stack)
{
    struct cairn_collected got = *stack;
    if (!depth->max || !stack->stack) {
        *ret_stack = got;
        return CAIRN_OK;
    }
    if (!depth->cut)
        depth->cut = cairn_profile_text(profile, why, sizeof why - 1);
    if (!cairn_table_find(&depth->known, stack->stack, &got.stack)) {
        got.stack = shorten(depth, profile, stack->stack);
        if (depth->cut == UINT32_MAX || got.stack == UINT32_MAX ||
            cairn_table_set(&depth->known, stack->stack, got.stack) < 0)
            return CAIRN_E_NOMEM;
    }
    if (got.stack != stack->stack && !got.cut)
        got.cut = depth->cut;
    *ret_stack = got;
    return CAIRN_OK;
}
