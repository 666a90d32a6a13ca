/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/alloc.h"
#include "cli/stack.h"

static struct cli_stack_group *group_of(struct cli_stack_groups *groups,
                                        const struct cairn_snapshot_thread *thread)
{
    for (size_t i = 0; i < groups->n; i++)
        if (groups->items[i].stack == thread->stack)
            return &groups->items[i];
    if (cairn_grow((void **)&groups->items, &groups->cap, groups->n + 1, sizeof *groups->items) < 0)
        return NULL;
    struct cli_stack_group *group = &groups->items[groups->n];
    *group = (struct cli_stack_group){.stack = thread->stack, .name = cairn_strdup(thread->name)};
    if (!group->name)
        return NULL;
    groups->n++;
    return group;
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
        struct cli_stack_group *group = group_of(groups, &thread);
        if (!group || !add_tid(group, thread.tid))
            return false;
        group->n_seen++;
        groups->n_seen++;
    }
    return true;
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
    for (size_t i = 0; i < groups->n; i++) {
        cairn_free(groups->items[i].tids);
        cairn_free(groups->items[i].name);
    }
    cairn_free(groups->items);
    *groups = (struct cli_stack_groups){0};
}
