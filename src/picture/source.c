/* SPDX-License-Identifier: MIT */
#include "picture/source.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "picture/column.h"
#include "picture/values.h"

enum {
    AROUND = 4,       /* lines before and behind one that was sampled */
    LINE_BYTES = 400, /* of a line; what is behind is left out */
    TAB = 4,
};

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

/* The samples in a tree of spots, so that what is asked on the page is asked of lines, too. */
static int write_heat(const struct cairn_picture_view *view, const struct cairn_heat *heat,
                      struct cairn_page_facts *facts, struct cairn_out *out, struct cairn_err *err)
{
    static const char prefix[] = "heat-";
    struct cairn_layout layout = {0};
    int rc = write_spots(heat, out, err);
    if (rc == CAIRN_OK)
        rc = cairn_heat_build_tree(view->profile, view->looks, heat, view->n_new, &layout, err);
    if (rc == CAIRN_OK)
        rc = cairn_values_write_tree(&layout, prefix, out, err);
    if (rc == CAIRN_OK)
        rc = cairn_values_write_again(view, &layout, prefix, facts, out, err);
    cairn_layout_done(&layout);
    return rc;
}

static int compare_hot(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Not within a character of UTF-8: its last one is left out, of which some may be missing. */
static size_t end_of_character(const uint8_t *text, size_t size)
{
    size_t end = size;
    while (end > 0 && size - end < 3 && (text[end - 1] & 0xc0) == 0x80)
        end--;
    return end > 0 && text[end - 1] >= 0xc0 ? end - 1 : size;
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
    if (size >= LINE_BYTES)
        size = end_of_character(l->plain.data, size);
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
                       struct cairn_out *out, struct cairn_err *err, size_t *ret_n)
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
    *ret_n = l.numbers.n;
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

int cairn_source_write(const struct cairn_picture_view *view, struct cairn_page_facts *facts,
                       struct cairn_out *out, struct cairn_err *err)
{
    struct cairn_heat heat = {0};
    size_t n_shown = 0;
    if (!view->source)
        return CAIRN_OK;
    int rc = cairn_heat_build(view->profile, view->looks, &heat, err);
    if (rc == CAIRN_OK && heat.n)
        rc = write_lines(view, &heat, out, err, &n_shown);
    if (rc == CAIRN_OK && n_shown)
        rc = write_heat(view, &heat, facts, out, err);
    cairn_heat_done(&heat);
    return rc;
}
