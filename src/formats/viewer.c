/* SPDX-License-Identifier: MIT */
#include "formats/viewer.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "profile/frame_kind.h"

#define NO_STACK_TEXT "[no stack]"
#define CUT_TEXT      "stack cut: "

enum { DEPTH_MAX = 255 }; /* a column of bytes in newer viewers */

static uint32_t add_function(struct cairn_viewer *v, const struct cairn_viewer_function *function)
{
    if (function->name == UINT32_MAX || function->file == UINT32_MAX ||
        cairn_grow((void **)&v->functions, &v->cap_functions, v->n_functions + 1,
                   sizeof *v->functions) < 0)
        return CAIRN_VIEWER_NONE;
    v->functions[v->n_functions] = *function;
    return (uint32_t)v->n_functions++;
}

static uint32_t add_frame(struct cairn_viewer *v, const struct cairn_viewer_frame *frame)
{
    if (v->n_frames >= INT32_MAX ||
        cairn_grow((void **)&v->frames, &v->cap_frames, v->n_frames + 1, sizeof *v->frames) < 0)
        return CAIRN_VIEWER_NONE;
    v->frames[v->n_frames] = *frame;
    return (uint32_t)v->n_frames++;
}

static uint32_t add_stack(struct cairn_viewer *v, uint32_t parent, uint32_t frame)
{
    if (v->n_stacks >= INT32_MAX ||
        cairn_grow((void **)&v->stacks, &v->cap_stacks, v->n_stacks + 1, sizeof *v->stacks) < 0)
        return CAIRN_VIEWER_NONE;
    v->stacks[v->n_stacks] = (struct cairn_viewer_stack){frame, parent};
    return (uint32_t)v->n_stacks++;
}

/* A root that is no code: what the viewer shall say. */
static uint32_t add_text_root(struct cairn_viewer *v, const char *text, size_t size,
                              enum cairn_viewer_category category)
{
    uint32_t name = cairn_strings_add(&v->texts, text, size);
    uint32_t function =
        add_function(v, &(struct cairn_viewer_function){
                            .name = name, .lib = CAIRN_VIEWER_NONE, .symbol = CAIRN_VIEWER_NONE});
    uint32_t frame =
        function == CAIRN_VIEWER_NONE
            ? CAIRN_VIEWER_NONE
            : add_frame(v, &(struct cairn_viewer_frame){.rel = -1,
                                                        .function = function,
                                                        .symbol = CAIRN_VIEWER_NONE,
                                                        .category = (uint8_t)category});
    return frame == CAIRN_VIEWER_NONE ? CAIRN_VIEWER_NONE : add_stack(v, CAIRN_VIEWER_NONE, frame);
}

static uint32_t add_cut_root(struct cairn_viewer *v, uint32_t cut)
{
    struct cairn_buffer text = {0};
    cairn_buffer_str(&text, CUT_TEXT);
    cairn_buffer_str(&text, cairn_strings_get(&v->p->strings, cut));
    uint32_t row = text.failed
                       ? CAIRN_VIEWER_NONE
                       : add_text_root(v, cairn_buffer_text(&text), text.size, CAIRN_VIEWER_CUT);
    cairn_buffer_done(&text);
    return row;
}

/* The function of one line; `line` is NULL for a frame without any. */
static uint32_t function_of(struct cairn_viewer *v, uint32_t row, uint32_t lib,
                            const struct cairn_profile_line *line)
{
    uint64_t key = (uint64_t)row << 32 | lib;
    uint32_t number;
    if (cairn_table_find(&v->known_functions, key, &number))
        return number;
    const struct cairn_top_row *top = &v->rows.items[row];
    struct cairn_viewer_function function = {
        .name = cairn_strings_add_str(&v->texts, top->function),
        .file = cairn_strings_add_str(&v->texts, top->file),
        .lib = lib,
        .line = line ? v->p->functions[line->function].start_line : 0,
        .symbol = CAIRN_VIEWER_NONE,
    };
    number = add_function(v, &function);
    if (number != CAIRN_VIEWER_NONE && cairn_table_set(&v->known_functions, key, number) < 0)
        return CAIRN_VIEWER_NONE;
    return number;
}

