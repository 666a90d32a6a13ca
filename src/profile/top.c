/* SPDX-License-Identifier: MIT */
/*
 * The top table. Frames become rows first (all addresses of a function are one row, an inlined call
 * is a row too); then each stack that has samples is walked once, from leaf to root. A row is
 * marked with the stack that it was last counted for, so recursion counts once.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/profile.h"

struct cairn_top {
    struct cairn_strings texts;
    struct cairn_top_row *rows;
    size_t n, cap;
    int64_t sum;
};

/* What makes two lines the same row. No padding: it is hashed as bytes. */
struct identity {
    uint32_t function, file, module;
};

struct counting {
    const struct cairn_profile *profile;
    struct cairn_top *top;
    struct cairn_table known;    /* hash of the identity to row */
    struct identity *identities; /* by row */
    size_t cap_identities;
    uint32_t *first; /* n_frames + 1: where a frame's rows begin in `rows_of` */
    uint32_t *rows_of;
    uint32_t *seen; /* by row: the stack it was last counted for */
};

static uint32_t row_of(struct counting *c, const struct identity *id, uint8_t kind)
{
    struct cairn_top *top = c->top;
    uint64_t key = cairn_hash_bytes(id, sizeof *id);
    for (uint32_t row; cairn_table_find(&c->known, key, &row); key++)
        if (memcmp(&c->identities[row], id, sizeof *id) == 0)
            return row;
    if (cairn_grow((void **)&top->rows, &top->cap, top->n + 1, sizeof *top->rows) < 0 ||
        cairn_grow((void **)&c->identities, &c->cap_identities, top->n + 1, sizeof *c->identities) <
            0 ||
        cairn_table_set(&c->known, key, (uint32_t)top->n) < 0)
        return UINT32_MAX;
    c->identities[top->n] = *id;
    top->rows[top->n] = (struct cairn_top_row){
        .function = cairn_strings_get(&top->texts, id->function),
        .file = cairn_strings_get(&top->texts, id->file),
        .module = cairn_strings_get(&top->texts, id->module),
        .kind = (enum cairn_frame_kind)kind,
    };
    return (uint32_t)top->n++;
}

/* `line` is NULL for a frame that nobody named. */
static uint32_t add_row(struct counting *c, uint32_t frame, const struct cairn_profile_line *line,
                        bool inlined)
{
    const struct cairn_profile *p = c->profile;
    const struct cairn_profile_frame *f = &p->frames[frame];
    const struct cairn_profile_function *function = line ? &p->functions[line->function] : NULL;
    const char *name = "", *file = "";
    char text[512];
    if (function) {
        name =
            cairn_strings_get(&p->strings, function->name ? function->name : function->system_name);
        file = cairn_strings_get(&p->strings, function->file);
    }
    if (!*name)
        name = cairn_profile_frame_text(p, frame, text, sizeof text);
    struct cairn_strings *texts = &c->top->texts;
    struct identity id = {cairn_strings_add_str(texts, name), cairn_strings_add_str(texts, file),
                          cairn_strings_add_str(texts, cairn_profile_module_name(p, f->module))};
    if (id.function == UINT32_MAX || id.file == UINT32_MAX || id.module == UINT32_MAX)
        return UINT32_MAX;
    return row_of(c, &id, inlined ? (uint8_t)CAIRN_FRAME_INLINED : f->kind);
}

