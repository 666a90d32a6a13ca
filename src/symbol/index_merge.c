/* SPDX-License-Identifier: MIT */
/*
 * A unit is asked for what it claims and nothing else. What its records say of that is cut into
 * runs, each without a gap, and the runs of all units are sorted; records are not, they only move
 * once, into the image.
 *
 *     unit 3     |== run ==|   |===== run =====|
 *     unit 7                           |=== run ===|    |= run =|
 *     image      |  3      |   |  3    |?      | 7 |    | 7     |
 *
 * At ?, as unit by unit: who knows a function before who knows a line alone; then who claims it in
 * the aranges before who does so in its root DIE only; then who comes first in .debug_info.
 */
#include "symbol/index_merge.h"

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"

enum { OPEN_MAX = 32 }; /* runs over one address; honest files have one or two */

/* What one unit says of [low, high): the first record is number `first` of its table. */
struct run {
    uint32_t low, high;
    uint32_t unit;
    uint32_t first;
    uint32_t by_root; /* 1: the aranges say nothing of this */
};

struct claim {
    uint32_t low, high;
    uint32_t unit; /* its index */
};

struct claims {
    struct claim *claims; /* sorted by unit, then by `low`; disjoint within a unit */
    size_t n;
};

struct merging {
    const struct cairn_index_units *units;
    struct cairn_index_parts *parts;
    struct run *runs;
    size_t n_runs, cap_runs;
    uint32_t last[CAIRN_RECORD_COLUMNS]; /* in the image */
    uint32_t end;                        /* of what is in the image */
};

static const struct cairn_unit_record nothing = {UINT32_MAX, 0, 0};

static bool is_nothing(const struct cairn_unit_record *record)
{
    return !record->node && record->file == nothing.file;
}

/* The claims of one map, cut to machine code, by unit. */
static int list_claims(const struct cairn_index_units *units, const struct cairn_unit_map *map,
                       struct claims *ret_claims, struct cairn_err *err)
{
    size_t *place = cairn_alloc(units->n + 1, sizeof *place);
    struct claim *claims = cairn_realloc(NULL, map->n ? map->n : 1, sizeof *claims);
    if (!place || !claims) {
        cairn_free(place);
        cairn_free(claims);
        return cairn_fail_memory(err);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < map->n; i++) {
            const struct cairn_index_unit *u = cairn_index_units_at(units, map->spans[i].unit);
            uint32_t unit = u ? (uint32_t)(u - units->units) : 0;
            if (u && pass == 0)
                place[unit + 1]++;
            else if (u)
                claims[place[unit]++] = (struct claim){map->spans[i].low, map->spans[i].high, unit};
        }
        for (size_t i = 0; pass == 0 && i < units->n; i++)
            place[i + 1] += place[i];
    }
    size_t n = units->n ? place[units->n - 1] : 0, kept = 0;
    for (size_t i = 0; i < n; i++) { /* the map is sorted by `low`, and so is each unit's part */
        struct claim *last = kept ? &claims[kept - 1] : NULL;
        if (last && last->unit == claims[i].unit && claims[i].low <= last->high)
            last->high = claims[i].high > last->high ? claims[i].high : last->high;
        else
            claims[kept++] = claims[i];
    }
    cairn_free(place);
    *ret_claims = (struct claims){claims, kept};
    return CAIRN_OK;
}

