/* SPDX-License-Identifier: MIT */
/*
 * Labels of a window: each set of labels that the sampler made becomes one with the workload and
 * the environment, and the samples move over. A store has a series for each set, so that their
 * number has a bound.
 */
#include <stdio.h>
#include <string.h>

#include <cairn/agent.h>

#include "base/alloc.h"
#include "base/error.h"
#include "proc/process.h"
#include "profile/label_list.h"

enum { SETS_MAX = 1000, ENVIRONMENT_BYTES_MAX = 1 << 17, VALUE_BYTES_MAX = 128 };

struct labeling {
    struct cairn_profile *profile;
    const struct cairn_agent_labels *opts;
    const char *root;
    struct cairn_table by_cgroup; /* a text of the profile -> number in: */
    struct cairn_workload *workloads;
    size_t n_workloads, cap_workloads;
    struct cairn_buffer environment; /* of the process that was asked for last */
    int64_t environment_pid;         /* 0: none was */
};

/* NULL: memory is gone. */
static const struct cairn_workload *workload_of(struct labeling *l, uint32_t cgroup)
{
    uint32_t at;
    if (cairn_table_find(&l->by_cgroup, cgroup, &at))
        return &l->workloads[at];
    if (cairn_grow((void **)&l->workloads, &l->cap_workloads, l->n_workloads + 1,
                   sizeof *l->workloads) < 0 ||
        cairn_table_set(&l->by_cgroup, cgroup, (uint32_t)l->n_workloads) < 0)
        return NULL;
    struct cairn_workload *w = &l->workloads[l->n_workloads++];
    cairn_workload_find(cairn_strings_get(&l->profile->strings, cgroup), l->root, w);
    return w;
}

static bool add_workload(struct labeling *l, uint32_t cgroup, struct cairn_label_list *list)
{
    const struct cairn_workload *w = workload_of(l, cgroup);
    if (!w)
        return false;
    cairn_label_list_text(list, "unit", w->unit);
    cairn_label_list_text(list, "container", w->container);
    cairn_label_list_text(list, "container_name", w->name);
    cairn_label_list_text(list, "image", w->image);
    cairn_label_list_text(list, "pod", w->pod);
    cairn_label_list_text(list, "namespace", w->space);
    cairn_label_list_text(list, "pod_uid", w->pod_uid);
    return true;
}

/* "" where the process has no such variable. A control character, or what is no UTF-8, becomes "_":
 * bytes above ASCII are kept only whole. */
static void find_variable(const struct cairn_buffer *environment, const char *name, char *ret_value)
{
    const char *at = cairn_buffer_text(environment), *end = at + environment->size;
    size_t size = strlen(name);
    *ret_value = 0;
    for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1) {
        size_t n = strnlen(at, (size_t)(end - at));
        if (n <= size || memcmp(at, name, size) != 0 || at[size] != '=')
            continue;
        n -= size + 1;
        n = n < VALUE_BYTES_MAX ? n : VALUE_BYTES_MAX;
        for (size_t i = 0; i < n; i++) {
            char c = at[size + 1 + i];
            ret_value[i] = c >= ' ' && c < 0x7f ? c : '_';
        }
        ret_value[n] = 0;
        return;
    }
}

/* A process that has ended has none. */
static void add_environment(struct labeling *l, int64_t pid, struct cairn_label_list *list)
{
    char value[VALUE_BYTES_MAX + 1];
    if (!l->opts->n_environment || pid <= 0 || pid > INT32_MAX)
        return;
    if (pid != l->environment_pid) {
        cairn_buffer_clear(&l->environment);
        (void)cairn_process_slurp((int)pid, "environ", ENVIRONMENT_BYTES_MAX, &l->environment,
                                  NULL);
        l->environment_pid = pid;
    }
    for (size_t i = 0; i < l->opts->n_environment; i++) {
        find_variable(&l->environment, l->opts->environment[i], value);
        cairn_label_list_text(list, l->opts->environment[i], value);
    }
}

/* The set that takes the place of this one; UINT32_MAX: memory is gone. */
static uint32_t widen(struct labeling *l, uint32_t number)
{
    const struct cairn_profile *p = l->profile;
    const struct cairn_profile_label_set set = p->label_sets[number];
    const struct cairn_profile_label *cgroup = cairn_profile_find_label(p, number, "cgroup");
    const struct cairn_profile_label *pid = cairn_profile_find_label(p, number, "pid");
    const uint32_t cgroup_text = cgroup ? cgroup->text : 0;
    const int64_t pid_number = pid ? pid->number : 0;
    struct cairn_label_list list = {.profile = l->profile};
    cairn_label_list_set(&list, number);
    if (cgroup_text && !add_workload(l, cgroup_text, &list))
        return UINT32_MAX;
    add_environment(l, pid_number, &list);
    return cairn_label_list_add(&list, set.cut, set.time_ns);
}

