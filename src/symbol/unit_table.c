/* SPDX-License-Identifier: MIT */
/* Merges line rows and inline intervals in one sweep over the addresses. Tables are made in memory
 * that is used again and again, and kept in one piece of their size, without the files that nothing
 * speaks of: memory that is new to the process costs more than all the copying. */
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
    struct cairn_unit_scratch *scratch; /* has rows and intervals, and gets starts and records */
    size_t n;
    const uint32_t *roots; /* by node number: the function it ends up in */
    struct open_interval open[OPEN_MAX];
    unsigned n_open;
    uint32_t file, line; /* in force */
};

static int find_roots(struct cairn_unit_scratch *scratch)
{
    const struct cairn_dwarf_functions *f = &scratch->functions;
    if (cairn_grow((void **)&scratch->roots, &scratch->cap_roots, f->n_nodes + 1,
                   sizeof *scratch->roots) < 0)
        return CAIRN_E_NOMEM;
    uint32_t *roots = scratch->roots;
    roots[0] = 0;
    for (uint32_t number = 1; number <= f->n_nodes; number++) {
        uint32_t parent = f->nodes[number - 1].parent; /* parents have lower numbers */
        roots[number] = parent ? roots[parent] : number;
    }
    return CAIRN_OK;
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
    struct cairn_unit_record *records = s->scratch->records;
    struct cairn_unit_record record = {s->file, s->line,
                                       s->n_open ? s->open[s->n_open - 1].node : 0};
    const struct cairn_unit_record *last = s->n ? &records[s->n - 1] : &nothing;
    if (last->file == record.file && last->line == record.line && last->node == record.node)
        return;
    s->scratch->starts[s->n] = at;
    records[s->n++] = record;
}

