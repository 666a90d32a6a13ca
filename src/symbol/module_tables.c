/* SPDX-License-Identifier: MIT */
/* Tables of units: read when an address first needs one, or many at once by all threads. */
#include "symbol/module_tables.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "symbol/index_budget.h"
#include "symbol/index_threads.h"

enum {
    WARNINGS_MAX = 8,            /* about units of one module */
    LINE_BYTES_SOON = 256 << 10, /* of .debug_line: most units have less */
    INFO_BYTES_SOON = 2 << 20,   /* of .debug_info, where units are read one after the other */
    LOOKED_AT_MAX = 1 << 14,     /* addresses for which tables are read in advance */
    TABLES_FACTOR = 32,          /* tables of lines alone take 8 times their programs */
    FEW_TABLES = 16,             /* who reads more goes through the same names again and again */
};

/* Names the unit and the module in a warning, once per unit. */
static void tell(struct cairn_module *m, struct cairn_module_unit *state, struct cairn_err *why)
{
    if (state->told || why->code == CAIRN_E_MISSING)
        return;
    state->told = true;
    cairn_fail_in(why, why->code, m->debug_path ? m->debug_path : m->path);
    m->n_told++;
    cairn_log_err(m->n_told <= WARNINGS_MAX ? CAIRN_LOG_WARNING : CAIRN_LOG_INFO, why);
}

/* Says that [off, off + size) is needed, and that `ahead` bytes will be if the last time was just
 * before. To say so costs the kernel a look at each page. */
static void say_soon(struct cairn_span section, struct cairn_soon *soon, uint64_t off,
                     uint64_t size, uint64_t ahead)
{
    bool follows = off >= soon->from && off <= soon->to;
    if (follows && size <= soon->to - off)
        return;
    size = follows && size < ahead ? ahead : size;
    *soon = (struct cairn_soon){off, off < UINT64_MAX - size ? off + size : UINT64_MAX};
    cairn_file_will_need(section, off, size);
}

/* All that must be done before a thread may read the table: opens the unit, and finds where its
 * functions are. */
static int begin_table(struct cairn_module *m, struct cairn_dwarf_unit *unit,
                       struct cairn_dwarf_units **ret_home, struct cairn_dwarf_unit **ret_functions,
                       struct cairn_err *err)
{
    say_soon(m->dwarf.info, &m->info_soon, unit->off, unit->end - unit->off, INFO_BYTES_SOON);
    int code = cairn_dwarf_unit_open(&m->units, unit, err);
    if (code < 0)
        return code;
    say_soon(m->dwarf.line, &m->line_soon, unit->line_off, LINE_BYTES_SOON / 2, LINE_BYTES_SOON);
    return cairn_module_find_home(m, unit, ret_home, ret_functions, err);
}

static int read_table(struct cairn_module *m, struct cairn_dwarf_unit *unit,
                      struct cairn_unit_table **ret_table, struct cairn_err *err)
{
    struct cairn_dwarf_units *home;
    struct cairn_dwarf_unit *functions;
    if (++m->n_tables_read == FEW_TABLES)
        cairn_dwarf_check_line_texts(&m->dwarf);
    int code = begin_table(m, unit, &home, &functions, err);
    if (code == CAIRN_OK)
        code =
            cairn_unit_table_new_in(&m->dwarf, unit, home, functions, &m->scratch, ret_table, err);
    return code;
}

/* What is kept for a unit; NULL: memory is gone. */
static struct cairn_module_unit *state_of(struct cairn_module *m,
                                          const struct cairn_dwarf_unit *unit)
{
    size_t need = (size_t)unit->number + 1;
    if (need > m->n_unit_states) {
        if (cairn_grow((void **)&m->unit_states, &m->cap_unit_states, need,
                       sizeof *m->unit_states) < 0)
            return NULL;
        memset(m->unit_states + m->n_unit_states, 0,
               (need - m->n_unit_states) * sizeof *m->unit_states);
        m->n_unit_states = need;
    }
    return &m->unit_states[unit->number];
}

