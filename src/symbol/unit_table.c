/* SPDX-License-Identifier: MIT */
/* Merges line rows and inline intervals in one sweep over the addresses. */
#include "symbol/unit_table.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"

enum { OPEN_MAX = 512 }; /* intervals over one address; DIEs nest no deeper */

static const struct cairn_unit_record nothing = {(uint32_t)CAIRN_DWARF_NO_FILE, 0, 0};

struct open_interval {
    uint32_t high, node;
};

struct sweep {
    struct cairn_unit_table *table;
    const uint32_t *roots; /* by node number: the function it ends up in */
    struct open_interval open[OPEN_MAX];
    unsigned n_open;
    uint32_t file, line; /* in force */
};

static uint32_t *find_roots(const struct cairn_dwarf_functions *f)
{
    uint32_t *roots = cairn_realloc(NULL, f->n_nodes + 1, sizeof *roots);
    if (!roots)
        return NULL;
    roots[0] = 0;
    for (uint32_t number = 1; number <= f->n_nodes; number++) {
        uint32_t parent = f->nodes[number - 1].parent; /* parents have lower numbers */
        roots[number] = parent ? roots[parent] : number;
    }
    return roots;
}

/* An interval begins. Two functions at one place are folded code: the first keeps it, whole, so
 * that no chain mixes both. */
static void open_interval(struct sweep *s, const struct cairn_dwarf_interval *interval)
{
    uint32_t root = s->roots[interval->node];
    if (s->n_open && s->open[0].high <= interval->low && root == interval->node)
        s->n_open = 0; /* only strays of the function before are open */
    if (s->n_open && s->roots[s->open[0].node] != root) {
        if (root != interval->node || interval->high <= s->open[0].high)
            return;
        s->n_open = 0;
    }
    if (s->n_open < OPEN_MAX)
        s->open[s->n_open++] = (struct open_interval){interval->high, interval->node};
}

static void add_record(struct sweep *s, uint32_t at)
{
    struct cairn_unit_table *t = s->table;
    struct cairn_unit_record record = {s->file, s->line,
                                       s->n_open ? s->open[s->n_open - 1].node : 0};
    const struct cairn_unit_record *last = t->n ? &t->records[t->n - 1] : &nothing;
    if (last->file == record.file && last->line == record.line && last->node == record.node)
        return;
    t->starts[t->n] = at;
    t->records[t->n++] = record;
}

static void run_sweep(struct sweep *s)
{
    const struct cairn_dwarf_functions *f = &s->table->functions;
    const struct cairn_dwarf_lines *l = &s->table->lines;
    size_t row = 0, interval = 0;
    while (row < l->n_rows || interval < f->n_intervals || s->n_open) {
        uint32_t at = UINT32_MAX;
        if (row < l->n_rows)
            at = l->rows[row].low;
        if (interval < f->n_intervals && f->intervals[interval].low < at)
            at = f->intervals[interval].low;
        if (s->n_open && s->open[s->n_open - 1].high < at)
            at = s->open[s->n_open - 1].high;
        while (s->n_open && s->open[s->n_open - 1].high <= at)
            s->n_open--;
        for (; row < l->n_rows && l->rows[row].low == at; row++) {
            s->file = l->rows[row].file;
            s->line = l->rows[row].line;
        }
        for (; interval < f->n_intervals && f->intervals[interval].low == at; interval++)
            open_interval(s, &f->intervals[interval]);
        add_record(s, at);
    }
}

/* Gives back what a doubling array, or a bound from above, has too much of. */
static void shrink(void **array, size_t n, size_t size)
{
    void *smaller = cairn_realloc(*array, n ? n : 1, size);
    if (smaller)
        *array = smaller;
}

static int merge(struct cairn_unit_table *t)
{
    struct cairn_dwarf_functions *f = &t->functions;
    if (cairn_dwarf_sort(f->intervals, f->n_intervals, sizeof *f->intervals) < 0)
        return CAIRN_E_NOMEM;
    /* Every row and both ends of every interval begin at most one record. */
    size_t cap = t->lines.n_rows + 2 * f->n_intervals + 1;
    uint32_t *roots = find_roots(f);
    t->starts = cairn_realloc(NULL, cap, sizeof *t->starts);
    t->records = cairn_realloc(NULL, cap, sizeof *t->records);
    if (!roots || !t->starts || !t->records) {
        cairn_free(roots);
        return CAIRN_E_NOMEM;
    }
    struct sweep s;
    s.table = t;
    s.roots = roots;
    s.n_open = 0;
    s.file = nothing.file;
    s.line = 0;
    run_sweep(&s);
    cairn_free(roots);
    shrink((void **)&t->starts, t->n, sizeof *t->starts);
    shrink((void **)&t->records, t->n, sizeof *t->records);
    cairn_free(f->intervals);
    f->intervals = NULL;
    f->n_intervals = f->cap_intervals = 0;
    cairn_free(t->lines.rows);
    t->lines.rows = NULL;
    t->lines.n_rows = t->lines.cap_rows = 0;
    return CAIRN_OK;
}