static void run_sweep(struct sweep *s)
{
    const struct cairn_dwarf_functions *f = &s->scratch->functions;
    const struct cairn_dwarf_lines *l = &s->scratch->lines;
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

/* The new number of a file, which is kept; what is no file stays none. */
static uint32_t keep_file(struct cairn_unit_scratch *scratch, uint32_t file, uint32_t *n_kept)
{
    if (file >= scratch->lines.n_files)
        return file == (uint32_t)CAIRN_DWARF_NO_FILE ? file : (uint32_t)CAIRN_DWARF_NO_FILE - 1;
    if (!scratch->number[file])
        scratch->number[file] = ++*n_kept;
    return scratch->number[file] - 1;
}

/* Numbers the files anew that records and nodes speak of, and lists those alone. */
static int keep_files(struct cairn_unit_scratch *scratch, size_t n, uint32_t *ret_n)
{
    struct cairn_dwarf_functions *f = &scratch->functions;
    struct cairn_dwarf_lines *l = &scratch->lines;
    uint32_t n_kept = 0;
    if (cairn_grow((void **)&scratch->number, &scratch->cap_number, l->n_files,
                   sizeof *scratch->number) < 0)
        return CAIRN_E_NOMEM;
    if (l->n_files)
        memset(scratch->number, 0, l->n_files * sizeof *scratch->number);
    for (size_t i = 0; i < n; i++)
        scratch->records[i].file = keep_file(scratch, scratch->records[i].file, &n_kept);
    for (size_t i = 0; i < f->n_nodes; i++)
        f->nodes[i].call_file = keep_file(scratch, f->nodes[i].call_file, &n_kept);
    *ret_n = n_kept;
    return CAIRN_OK;
}

/* Gives the number of records. */
static int merge(struct cairn_unit_scratch *scratch, size_t *ret_n)
{
    struct cairn_dwarf_functions *f = &scratch->functions;
    if (cairn_dwarf_sort(f->intervals, f->n_intervals, sizeof *f->intervals) < 0)
        return CAIRN_E_NOMEM;
    /* Every row and both ends of every interval begin at most one record. */
    size_t most = scratch->lines.n_rows + 2 * f->n_intervals + 1;
    if (find_roots(scratch) < 0 ||
        cairn_grow((void **)&scratch->starts, &scratch->cap_starts, most, sizeof *scratch->starts) <
            0 ||
        cairn_grow((void **)&scratch->records, &scratch->cap_records, most,
                   sizeof *scratch->records) < 0)
        return CAIRN_E_NOMEM;
    struct sweep s;
    s.scratch = scratch;
    s.n = 0;
    s.roots = scratch->roots;
    s.n_open = 0;
    s.file = nothing.file;
    s.line = 0;
    run_sweep(&s);
    *ret_n = s.n;
    return CAIRN_OK;
}

size_t cairn_unit_scratch_bytes(const struct cairn_unit_scratch *scratch)
{
    const struct cairn_dwarf_functions *f = &scratch->functions;
    const struct cairn_dwarf_lines *l = &scratch->lines;
    return f->cap_nodes * sizeof *f->nodes + f->cap_intervals * sizeof *f->intervals +
           f->cap_scopes * sizeof *f->scopes + l->cap_rows * sizeof *l->rows +
           l->cap_files * sizeof *l->files + l->cap_dirs * sizeof *l->dirs +
           scratch->cap_starts * sizeof *scratch->starts +
           scratch->cap_roots * sizeof *scratch->roots +
           scratch->cap_records * sizeof *scratch->records +
           scratch->cap_number * sizeof *scratch->number;
}

void cairn_unit_scratch_done(struct cairn_unit_scratch *scratch)
{
    cairn_dwarf_functions_done(&scratch->functions);
    cairn_dwarf_lines_done(&scratch->lines);
    cairn_free(scratch->starts);
    cairn_free(scratch->roots);
    cairn_free(scratch->records);
    cairn_free(scratch->number);
    *scratch = (struct cairn_unit_scratch){0};
}

/* An array of the table, from the scratch memory (or NULL: zeros) to its place in the block. */
struct part {
    void **array;
    const void *from;
    size_t n, size;
};

/* Keeps what was made. */
static int keep(struct cairn_unit_table *t, struct cairn_unit_scratch *scratch, size_t n)
{
    const struct cairn_dwarf_functions *f = &scratch->functions;
    const struct cairn_dwarf_lines *l = &scratch->lines;
    uint32_t n_files;
    if (keep_files(scratch, n, &n_files) < 0)
        return CAIRN_E_NOMEM;
    const struct part parts[] = {
        /* those that are aligned to 8 bytes come first */
        {(void **)&t->lines.files, NULL, n_files, sizeof *l->files},
        {(void **)&t->lines.dirs, l->dirs, l->n_dirs, sizeof *l->dirs},
        {(void **)&t->paths, NULL, n_files, sizeof *t->paths},
        {(void **)&t->functions.nodes, f->nodes, f->n_nodes, sizeof *f->nodes},
        {(void **)&t->starts, scratch->starts, n, sizeof *t->starts},
        {(void **)&t->records, scratch->records, n, sizeof *t->records},
        {(void **)&t->functions.scopes, f->scopes, f->n_scopes, sizeof *f->scopes},
    };
    enum { N_PARTS = sizeof parts / sizeof *parts };
    for (size_t i = 0; i < N_PARTS; i++)
        t->block_bytes += parts[i].n * parts[i].size;
    t->block = cairn_realloc(NULL, t->block_bytes, 1);
    if (!t->block)
        return CAIRN_E_NOMEM;
    uint8_t *at = t->block;
    for (size_t i = 0; i < N_PARTS; i++) {
        size_t bytes = parts[i].n * parts[i].size;
        *parts[i].array = at;
        if (bytes && parts[i].from)
            memcpy(at, parts[i].from, bytes);
        else if (bytes)
            memset(at, 0, bytes);
        at += bytes;
    }
    for (size_t i = 0; i < l->n_files; i++)
        if (scratch->number[i])
            t->lines.files[scratch->number[i] - 1] = l->files[i];
    t->n = n;
    t->functions.n_nodes = f->n_nodes;
    t->functions.n_scopes = f->n_scopes;
    t->lines.n_files = n_files;
    t->lines.n_dirs = l->n_dirs;
    return CAIRN_OK;
}

static void free_table(struct cairn_unit_table **table)
{
    cairn_unit_table_free(*table);
}

/* Reads into the scratch memory, and gives the number of records. */
static int read_unit(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *lines,
                     const struct cairn_dwarf_units *home, const struct cairn_dwarf_unit *unit,
                     struct cairn_unit_scratch *scratch, size_t *ret_n, struct cairn_err *err)
{
    int code = cairn_dwarf_lines_read_again(d, lines, &scratch->lines, err);
    if (code == CAIRN_E_NOMEM)
        return code;
    int functions =
        cairn_dwarf_functions_read_again(home->d, unit, &scratch->functions, code < 0 ? NULL : err);
    if (functions < 0 && code == CAIRN_OK && home->d != d)
        cairn_fail_in(err, functions, cairn_dwarf_path(home->d));
    if (functions == CAIRN_E_NOMEM || merge(scratch, ret_n) < 0)
        return cairn_fail_memory(err);
    return code < 0 ? code : functions;
}

int cairn_unit_table_new_in(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *lines,
                            struct cairn_dwarf_units *home, const struct cairn_dwarf_unit *unit,
                            struct cairn_unit_scratch *scratch, struct cairn_unit_table **ret_table,
                            struct cairn_err *err)
{
    CAIRN_AUTO(free_table) struct cairn_unit_table *t = cairn_alloc(1, sizeof *t);
    size_t n = 0;
    if (!t)
        return cairn_fail_memory(err);
    t->home = home;
    t->unit = unit;
    int code = read_unit(d, lines, home, unit, scratch, &n, err);
    if (code != CAIRN_E_NOMEM && keep(t, scratch, n) < 0)
        code = cairn_fail_memory(err);
    if (code != CAIRN_E_NOMEM)
        *ret_table = CAIRN_TAKE(t);
    return code;
}

int cairn_unit_table_new(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *lines,
                         struct cairn_dwarf_units *home, const struct cairn_dwarf_unit *unit,
                         struct cairn_unit_table **ret_table, struct cairn_err *err)
{
    struct cairn_unit_scratch scratch = {0};
    int code = cairn_unit_table_new_in(d, lines, home, unit, &scratch, ret_table, err);
    cairn_unit_scratch_done(&scratch);
    return code;
}

void cairn_unit_table_free(struct cairn_unit_table *table)
{
    if (!table)
        return;
    cairn_free(table->block);
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
    return sizeof *table + table->block_bytes + table->arena.used_bytes;
}
