/* SPDX-License-Identifier: MIT */
/* Views of stacks with frames of an interpreter: its own native frames, or its frames, are taken
 * out. */
#include "base/alloc.h"
#include "base/error.h"
#include "profile/index.h"

static bool is_guest(const struct cairn_profile_frame *frame)
{
    return frame->what == CAIRN_WHAT_INTERPRETED;
}

static bool has_guests(const struct cairn_profile *p)
{
    for (size_t i = 1; i < p->n_frames; i++)
        if (p->frames[i].own || is_guest(&p->frames[i]))
            return true;
    return false;
}

/* By stack: is a frame of an interpreter on it? Stacks that lead to one are told with it. NULL:
 * memory is gone. */
static bool *find_stacks(const struct cairn_profile *p)
{
    bool *found = cairn_alloc(p->n_stacks, sizeof *found);
    for (size_t i = 1; found && i < p->n_stacks; i++)
        found[i] = found[p->stacks[i].parent] || is_guest(&p->frames[p->stacks[i].frame]);
    return found;
}

/* The stack `of` as it is seen; UINT32_MAX: memory is gone. `frames` has room. */
static uint32_t seen(struct cairn_profile *p, uint32_t of, enum cairn_guest_view view,
                     bool has_guest, uint32_t *frames)
{
    size_t n = 0;
    uint32_t stack = 0;
    for (; of; of = p->stacks[of].parent) {
        const struct cairn_profile_frame *frame = &p->frames[p->stacks[of].frame];
        if (cairn_guest_shows(view, is_guest(frame), frame->own, has_guest))
            frames[n++] = p->stacks[of].frame;
    }
    while (n-- > 0 && stack != UINT32_MAX)
        stack = cairn_profile_add_stack(p, stack, frames[n]);
    return stack;
}

static size_t depth_max(const struct cairn_profile *p)
{
    size_t max = 0;
    for (size_t i = 0; i < p->n_samples + p->n_markers; i++) {
        size_t depth = cairn_profile_stack(p, *cairn_profile_stack_of(p, i), NULL, 0);
        max = depth > max ? depth : max;
    }
    return max;
}

/* The stacks of all samples as they are seen, by number of the sample, then those of markers. */
static bool see_all(struct cairn_profile *p, enum cairn_guest_view view, const bool *has_guest,
                    uint32_t *stacks)
{
    uint32_t *frames = cairn_alloc(depth_max(p) + 1, sizeof *frames);
    bool ok = frames != NULL;
    for (size_t i = 0; ok && i < p->n_samples + p->n_markers; i++) {
        uint32_t of = *cairn_profile_stack_of(p, i);
        if (i && of == *cairn_profile_stack_of(p, i - 1))
            stacks[i] = stacks[i - 1];
        else
            stacks[i] = seen(p, of, view, has_guest[of], frames);
        ok = stacks[i] != UINT32_MAX;
    }
    cairn_free(frames);
    return ok;
}

int cairn_profile_view_guests(struct cairn_profile *p, enum cairn_guest_view view,
                              struct cairn_err *err)
{
    if (view == CAIRN_GUEST_ALL || !has_guests(p))
        return CAIRN_OK;
    bool *has_guest = find_stacks(p);
    uint32_t *stacks = cairn_alloc(p->n_samples + p->n_markers + 1, sizeof *stacks);
    bool ok = has_guest && stacks && see_all(p, view, has_guest, stacks);
    for (size_t i = 0; ok && i < p->n_samples + p->n_markers; i++)
        *cairn_profile_stack_of(p, i) = stacks[i];
    if (ok)
        cairn_profile_forget_samples(p);
    cairn_free(has_guest);
    cairn_free(stacks);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}
