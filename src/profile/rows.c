/* SPDX-License-Identifier: MIT */
#include "profile/rows.h"

#include "base/alloc.h"
#include "profile/frame_kind.h"

/* What makes two lines the same row. No padding: it is hashed as bytes. */
struct identity {
    uint32_t function, file, module;
};

struct making {
    const struct cairn_profile *profile;
    struct cairn_profile_rows *rows;
    struct cairn_table known;    /* hash of the identity to row */
    struct identity *identities; /* by row */
    size_t cap_identities;
};

static uint32_t row_of(struct making *m, const struct identity *id, enum cairn_frame_kind kind)
{
    struct cairn_profile_rows *rows = m->rows;
    uint64_t key = cairn_hash_bytes(id, sizeof *id);
    for (uint32_t row; cairn_table_find(&m->known, key, &row); key++)
        if (memcmp(&m->identities[row], id, sizeof *id) == 0)
            return row;
    if (cairn_grow((void **)&rows->items, &rows->cap, rows->n + 1, sizeof *rows->items) < 0 ||
        cairn_grow((void **)&m->identities, &m->cap_identities, rows->n + 1,
                   sizeof *m->identities) < 0 ||
        cairn_table_set(&m->known, key, (uint32_t)rows->n) < 0)
        return UINT32_MAX;
    m->identities[rows->n] = *id;
    rows->items[rows->n] = (struct cairn_top_row){
        .function = cairn_strings_get(&rows->texts, id->function),
        .file = cairn_strings_get(&rows->texts, id->file),
        .module = cairn_strings_get(&rows->texts, id->module),
        .kind = kind,
    };
    return (uint32_t)rows->n++;
}

/* `line` is NULL for a frame that nobody named. */
static uint32_t add_row(struct making *m, uint32_t frame, const struct cairn_profile_line *line,
                        bool inlined)
{
    const struct cairn_profile *p = m->profile;
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
    struct cairn_strings *texts = &m->rows->texts;
    struct identity id = {cairn_strings_add_str(texts, name), cairn_strings_add_str(texts, file),
                          cairn_strings_add_str(texts, cairn_profile_module_name(p, f->module))};
    if (id.function == UINT32_MAX || id.file == UINT32_MAX || id.module == UINT32_MAX)
        return UINT32_MAX;
    return row_of(m, &id, inlined ? CAIRN_FRAME_INLINED : cairn_frame_kind_of(f));
}

static bool make(struct making *m)
{
    const struct cairn_profile *p = m->profile;
    struct cairn_profile_rows *rows = m->rows;
    size_t n = 0, room = p->n_frames;
    for (uint32_t i = 1; i < p->n_frames; i++)
        room += p->frames[i].n_lines;
    rows->first = cairn_alloc(p->n_frames + 1, sizeof *rows->first);
    rows->of_frames = room < UINT32_MAX ? cairn_alloc(room, sizeof *rows->of_frames) : NULL;
    if (!rows->first || !rows->of_frames)
        return false;
    for (uint32_t i = 1; i < p->n_frames; i++) {
        const struct cairn_profile_frame *f = &p->frames[i];
        rows->first[i] = (uint32_t)n;
        for (uint32_t at = 0; at < f->n_lines || at == 0; at++) {
            const struct cairn_profile_line *line = f->n_lines ? &p->lines[f->lines + at] : NULL;
            uint32_t row = add_row(m, i, line, at + 1 < f->n_lines);
            if (row == UINT32_MAX)
                return false;
            rows->of_frames[n++] = row;
        }
    }
    rows->first[p->n_frames] = (uint32_t)n;
    rows->used = cairn_alloc(rows->n + 1, sizeof *rows->used);
    return rows->used != NULL;
}

bool cairn_profile_rows_make(const struct cairn_profile *p, struct cairn_profile_rows *ret_rows)
{
    struct cairn_profile_rows rows = {0};
    struct making m = {.profile = p, .rows = &rows};
    bool ok = make(&m);
    cairn_table_done(&m.known);
    cairn_free(m.identities);
    if (ok)
        *ret_rows = rows;
    else
        cairn_profile_rows_done(&rows);
    return ok;
}

void cairn_profile_rows_done(struct cairn_profile_rows *rows)
{
    cairn_strings_done(&rows->texts);
    cairn_free(rows->items);
    cairn_free(rows->used);
    cairn_free(rows->first);
    cairn_free(rows->of_frames);
    *rows = (struct cairn_profile_rows){0};
}

bool cairn_profile_sums_make(const struct cairn_profile *p, size_t value_type,
                             struct cairn_profile_sums *ret_sums)
{
    struct cairn_profile_sums sums = {
        .by_stack = cairn_alloc(p->n_stacks, sizeof *sums.by_stack),
        .used = cairn_alloc(p->n_stacks, sizeof *sums.used),
    };
    if (!sums.by_stack || !sums.used) {
        cairn_profile_sums_done(&sums);
        return false;
    }
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t value = p->values[i * p->n_types + value_type];
        uint32_t stack = p->samples[i].stack;
        sums.by_stack[stack] = cairn_profile_add_clamped(sums.by_stack[stack], value);
        sums.used[stack] = true;
        sums.sum = cairn_profile_add_clamped(sums.sum, value);
    }
    *ret_sums = sums;
    return true;
}

void cairn_profile_sums_done(struct cairn_profile_sums *sums)
{
    cairn_free(sums->by_stack);
    cairn_free(sums->used);
    *sums = (struct cairn_profile_sums){0};
}

/* `seen`: the stack that each row was last counted for. */
static void count_stack(struct cairn_profile_rows *rows, const struct cairn_profile *p,
                        uint32_t *seen, uint32_t stack, int64_t value)
{
    struct cairn_top_row *items = rows->items;
    uint32_t leaf = rows->of_frames[rows->first[p->stacks[stack].frame]];
    items[leaf].self = cairn_profile_add_clamped(items[leaf].self, value);
    for (uint32_t at = stack; at; at = p->stacks[at].parent) {
        uint32_t frame = p->stacks[at].frame;
        for (uint32_t i = rows->first[frame]; i < rows->first[frame + 1]; i++) {
            uint32_t row = rows->of_frames[i];
            if (seen[row] == stack)
                continue;
            seen[row] = stack;
            rows->used[row] = true;
            items[row].total = cairn_profile_add_clamped(items[row].total, value);
        }
    }
}

bool cairn_profile_rows_count(struct cairn_profile_rows *rows, const struct cairn_profile *p,
                              const struct cairn_profile_sums *sums)
{
    uint32_t *seen = cairn_alloc(rows->n + 1, sizeof *seen);
    for (uint32_t stack = 1; seen && stack < p->n_stacks; stack++)
        if (sums->used[stack])
            count_stack(rows, p, seen, stack, sums->by_stack[stack]);
    cairn_free(seen);
    return seen != NULL;
}

int cairn_profile_compare_names(const struct cairn_top_row *a, const struct cairn_top_row *b)
{
    int order = strcmp(a->function, b->function);
    if (order == 0)
        order = strcmp(a->module, b->module);
    return order ? order : strcmp(a->file, b->file);
}
