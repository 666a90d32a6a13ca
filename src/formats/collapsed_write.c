/* SPDX-License-Identifier: MIT */
/*
 * A profile as collapsed stacks. Frames that read the same are the same here, whatever their
 * addresses, so stacks are joined first: a second tree, whose frames are texts.
 *
 *     frame 0x12: get() inlined into find()  ─►  texts "find", "get_[i]"
 *     stack  ─►  node of the tree of texts  ─►  sum of the default value  ─►  one line
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "formats/collapsed.h"
#include "profile/frame_kind.h"
#include "profile/profile.h"

enum { FLUSH_BYTES = 1 << 18 };

struct writing {
    const struct cairn_profile *profile;
    cairn_write_fn write;
    void *ctx;
    struct cairn_err *err;
    struct cairn_strings texts;
    struct cairn_buffer scratch; /* one text made safe */
    uint32_t *first;             /* n_frames + 1: where a frame's texts begin in `texts_of` */
    uint32_t *texts_of;          /* outermost first */
    struct cairn_profile *tree;  /* a frame's address is the number of its text, plus 1 */
    uint32_t *nodes;             /* by stack of the profile */
    int64_t *sums;               /* by node of the tree */
    uint32_t *order;             /* nodes with samples, as they first come */
    bool *listed;                /* by node */
    size_t n_order;
    uint32_t *line; /* frames of one line, leaf first */
    size_t cap_line;
    struct cairn_buffer out;
};

static const char *suffix_of_kind(enum cairn_frame_kind kind)
{
    switch (kind) {
    case CAIRN_FRAME_KERNEL:
        return "_[k]";
    case CAIRN_FRAME_INLINED:
        return "_[i]";
    case CAIRN_FRAME_JIT:
        return "_[j]";
    default:
        return "";
    }
}

static uint32_t add_text(struct writing *w, const char *name, const char *suffix)
{
    cairn_buffer_clear(&w->scratch);
    cairn_escape_collapsed(&w->scratch, name, strlen(name));
    cairn_buffer_str(&w->scratch, suffix);
    return w->scratch.failed
               ? UINT32_MAX
               : cairn_strings_add(&w->texts, cairn_buffer_text(&w->scratch), w->scratch.size);
}

/* One line of a frame, or the frame itself where it has none. */
static uint32_t text_of(struct writing *w, uint32_t frame, const struct cairn_profile_line *line,
                        bool inlined)
{
    const struct cairn_profile *p = w->profile;
    const char *suffix =
        suffix_of_kind(inlined ? CAIRN_FRAME_INLINED : cairn_frame_kind_of(&p->frames[frame]));
    char address[512];
    if (!line)
        return add_text(w, cairn_profile_frame_text(p, frame, address, sizeof address), suffix);
    const struct cairn_profile_function *function = &p->functions[line->function];
    uint32_t name = function->name ? function->name : function->system_name;
    return add_text(w, cairn_strings_get(&p->strings, name), suffix);
}

static bool make_texts(struct writing *w)
{
    const struct cairn_profile *p = w->profile;
    size_t n = 0, room = p->n_frames;
    for (uint32_t i = 1; i < p->n_frames; i++)
        room += p->frames[i].n_lines;
    w->first = cairn_alloc(p->n_frames + 1, sizeof *w->first);
    w->texts_of = room < UINT32_MAX ? cairn_alloc(room, sizeof *w->texts_of) : NULL;
    if (!w->first || !w->texts_of)
        return false;
    for (uint32_t i = 1; i < p->n_frames; i++) {
        const struct cairn_profile_frame *f = &p->frames[i];
        w->first[i] = (uint32_t)n;
        for (uint32_t left = f->n_lines ? f->n_lines : 1; left > 0; left--) {
            const struct cairn_profile_line *line =
                f->n_lines ? &p->lines[f->lines + left - 1] : NULL;
            w->texts_of[n] = text_of(w, i, line, left < f->n_lines);
            if (w->texts_of[n++] == UINT32_MAX)
                return false;
        }
    }
    w->first[p->n_frames] = (uint32_t)n;
    return true;
}

