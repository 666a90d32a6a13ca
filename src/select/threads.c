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
    uint32_t *by_text; /* by the name of a thread: the new one plus 1; 0: not asked yet */
};

/* As in cairn_select_judge_labels(): each name is asked once. */
static uint32_t merged_name(const struct changing *c, uint32_t text)
{
    if (!c->by_text[text]) {
        const struct cairn_select_pattern *pattern = cairn_select_patterns_find(
            &c->filter->patterns, cairn_strings_get(&c->p->strings, text));
        c->by_text[text] = (pattern ? cairn_select_text(c->p, pattern->text) : 0) + 1;
    }
    return c->by_text[text] - 1;
}

/* The thread's new name, a text; 0: it stays as it is; UINT32_MAX: memory is gone. */
static uint32_t new_name(const struct changing *c, uint32_t set)
{
    bool is_per_cpu = c->filter->kind == CAIRN_SELECT_PER_CPU;
    const struct cairn_profile_label *label =
        cairn_select_label(c->p, set, is_per_cpu ? c->cpu : c->thread);
    char name[32];
    if (!label || is_per_cpu == (label->text != 0))
        return 0;
    if (!is_per_cpu)
        return merged_name(c, label->text);
    snprintf(name, sizeof name, "CPU %" PRId64, label->number);
    return cairn_select_text(c->p, name);
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
    for (size_t i = 0; i < p->n_samples + p->n_markers; i++)
        if (cairn_select_label(p, *cairn_profile_set_of(p, i), key))
            return true;
    return key == UINT32_MAX; /* memory that is gone is reported when it is needed */
}

/* False: memory is gone. */
static bool find_keys(struct changing *c)
{
    struct {
        uint32_t *key;
        const char *name;
    } keys[] = {{&c->pid, "pid"},
                {&c->tid, "tid"},
                {&c->process, "process"},
                {&c->thread, "thread"},
                {&c->cpu, "cpu"}};
    bool ok = true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && ok; i++)
        ok = (*keys[i].key = cairn_select_text(c->p, keys[i].name)) != UINT32_MAX;
    return ok;
}

int cairn_select_change_threads(struct cairn_select_filter *filter, struct cairn_profile *p,
                                struct cairn_err *err)
{
    struct changing c = {.p = p, .filter = filter};
    uint32_t *new_of = cairn_alloc(p->n_label_sets + 1, sizeof *new_of);
    bool ok = new_of && find_keys(&c);
    c.by_text = ok ? cairn_alloc(p->strings.n + 1, sizeof *c.by_text) : NULL;
    ok = c.by_text && change_sets(&c, new_of);
    for (size_t i = 0; ok && i < p->n_samples + p->n_markers; i++) {
        uint32_t *set = cairn_profile_set_of(p, i);
        if (i < p->n_samples && new_of[*set] - 1 != *set)
            filter->n_samples += cairn_profile_weight(p, i);
        *set = new_of[*set] - 1;
    }
    cairn_free(c.by_text);
    cairn_free(new_of);
    return ok && cairn_profile_sum_equal(p) == CAIRN_OK ? CAIRN_OK : cairn_fail_memory(err);
}
