/* SPDX-License-Identifier: MIT */
#include "trace/timeline.h"

#include <stdio.h>

#include "sample/labels.h"

enum {
    ARGS_MAX = sizeof((struct cairn_trace_event *)NULL)->arg_names / sizeof(const char *),
    OWNER_LABELS_MAX = 12, /* of cairn_collect_put_labels() */
    KEY_BYTES = 64
};
_Static_assert(OWNER_LABELS_MAX + ARGS_MAX + 1 <= CAIRN_LABEL_LIST_MAX, "a list holds all labels");

/* Whose event it is. The name of the thread is the one that it had then. */
static bool put_owner(struct cairn_collect *collect, const struct cairn_trace_event *event,
                      const struct cairn_collected *stack, struct cairn_label_list *list)
{
    const struct cairn_collect_more more = {0};
    struct cairn_collected who = *stack;
    who.pid = event->pid;
    who.tid = event->tid;
    if (*event->comm && cairn_collect_name(collect, event->tid, event->comm) < 0)
        return false;
    cairn_collect_put_labels(collect, &who, &more, list);
    return true;
}

static void put_details(const struct cairn_trace_event *event, struct cairn_label_list *list)
{
    char key[KEY_BYTES];
    for (uint32_t i = 0; i < event->n_args && i < ARGS_MAX; i++) {
        snprintf(key, sizeof key, CAIRN_TIMELINE_ARG "%s", event->arg_names[i]);
        cairn_label_list_text(list, key, event->arg_texts[i]);
    }
    if (event->has_result)
        cairn_label_list_text(list, "result", event->result_text);
}

int cairn_timeline_add(struct cairn_collect *collect, const struct cairn_trace_event *event,
                       const struct cairn_collected *stack)
{
    struct cairn_profile *p = collect->profile;
    struct cairn_label_list list = {.profile = p};
    if (p->n_markers >= CAIRN_TIMELINE_MAX)
        return CAIRN_E_LIMIT;
    uint32_t name = cairn_profile_text(p, event->name, strlen(event->name));
    if (name == UINT32_MAX || !put_owner(collect, event, stack, &list))
        return CAIRN_E_NOMEM;
    put_details(event, &list);
    const struct cairn_profile_marker marker = {
        .name = name,
        .stack = stack->stack,
        .labels = cairn_label_list_add(&list, stack->cut, (int64_t)event->time_ns),
        .duration_ns = (int64_t)event->duration_ns};
    return marker.labels == UINT32_MAX || cairn_profile_add_marker(p, &marker) == UINT32_MAX
               ? CAIRN_E_NOMEM
               : CAIRN_OK;
}