/* The unit was read; NULL: nothing of it could be. */
static void take_table(struct cairn_module *m, const struct cairn_dwarf_unit *unit,
                       struct cairn_module_unit *state, struct cairn_unit_table *table)
{
    state->table = table;
    state->bytes = table ? cairn_unit_table_bytes(table) : 0;
    state->failed = !table;
    m->table_bytes += state->bytes;
    m->way.read_bytes += unit->end - unit->off;
    m->way.held_bytes += unit->end - unit->off;
}

static struct cairn_module_unit *find_oldest(const struct cairn_module *m, uint64_t now)
{
    struct cairn_module_unit *oldest = NULL;
    for (size_t i = 0; m->table_bytes && i < m->n_unit_states; i++) {
        struct cairn_module_unit *state = &m->unit_states[i];
        if (state->table && state->used != now && (!oldest || state->used < oldest->used))
            oldest = state;
    }
    return oldest;
}

/*
 * Units that share a line program or a list of ranges have the same table many times over. What all
 * tables of a module may take follows from its debug information, and what those of one look-up
 * take from the user's bound.
 */
static int check_tables(struct cairn_module *m, uint64_t now, struct cairn_err *err)
{
    uint64_t bytes = (uint64_t)m->dwarf.info.size + m->dwarf.line.size;
    bytes = bytes < m->way.size ? m->way.size : bytes;
    size_t bound = m->memory_bytes ? m->memory_bytes : SIZE_MAX;
    uint64_t most = cairn_index_memory_max(bytes, TABLES_FACTOR, bound);
    while (m->memory_bytes && m->table_bytes > most && cairn_module_drop_oldest(m, now))
        ;
    if (m->table_bytes <= most)
        return CAIRN_OK;
    return cairn_fail(err, CAIRN_E_LIMIT,
                      ".debug_info: tables of %zu MB were made of %llu kB of debug information, "
                      "which its units share: the others are not read",
                      m->table_bytes / 1000000, (unsigned long long)bytes / 1000);
}

int cairn_module_need_table(struct cairn_module *m, struct cairn_dwarf_unit *unit, uint64_t now,
                            struct cairn_unit_table **ret_table, struct cairn_err *err)
{
    struct cairn_module_unit *state = state_of(m, unit);
    struct cairn_err why = {0};
    if (!state)
        return cairn_fail_memory(err);
    state->used = now;
    if (!state->table && !state->failed) {
        int code = check_tables(m, now, &why);
        if (code == CAIRN_OK)
            code = read_table(m, unit, &state->table, &why);
        if (code == CAIRN_E_NOMEM)
            return cairn_fail_memory(err);
        if (code < 0)
            tell(m, state, &why);
        take_table(m, unit, state, state->table);
    }
    *ret_table = state->table;
    return CAIRN_OK;
}

int cairn_module_tell_damage(struct cairn_module *m, const struct cairn_dwarf_unit *unit,
                             struct cairn_err *why, struct cairn_err *err)
{
    struct cairn_module_unit *state = state_of(m, unit);
    if (!state)
        return cairn_fail_memory(err);
    tell(m, state, why);
    return CAIRN_OK;
}

uint64_t cairn_module_oldest_table(const struct cairn_module *m, uint64_t now)
{
    const struct cairn_module_unit *oldest = find_oldest(m, now);
    return oldest ? oldest->used : UINT64_MAX;
}

bool cairn_module_drop_oldest(struct cairn_module *m, uint64_t now)
{
    struct cairn_module_unit *oldest = find_oldest(m, now);
    if (!oldest)
        return false;
    const struct cairn_dwarf_unit *unit = m->units.units[oldest - m->unit_states];
    m->table_bytes -= oldest->bytes;
    m->way.held_bytes -= unit->end - unit->off;
    cairn_unit_table_free(oldest->table);
    oldest->table = NULL;
    return true;
}

/* A table that some thread reads. What goes wrong is left for the look-up, which tells of it. */
struct job {
    struct cairn_dwarf_unit *unit, *functions;
    struct cairn_dwarf_units *home;
    struct cairn_unit_table *table;
    int code;
};