/* The texts of one frame below a node; UINT32_MAX where memory is gone. */
static uint32_t add_nodes(struct writing *w, uint32_t node, uint32_t frame)
{
    for (uint32_t i = w->first[frame]; i < w->first[frame + 1]; i++) {
        struct cairn_profile_frame text = {.address = (uint64_t)w->texts_of[i] + 1};
        uint32_t number = cairn_profile_add_frame(w->tree, &text, NULL, 0);
        if (number == UINT32_MAX)
            return UINT32_MAX;
        node = cairn_profile_add_stack(w->tree, node, number);
        if (node == UINT32_MAX)
            return UINT32_MAX;
    }
    return node;
}

static bool make_tree(struct writing *w)
{
    const struct cairn_profile *p = w->profile;
    w->nodes = cairn_alloc(p->n_stacks, sizeof *w->nodes);
    if (!w->nodes || cairn_profile_new(&w->tree, NULL) < 0)
        return false;
    for (uint32_t i = 1; i < p->n_stacks; i++) {
        w->nodes[i] = add_nodes(w, w->nodes[p->stacks[i].parent], p->stacks[i].frame);
        if (w->nodes[i] == UINT32_MAX)
            return false;
    }
    cairn_profile_drop_index(w->tree);
    return true;
}

static bool sum_nodes(struct writing *w)
{
    const struct cairn_profile *p = w->profile;
    size_t type = cairn_profile_default_value(p);
    w->sums = cairn_alloc(w->tree->n_stacks, sizeof *w->sums);
    w->order = cairn_alloc(w->tree->n_stacks, sizeof *w->order);
    w->listed = cairn_alloc(w->tree->n_stacks, sizeof *w->listed);
    if (!w->sums || !w->order || !w->listed)
        return false;
    for (size_t i = 0; i < p->n_samples; i++) {
        uint32_t node = w->nodes[p->samples[i].stack];
        w->sums[node] = cairn_profile_add_clamped(w->sums[node], p->values[i * p->n_types + type]);
        if (!w->listed[node])
            w->order[w->n_order++] = node;
        w->listed[node] = true;
    }
    return true;
}

static bool put_line(struct writing *w, uint32_t node)
{
    const struct cairn_profile *tree = w->tree;
    size_t depth = 0;
    for (uint32_t at = node; at; at = tree->stacks[at].parent) {
        if (cairn_grow((void **)&w->line, &w->cap_line, depth + 1, sizeof *w->line) < 0)
            return false;
        w->line[depth++] = tree->stacks[at].frame;
    }
    if (depth == 0)
        cairn_buffer_str(&w->out, "[no stack]");
    while (depth-- > 0) {
        uint32_t text = (uint32_t)(tree->frames[w->line[depth]].address - 1);
        cairn_buffer_add(&w->out, cairn_strings_get(&w->texts, text),
                         cairn_strings_size(&w->texts, text));
        if (depth)
            cairn_buffer_char(&w->out, ';');
    }
    int64_t sum = w->sums[node];
    cairn_buffer_str(&w->out, sum < 0 ? " -" : " ");
    cairn_buffer_u64(&w->out, sum < 0 ? -(uint64_t)sum : (uint64_t)sum);
    cairn_buffer_char(&w->out, '\n');
    return !w->out.failed;
}

static int flush(struct writing *w)
{
    if (w->out.size && w->write(w->ctx, w->out.data, w->out.size) != 0)
        return cairn_fail(w->err, CAIRN_E_IO, "the output could not be written");
    cairn_buffer_clear(&w->out);
    return CAIRN_OK;
}

static int put_lines(struct writing *w)
{
    for (size_t i = 0; i < w->n_order; i++) {
        if (!put_line(w, w->order[i]))
            return cairn_fail_memory(w->err);
        if (w->out.size >= FLUSH_BYTES && flush(w) < 0)
            return CAIRN_E_IO;
    }
    return flush(w);
}

int cairn_collapsed_write(const struct cairn_profile *profile, cairn_write_fn write, void *ctx,
                          struct cairn_err *err)
{
    struct writing w = {.profile = profile, .write = write, .ctx = ctx, .err = err};
    int rc =
        make_texts(&w) && make_tree(&w) && sum_nodes(&w) ? put_lines(&w) : cairn_fail_memory(err);
    cairn_strings_done(&w.texts);
    cairn_buffer_done(&w.scratch);
    cairn_free(w.first);
    cairn_free(w.texts_of);
    cairn_profile_free(w.tree);
    cairn_free(w.nodes);
    cairn_free(w.sums);
    cairn_free(w.order);
    cairn_free(w.listed);
    cairn_free(w.line);
    cairn_buffer_done(&w.out);
    return rc;
}
