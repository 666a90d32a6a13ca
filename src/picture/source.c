/* SPDX-License-Identifier: MIT */
#include "picture/source.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "picture/column.h"

enum {
    AROUND = 4,       /* lines before and behind one that was sampled */
    LINE_BYTES = 400, /* of a line; what is behind is left out */
    TAB = 4,
    ID_MAX = 48,
};

static const char *const prefixes[CAIRN_SIDES] = {"", "old-"};

/* A line of a file that was sampled. */
struct hot {
    uint32_t file; /* its text in the page */
    uint32_t raw;  /* its name in the profile */
    uint32_t line;
};

struct lines {
    struct cairn_column files, numbers;
    struct cairn_buffer texts; /* of the lines, a NUL behind each */
    struct cairn_buffer plain; /* one without tabs */
};

static int write_spots(const struct cairn_heat *heat, struct cairn_out *out, struct cairn_err *err)
{
    struct cairn_column looks = {0}, lines = {0};
    for (size_t i = 0; i < heat->n; i++) {
        cairn_column_add(&looks, heat->spots[i].look);
        cairn_column_add(&lines, heat->spots[i].line);
    }
    int rc = cairn_column_write(&looks, out, "heat-look", err);
    int second = cairn_column_write(&lines, out, "heat-line", err);
    return rc < 0 ? rc : second;
}

static int write_sums(const char *what, enum cairn_side side, size_t type, const int64_t *sums,
                      size_t n, int64_t scale, struct cairn_out *out, struct cairn_err *err)
{
    struct cairn_column column = {0};
    char id[ID_MAX];
    for (size_t i = 0; i < n; i++)
        cairn_column_add_signed(&column, sums[i] / scale);
    snprintf(id, sizeof id, "%sheat-%s-%zu", prefixes[side], what, type);
    return cairn_column_write(&column, out, id, err);
}

static int write_side(const struct cairn_picture_view *view, const struct cairn_heat *heat,
                      const struct cairn_page_facts *facts, enum cairn_side side, int64_t *sums,
                      struct cairn_out *out, struct cairn_err *err)
{
    const struct cairn_profile *p = view->profile;
    size_t n_new = view->n_new < p->n_samples ? view->n_new : p->n_samples;
    size_t first = side == CAIRN_SIDE_NEW ? 0 : n_new;
    size_t end = side == CAIRN_SIDE_NEW ? n_new : p->n_samples;
    int64_t *self = sums, *total = sums + heat->n;
    int rc = CAIRN_OK;
    for (size_t type = 0; type < p->n_types && rc == CAIRN_OK; type++) {
        rc = cairn_heat_sum(p, view->looks, heat, type, first, end, self, total, err);
        if (rc == CAIRN_OK)
            rc = write_sums("self", side, type, self, heat->n, facts->scales[type], out, err);
        if (rc == CAIRN_OK)
            rc = write_sums("total", side, type, total, heat->n, facts->scales[type], out, err);
    }
    return rc;
}

static int write_heat(const struct cairn_picture_view *view, const struct cairn_heat *heat,
                      const struct cairn_page_facts *facts, struct cairn_out *out,
                      struct cairn_err *err)
{
    int64_t *sums = cairn_alloc(heat->n, 2 * sizeof *sums);
    int rc = sums ? write_spots(heat, out, err) : cairn_fail_memory(err);
    for (size_t side = 0; side < view->layout->n_sides && rc == CAIRN_OK; side++)
        rc = write_side(view, heat, facts, (enum cairn_side)side, sums, out, err);
    cairn_free(sums);
    return rc;
}

static int compare_hot(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Tabs become blanks, and a line too long ends early: it is shown, not compiled. */
static void add_text(struct lines *l, struct cairn_span line)
{
    cairn_buffer_clear(&l->plain);
    for (size_t i = 0; i < line.size && l->plain.size < LINE_BYTES; i++)
        if (line.data[i] == '\t')
            cairn_buffer_add(&l->plain, "    ", TAB - l->plain.size % TAB);
        else
            cairn_buffer_char(&l->plain, (char)line.data[i]);
    size_t size = l->plain.size;
    if (size >= LINE_BYTES) /* not within a character */
        while (size > 0 && (l->plain.data[size - 1] & 0x80) != 0)
            size--;
    if (size && l->plain.data[size - 1] == '\r')
        size--;
    cairn_escape_terminal(&l->texts, cairn_buffer_text(&l->plain), size);
    cairn_buffer_char(&l->texts, '\0');
    l->texts.failed |= l->plain.failed;
}

/* Of one file: its `n` hot lines, in order, and those around them. */
static void add_file(struct lines *l, const struct hot *hot, size_t n, struct cairn_span text)
{
    const uint8_t *at = text.data, *end = text.data + text.size;
    size_t next = 0;
    for (uint32_t number = 1; at < end && next < n; number++) {
        const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        while (next < n && (uint64_t)hot[next].line + AROUND < number)
            next++;
        if (next < n && hot[next].line <= (uint64_t)number + AROUND) {
            cairn_column_add(&l->files, hot->file);
            cairn_column_add(&l->numbers, number);
            add_text(l, (struct cairn_span){at, (size_t)(line_end - at)});
        }
        at = line_end + 1;
    }
}

static void add_files(const struct cairn_picture_view *view, const struct hot *hot, size_t n,
                      struct lines *l)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && hot[end].file == hot[i].file; end++)
            ;
        const char *text;
        size_t size;
        if (view->source(view->source_ctx, cairn_strings_get(&view->profile->strings, hot[i].raw),
                         &text, &size) == 0)
            add_file(l, hot + i, end - i, (struct cairn_span){(const uint8_t *)text, size});
    }
}

static int write_lines(const struct cairn_picture_view *view, const struct cairn_heat *heat,
                       struct cairn_out *out, struct cairn_err *err)
{
    struct lines l = {0};
    struct hot *hot = cairn_alloc(heat->n, sizeof *hot);
    size_t n = 0;
    if (!hot)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < heat->n; i++) {
        const struct cairn_look *look = &view->looks->rows[heat->spots[i].look];
        if (look->file)
            hot[n++] = (struct hot){look->file, look->raw_file, heat->spots[i].line};
    }
    qsort(hot, n, sizeof *hot, compare_hot);
    add_files(view, hot, n, &l);
    cairn_free(hot);
    int rc = l.texts.failed
                 ? cairn_fail_memory(err)
                 : cairn_column_write_block(cairn_buffer_span(&l.texts), out, "source-texts", err);
    if (rc == CAIRN_OK)
        rc = cairn_column_write(&l.files, out, "source-file", err);
    if (rc == CAIRN_OK)
        rc = cairn_column_write(&l.numbers, out, "source-line", err);
    cairn_column_done(&l.files);
    cairn_column_done(&l.numbers);
    cairn_buffer_done(&l.texts);
    cairn_buffer_done(&l.plain);
    return rc;
}

int cairn_source_write(const struct cairn_picture_view *view, const struct cairn_page_facts *facts,
                       struct cairn_out *out, struct cairn_err *err)
{
    struct cairn_heat heat = {0};
    int rc = cairn_heat_build(view->profile, view->looks, &heat, err);
    if (rc == CAIRN_OK && heat.n)
        rc = write_heat(view, &heat, facts, out, err);
    if (rc == CAIRN_OK && heat.n && view->source)
        rc = write_lines(view, &heat, out, err);
    cairn_heat_done(&heat);
    return rc;
}
