/* SPDX-License-Identifier: MIT */
#include "trace/timeline.h"

#include <stdio.h>

#include "sample/labels.h"

enum {
    ARGS_MAX = sizeof((struct cairn_trace_event *)NULL)->arg_names / sizeof(const char *),
    LABELS_MAX = 16 + ARGS_MAX,
    KEY_BYTES = 64
};

static bool set_text(struct cairn_profile *p, struct cairn_profile_label *label, const char *key,
                     const char *text)
{
    *label = (struct cairn_profile_label){.key = cairn_profile_text(p, key, strlen(key)),
                                          .text = cairn_profile_text(p, text, strlen(text))};
    return label->key != UINT32_MAX && label->text != UINT32_MAX;
}

/* Whose event it is. The name of the thread is the one that it had then. */
static uint32_t take_owner(struct cairn_collect *collect, const struct cairn_trace_event *event,
                           const struct cairn_collected *stack, struct cairn_profile_label *labels,
                           uint32_t *ret_n)
{
    const struct cairn_collect_more more = {0};
    struct cairn_collected who = *stack;
    who.pid = event->pid;
    who.tid = event->tid;
    if (*event->comm && cairn_collect_name(collect, event->tid, event->comm) < 0)
        return UINT32_MAX;
    uint32_t number = cairn_collect_labels(collect, &who, &more);
    if (number == UINT32_MAX)
        return number;
    const struct cairn_profile_label_set *set = &collect->profile->label_sets[number];
    uint32_t n = set->n < LABELS_MAX - ARGS_MAX - 1 ? set->n : LABELS_MAX - ARGS_MAX - 1;
    memcpy(labels, collect->profile->labels + set->first, n * sizeof *labels);
    *ret_n = n;
    return number;
}

static bool take_details(struct cairn_profile *p, const struct cairn_trace_event *event,
                         struct cairn_profile_label *labels, uint32_t *io_n)
{
    char key[KEY_BYTES];
    bool ok = true;
    for (uint32_t i = 0; i < event->n_args && i < ARGS_MAX && ok; i++) {
        snprintf(key, sizeof key, CAIRN_TIMELINE_ARG "%s", event->arg_names[i]);
        if (*event->arg_texts[i])
            ok = set_text(p, &labels[(*io_n)++], key, event->arg_texts[i]);
    }
    if (event->has_result && *event->result_text)
        ok = ok && set_text(p, &labels[(*io_n)++], "result", event->result_text);
    return ok;
}

int cairn_timeline_add(struct cairn_collect *collect, const struct cairn_trace_event *event,
                       const struct cairn_collected *stack)
{
    struct cairn_profile *p = collect->profile;
    struct cairn_profile_label labels[LABELS_MAX];
    uint32_t n = 0;
    if (p->n_markers >= CAIRN_TIMELINE_MAX)
        return CAIRN_E_LIMIT;
    uint32_t name = cairn_profile_text(p, event->name, strlen(event->name));
    if (name == UINT32_MAX || take_owner(collect, event, stack, labels, &n) == UINT32_MAX ||
        !take_details(p, event, labels, &n))
        return CAIRN_E_NOMEM;
    const struct cairn_profile_marker marker = {
        .name = name,
        .stack = stack->stack,
        .labels = cairn_profile_add_label_set(p, labels, n, stack->cut, (int64_t)event->time_ns),
        .duration_ns = (int64_t)event->duration_ns};
    return marker.labels == UINT32_MAX || cairn_profile_add_marker(p, &marker) == UINT32_MAX
               ? CAIRN_E_NOMEM
               : CAIRN_OK;
}
