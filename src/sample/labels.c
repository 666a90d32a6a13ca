/* SPDX-License-Identifier: MIT */
#include "sample/labels.h"

#include "stream/name.h"

int cairn_collect_name(struct cairn_collect *collect, int tid, const char *name)
{
    if (collect->profile->closed == CAIRN_PROFILE_NO_SAMPLES) /* nobody will ask for it */
        return CAIRN_OK;
    return cairn_stream_set_name(&collect->spaces.all.names, collect->profile, tid, name);
}

/* A string of the profile; 0: it has no name, or memory is gone. */
static uint32_t name_of(struct cairn_collect *collect, int pid, int tid)
{
    uint32_t text;
    char name[CAIRN_COMM_SIZE];
    if (cairn_table_find(&collect->spaces.all.names, (uint64_t)tid, &text))
        return text;
    cairn_thread_name(pid, tid, name);
    if (cairn_collect_name(collect, tid, name) < 0 ||
        !cairn_table_find(&collect->spaces.all.names, (uint64_t)tid, &text))
        return 0;
    return text;
}

const char *cairn_collect_thread_name(struct cairn_collect *collect, int pid, int tid)
{
    return cairn_strings_get(&collect->profile->strings, name_of(collect, pid, tid));
}

void cairn_collect_put_labels(struct cairn_collect *collect, const struct cairn_collected *of,
                              const struct cairn_collect_more *more, struct cairn_label_list *list)
{
    cairn_label_list_number(list, "pid", of->pid);
    cairn_label_list_number(list, "tid", of->tid);
    cairn_label_list_string(list, "process", name_of(collect, of->pid, of->pid));
    cairn_label_list_string(list, "thread", name_of(collect, of->pid, of->tid));
    cairn_label_list_string(list, "cgroup", of->cgroup);
    cairn_label_list_text(list, CAIRN_PROFILE_GUEST_LABEL, of->doubt);
    cairn_label_list_text(list, "lua.vmstate", of->mode);
    cairn_label_list_text(list, "off_cpu", more->off_cpu);
    cairn_label_list_text(list, "woken_by", more->waker);
    cairn_label_list_text(list, "syscall", more->syscall);
    cairn_label_list_text(list, "event", more->event);
    if (more->waker_pid)
        cairn_label_list_number(list, "woken_by_pid", more->waker_pid);
}

uint32_t cairn_collect_labels(struct cairn_collect *collect, const struct cairn_collected *of,
                              const struct cairn_collect_more *more)
{
    struct cairn_label_list list = {.profile = collect->profile};
    int64_t time_ns = collect->has_times ? (int64_t)(more->time_ns + collect->to_real_ns) : 0;
    cairn_collect_put_labels(collect, of, more, &list);
    return cairn_label_list_add(&list, of->cut, time_ns);
}