/* The symbol of a function that has a frame at `rel`. */
static uint32_t symbol_of(struct cairn_viewer *v, uint32_t function, int64_t rel)
{
    uint32_t number = v->functions[function].symbol;
    if (number != CAIRN_VIEWER_NONE) {
        if (rel < v->symbols[number].rel)
            v->symbols[number].rel = rel;
        return number;
    }
    if (cairn_grow((void **)&v->symbols, &v->cap_symbols, v->n_symbols + 1, sizeof *v->symbols) < 0)
        return CAIRN_VIEWER_NONE;
    v->symbols[v->n_symbols] = (struct cairn_viewer_symbol){function, rel};
    return v->functions[function].symbol = (uint32_t)v->n_symbols++;
}

static uint8_t category_of(const struct cairn_profile *p, uint32_t number, bool inlined)
{
    const struct cairn_profile_frame *frame = &p->frames[number];
    if (frame->what == CAIRN_WHAT_INTERPRETED)
        return CAIRN_VIEWER_INTERPRETED;
    switch (cairn_frame_kind_of(frame)) {
    case CAIRN_FRAME_KERNEL:
        return CAIRN_VIEWER_KERNEL;
    case CAIRN_FRAME_JIT:
        return CAIRN_VIEWER_JIT;
    case CAIRN_FRAME_GUESSED:
        return CAIRN_VIEWER_GUESSED;
    case CAIRN_FRAME_INLINED:
        return CAIRN_VIEWER_INLINED;
    default:
        if (inlined)
            return CAIRN_VIEWER_INLINED;
        return cairn_profile_is_named(p, number) ? CAIRN_VIEWER_NATIVE : CAIRN_VIEWER_UNNAMED;
    }
}

/* A frame's rows, the outermost line first; the number of the first. */
static uint32_t add_lines(struct cairn_viewer *v, uint32_t number)
{
    const struct cairn_profile_frame *f = &v->p->frames[number];
    const uint32_t *rows = v->rows.of_frames + v->rows.first[number];
    uint32_t n = f->n_lines ? f->n_lines : 1, first = CAIRN_VIEWER_NONE;
    uint32_t symbol = CAIRN_VIEWER_NONE;
    bool ok = true;
    uint32_t lib = cairn_viewer_lib_of(v, f->module, &ok);
    int64_t rel = lib == CAIRN_VIEWER_NONE ? -1 : cairn_viewer_rel(v->p, f->module, f->address);
    for (uint32_t i = 0; i < n && ok; i++) {
        uint32_t at = n - 1 - i;
        const struct cairn_profile_line *line = f->n_lines ? &v->p->lines[f->lines + at] : NULL;
        uint32_t function = function_of(v, rows[at], lib, line);
        if (function == CAIRN_VIEWER_NONE)
            return CAIRN_VIEWER_NONE;
        if (i == 0 && rel >= 0) {
            symbol = symbol_of(v, function, rel);
            ok = symbol != CAIRN_VIEWER_NONE;
        }
        uint32_t frame = add_frame(v, &(struct cairn_viewer_frame){
                                          .rel = rel,
                                          .function = function,
                                          .symbol = symbol,
                                          .line = line ? line->line : 0,
                                          .depth = (uint16_t)(i < DEPTH_MAX ? i : DEPTH_MAX),
                                          .category = category_of(v->p, number, i > 0),
                                      });
        ok &= frame != CAIRN_VIEWER_NONE;
        first = i == 0 ? frame : first;
    }
    return ok ? first : CAIRN_VIEWER_NONE;
}

/* The row of a frame below `parent`; the innermost of its lines. */
static uint32_t add_rows(struct cairn_viewer *v, uint32_t parent, uint32_t frame)
{
    uint32_t n_lines = v->p->frames[frame].n_lines;
    if (!v->frame_of[frame]) {
        uint32_t first = add_lines(v, frame);
        if (first == CAIRN_VIEWER_NONE)
            return CAIRN_VIEWER_NONE;
        v->frame_of[frame] = first + 1;
    }
    uint32_t first = v->frame_of[frame] - 1, row = parent;
    for (uint32_t i = 0; i < (n_lines ? n_lines : 1); i++) {
        row = add_stack(v, row, first + i);
        if (row == CAIRN_VIEWER_NONE)
            return CAIRN_VIEWER_NONE;
    }
    return row;
}

static bool find_row(const struct cairn_viewer *v, uint32_t stack, uint32_t cut, uint32_t *ret_row)
{
    if (cut)
        return cairn_table_find(&v->known_cut, (uint64_t)cut << 32 | stack, ret_row);
    *ret_row = v->stack_of[stack] - 1;
    return v->stack_of[stack] != 0;
}

