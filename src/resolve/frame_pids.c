/* SPDX-License-Identifier: MIT */
#include "resolve/frame_pids.h"

#include "base/alloc.h"
#include "base/error.h"

static int32_t joined(int32_t before, int32_t pid)
{
    return before == CAIRN_FRAME_PID_NONE || before == pid ? pid : CAIRN_FRAME_PID_MANY;
}

/* Of a sample or a marker. */
static int32_t pid_of(const struct cairn_profile *p, size_t i)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, *cairn_profile_set_of(p, i), "pid");
    bool sound = label && !label->text && label->number > 0 && label->number <= INT32_MAX;
    return sound ? (int32_t)label->number : CAIRN_FRAME_PID_NONE;
}

/* A parent's number is smaller than its child's: one pass from the last stack to the first hands
 * each one's pid on towards the root. */
int cairn_frame_pids(const struct cairn_profile *p, int32_t **ret_pids, struct cairn_err *err)
{
    int32_t *of_stack = cairn_alloc(p->n_stacks + 1, sizeof *of_stack);
    int32_t *of_frame = cairn_alloc(p->n_frames + 1, sizeof *of_frame);
    if (!of_stack || !of_frame) {
        cairn_free(of_stack);
        cairn_free(of_frame);
        return cairn_fail_memory(err);
    }
    for (size_t i = 0; i < p->n_samples + p->n_markers; i++) {
        int32_t pid = pid_of(p, i), *of = &of_stack[*cairn_profile_stack_of(p, i)];
        if (pid != CAIRN_FRAME_PID_NONE)
            *of = joined(*of, pid);
    }
    for (size_t i = p->n_stacks; i-- > 1;) {
        const struct cairn_profile_stack *stack = &p->stacks[i];
        if (of_stack[i] == CAIRN_FRAME_PID_NONE)
            continue;
        of_frame[stack->frame] = joined(of_frame[stack->frame], of_stack[i]);
        of_stack[stack->parent] = joined(of_stack[stack->parent], of_stack[i]);
    }
    cairn_free(of_stack);
    *ret_pids = of_frame;
    return CAIRN_OK;
}