static bool widen_all(struct labeling *l)
{
    struct cairn_profile *p = l->profile;
    const size_t n_old = p->n_label_sets;
    uint32_t *new_of = cairn_alloc(n_old, sizeof *new_of); /* plus 1; 0: not yet */
    bool ok = new_of != NULL;
    for (size_t i = 0; i < p->n_samples && ok; i++) {
        uint32_t set = p->samples[i].labels;
        if (!new_of[set]) {
            uint32_t wide = widen(l, set);
            ok = wide != UINT32_MAX;
            new_of[set] = wide + 1;
        }
        if (ok)
            p->samples[i].labels = new_of[set] - 1;
    }
    cairn_free(new_of);
    return ok;
}

/* One or two keys: all labels with other keys are kept, or these alone. */
struct keys {
    uint32_t first, second;
    bool are_kept;
};

static bool keeps_key(void *ctx, const struct cairn_profile_label *labels, uint32_t n,
                      const struct cairn_profile_label *label)
{
    const struct keys *keys = ctx;
    (void)labels;
    (void)n;
    return (label->key == keys->first || label->key == keys->second) == keys->are_kept;
}

static int drop_by(struct cairn_profile *p, struct keys keys)
{
    uint32_t *numbers = cairn_alloc(p->n_samples + 1, sizeof *numbers);
    int code = CAIRN_E_NOMEM;
    if (numbers && keys.first != UINT32_MAX && keys.second != UINT32_MAX)
        code = cairn_profile_drop_labels(p, NULL, keeps_key, &keys, numbers);
    cairn_free(numbers);
    return code;
}

static uint32_t key_of(struct cairn_profile *p, const char *key)
{
    return cairn_profile_text(p, key, strlen(key));
}

static int drop(struct cairn_profile *p, const char *first, const char *second)
{
    return drop_by(p, (struct keys){key_of(p, first), key_of(p, second), false});
}

static int drop_others(struct cairn_profile *p, const char *key)
{
    return drop_by(p, (struct keys){key_of(p, key), key_of(p, key), true});
}

/* With those of different cuts, which are no labels of a series, once. */
static size_t count_sets(const struct cairn_profile *p)
{
    struct cairn_table seen = {0};
    size_t n = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct cairn_profile_label_set *set = &p->label_sets[p->samples[i].labels];
        uint64_t key = (uint64_t)set->first << 32 | set->n;
        uint32_t one;
        n += set->n && !cairn_table_find(&seen, key, &one);
        (void)cairn_table_set(&seen, key, 1);
    }
    cairn_table_done(&seen);
    return n;
}

static int keep_bound(struct cairn_profile *p, size_t most, uint64_t *ret_n_lost)
{
    size_t n = count_sets(p);
    int code = CAIRN_OK;
    *ret_n_lost = n > most ? n - most : 0;
    if (n > most)
        code = drop(p, "pid", "pid");
    if (code == CAIRN_OK && n > most && count_sets(p) > most)
        code = drop_others(p, "process");
    if (code == CAIRN_OK && n > most && count_sets(p) > most)
        code = drop(p, "process", "process");
    return code;
}

int cairn_agent_label(struct cairn_profile *profile, const struct cairn_agent_labels *labels,
                      uint64_t *ret_n_lost, struct cairn_err *err)
{
    struct labeling l = {.profile = profile, .opts = labels};
    uint64_t n_lost = 0;
    l.root = labels->root ? labels->root : "";
    bool ok =
        drop(profile, "tid", "thread") == CAIRN_OK && widen_all(&l) &&
        keep_bound(profile, labels->max_sets ? labels->max_sets : SETS_MAX, &n_lost) == CAIRN_OK;
    cairn_table_done(&l.by_cgroup);
    cairn_free(l.workloads);
    cairn_buffer_done(&l.environment);
    *ret_n_lost = n_lost;
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}

int cairn_agent_unlabel(struct cairn_profile *profile, const char *key, struct cairn_err *err)
{
    return drop(profile, key, key) == CAIRN_OK ? CAIRN_OK : cairn_fail_memory(err);
}