struct jobs {
    struct cairn_module *m;
    struct job *list;
    size_t n, cap;
    struct cairn_unit_scratch scratches[CAIRN_INDEX_THREADS_MAX];
};

/* Adds the first unit that claims the address, unless that is known or in `seen`. CAIRN_E_NOMEM. */
static int add_job(struct jobs *jobs, const struct cairn_unit_map *map, struct cairn_table *seen,
                   uint64_t vaddr)
{
    struct cairn_module *m = jobs->m;
    struct job job = {0};
    struct cairn_err why;
    uint32_t at, end, off, ignored;
    size_t cursor = SIZE_MAX;
    if (!cairn_dwarf_place(&m->dwarf, vaddr, vaddr + 1, &at, &end) ||
        !cairn_unit_map_next(map, at, &cursor, &off) || cairn_table_find(seen, off, &ignored))
        return CAIRN_OK;
    if (cairn_table_set(seen, off, 1) < 0)
        return CAIRN_E_NOMEM;
    job.unit = cairn_dwarf_units_at(&m->units, off);
    struct cairn_module_unit *state = job.unit ? state_of(m, job.unit) : NULL;
    if (!state || state->table || state->failed ||
        begin_table(m, job.unit, &job.home, &job.functions, &why) < 0)
        return CAIRN_OK;
    if (cairn_grow((void **)&jobs->list, &jobs->cap, jobs->n + 1, sizeof job) < 0)
        return CAIRN_E_NOMEM;
    jobs->list[jobs->n++] = job;
    return CAIRN_OK;
}

static void run_job(void *ctx, size_t i, unsigned thread)
{
    struct jobs *jobs = ctx;
    struct job *job = &jobs->list[i];
    struct cairn_err why;
    job->code = cairn_unit_table_new_in(&jobs->m->dwarf, job->unit, job->home, job->functions,
                                        &jobs->scratches[thread], &job->table, &why);
}

static void take_jobs(struct jobs *jobs, uint64_t now)
{
    for (size_t i = 0; i < jobs->n; i++) {
        struct job *job = &jobs->list[i];
        struct cairn_module_unit *state = state_of(jobs->m, job->unit);
        if (job->code == CAIRN_OK && state) {
            state->used = now;
            take_table(jobs->m, job->unit, state, job->table);
        } else {
            cairn_unit_table_free(job->table);
        }
    }
    for (size_t i = 0; i < CAIRN_INDEX_THREADS_MAX; i++)
        cairn_unit_scratch_done(&jobs->scratches[i]);
    cairn_free(jobs->list);
}

int cairn_module_read_tables(struct cairn_module *m, const uint64_t *vaddrs, size_t n_vaddrs,
                             unsigned n_threads, uint64_t now, struct cairn_err *err)
{
    struct cairn_table seen = {0};
    const struct cairn_unit_map *map = NULL;
    struct jobs *jobs = cairn_alloc(1, sizeof *jobs);
    int code = jobs ? cairn_module_need_dwarf(m, err) : cairn_fail_memory(err);
    if (code == CAIRN_OK && m->unit_finder.units)
        code = cairn_unit_finder_need_map(&m->unit_finder, &map, err);
    if (code == CAIRN_OK)
        jobs->m = m;
    size_t step = n_vaddrs / LOOKED_AT_MAX + 1;
    for (size_t i = 0; code == CAIRN_OK && map && i < n_vaddrs; i += step)
        if (add_job(jobs, map, &seen, vaddrs[i]) < 0)
            code = cairn_fail_memory(err);
    if (code == CAIRN_OK) {
        cairn_dwarf_check_line_texts(&m->dwarf);
        cairn_index_share_out(cairn_index_threads_of(n_threads), jobs->n, run_job, jobs);
    }
    if (jobs)
        take_jobs(jobs, now);
    cairn_free(jobs);
    cairn_table_done(&seen);
    return code;
}