/* The rows of every frame, innermost line first. */
static bool make_rows(struct counting *c)
{
    const struct cairn_profile *p = c->profile;
    size_t n = 0, room = p->n_frames;
    for (uint32_t i = 1; i < p->n_frames; i++)
        room += p->frames[i].n_lines;
    c->first = cairn_alloc(p->n_frames + 1, sizeof *c->first);
    c->rows_of = room < UINT32_MAX ? cairn_alloc(room, sizeof *c->rows_of) : NULL;
    if (!c->first || !c->rows_of)
        return false;
    for (uint32_t i = 1; i < p->n_frames; i++) {
        const struct cairn_profile_frame *f = &p->frames[i];
        c->first[i] = (uint32_t)n;
        for (uint32_t at = 0; at < f->n_lines || at == 0; at++) {
            const struct cairn_profile_line *line = f->n_lines ? &p->lines[f->lines + at] : NULL;
            uint32_t row = add_row(c, i, line, at + 1 < f->n_lines);
            if (row == UINT32_MAX)
                return false;
            c->rows_of[n++] = row;
        }
    }
    c->first[p->n_frames] = (uint32_t)n;
    return true;
}

static void count_stack(struct counting *c, uint32_t stack, int64_t value)
{
    const struct cairn_profile *p = c->profile;
    struct cairn_top_row *rows = c->top->rows;
    const uint32_t *leaf = &c->rows_of[c->first[p->stacks[stack].frame]];
    rows[*leaf].self = cairn_profile_add_clamped(rows[*leaf].self, value);
    for (uint32_t at = stack; at; at = p->stacks[at].parent) {
        uint32_t frame = p->stacks[at].frame;
        for (uint32_t i = c->first[frame]; i < c->first[frame + 1]; i++) {
            uint32_t row = c->rows_of[i];
            if (c->seen[row] == stack)
                continue;
            c->seen[row] = stack;
            rows[row].total = cairn_profile_add_clamped(rows[row].total, value);
        }
    }
}

static bool count(struct counting *c, size_t value_type)
{
    const struct cairn_profile *p = c->profile;
    int64_t *self = cairn_alloc(p->n_stacks, sizeof *self);
    bool *used = cairn_alloc(p->n_stacks, sizeof *used);
    c->seen = cairn_alloc(c->top->n, sizeof *c->seen);
    bool ok = self && used && c->seen;
    for (size_t i = 0; ok && i < p->n_samples; i++) {
        int64_t value = p->values[i * p->n_types + value_type];
        uint32_t stack = p->samples[i].stack;
        self[stack] = cairn_profile_add_clamped(self[stack], value);
        used[stack] = true;
        c->top->sum = cairn_profile_add_clamped(c->top->sum, value);
    }
    for (uint32_t stack = 1; ok && stack < p->n_stacks; stack++)
        if (used[stack])
            count_stack(c, stack, self[stack]);
    cairn_free(self);
    cairn_free(used);
    return ok;
}

/* What only dropped samples used has no place in the table. */
static void drop_unseen(struct counting *c)
{
    struct cairn_top *top = c->top;
    size_t n_kept = 0;
    for (size_t i = 0; i < top->n; i++)
        if (c->seen[i])
            top->rows[n_kept++] = top->rows[i];
    top->n = n_kept;
}

static int compare_rows(const void *a, const void *b)
{
    const struct cairn_top_row *x = a, *y = b;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    int order = strcmp(x->function, y->function);
    if (order == 0)
        order = strcmp(x->module, y->module);
    return order ? order : strcmp(x->file, y->file);
}

int cairn_profile_top(const struct cairn_profile *profile, size_t value_type,
                      struct cairn_top **ret_top, struct cairn_err *err)
{
    if (value_type >= profile->n_types)
        return cairn_fail(err, CAIRN_E_ARG, "value type %zu, the profile has %zu", value_type,
                          profile->n_types);
    struct cairn_top *top = cairn_alloc(1, sizeof *top);
    struct counting c = {.profile = profile, .top = top};
    bool ok = top && make_rows(&c) && count(&c, value_type);
    if (ok)
        drop_unseen(&c);
    cairn_table_done(&c.known);
    cairn_free(c.identities);
    cairn_free(c.first);
    cairn_free(c.rows_of);
    cairn_free(c.seen);
    if (!ok) {
        cairn_top_free(top);
        return cairn_fail_memory(err);
    }
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
