/* SPDX-License-Identifier: MIT */
/* Threads seen as others: those of one kind as one thread, or CPUs in place of threads. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "select/select.h"

struct changing {
    struct cairn_profile *p;
    const struct cairn_select_filter *filter;
    uint32_t pid, tid, process, thread, cpu; /* keys */
};

/* The thread's new name, a text; 0: it stays as it is; UINT32_MAX: memory is gone. */
static uint32_t new_name(const struct changing *c, uint32_t set)
{
    bool is_per_cpu = c->filter->kind == CAIRN_SELECT_PER_CPU;
    const struct cairn_profile_label *label =
        cairn_select_label(c->p, set, is_per_cpu ? c->cpu : c->thread);
    char name[32];
    if (!label)
        return 0;
    if (is_per_cpu) {
        snprintf(name, sizeof name, "CPU %" PRId64, label->number);
        return label->text ? 0 : cairn_select_text(c->p, name);
    }
    const struct cairn_select_pattern *pattern =
        label->text ? cairn_select_patterns_find(&c->filter->patterns,
                                                 cairn_strings_get(&c->p->strings, label->text))
                    : NULL;
    return pattern ? cairn_select_text(c->p, pattern->text) : 0;
}

static bool leaves(const struct changing *c, uint32_t key)
{
    bool is_thread = key == c->tid || key == c->thread;
    return is_thread ||
           (c->filter->kind == CAIRN_SELECT_PER_CPU && (key == c->pid || key == c->process));
}

/* The set with another thread; UINT32_MAX: memory is gone. */
static uint32_t change_set(const struct changing *c, uint32_t set)
{
    struct cairn_profile_label labels[CAIRN_PROFILE_LABELS_MAX + 1];
    const struct cairn_profile_label_set old = c->p->label_sets[set];
    uint32_t name = new_name(c, set), n = 0;
    if (name == 0 || name == UINT32_MAX)
        return name ? name : set;
    for (uint32_t i = 0; i < old.n; i++)
        if (!leaves(c, c->p->labels[old.first + i].key))
            labels[n++] = c->p->labels[old.first + i];
    labels[n++] = (struct cairn_profile_label){.key = c->thread, .text = name};
    return n > CAIRN_PROFILE_LABELS_MAX
               ? UINT32_MAX
               : cairn_profile_add_label_set(c->p, labels, n, old.cut, old.time_ns);
}

/* By label set: the new one plus 1; 0: no sample has it. */
static bool change_sets(const struct changing *c, uint32_t *new_of)
{
    bool ok = true;
    for (size_t i = 0; ok && i < c->p->n_samples + c->p->n_markers; i++) {
        uint32_t set = *cairn_profile_set_of(c->p, i);
        if (!new_of[set]) {
            uint32_t number = change_set(c, set);
            new_of[set] = number + 1;
            ok = number != UINT32_MAX;
        }
    }
    return ok;
}

bool cairn_select_can_change(const struct cairn_select_filter *filter, struct cairn_profile *p)
{
    bool is_per_cpu = filter->kind == CAIRN_SELECT_PER_CPU;
    if (!is_per_cpu && filter->kind != CAIRN_SELECT_MERGE_THREADS)
        return true;
    uint32_t key = cairn_select_text(p, is_per_cpu ? "cpu" : "thread");
    for (size_t i = 0; i < p->n_samples; i++)
        if (cairn_select_label(p, p->samples[i].labels, key))
            return true;
    return key == UINT32_MAX; /* memory that is gone is reported when it is needed */
}

int cairn_select_change_threads(struct cairn_select_filter *filter, struct cairn_profile *p,
                                struct cairn_err *err)
{
    struct changing c = {p,
                         filter,
                         cairn_select_text(p, "pid"),
                         cairn_select_text(p, "tid"),
                         cairn_select_text(p, "process"),
                         cairn_select_text(p, "thread"),
                         cairn_select_text(p, "cpu")};
    uint32_t *new_of = cairn_alloc(p->n_label_sets + 1, sizeof *new_of);
    bool ok = new_of && c.cpu != UINT32_MAX; /* memory that was gone before is gone still */
    ok = ok && change_sets(&c, new_of);
    for (size_t i = 0; ok && i < p->n_samples + p->n_markers; i++) {
        uint32_t *set = cairn_profile_set_of(p, i);
        if (i < p->n_samples && new_of[*set] - 1 != *set)
            filter->n_samples += cairn_profile_weight(p, i);
        *set = new_of[*set] - 1;
    }
    cairn_free(new_of);
    return ok && cairn_profile_sum_equal(p) == CAIRN_OK ? CAIRN_OK : cairn_fail_memory(err);
}
