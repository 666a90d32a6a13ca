/* SPDX-License-Identifier: MIT */
#include "symbol/named_line.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/line.h"
#include "symbol/module.h"

enum { PATH_PARTS = 3 };

struct search {
    struct cairn_module *m;
    const char *file;
    uint32_t wanted;
    struct cairn_named_line found;
    struct cairn_table programs; /* that were read: units may share one */
    bool *is_it;                 /* by file of the program */
    size_t cap_is_it;
    uint64_t n_bytes; /* of all programs that were read */
};

void cairn_named_line_done(struct cairn_named_line *line)
{
    cairn_free(line->vaddrs);
    *line = (struct cairn_named_line){0};
}

/* Does `path` end in `*end` characters of what is looked for? They are taken off. False: it differs
 * before either has ended. */
static bool take_end(const char *path, const char *wanted, size_t *end)
{
    size_t size = strlen(path);
    while (size && *end && path[size - 1] == wanted[*end - 1])
        size--, --*end;
    return !*end ? !size || path[size - 1] == '/' : !size;
}

/* The path has up to three parts: the folder of compilation, one below it, and the name. */
static bool is_file(const struct cairn_dwarf_lines *lines, const struct cairn_dwarf_file *file,
                    const char *wanted)
{
    const char *parts[PATH_PARTS] = {file->name};
    size_t n = 1, end = strlen(wanted);
    if (!file->name)
        return false;
    if (file->name[0] != '/' && file->dir < lines->n_dirs && lines->dirs[file->dir])
        parts[n++] = lines->dirs[file->dir];
    if (n == 2 && parts[1][0] != '/' && file->dir && lines->dirs[0])
        parts[n++] = lines->dirs[0];
    for (size_t i = 0; i < n; i++) {
        if (!take_end(parts[i], wanted, &end))
            return false;
        if (!end)
            return true;
        if (i + 1 < n && wanted[--end] != '/')
            return false;
    }
    return false;
}

static int mark_files(struct search *s, const struct cairn_dwarf_lines *lines,
                      struct cairn_err *err)
{
    if (cairn_grow((void **)&s->is_it, &s->cap_is_it, lines->n_files + 1, sizeof *s->is_it) < 0)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < lines->n_files; i++) {
        s->is_it[i] = is_file(lines, &lines->files[i], s->file);
        s->found.n_files += s->is_it[i];
    }
    return CAIRN_OK;
}

static void note_near(struct cairn_named_line *found, uint32_t line, uint32_t wanted)
{
    if (!line)
        return;
    if (line < wanted && line > found->before)
        found->before = line;
    if (line > wanted && (!found->behind || line < found->behind))
        found->behind = line;
}

static int take_rows(struct search *s, const struct cairn_dwarf_lines *lines, struct cairn_err *err)
{
    struct cairn_named_line *found = &s->found;
    const uint64_t base = cairn_dwarf_base(&s->m->dwarf);
    for (size_t i = 0; i < lines->n_rows; i++) {
        const struct cairn_dwarf_row *row = &lines->rows[i];
        if (row->file >= lines->n_files || !s->is_it[row->file])
            continue;
        note_near(found, row->line, s->wanted);
        if (row->line != s->wanted)
            continue;
        if (found->n == CAIRN_NAMED_LINE_MAX)
            return cairn_fail(err, CAIRN_E_LIMIT, "%s:%u is at more than %d addresses", s->file,
                              s->wanted, CAIRN_NAMED_LINE_MAX);
        if (cairn_grow((void **)&found->vaddrs, &found->cap, found->n + 1, sizeof *found->vaddrs) <
            0)
            return cairn_fail_memory(err);
        found->vaddrs[found->n++] = base + row->low;
    }
    return CAIRN_OK;
}

/* One unit, unless its program was read for another. */
static int search_unit(struct search *s, struct cairn_dwarf_unit *unit, struct cairn_err *err)
{
    struct cairn_dwarf_lines lines = {0};
    struct cairn_err why = {0};
    uint32_t number;
    int code = cairn_dwarf_unit_open(&s->m->units, unit, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0 || unit->line_off == UINT64_MAX ||
        cairn_table_find(&s->programs, unit->line_off, &number))
        return CAIRN_OK; /* damage is told by who asks for an address there */
    if (cairn_table_set(&s->programs, unit->line_off, unit->number) < 0)
        return cairn_fail_memory(err);
    code = cairn_dwarf_statements_read(&s->m->dwarf, unit, &lines, &why);
    s->n_bytes += lines.n_bytes;
    if (s->n_bytes > s->m->dwarf.line.size) { /* each program was read once */
        cairn_dwarf_lines_done(&lines);
        return cairn_fail(err, CAIRN_E_FORMAT, "%s: .debug_line: programs lie in each other",
                          s->m->path);
    }
    code = code == CAIRN_E_NOMEM ? cairn_fail_memory(err) : mark_files(s, &lines, err);
    if (code == CAIRN_OK)
        code = take_rows(s, &lines, err);
    cairn_dwarf_lines_done(&lines);
    return code;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void sort(struct cairn_named_line *found)
{
    size_t n = 0;
    if (found->n)
        qsort(found->vaddrs, found->n, sizeof *found->vaddrs, by_number);
    for (size_t i = 0; i < found->n; i++)
        if (!n || found->vaddrs[n - 1] != found->vaddrs[i])
            found->vaddrs[n++] = found->vaddrs[i];
    found->n = n;
}

int cairn_module_find_line(struct cairn_module *m, const char *file, uint32_t line,
                           struct cairn_named_line *ret_line, struct cairn_err *err)
{
    struct search s = {.m = m, .file = file, .wanted = line};
    int code = cairn_module_need_dwarf(m, err);
    if (code == CAIRN_OK && (!m->has_dwarf || !m->dwarf.line.size))
        code = cairn_fail(err, CAIRN_E_MISSING, "%s: has no lines (.debug_line)", m->path);
    if (code == CAIRN_OK)
        code = cairn_dwarf_units_read_all(&m->units, err);
    for (size_t i = 0; code == CAIRN_OK && i < m->units.n_sorted; i++)
        code = search_unit(&s, m->units.sorted[i], err);
    cairn_table_done(&s.programs);
    cairn_free(s.is_it);
    if (code < 0) {
        cairn_named_line_done(&s.found);
        return code;
    }
    sort(&s.found);
    *ret_line = s.found;
    return CAIRN_OK;
}
