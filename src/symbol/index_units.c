/* SPDX-License-Identifier: MIT */
/*
 * The calling thread opens units and tells of damage; the others only read, each the units that it
 * takes, and write to what is that unit's own. Names that lie in other files are left to the
 * calling thread, because units of those may still have to be opened.
 */
#include "symbol/index_units.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/signature.h"

static int compare_u32(const void *left, const void *right)
{
    uint32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

/* Offsets of the units of both maps, each once, sorted. */
static int list_offsets(const struct cairn_module *m, uint32_t **ret_offsets, size_t *ret_n,
                        struct cairn_err *err)
{
    const struct cairn_unit_map *aranges = &m->unit_finder.aranges, *roots = &m->unit_finder.roots;
    size_t n = aranges->n + roots->n, kept = 0;
    uint32_t *offsets = cairn_realloc(NULL, n ? n : 1, sizeof *offsets);
    if (!offsets)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        uint32_t off = i < aranges->n ? aranges->spans[i].unit : roots->spans[i - aranges->n].unit;
        if (!kept || offsets[kept - 1] != off)
            offsets[kept++] = off;
    }
    n = kept;
    kept = 0;
    qsort(offsets, n, sizeof *offsets, compare_u32);
    for (size_t i = 0; i < n; i++)
        if (!kept || offsets[kept - 1] != offsets[i])
            offsets[kept++] = offsets[i];
    *ret_offsets = offsets;
    *ret_n = kept;
    return CAIRN_OK;
}

/* Finds the unit, and where its functions are. A damaged one stays in the list, described nowhere.
 */
static int list_unit(struct cairn_module *m, uint32_t off, struct cairn_index_units *units,
                     struct cairn_err *err)
{
    struct cairn_err why = {0};
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_at(&m->units, off);
    if (!unit)
        return cairn_dwarf_units_failed(&m->units, err);
    struct cairn_index_unit *u = &units->units[units->n++];
    u->unit = unit;
    int code = cairn_dwarf_unit_open(&m->units, unit, &why);
    if (code == CAIRN_OK)
        code = cairn_module_find_home(m, unit, &u->home, &u->described, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0)
        return cairn_module_tell_damage(m, unit, &why, err);
    return CAIRN_OK;
}

/* Threads follow references to anywhere in the file and its supplement: nothing there may have to
 * be opened then. */
static int prepare(struct cairn_dwarf_units *units, struct cairn_err *err)
{
    int code = cairn_dwarf_units_prepare(units, err);
    if (code == CAIRN_OK && units->types)
        code = cairn_dwarf_units_prepare(units->types, err);
    if (code == CAIRN_OK && units->alt)
        code = cairn_dwarf_units_prepare(units->alt, err);
    return code;
}

int cairn_index_units_list(struct cairn_module *m, struct cairn_index_units *ret_units,
                           struct cairn_err *err)
{
    struct cairn_index_units units = {.module = m};
    uint32_t *offsets = NULL;
    size_t n = 0;
    int code = cairn_module_need_maps(m, err);
    if (code == CAIRN_OK)
        code = list_offsets(m, &offsets, &n, err);
    if (code < 0)
        return code;
    units.units = cairn_alloc(n ? n : 1, sizeof *units.units);
    if (!units.units)
        code = cairn_fail_memory(err);
    for (size_t i = 0; code == CAIRN_OK && i < n; i++)
        code = list_unit(m, offsets[i], &units, err);
    if (code == CAIRN_OK)
        code = prepare(&m->units, err);
    cairn_free(offsets);
    if (code < 0)
        cairn_index_units_done(&units);
    else
        *ret_units = units;
    return code;
}

struct cairn_index_unit *cairn_index_units_at(const struct cairn_index_units *units, uint32_t off)
{
    size_t low = 0, high = units->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (units->units[mid].unit->off < off)
            low = mid + 1;
        else if (units->units[mid].unit->off > off)
            high = mid;
        else
            return &units->units[mid];
    }
    return NULL;
}

/* Fills `shown` of a function without linkage name, as frames of units do. `scopes` are those of
 * the unit that holds its declaration. */
static int qualify(struct cairn_index_unit *u, struct cairn_function *f,
                   struct cairn_dwarf_unit *unit, const struct cairn_dwarf_functions *scopes,
                   struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    int code = CAIRN_OK;
    if (scopes)
        code = cairn_dwarf_qualify(f->home, unit, scopes, f->declared, &text, err);
    cairn_buffer_str(&text, f->name);
    if (code == CAIRN_OK)
        f->shown =
            text.failed ? NULL : cairn_arena_text(&u->names, (const char *)text.data, text.size);
    cairn_buffer_done(&text);
    return code < 0 || f->shown ? code : cairn_fail_memory(err);
}

