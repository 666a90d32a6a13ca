/* SPDX-License-Identifier: MIT */
#include "profile/packed.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "profile/index.h"

void cairn_packed_done(struct cairn_packed *packed)
{
    for (size_t i = 0; i < packed->n_runs; i++)
        cairn_packed_run_done(&packed->runs[i]);
    cairn_free(packed->runs);
    *packed = (struct cairn_packed){0};
}

struct child {
    uint32_t frame, stack;
};

/* Where the way down the tree is: a stack, and which of its children is next. */
struct step {
    uint32_t stack, next;
};

/* A profile's tree, as it is walked from the root on. */
struct walk {
    const struct cairn_profile *profile;
    uint32_t *first;           /* by stack: where its children begin in... */
    struct child *children;    /* ...which are all but the root, by parent and frame */
    uint32_t *row, *row_after; /* by stack, and by row: one more of that stack; number + 1 */
    struct step *steps;
    size_t cap_steps;
    struct cairn_packed_path path;
    struct cairn_packed_writer writer;
};

static void walk_done(struct walk *w)
{
    cairn_free(w->first);
    cairn_free(w->children);
    cairn_free(w->row);
    cairn_free(w->row_after);
    cairn_free(w->steps);
    cairn_packed_path_done(&w->path);
    cairn_packed_writer_done(&w->writer);
}

