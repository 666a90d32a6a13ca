/* SPDX-License-Identifier: MIT */
#include "sample/fold.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

/* A thread that has ended. */
struct gone {
    uint32_t tid, n_rows;
    bool has_made_code; /* whose names are known by its pid */
    int64_t value;
};

struct folding {
    struct cairn_collect *collect;
    uint32_t pid_key, tid_key, waker_key;
    struct gone *gone;
    size_t n_gone, cap_gone, n_kept;
    bool *has_made_code; /* by stack; of a path that is packed by how deep it is */
    size_t cap_made_code;
    struct cairn_table by_tid; /* of those: -> number in `gone`; then, of who is kept, 1 */
};

static const struct cairn_profile_label *label_of(const struct cairn_profile_label *labels,
                                                  uint32_t n, uint32_t key)
{
    for (uint32_t i = 0; i < n; i++)
        if (labels[i].key == key)
            return &labels[i];
    return NULL;
}

/* Samples of it may come yet. Who wakes others may be one that no sample came from. */
static bool is_alive(const struct cairn_collect *collect, int64_t id)
{
    uint32_t value;
    return cairn_table_find(&collect->spaces.all.threads, (uint64_t)id, &value) ||
           cairn_table_find(&collect->spaces.all.by_pid, (uint64_t)id, &value);
}

static bool exists(int64_t id)
{
    return kill((pid_t)id, 0) == 0 || errno != ESRCH;
}

static struct gone *gone_of(struct folding *fold, uint32_t tid)
{
    uint32_t at;
    if (cairn_table_find(&fold->by_tid, tid, &at))
        return &fold->gone[at];
    if (cairn_grow((void **)&fold->gone, &fold->cap_gone, fold->n_gone + 1, sizeof *fold->gone) <
            0 ||
        cairn_table_set(&fold->by_tid, tid, (uint32_t)fold->n_gone) < 0)
        return NULL;
    fold->gone[fold->n_gone] = (struct gone){.tid = tid};
    return &fold->gone[fold->n_gone++];
}

static bool is_made_code(const struct folding *fold, uint32_t frame)
{
    return cairn_stream_module_is_made(&fold->collect->spaces.all.modules,
                                       fold->collect->profile->frames[frame].module);
}

/* Parents have smaller numbers than their children. */
static bool find_made_code(struct folding *fold)
{
    const struct cairn_profile *p = fold->collect->profile;
    if (cairn_grow((void **)&fold->has_made_code, &fold->cap_made_code, p->n_stacks, 1) < 0)
        return false;
    fold->has_made_code[0] = false;
    for (size_t i = 1; i < p->n_stacks; i++)
        fold->has_made_code[i] =
            fold->has_made_code[p->stacks[i].parent] || is_made_code(fold, p->stacks[i].frame);
    return true;
}

/* A row of somebody who lives is left alone. */
static int add_row(struct folding *fold, uint32_t labels, int64_t value, bool has_made_code)
{
    const struct cairn_profile *p = fold->collect->profile;
    const struct cairn_profile_label_set *set = &p->label_sets[labels];
    const struct cairn_profile_label *tid = label_of(p->labels + set->first, set->n, fold->tid_key);
    if (!tid || is_alive(fold->collect, tid->number))
        return CAIRN_OK;
    struct gone *gone = gone_of(fold, (uint32_t)tid->number);
    if (!gone)
        return CAIRN_E_NOMEM;
    gone->n_rows++;
    gone->value = cairn_profile_add_clamped(gone->value, value);
    gone->has_made_code = gone->has_made_code || has_made_code;
    return CAIRN_OK;
}

static int add_path(void *ctx, const struct cairn_packed_path *path)
{
    struct folding *fold = ctx;
    int code = cairn_grow((void **)&fold->has_made_code, &fold->cap_made_code, path->n + 1, 1);
    if (code < 0)
        return code;
    bool *has = fold->has_made_code;
    has[0] = false;
    for (size_t i = path->n_same; i < path->n; i++)
        has[i + 1] = has[i] || is_made_code(fold, path->frames[i]);
    for (size_t i = 0; i < path->n_rows && code == CAIRN_OK; i++)
        code = add_row(fold, path->labels[i], path->values[2 * i + 1], has[path->n]);
    return code;
}

static int find_gone(struct folding *fold)
{
    const struct cairn_profile *p = fold->collect->profile;
    int code = find_made_code(fold) ? CAIRN_OK : CAIRN_E_NOMEM;
    for (size_t i = 0; i < p->n_samples && code == CAIRN_OK; i++)
        code = add_row(fold, p->samples[i].labels, p->values[2 * i + 1],
                       fold->has_made_code[p->samples[i].stack]);
    return code < 0 ? code : cairn_packed_each(&fold->collect->packed, add_path, fold);
}

