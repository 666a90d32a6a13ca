/* SPDX-License-Identifier: MIT */
/* What samples and markers of a profile reach: after a filter that is less than what is there. */
#include "base/alloc.h"
#include "profile/profile.h"

/* Parents have smaller numbers than their children. */
static void mark(const struct cairn_profile *p, struct cairn_profile_reach *reach)
{
    for (size_t i = 0; i < p->n_samples + p->n_markers; i++)
        reach->stacks[*cairn_profile_stack_of(p, i)] = true;
    for (size_t i = p->n_stacks; i-- > 1;) {
        if (!reach->stacks[i])
            continue;
        reach->stacks[p->stacks[i].parent] = true;
        reach->frames[p->stacks[i].frame] = true;
    }
    for (size_t i = 1; i < p->n_frames; i++) {
        const struct cairn_profile_frame *frame = &p->frames[i];
        if (!reach->frames[i])
            continue;
        reach->modules[frame->module] = true;
        for (uint32_t k = 0; k < frame->n_lines; k++)
            reach->functions[p->lines[frame->lines + k].function] = true;
    }
}

bool cairn_profile_reach(const struct cairn_profile *p, struct cairn_profile_reach *ret_reach)
{
    struct cairn_profile_reach reach = {
        .stacks = cairn_alloc(p->n_stacks, sizeof(bool)),
        .frames = cairn_alloc(p->n_frames, sizeof(bool)),
        .functions = cairn_alloc(p->n_functions, sizeof(bool)),
        .modules = cairn_alloc(p->n_modules, sizeof(bool)),
    };
    if (!reach.stacks || !reach.frames || !reach.functions || !reach.modules) {
        cairn_profile_reach_done(&reach);
        return false;
    }
    mark(p, &reach);
    *ret_reach = reach;
    return true;
}

void cairn_profile_reach_done(struct cairn_profile_reach *reach)
{
    cairn_free(reach->stacks);
    cairn_free(reach->frames);
    cairn_free(reach->functions);
    cairn_free(reach->modules);
    *reach = (struct cairn_profile_reach){0};
}