/* The number of records that begin at or below `at`. */
static size_t count_below(const struct cairn_index_unit *t, uint32_t at)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (t->starts[mid] <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Adds the runs of a unit within [low, high). */
static int add_runs(struct merging *m, uint32_t unit, uint32_t low, uint32_t high, uint32_t by_root)
{
    const struct cairn_index_unit *t = &m->units->units[unit];
    size_t i = count_below(t, low);
    i -= i > 0;
    while (i < t->n && t->starts[i] < high) {
        size_t first = i;
        while (i < t->n && t->starts[i] < high && !is_nothing(&t->records[i]))
            i++;
        uint32_t begin = t->starts[first] > low ? t->starts[first] : low;
        uint32_t end = i < t->n && t->starts[i] < high ? t->starts[i] : high;
        if (first < i && begin < end) {
            if (!cairn_index_spend(m->units->budget, sizeof *m->runs, 0))
                return CAIRN_E_LIMIT;
            if (cairn_grow((void **)&m->runs, &m->cap_runs, m->n_runs + 1, sizeof *m->runs) < 0)
                return CAIRN_E_NOMEM;
            m->runs[m->n_runs++] = (struct run){begin, end, unit, (uint32_t)first, by_root};
        }
        while (i < t->n && t->starts[i] < high && is_nothing(&t->records[i]))
            i++;
    }
    return CAIRN_OK;
}

/* The parts of [low, high) that are machine code. */
static int add_code(struct merging *m, uint32_t unit, uint32_t low, uint32_t high, uint32_t by_root)
{
    const struct cairn_dwarf *d = &m->units->module->dwarf;
    uint64_t base = cairn_dwarf_base(d);
    int code = CAIRN_OK;
    size_t first = CAIRN_COUNT_BELOW(d->code, d->n_code, low, base + low);
    first -= first > 0; /* the section that `low` lies in, or the one before it */
    for (size_t i = first; code == CAIRN_OK && i < d->n_code && d->code[i].low - base < high; i++) {
        uint64_t code_low = d->code[i].low - base, code_high = d->code[i].high - base;
        uint32_t begin = code_low > low ? (uint32_t)code_low : low;
        uint32_t end = code_high < high ? (uint32_t)code_high : high;
        if (begin < end)
            code = add_runs(m, unit, begin, end, by_root);
    }
    return code;
}

/* What the root DIE claims of [claim) and the aranges do not; `*at` walks over the latter. */
static int add_rest(struct merging *m, const struct claim *claim, const struct claims *aranges,
                    size_t *at)
{
    uint32_t low = claim->low;
    int code = CAIRN_OK;
    const struct claim *a = aranges->claims;
    while (*at < aranges->n &&
           (a[*at].unit < claim->unit || (a[*at].unit == claim->unit && a[*at].high <= claim->low)))
        ++*at;
    for (size_t i = *at;
         code == CAIRN_OK && i < aranges->n && a[i].unit == claim->unit && a[i].low < claim->high;
         i++) {
        if (a[i].low > low)
            code = add_code(m, claim->unit, low, a[i].low, 1);
        low = a[i].high > low ? a[i].high : low;
    }
    if (code == CAIRN_OK && low < claim->high)
        code = add_code(m, claim->unit, low, claim->high, 1);
    return code;
}

static int list_runs(struct merging *m, struct cairn_err *err)
{
    struct claims aranges = {0}, roots = {0};
    size_t at = 0;
    int code = list_claims(m->units, &m->units->module->unit_finder.aranges, &aranges, err);
    if (code == CAIRN_OK)
        code = list_claims(m->units, &m->units->module->unit_finder.roots, &roots, err);
    int added = code;
    for (size_t i = 0; added == CAIRN_OK && i < aranges.n; i++)
        added =
            add_code(m, aranges.claims[i].unit, aranges.claims[i].low, aranges.claims[i].high, 0);
    for (size_t i = 0; added == CAIRN_OK && i < roots.n; i++)
        added = add_rest(m, &roots.claims[i], &aranges, &at);
    cairn_free(aranges.claims);
    cairn_free(roots.claims);
    if (code < 0)
        return code;
    if (added == CAIRN_E_LIMIT)
        return cairn_index_fail_budget(m->units->budget, err);
    return added < 0 || cairn_dwarf_sort(m->runs, m->n_runs, sizeof *m->runs) < 0
               ? cairn_fail_memory(err)
               : CAIRN_OK;
}

/* From `at` on, this answers. */
static void put(struct merging *m, uint32_t at, uint32_t node, uint32_t file, uint32_t line)
{
    uint32_t *last = m->last;
    if (last[CAIRN_RECORD_NODE] == node && last[CAIRN_RECORD_LINE] == line &&
        last[CAIRN_RECORD_FILE] == file)
        return;
    last[CAIRN_RECORD_START] = at;
    last[CAIRN_RECORD_NODE] = node;
    last[CAIRN_RECORD_FILE] = file;
    last[CAIRN_RECORD_LINE] = line;
    cairn_columns_add(&m->parts->records, last);
}

/* From `at` on, a record of `u` answers. */
static void put_record(struct merging *m, uint32_t at, const struct cairn_index_unit *u,
                       const struct cairn_unit_record *record)
{
    put(m, at, record->node ? record->node + u->first_node : 0,
        cairn_index_unit_file(u, record->file), is_nothing(record) ? 0 : record->line);
}

/* The gap up to `at` says nothing. */
static void put_gap(struct merging *m, uint32_t at)
{
    if (m->parts->records.n && m->end < at)
        put(m, m->end, 0, 0, 0);
}

/* A run that no other touches. */
static void put_run(struct merging *m, const struct run *run)
{
    const struct cairn_index_unit *t = &m->units->units[run->unit];
    put_gap(m, run->low);
    put_record(m, run->low, t, &t->records[run->first]);
    for (size_t i = (size_t)run->first + 1; i < t->n && t->starts[i] < run->high; i++)
        put_record(m, t->starts[i], t, &t->records[i]);
    m->end = run->high;
}

/* Runs that are open over one address, and the record of each that is in force. */
struct open_runs {
    struct run runs[OPEN_MAX]; /* `first` is the record in force */
    unsigned n;
};

/* Before whom would `a` be asked? */
static bool is_before(const struct merging *m, const struct run *a, const struct run *b)
{
    bool a_line = !m->units->units[a->unit].records[a->first].node;
    bool b_line = !m->units->units[b->unit].records[b->first].node;
    if (a_line != b_line)
        return b_line;
    if (a->by_root != b->by_root)
        return b->by_root;
    return a->unit < b->unit;
}

static void open_run(struct open_runs *open, const struct run *run)
{
    if (open->n < OPEN_MAX)
        open->runs[open->n++] = *run;
}

/* Says who answers at `at`; returns where that may change. */
static uint32_t put_best(struct merging *m, struct open_runs *open, uint32_t at)
{
    uint32_t next = UINT32_MAX;
    const struct run *best = NULL;
    unsigned kept = 0;
    for (unsigned i = 0; i < open->n; i++) {
        struct run run = open->runs[i];
        const struct cairn_index_unit *t = &m->units->units[run.unit];
        if (run.high <= at)
            continue;
        while ((size_t)run.first + 1 < t->n && t->starts[run.first + 1] <= at)
            run.first++;
        if ((size_t)run.first + 1 < t->n && t->starts[run.first + 1] < next)
            next = t->starts[run.first + 1];
        next = run.high < next ? run.high : next;
        open->runs[kept] = run;
        if (!best || is_before(m, &open->runs[kept], best))
            best = &open->runs[kept];
        kept++;
    }
    open->n = kept;
    if (best) {
        put_gap(m, at);
        const struct cairn_index_unit *u = &m->units->units[best->unit];
        put_record(m, at, u, &u->records[best->first]);
        m->end = next;
    }
    return next;
}

/* Runs [first, end) overlap, one with the next. */
static void put_overlapping(struct merging *m, size_t first, size_t end)
{
    struct open_runs open = {.n = 0};
    uint32_t at = m->runs[first].low;
    while (first < end || open.n) {
        while (first < end && m->runs[first].low <= at)
            open_run(&open, &m->runs[first++]);
        uint32_t next = put_best(m, &open, at);
        if (!open.n && first >= end)
            break;
        if (first < end && m->runs[first].low < next) {
            next = m->runs[first].low;
            m->end = open.n ? next : m->end;
        }
        at = next;
    }
}

int cairn_index_merge(const struct cairn_index_units *units, struct cairn_index_parts *parts,
                      struct cairn_err *err)
{
    struct merging m = {.units = units, .parts = parts};
    int code = list_runs(&m, err);
    for (size_t i = 0, end; code == CAIRN_OK && i < m.n_runs; i = end) {
        uint32_t high = m.runs[i].high;
        for (end = i + 1; end < m.n_runs && m.runs[end].low < high; end++)
            high = m.runs[end].high > high ? m.runs[end].high : high;
        if (end == i + 1)
            put_run(&m, &m.runs[i]);
        else
            put_overlapping(&m, i, end);
    }
    if (code == CAIRN_OK)
        put_gap(&m, UINT32_MAX);
    parts->base = cairn_dwarf_base(&units->module->dwarf);
    cairn_free(m.runs);
    return code;
}
