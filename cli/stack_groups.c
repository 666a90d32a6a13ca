/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/stack.h"

static bool is_of(const struct cli_stack_group *group, const struct cairn_snapshot_thread *thread)
{
    return group->stack == thread->stack && group->is_walked == (thread->has_regs != 0) &&
           group->end == thread->end;
}

static bool keep_frames(struct cli_stack_group *group, const struct cairn_snapshot *snapshot,
                        size_t number, uint32_t n)
{
    group->frames = cairn_alloc(n ? n : 1, sizeof *group->frames);
    if (!group->frames)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        group->frames[i].size = sizeof *group->frames;
        if (cairn_snapshot_frame(snapshot, number, i, &group->frames[i]) < 0)
            break;
        group->n_frames++;
    }
    return true;
}

static void group_done(struct cli_stack_group *group)
{
    cairn_free(group->tids);
    cairn_free(group->name);
    cairn_free(group->reason);
    cairn_free(group->end_detail);
    cairn_free(group->frames);
}

static struct cli_stack_group *group_of(struct cli_stack_groups *groups,
                                        const struct cairn_snapshot *snapshot, size_t number,
                                        const struct cairn_snapshot_thread *thread)
{
    for (size_t i = 0; i < groups->n; i++)
        if (is_of(&groups->items[i], thread))
            return &groups->items[i];
    if (cairn_grow((void **)&groups->items, &groups->cap, groups->n + 1, sizeof *groups->items) < 0)
        return NULL;
    struct cli_stack_group *group = &groups->items[groups->n];
    *group = (struct cli_stack_group){.stack = thread->stack,
                                      .end = thread->end,
                                      .is_walked = thread->has_regs != 0,
                                      .name = cairn_strdup(thread->name),
                                      .reason = cairn_strdup(thread->reason),
                                      .end_detail = cairn_strdup(thread->end_detail)};
    if (!group->name || !group->reason || !group->end_detail ||
        (groups->keeps_frames && !keep_frames(group, snapshot, number, thread->n_frames))) {
        group_done(group);
        return NULL;
    }
    groups->n++;
    return group;
}

static void count_thread(struct cli_stack_group *group, const struct cairn_snapshot_thread *thread)
{
    group->n_seen++;
    if ((unsigned)thread->way < CLI_STACK_WAYS)
        group->n_by_way[thread->way]++;
    if (thread->held_ns > group->held_max_ns)
        group->held_max_ns = thread->held_ns;
    group->has_other_names |= strcmp(group->name, thread->name) != 0;
}

static bool add_tid(struct cli_stack_group *group, int tid)
{
    for (size_t i = 0; i < group->n_tids; i++)
        if (group->tids[i] == tid)
            return true;
    if (cairn_grow((void **)&group->tids, &group->cap_tids, group->n_tids + 1,
                   sizeof *group->tids) < 0)
        return false;
    group->tids[group->n_tids++] = tid;
    return true;
}

bool cli_stack_count(struct cli_stack_groups *groups, const struct cairn_snapshot *snapshot)
{
    groups->n_takes++;
    for (size_t i = 0; i < cairn_snapshot_threads(snapshot); i++) {
        struct cairn_snapshot_thread thread = {.size = sizeof thread};
        if (cairn_snapshot_thread(snapshot, i, &thread) < 0)
            continue;
        struct cli_stack_group *group = group_of(groups, snapshot, i, &thread);
        if (!group || !add_tid(group, thread.tid))
            return false;
        count_thread(group, &thread);
        groups->n_seen++;
    }
    return true;
}

uint32_t *cli_stack_group_frames(const struct cairn_profile *profile,
                                 const struct cli_stack_group *group, uint32_t *ret_n)
{
    size_t n = group->stack ? cairn_profile_stack(profile, group->stack, NULL, 0) : 0;
    if (group->frames && group->n_frames < n)
        n = group->n_frames;
    uint32_t *frames = cairn_alloc(n + 1, sizeof *frames);
    if (frames && n)
        cairn_profile_stack(profile, group->stack, frames, n);
    *ret_n = (uint32_t)n;
    return frames;
}

uint32_t *cli_stack_source_frames(const struct cli_stack_source *source)
{
    uint32_t *frames = cairn_alloc(source->n_frames + 1, sizeof *frames);
    for (uint32_t k = 0; frames && k < source->n_frames; k++) {
        struct cairn_snapshot_frame frame = {.size = sizeof frame};
        (void)source->get(source->snapshot, source->index, k, &frame);
        frames[k] = frame.frame;
    }
    return frames;
}

static int compare(const void *a, const void *b)
{
    const struct cli_stack_group *x = a, *y = b;
    if (x->n_seen != y->n_seen)
        return x->n_seen < y->n_seen ? 1 : -1;
    return x->tids[0] < y->tids[0] ? -1 : x->tids[0] > y->tids[0];
}

void cli_stack_sort(struct cli_stack_groups *groups)
{
    if (groups->n)
        qsort(groups->items, groups->n, sizeof *groups->items, compare);
}

void cli_stack_groups_done(struct cli_stack_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        group_done(&groups->items[i]);
    cairn_free(groups->items);
    *groups = (struct cli_stack_groups){0};
}