static bool keep_row(struct cairn_viewer *v, uint32_t stack, uint32_t cut, uint32_t row)
{
    if (row == CAIRN_VIEWER_NONE)
        return false;
    if (cut)
        return cairn_table_set(&v->known_cut, (uint64_t)cut << 32 | stack, row) == CAIRN_OK;
    v->stack_of[stack] = row + 1;
    return true;
}

/* The row that the outermost frame of a stack is below; NONE in *ret_row is none. */
static bool find_root(struct cairn_viewer *v, uint32_t cut, uint32_t *ret_row)
{
    *ret_row = CAIRN_VIEWER_NONE;
    return !cut || find_row(v, 0, cut, ret_row) ||
           keep_row(v, 0, cut, *ret_row = add_cut_root(v, cut));
}

uint32_t cairn_viewer_find(const struct cairn_viewer *v, uint32_t stack, uint32_t cut)
{
    uint32_t row;
    return find_row(v, stack, cut, &row) ? row : CAIRN_VIEWER_NONE;
}

uint32_t cairn_viewer_of_sample(const struct cairn_viewer *v, size_t sample)
{
    const struct cairn_profile_sample *of = &v->p->samples[sample];
    return cairn_viewer_find(v, of->stack, cairn_profile_cut_short(v->p, of->labels));
}

uint32_t cairn_viewer_stack(struct cairn_viewer *v, uint32_t stack, uint32_t cut)
{
    uint32_t row = CAIRN_VIEWER_NONE, at = stack;
    size_t n = 0;
    if (!stack && !cut) {
        if (!find_row(v, 0, 0, &row) &&
            !keep_row(
                v, 0, 0,
                row = add_text_root(v, NO_STACK_TEXT, strlen(NO_STACK_TEXT), CAIRN_VIEWER_UNNAMED)))
            return CAIRN_VIEWER_NONE;
        return row;
    }
    while (at && !find_row(v, at, cut, &row)) {
        if (cairn_grow((void **)&v->path, &v->cap_path, n + 1, sizeof *v->path) < 0)
            return CAIRN_VIEWER_NONE;
        v->path[n++] = at;
        at = v->p->stacks[at].parent;
    }
    if (!at && !find_root(v, cut, &row))
        return CAIRN_VIEWER_NONE;
    while (n-- > 0) {
        row = add_rows(v, row, v->p->stacks[v->path[n]].frame);
        if (!keep_row(v, v->path[n], cut, row))
            return CAIRN_VIEWER_NONE;
    }
    return row;
}

static bool has_value(const struct cairn_profile *p, size_t sample)
{
    for (size_t type = 0; type < p->n_types; type++)
        if (p->values[sample * p->n_types + type])
            return true;
    return false;
}

bool cairn_viewer_take_samples(struct cairn_viewer *v)
{
    const struct cairn_profile *p = v->p;
    bool ok = true;
    for (size_t i = 0; i < p->n_samples && ok; i++)
        ok = !has_value(p, i) ||
             cairn_viewer_stack(v, p->samples[i].stack,
                                cairn_profile_cut_short(p, p->samples[i].labels)) !=
                 CAIRN_VIEWER_NONE;
    return ok;
}

int cairn_viewer_open(const struct cairn_profile *p, struct cairn_viewer *ret_viewer,
                      struct cairn_err *err)
{
    struct cairn_viewer v = {
        .p = p,
        .lib_of_module = cairn_alloc(p->n_modules, sizeof *v.lib_of_module),
        .frame_of = cairn_alloc(p->n_frames, sizeof *v.frame_of),
        .stack_of = cairn_alloc(p->n_stacks, sizeof *v.stack_of),
    };
    if (!v.lib_of_module || !v.frame_of || !v.stack_of || cairn_strings_add(&v.texts, "", 0) ||
        !cairn_profile_rows_make(p, &v.rows)) {
        cairn_viewer_done(&v);
        return cairn_fail_memory(err);
    }
    *ret_viewer = v;
    return CAIRN_OK;
}

void cairn_viewer_done(struct cairn_viewer *v)
{
    cairn_strings_done(&v->texts);
    cairn_profile_rows_done(&v->rows);
    cairn_table_done(&v->known_functions);
    cairn_table_done(&v->known_libs);
    cairn_table_done(&v->known_cut);
    cairn_free(v->libs);
    cairn_free(v->functions);
    cairn_free(v->symbols);
    cairn_free(v->frames);
    cairn_free(v->stacks);
    cairn_free(v->lib_of_module);
    cairn_free(v->frame_of);
    cairn_free(v->stack_of);
    cairn_free(v->path);
    *v = (struct cairn_viewer){0};
}
