/* SPDX-License-Identifier: MIT */
/*
 * The table of functions. Self is what samples end in a function; total is what passes through it,
 * counted once where it is several times on one stack.
 *
 * Stacks are a tree whose parents have smaller numbers, so one pass from the end sums the values of
 * all stacks below each node. A node adds its sum to its function's total unless a caller up the
 * same stack already has that function: then the caller's sum holds it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "profile/value.h"

struct cairn_top {
    struct cairn_top_row *rows;
    size_t n, cap;
    int64_t sum;
    struct cairn_strings texts; /* own copies: the table may outlive the profile */
};

/* A frame shown on its own: a source line of a profile's frame, or the frame itself where it has no
 * name. `row` is what it adds to. */
struct reckoning {
    const struct cairn_profile *p;
    struct cairn_top *top;
    struct cairn_table rows; /* (function text, module text) -> row */
    uint32_t *row_of_line;   /* by number of a line */
    uint32_t *row_of_frame;  /* frames without lines */
    int64_t *below;          /* by stack: values of it and of all it called */
    uint32_t *seen;          /* by row: how often it is on the path being walked */
};

static void done(struct reckoning *r)
{
    cairn_table_done(&r->rows);
    cairn_free(r->row_of_line);
    cairn_free(r->row_of_frame);
    cairn_free(r->below);
    cairn_free(r->seen);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The row of a function in a module, new or old; UINT32_MAX where memory is gone. */
static uint32_t need_row(struct reckoning *r, const char *function, const char *file,
                         uint32_t module, uint8_t kind)
{
    struct cairn_top *top = r->top;
    const char *path = cairn_strings_get(&r->p->strings, r->p->modules[module].path);
    uint32_t name = cairn_strings_add_str(&top->texts, function);
    uint32_t module_name = cairn_strings_add_str(&top->texts, base_name(path));
    uint32_t file_name = cairn_strings_add_str(&top->texts, file);
    if (name == UINT32_MAX || module_name == UINT32_MAX || file_name == UINT32_MAX)
        return UINT32_MAX;
    uint64_t key = (uint64_t)name << 32 | module_name;
    uint32_t row;
    if (cairn_table_find(&r->rows, key, &row))
        return row;
    row = (uint32_t)top->n;
    if (cairn_grow((void **)&top->rows, &top->cap, top->n + 1, sizeof *top->rows) < 0 ||
        cairn_table_set(&r->rows, key, row) < 0)
        return UINT32_MAX;
    top->rows[top->n++] = (struct cairn_top_row){
        .function = cairn_strings_get(&top->texts, name),
        .file = cairn_strings_get(&top->texts, file_name),
        .module = cairn_strings_get(&top->texts, module_name),
        .kind = (enum cairn_frame_kind)kind,
    };
    return row;
}

static bool name_frame(struct reckoning *r, uint32_t number)
{
    const struct cairn_profile *p = r->p;
    const struct cairn_profile_frame *frame = &p->frames[number];
    char text[512];
    for (uint32_t k = 0; k < frame->n_lines; k++) {
        const struct cairn_profile_function *function =
            &p->functions[p->lines[frame->lines + k].function];
        uint32_t row =
            need_row(r, cairn_strings_get(&p->strings, function->name),
                     cairn_strings_get(&p->strings, function->file), frame->module, frame->kind);
        if (row == UINT32_MAX)
            return false;
        r->row_of_line[frame->lines + k] = row;
    }
    if (frame->n_lines)
        return true;
    cairn_profile_frame_text(p, number, text, sizeof text);
    r->row_of_frame[number] = need_row(r, text, "", frame->module, frame->kind);
    return r->row_of_frame[number] != UINT32_MAX;
}

static bool name_all(struct reckoning *r)
{
    const struct cairn_profile *p = r->p;
    r->row_of_line = cairn_alloc(p->n_lines, sizeof *r->row_of_line);
    r->row_of_frame = cairn_alloc(p->n_frames, sizeof *r->row_of_frame);
    r->below = cairn_alloc(p->n_stacks, sizeof *r->below);
    if (!r->row_of_line || !r->row_of_frame || !r->below)
        return false;
    for (uint32_t i = 1; i < p->n_frames; i++)
        if (!name_frame(r, i))
            return false;
    r->seen = cairn_alloc(r->top->n, sizeof *r->seen);
    return r->seen;
}

/* The rows of one stack node, outermost first: an inlined chain counts as the functions it is. */
static uint32_t rows_of(const struct reckoning *r, uint32_t stack, uint32_t index, bool *ret_more)
{
    const struct cairn_profile_frame *frame = &r->p->frames[r->p->stacks[stack].frame];
    *ret_more = index + 1 < frame->n_lines;
    if (!frame->n_lines)
        return r->row_of_frame[r->p->stacks[stack].frame];
    return r->row_of_line[frame->lines + frame->n_lines - 1 - index];
}

static void enter_node(struct reckoning *r, uint32_t stack)
{
    bool more = true;
    for (uint32_t i = 0; more; i++) {
        uint32_t row = rows_of(r, stack, i, &more);
        if (r->seen[row]++ == 0)
            r->top->rows[row].total = cairn_value_add(r->top->rows[row].total, r->below[stack]);
    }
}

static void leave_node(struct reckoning *r, uint32_t stack)
{
    bool more = true;
    for (uint32_t i = 0; more; i++)
        r->seen[rows_of(r, stack, i, &more)]--;
}

/* Every node once, callers before callees, by links to the first child and the next sibling. */
static bool walk(struct reckoning *r)
{
    const struct cairn_profile *p = r->p;
    uint32_t *child = cairn_alloc(p->n_stacks, sizeof *child);
    uint32_t *sibling = cairn_alloc(p->n_stacks, sizeof *sibling);
    bool sound = child && sibling;
    for (size_t i = p->n_stacks; sound && i-- > 1;) {
        sibling[i] = child[p->stacks[i].parent];
        child[p->stacks[i].parent] = (uint32_t)i;
    }
    for (uint32_t at = sound ? child[0] : 0; at;) {
        enter_node(r, at);
        if (child[at]) {
            at = child[at];
            continue;
        }
        for (; at; at = p->stacks[at].parent) {
            leave_node(r, at);
            if (sibling[at]) {
                at = sibling[at];
                break;
            }
        }
    }
    cairn_free(child);
    cairn_free(sibling);
    return sound;
}

static void add_values(struct reckoning *r, size_t value_type)
{
    const struct cairn_profile *p = r->p;
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t value = p->values[i * p->n_types + value_type];
        uint32_t stack = p->samples[i].stack;
        bool more;
        r->top->sum = cairn_value_add(r->top->sum, value);
        r->below[stack] = cairn_value_add(r->below[stack], value);
        if (!stack)
            continue;
        uint32_t last = p->frames[p->stacks[stack].frame].n_lines;
        struct cairn_top_row *row = &r->top->rows[rows_of(r, stack, last ? last - 1 : 0, &more)];
        row->self = cairn_value_add(row->self, value);
    }
    for (size_t i = p->n_stacks; i-- > 1;) {
        int64_t *parent = &r->below[p->stacks[i].parent];
        *parent = cairn_value_add(*parent, r->below[i]);
    }
}