static int compare_frames(const void *left, const void *right)
{
    const struct child *a = left, *b = right;
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* By counting: where the children of each end, then down from there. */
static void order_children(struct walk *w)
{
    const struct cairn_profile *p = w->profile;
    for (size_t i = 1; i < p->n_stacks; i++)
        w->first[p->stacks[i].parent]++;
    for (size_t i = 1; i <= p->n_stacks; i++)
        w->first[i] += w->first[i - 1];
    for (size_t i = 1; i < p->n_stacks; i++)
        w->children[--w->first[p->stacks[i].parent]] =
            (struct child){.frame = p->stacks[i].frame, .stack = (uint32_t)i};
    for (size_t i = 0; i < p->n_stacks; i++)
        if (w->first[i + 1] - w->first[i] > 1)
            qsort(w->children + w->first[i], w->first[i + 1] - w->first[i], sizeof *w->children,
                  compare_frames);
}

static void chain_rows(struct walk *w)
{
    const struct cairn_profile *p = w->profile;
    for (size_t i = 0; i < p->n_samples; i++) {
        uint32_t *last = &w->row[p->samples[i].stack];
        w->row_after[i] = *last;
        *last = (uint32_t)i + 1;
    }
}

static bool walk_init(struct walk *w)
{
    const struct cairn_profile *p = w->profile;
    w->first = cairn_alloc(p->n_stacks + 1, sizeof *w->first);
    w->children = cairn_alloc(p->n_stacks, sizeof *w->children);
    w->row = cairn_alloc(p->n_stacks, sizeof *w->row);
    w->row_after = cairn_alloc(p->n_samples + 1, sizeof *w->row_after);
    if (!w->first || !w->children || !w->row || !w->row_after)
        return false;
    order_children(w);
    chain_rows(w);
    return true;
}

static int write_rows(struct walk *w, uint32_t stack)
{
    const struct cairn_profile *p = w->profile;
    int code = CAIRN_OK;
    w->path.n_rows = 0;
    for (uint32_t row = w->row[stack]; row && code == CAIRN_OK; row = w->row_after[row - 1])
        code = cairn_packed_path_add(&w->path, &w->writer.kind, p->samples[row - 1].labels,
                                     p->values + (row - 1) * p->n_types);
    if (code < 0 || !w->path.n_rows)
        return code;
    cairn_packed_path_sort(&w->path, &w->writer.kind);
    return cairn_packed_write(&w->writer, &w->path) ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Begins with a stack that is `depth` frames deep. */
static int step_into(struct walk *w, size_t depth, uint32_t stack)
{
    if (cairn_grow((void **)&w->steps, &w->cap_steps, depth + 1, sizeof *w->steps) < 0 ||
        cairn_grow((void **)&w->path.frames, &w->path.cap, depth, sizeof *w->path.frames) < 0)
        return CAIRN_E_NOMEM;
    w->steps[depth] = (struct step){.stack = stack, .next = w->first[stack]};
    if (depth)
        w->path.frames[depth - 1] = w->profile->stacks[stack].frame;
    w->path.n = depth;
    return write_rows(w, stack);
}

static int walk_all(struct walk *w)
{
    size_t depth = 0;
    int code = step_into(w, 0, 0);
    while (code == CAIRN_OK) {
        struct step *step = &w->steps[depth];
        if (step->next < w->first[step->stack + 1])
            code = step_into(w, ++depth, w->children[step->next++].stack);
        else if (depth-- == 0)
            break;
    }
    return code;
}

/* Takes the run over. */
static int add_run(struct cairn_packed *packed, struct cairn_packed_run *run)
{
    if (cairn_grow((void **)&packed->runs, &packed->cap_runs, packed->n_runs + 1,
                   sizeof *packed->runs) < 0)
        return CAIRN_E_NOMEM;
    packed->runs[packed->n_runs++] = *run;
    *run = (struct cairn_packed_run){0};
    return CAIRN_OK;
}

static int merge_last(struct cairn_packed *packed)
{
    struct cairn_packed_run *a = &packed->runs[packed->n_runs - 2], *b = a + 1, both;
    if (cairn_packed_merge(&packed->kind, a, b, &both) < 0)
        return CAIRN_E_NOMEM;
    cairn_packed_run_done(a);
    cairn_packed_run_done(b);
    *a = both;
    packed->n_runs--;
    return CAIRN_OK;
}

/* Runs double, so that each row is written again but a few times. */
static int merge_equal_ones(struct cairn_packed *packed)
{
    const struct cairn_packed_run *runs = packed->runs;
    int code = CAIRN_OK;
    for (size_t n; (n = packed->n_runs) > 1 && code == CAIRN_OK &&
                   runs[n - 2].bytes.size < 2 * runs[n - 1].bytes.size;)
        code = merge_last(packed);
    return code;
}

int cairn_packed_take(struct cairn_packed *packed, struct cairn_profile *p)
{
    struct walk w = {.profile = p};
    struct cairn_packed_run run = {0};
    packed->kind = (struct cairn_packed_kind){.n_types = p->n_types, .period = p->period};
    w.writer.kind = packed->kind;
    int code = walk_init(&w) ? walk_all(&w) : CAIRN_E_NOMEM;
    if (code == CAIRN_OK)
        cairn_packed_writer_end(&w.writer, &run);
    if (code == CAIRN_OK && run.n_rows)
        code = add_run(packed, &run);
    walk_done(&w);
    cairn_packed_run_done(&run);
    if (code < 0)
        return code;
    cairn_profile_empty(p);
    (void)merge_equal_ones(packed); /* else they stay apart a while */
    return CAIRN_OK;
}

/* Of paths in their order: the stacks of what a path has in common with the one before it are those
 * of that one. No index is asked. */
static int put_back(struct cairn_profile *p, const struct cairn_packed_path *path, uint32_t *stacks)
{
    size_t need = p->n_stacks + path->n - path->n_same;
    if (need > CAIRN_PROFILE_NUMBERS_MAX ||
        cairn_grow((void **)&p->stacks, &p->cap_stacks, need, sizeof *p->stacks) < 0)
        return CAIRN_E_NOMEM;
    for (size_t i = path->n_same; i < path->n; i++) {
        p->stacks[p->n_stacks] =
            (struct cairn_profile_stack){.parent = i ? stacks[i - 1] : 0, .frame = path->frames[i]};
        stacks[i] = (uint32_t)p->n_stacks++;
    }
    for (size_t i = 0; i < path->n_rows; i++)
        if (cairn_profile_add_sample(p, path->n ? stacks[path->n - 1] : 0, path->labels[i],
                                     path->values + i * p->n_types) == UINT32_MAX)
            return CAIRN_E_NOMEM;
    return CAIRN_OK;
}

static int put_back_all(struct cairn_profile *p, const struct cairn_packed_kind *kind,
                        const struct cairn_packed_run *run)
{
    struct cairn_packed_reader reader = cairn_packed_reader_of(kind, run);
    uint32_t *stacks = NULL; /* of the path before */
    size_t cap = 0;
    int more = 0, code = CAIRN_OK;
    while (code == CAIRN_OK && (more = cairn_packed_read(&reader)) > 0) {
        code = cairn_grow((void **)&stacks, &cap, reader.path.n, sizeof *stacks);
        if (code == CAIRN_OK)
            code = put_back(p, &reader.path, stacks);
    }
    cairn_packed_reader_done(&reader);
    cairn_free(stacks);
    return more < 0 ? more : code;
}

int cairn_packed_give(struct cairn_packed *packed, struct cairn_profile *p)
{
    const enum cairn_profile_closed closed = p->closed;
    if (!packed->n_runs)
        return CAIRN_OK;
    int code = cairn_packed_take(packed, p);
    while (code == CAIRN_OK && packed->n_runs > 1)
        code = merge_last(packed);
    p->closed = CAIRN_PROFILE_OPEN; /* nothing of it is new */
    if (code == CAIRN_OK)
        code = put_back_all(p, &packed->kind, &packed->runs[0]);
    p->closed = closed;
    if (code == CAIRN_OK)
        cairn_packed_done(packed);
    return code;
}

size_t cairn_packed_rows(const struct cairn_packed *packed)
{
    size_t n = 0;
    for (size_t i = 0; i < packed->n_runs; i++)
        n += packed->runs[i].n_rows;
    return n;
}

uint64_t cairn_packed_bytes(const struct cairn_packed *packed)
{
    uint64_t row_bytes =
        sizeof(struct cairn_profile_sample) + packed->kind.n_types * sizeof(int64_t);
    uint64_t bytes = 0;
    for (size_t i = 0; i < packed->n_runs; i++) {
        const struct cairn_packed_run *run = &packed->runs[i];
        bytes += run->bytes.size + run->n_rows * row_bytes +
                 run->n_nodes * sizeof(struct cairn_profile_stack);
    }
    return bytes;
}

static int each_of(const struct cairn_packed *packed, const struct cairn_packed_run *run,
                   cairn_packed_fn fn, void *ctx)
{
    struct cairn_packed_reader reader = cairn_packed_reader_of(&packed->kind, run);
    int more = 0, code = CAIRN_OK;
    while (code >= 0 && (more = cairn_packed_read(&reader)) > 0)
        code = fn(ctx, &reader.path);
    cairn_packed_reader_done(&reader);
    return code < 0 ? code : more;
}

int cairn_packed_each(const struct cairn_packed *packed, cairn_packed_fn fn, void *ctx)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < packed->n_runs && code == CAIRN_OK; i++)
        code = each_of(packed, &packed->runs[i], fn, ctx);
    return code;
}

int cairn_packed_relabel(struct cairn_packed *packed, const uint32_t *new_of)
{
    struct cairn_packed relabeled = {.kind = packed->kind};
    int code = CAIRN_OK;
    for (size_t i = 0; i < packed->n_runs && code == CAIRN_OK; i++) {
        struct cairn_packed_run run = {0};
        code = cairn_packed_relabel_run(&packed->kind, &packed->runs[i], new_of, &run);
        if (code == CAIRN_OK)
            code = add_run(&relabeled, &run);
        cairn_packed_run_done(&run);
    }
    if (code < 0) {
        cairn_packed_done(&relabeled);
        return code;
    }
    cairn_packed_done(packed);
    *packed = relabeled;
    return CAIRN_OK;
}