static int add_function(struct cairn_index_unit *u, uint32_t die, struct cairn_table *known,
                        uint32_t *ret_index, struct cairn_err *err)
{
    struct cairn_function f;
    int code = cairn_function_read(u->home, die, &f, err);
    bool own = code == CAIRN_OK && f.home == u->home && f.declared >= u->described->off &&
               f.declared < u->described->end;
    if (code == CAIRN_OK && !f.linkage && f.name && own)
        code = qualify(u, &f, u->described, &u->table->functions, err);
    if (code < 0)
        return code;
    if (cairn_grow((void **)&u->functions, &u->cap_functions, u->n_functions + 1,
                   sizeof *u->functions) < 0 ||
        cairn_table_set(known, die, (uint32_t)u->n_functions) < 0)
        return cairn_fail_memory(err);
    u->functions[u->n_functions] = f;
    *ret_index = (uint32_t)u->n_functions++;
    return CAIRN_OK;
}

static int name_functions(struct cairn_index_unit *u, struct cairn_err *err)
{
    const struct cairn_dwarf_functions *f = &u->table->functions;
    struct cairn_table known = {0};
    int code = CAIRN_OK;
    u->function_of = cairn_realloc(NULL, f->n_nodes ? f->n_nodes : 1, sizeof *u->function_of);
    if (!u->function_of)
        return cairn_fail_memory(err);
    for (size_t i = 0; code == CAIRN_OK && i < f->n_nodes; i++)
        if (!cairn_table_find(&known, f->nodes[i].die, &u->function_of[i]))
            code = add_function(u, f->nodes[i].die, &known, &u->function_of[i], err);
    cairn_table_done(&known);
    return code;
}

/* Joins the paths of those files that are spoken of; the table remembers them. */
static void join_paths(struct cairn_index_unit *u)
{
    struct cairn_unit_table *t = u->table;
    for (size_t i = 0; i < t->n; i++)
        (void)cairn_unit_table_path(t, u->unit, t->records[i].file);
    for (size_t i = 0; i < t->functions.n_nodes; i++)
        if (t->functions.nodes[i].parent)
            (void)cairn_unit_table_path(t, u->unit, t->functions.nodes[i].call_file);
}

static bool is_foreign(const struct cairn_index_units *units, const struct cairn_index_unit *u)
{
    return u->home != &units->module->units;
}

/* One unit, by whichever thread took it. */
static void read_unit(void *ctx, size_t i)
{
    struct cairn_index_units *units = ctx;
    struct cairn_index_unit *u = &units->units[i];
    struct cairn_err why = {0};
    if (!u->described)
        return;
    int code = cairn_unit_table_new(&units->module->dwarf, u->unit, u->home, u->described,
                                    &u->table, &why);
    if (code < 0 && code != CAIRN_E_NOMEM) {
        u->damage = cairn_alloc(1, sizeof *u->damage);
        if (u->damage)
            *u->damage = why;
        code = u->damage ? CAIRN_OK : CAIRN_E_NOMEM;
    }
    if (code == CAIRN_OK && u->table)
        join_paths(u);
    if (code == CAIRN_OK && u->table && !is_foreign(units, u))
        code = name_functions(u, NULL);
    u->code = code;
}

/* What was left to the calling thread: names in other files, and those that other units qualify. */
static int finish_unit(struct cairn_index_units *units, struct cairn_index_unit *u,
                       struct cairn_err *err)
{
    int code = u->code == CAIRN_OK ? CAIRN_OK : cairn_fail_memory(err);
    if (code == CAIRN_OK && u->damage)
        code = cairn_module_tell_damage(units->module, u->unit, u->damage, err);
    if (code == CAIRN_OK && u->table && is_foreign(units, u))
        code = name_functions(u, err);
    for (size_t i = 0; code == CAIRN_OK && i < u->n_functions; i++) {
        struct cairn_function *f = &u->functions[i];
        struct cairn_dwarf_unit *unit;
        const struct cairn_dwarf_functions *scopes;
        if (f->linkage || !f->name || f->shown)
            continue;
        code =
            cairn_module_functions_at(units->module, f->home, f->declared, 0, &unit, &scopes, err);
        if (code == CAIRN_OK)
            code = qualify(u, f, unit, scopes, err);
    }
    return code;
}

int cairn_index_units_read(struct cairn_index_units *units, unsigned n_threads,
                           struct cairn_err *err)
{
    int code = CAIRN_OK;
    cairn_index_share_out(n_threads, units->n, read_unit, units);
    for (size_t i = 0; code == CAIRN_OK && i < units->n; i++)
        code = finish_unit(units, &units->units[i], err);
    return code;
}

void cairn_index_unit_trim(struct cairn_index_unit *u)
{
    if (u->table) {
        cairn_dwarf_functions_done(&u->table->functions);
        cairn_dwarf_lines_done(&u->table->lines);
        cairn_arena_done(&u->table->arena);
    }
    cairn_free(u->functions);
    u->functions = NULL;
    u->n_functions = u->cap_functions = 0;
    cairn_free(u->function_of);
    u->function_of = NULL;
    cairn_arena_done(&u->names);
    cairn_free(u->damage);
    u->damage = NULL;
}

void cairn_index_units_done(struct cairn_index_units *units)
{
    for (size_t i = 0; i < units->n; i++) {
        cairn_index_unit_trim(&units->units[i]);
        cairn_unit_table_free(units->units[i].table);
    }
    cairn_free(units->units);
    *units = (struct cairn_index_units){0};
}