static int compare_rows(const void *left, const void *right)
{
    const struct cairn_top_row *a = left, *b = right;
    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    int order = strcmp(a->function, b->function);
    return order ? order : strcmp(a->module, b->module);
}

int cairn_profile_top(const struct cairn_profile *profile, size_t value_type,
                      struct cairn_top **ret_top, struct cairn_err *err)
{
    if (value_type >= profile->n_types && profile->n_types)
        return cairn_fail(err, CAIRN_E_ARG, "the profile has %zu value types, not %zu",
                          profile->n_types, value_type + 1);
    struct cairn_top *top = cairn_alloc(1, sizeof *top);
    if (!top)
        return cairn_fail_memory(err);
    struct reckoning r = {.p = profile, .top = top};
    bool sound = name_all(&r);
    if (sound) {
        add_values(&r, value_type);
        sound = walk(&r);
    }
    done(&r);
    if (!sound) {
        cairn_top_free(top);
        return cairn_fail_memory(err);
    }
    /* Functions that no remaining sample touches are no news. */
    size_t kept = 0;
    for (size_t i = 0; i < top->n; i++)
        if (top->rows[i].self || top->rows[i].total)
            top->rows[kept++] = top->rows[i];
    top->n = kept;
    if (top->n)
        qsort(top->rows, top->n, sizeof *top->rows, compare_rows);
    *ret_top = top;
    return CAIRN_OK;
}

size_t cairn_top_rows(const struct cairn_top *top, const struct cairn_top_row **ret_rows)
{
    *ret_rows = top->rows;
    return top->n;
}

int64_t cairn_top_sum(const struct cairn_top *top)
{
    return top->sum;
}

void cairn_top_free(struct cairn_top *top)
{
    if (!top)
        return;
    cairn_strings_done(&top->texts);
    cairn_free(top->rows);
    cairn_free(top);
}
