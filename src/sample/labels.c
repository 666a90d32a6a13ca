/* SPDX-License-Identifier: MIT */
#include "sample/labels.h"

#include "stream/name.h"

enum { LABELS_MAX = 12 };

int cairn_collect_name(struct cairn_collect *collect, int tid, const char *name)
{
    if (collect->profile->closed == CAIRN_PROFILE_NO_SAMPLES) /* nobody will ask for it */
        return CAIRN_OK;
    return cairn_stream_set_name(&collect->names, collect->profile, tid, name);
}

static bool set_key(struct cairn_collect *collect, struct cairn_profile_label *label,
                    const char *key)
{
    label->key = cairn_profile_text(collect->profile, key, strlen(key));
    return label->key != UINT32_MAX;
}

static bool set_text(struct cairn_collect *collect, struct cairn_profile_label *label,
                     const char *key, const char *text)
{
    label->text = cairn_profile_text(collect->profile, text, strlen(text));
    return label->text != UINT32_MAX && set_key(collect, label, key);
}

static bool set_number(struct cairn_collect *collect, struct cairn_profile_label *label,
                       const char *key, int64_t number)
{
    label->number = number;
    return set_key(collect, label, key);
}

static const char *name_of(struct cairn_collect *collect, int pid, int tid)
{
    uint32_t text;
    char name[CAIRN_COMM_SIZE];
    if (!cairn_table_find(&collect->names, (uint64_t)tid, &text)) {
        cairn_thread_name(pid, tid, name);
        if (cairn_collect_name(collect, tid, name) < 0 ||
            !cairn_table_find(&collect->names, (uint64_t)tid, &text))
            return "";
    }
    return cairn_strings_get(&collect->profile->strings, text);
}

uint32_t cairn_collect_labels(struct cairn_collect *collect, const struct cairn_collected *of,
                              const struct cairn_collect_more *more)
{
    struct cairn_profile_label labels[LABELS_MAX] = {0};
    uint32_t n = 0;
    const char *process = name_of(collect, of->pid, of->pid);
    const char *thread = name_of(collect, of->pid, of->tid);
    bool ok = set_number(collect, &labels[n++], "pid", of->pid) &&
              set_number(collect, &labels[n++], "tid", of->tid);
    if (*process)
        ok = ok && set_text(collect, &labels[n++], "process", process);
    if (*thread)
        ok = ok && set_text(collect, &labels[n++], "thread", thread);
    if (of->cgroup) {
        labels[n].text = of->cgroup;
        ok = ok && set_key(collect, &labels[n++], "cgroup");
    }
    if (of->doubt)
        ok = ok && set_text(collect, &labels[n++], "cairn.guest", of->doubt);
    if (of->mode)
        ok = ok && set_text(collect, &labels[n++], "lua.vmstate", of->mode);
    if (more->off_cpu)
        ok = ok && set_text(collect, &labels[n++], "off_cpu", more->off_cpu);
    if (more->waker && *more->waker)
        ok = ok && set_text(collect, &labels[n++], "woken_by", more->waker);
    if (more->syscall)
        ok = ok && set_text(collect, &labels[n++], "syscall", more->syscall);
    if (more->event)
        ok = ok && set_text(collect, &labels[n++], "event", more->event);
    if (more->waker_pid)
        ok = ok && set_number(collect, &labels[n++], "woken_by_pid", more->waker_pid);
    int64_t time_ns = collect->has_times ? (int64_t)(more->time_ns + collect->to_real_ns) : 0;
    return ok ? cairn_profile_add_label_set(collect->profile, labels, n, of->cut, time_ns)
              : UINT32_MAX;
}