/* First who cannot be told by name, then the most; of equal ones the later, which somebody may yet
 * look for. */
static int compare(const void *left, const void *right)
{
    const struct gone *a = left, *b = right;
    if (a->has_made_code != b->has_made_code)
        return a->has_made_code ? -1 : 1;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->tid > b->tid ? -1 : a->tid < b->tid;
}

static bool has_room(const struct folding *fold, const struct gone *gone, size_t n_rows)
{
    return gone->has_made_code || fold->n_kept == 0 ||
           (fold->n_kept < CAIRN_FOLD_KEPT && n_rows + gone->n_rows <= CAIRN_FOLD_KEPT_ROWS);
}

static int choose(struct folding *fold)
{
    size_t n_rows = 0;
    cairn_table_done(&fold->by_tid);
    fold->by_tid = (struct cairn_table){0};
    if (fold->n_gone)
        qsort(fold->gone, fold->n_gone, sizeof *fold->gone, compare);
    for (size_t i = 0; i < fold->n_gone && has_room(fold, &fold->gone[i], n_rows); i++) {
        n_rows += fold->gone[i].n_rows;
        if (cairn_table_set(&fold->by_tid, fold->gone[i].tid, 1) < 0)
            return CAIRN_E_NOMEM;
        fold->n_kept++;
    }
    return CAIRN_OK;
}

static bool is_kept(const struct folding *fold, int64_t id)
{
    uint32_t value;
    return is_alive(fold->collect, id) || cairn_table_find(&fold->by_tid, (uint64_t)id, &value);
}

/* A process is told by its number as long as it lives, or one of its threads is kept. */
static bool keeps(void *ctx, const struct cairn_profile_label *labels, uint32_t n,
                  const struct cairn_profile_label *label)
{
    const struct folding *fold = ctx;
    const struct cairn_profile_label *tid = label_of(labels, n, fold->tid_key);
    if (label->key == fold->waker_key)
        return is_kept(fold, label->number) || exists(label->number);
    if (label->key != fold->tid_key && label->key != fold->pid_key)
        return true;
    return is_kept(fold, label->number) || (tid && is_kept(fold, tid->number));
}

/* False: nothing was done. */
static bool fold_them(struct folding *fold, uint32_t *numbers)
{
    struct cairn_collect *collect = fold->collect;
    if (find_gone(fold) < 0 || choose(fold) < 0)
        return false;
    if (cairn_profile_drop_labels(collect->profile, &collect->packed, keeps, fold, numbers) ==
        CAIRN_OK)
        collect->n_folded += fold->n_gone - fold->n_kept;
    return true;
}

static bool find_keys(struct folding *fold)
{
    struct cairn_profile *p = fold->collect->profile;
    fold->pid_key = cairn_profile_text(p, "pid", 3);
    fold->tid_key = cairn_profile_text(p, "tid", 3);
    fold->waker_key = cairn_profile_text(p, "woken_by_pid", 12);
    return fold->pid_key != UINT32_MAX && fold->tid_key != UINT32_MAX &&
           fold->waker_key != UINT32_MAX;
}

static size_t count_rows(const struct cairn_collect *collect)
{
    return collect->profile->n_samples + cairn_packed_rows(&collect->packed);
}

/* With sets for twice the threads that are kept, and rows; where that many live, with half as many
 * more. */
static bool is_time(const struct cairn_collect *collect)
{
    const struct cairn_profile *p = collect->profile;
    const struct cairn_fold_marks *at = &collect->fold_at;
    size_t n_rows = count_rows(collect);
    return !collect->has_times && p->closed != CAIRN_PROFILE_NO_SAMPLES &&
           ((p->n_label_sets >= 2 * (size_t)CAIRN_FOLD_KEPT && p->n_label_sets >= at->n_sets) ||
            (n_rows >= 2 * (size_t)CAIRN_FOLD_KEPT_ROWS && n_rows >= at->n_rows));
}

void cairn_collect_fold(struct cairn_collect *collect, uint32_t **ret_numbers)
{
    struct cairn_profile *p = collect->profile;
    struct folding fold = {.collect = collect};
    *ret_numbers = NULL;
    if (!is_time(collect))
        return;
    uint32_t *numbers = cairn_alloc(p->n_samples + 1, sizeof *numbers);
    bool is_done = numbers && find_keys(&fold) && fold_them(&fold, numbers);
    collect->fold_at.n_sets = p->n_label_sets + p->n_label_sets / 2;
    collect->fold_at.n_rows = count_rows(collect) / 2 * 3;
    cairn_table_done(&fold.by_tid);
    cairn_free(fold.gone);
    cairn_free(fold.has_made_code);
    if (is_done) {
        collect->last = cairn_fold_number(numbers, collect->last);
        *ret_numbers = numbers;
    } else {
        cairn_free(numbers);
    }
}