static void free_table(struct cairn_unit_table **table)
{
    cairn_unit_table_free(*table);
}

int cairn_unit_table_new(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *lines,
                         struct cairn_dwarf_units *home, const struct cairn_dwarf_unit *unit,
                         struct cairn_unit_table **ret_table, struct cairn_err *err)
{
    CAIRN_AUTO(free_table) struct cairn_unit_table *t = cairn_alloc(1, sizeof *t);
    if (!t)
        return cairn_fail_memory(err);
    t->home = home;
    t->unit = unit;
    int code = cairn_dwarf_lines_read(d, lines, &t->lines, err);
    if (code == CAIRN_E_NOMEM)
        return code;
    int functions = cairn_dwarf_functions_read(home->d, unit, &t->functions, code < 0 ? NULL : err);
    if (functions < 0 && code == CAIRN_OK && home->d != d)
        cairn_fail_in(err, functions, cairn_dwarf_path(home->d));
    if (functions == CAIRN_E_NOMEM || merge(t) < 0)
        return cairn_fail_memory(err);
    t->paths = cairn_alloc(t->lines.n_files ? t->lines.n_files : 1, sizeof *t->paths);
    if (!t->paths)
        return cairn_fail_memory(err);
    *ret_table = CAIRN_TAKE(t);
    return code < 0 ? code : functions;
}

void cairn_unit_table_free(struct cairn_unit_table *table)
{
    if (!table)
        return;
    cairn_free(table->starts);
    cairn_free(table->records);
    cairn_free(table->paths);
    cairn_dwarf_functions_done(&table->functions);
    cairn_dwarf_lines_done(&table->lines);
    cairn_arena_done(&table->arena);
    cairn_free(table);
}

const struct cairn_unit_record *cairn_unit_table_find(const struct cairn_unit_table *table,
                                                      uint32_t at)
{
    size_t low = 0, n = table->n;
    while (n) { /* the number of starts that are not above `at` */
        size_t half = n / 2;
        if (table->starts[low + half] <= at) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    if (!low)
        return NULL;
    const struct cairn_unit_record *record = &table->records[low - 1];
    return record->node || record->file != nothing.file ? record : NULL;
}

uint32_t cairn_unit_table_outermost(const struct cairn_unit_table *table, uint32_t node)
{
    while (node && table->functions.nodes[node - 1].parent)
        node = table->functions.nodes[node - 1].parent;
    return node;
}

/* "first/second", or only one of them where the other is missing or `second` is absolute. */
static const char *join(struct cairn_arena *arena, const char *first, const char *second)
{
    if (!second)
        return first;
    if (!first || !*first || second[0] == '/')
        return second;
    size_t n_first = strlen(first), n_second = strlen(second);
    char *joined = cairn_arena_alloc(arena, n_first + n_second + 2);
    if (!joined)
        return NULL;
    memcpy(joined, first, n_first);
    if (joined[n_first - 1] != '/')
        joined[n_first++] = '/';
    memcpy(joined + n_first, second, n_second);
    return joined;
}

const char *cairn_unit_table_path(struct cairn_unit_table *table,
                                  const struct cairn_dwarf_unit *unit, uint32_t file)
{
    const struct cairn_dwarf_lines *l = &table->lines;
    if (file >= l->n_files || !l->files[file].name)
        return NULL;
    if (!table->paths[file]) {
        const struct cairn_dwarf_file *f = &l->files[file];
        const char *path = f->name;
        if (path[0] != '/' && f->dir < l->n_dirs)
            path = join(&table->arena, l->dirs[f->dir], path);
        if (path && path[0] != '/' && f->dir && l->n_dirs)
            path = join(&table->arena, l->dirs[0], path);
        /* In version 5 it is the folder of compilation, which itself may be relative. */
        bool is_joined =
            l->n_dirs && unit->comp_dir && l->dirs[0] && strcmp(l->dirs[0], unit->comp_dir) == 0;
        if (path && path[0] != '/' && !is_joined)
            path = join(&table->arena, unit->comp_dir, path);
        table->paths[file] = path;
    }
    return table->paths[file];
}

size_t cairn_unit_table_bytes(const struct cairn_unit_table *table)
{
    return sizeof *table + table->n * (sizeof *table->starts + sizeof *table->records) +
           table->functions.cap_nodes * sizeof *table->functions.nodes +
           table->functions.cap_scopes * sizeof *table->functions.scopes +
           table->lines.cap_files * (sizeof *table->lines.files + sizeof *table->paths) +
           table->lines.cap_dirs * sizeof *table->lines.dirs + table->arena.used_bytes;
}
