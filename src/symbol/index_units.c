/* SPDX-License-Identifier: MIT */
/*
 * The calling thread opens units and tells of damage; the others only read, each the units that it
 * takes, and write to what is that unit's own. Names that lie in other files are left to the
 * calling thread, because units of those may still have to be opened.
 *
 * Of a table only what the image will have is kept, in one piece of memory: what the next table is
 * made in is then warm.
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
    struct cairn_buffer *text = &u->text;
    int code = CAIRN_OK;
    cairn_buffer_clear(text);
    if (scopes)
        code = cairn_dwarf_qualify(f->home, unit, scopes, f->declared, text, err);
    cairn_buffer_str(text, f->name);
    if (code == CAIRN_OK)
        f->shown =
            text->failed ? NULL : cairn_arena_text(&u->texts, (const char *)text->data, text->size);
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

/* Reads the names of all functions; nodes then have a number where their DIE was. */
static int name_functions(struct cairn_index_unit *u, struct cairn_err *err)
{
    struct cairn_dwarf_functions *f = &u->table->functions;
    struct cairn_table known = {0};
    int code = CAIRN_OK;
    for (size_t i = 0; code == CAIRN_OK && i < f->n_nodes; i++) {
        uint32_t index = 0;
        if (!cairn_table_find(&known, f->nodes[i].die, &index))
            code = add_function(u, f->nodes[i].die, &known, &index, err);
        f->nodes[i].die = index;
    }
    cairn_table_done(&known);
    return code;
}

/* Files that are spoken of, in the making. */
struct files {
    uint32_t *number; /* by file of the table: in `paths`, from 1; UINT32_MAX: not asked yet */
    size_t n;
    const char **paths;
    size_t n_paths, cap_paths;
    bool failed;
};

static uint32_t path_number(struct cairn_index_unit *u, struct files *files, uint32_t file)
{
    if (file >= files->n)
        return 0;
    if (files->number[file] != UINT32_MAX)
        return files->number[file];
    const char *path = cairn_unit_table_path(u->table, u->unit, file), *copy = path;
    files->number[file] = 0;
    if (path)
        copy = cairn_arena_text(&u->texts, path, strlen(path));
    if (path && copy &&
        cairn_grow((void **)&files->paths, &files->cap_paths, files->n_paths + 1,
                   sizeof *files->paths) == CAIRN_OK) {
        files->paths[files->n_paths] = copy;
        files->number[file] = (uint32_t)++files->n_paths;
    } else if (path) {
        files->failed = true;
    }
    return files->number[file];
}

/* Replaces numbers of files by those of paths. */
static void number_paths(struct cairn_index_unit *u, struct files *files)
{
    struct cairn_unit_table *t = u->table;
    for (size_t i = 0; i < t->n; i++)
        if (t->records[i].file != (uint32_t)CAIRN_DWARF_NO_FILE)
            t->records[i].file = path_number(u, files, t->records[i].file);
    for (size_t i = 0; i < t->functions.n_nodes; i++) {
        struct cairn_dwarf_node *node = &t->functions.nodes[i];
        node->call_file = node->parent ? path_number(u, files, node->call_file) : 0;
    }
}

/* Keeps of the table, and of the functions read for it, what the image will have. */
static int settle(struct cairn_index_unit *u, struct cairn_index_memory *memory)
{
    struct cairn_unit_table *t = u->table;
    struct files files = {.n = t->lines.n_files};
    struct cairn_index_said *said = cairn_realloc(NULL, u->n_functions, sizeof *said);
    files.number = cairn_realloc(NULL, files.n, sizeof *files.number);
    if (said && files.number) {
        memset(files.number, 0xff, files.n * sizeof *files.number);
        number_paths(u, &files);
        for (size_t i = 0; i < u->n_functions; i++) {
            const struct cairn_function *f = &u->functions[i];
            said[i] = (struct cairn_index_said){f->linkage, f->name, f->shown, f->decl_line};
        }
        u->starts = cairn_index_memory_copy(memory, t->starts, t->n, sizeof *t->starts);
        u->records = cairn_index_memory_copy(memory, t->records, t->n, sizeof *t->records);
        u->nodes = cairn_index_memory_copy(memory, t->functions.nodes, t->functions.n_nodes,
                                           sizeof *t->functions.nodes);
        u->said = cairn_index_memory_copy(memory, said, u->n_functions, sizeof *said);
        u->paths = cairn_index_memory_copy(memory, files.paths, files.n_paths, sizeof *u->paths);
        u->n = t->n;
        u->n_nodes = (uint32_t)t->functions.n_nodes;
        u->n_said = (uint32_t)u->n_functions;
        u->n_paths = (uint32_t)files.n_paths;
    }
    cairn_free(said);
    cairn_free(files.number);
    cairn_free(files.paths);
    cairn_free(u->functions);
    u->functions = NULL;
    cairn_buffer_done(&u->text);
    cairn_unit_table_free(u->table);
    u->table = NULL;
    bool sound = u->starts && u->records && u->nodes && u->said && u->paths && !files.failed;
    return sound ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Can a thread name all of it, or is that for the calling one? */
static bool is_whole(const struct cairn_index_units *units, const struct cairn_index_unit *u)
{
    for (size_t i = 0; i < u->n_functions; i++) {
        const struct cairn_function *f = &u->functions[i];
        if (!f->linkage && f->name && !f->shown)
            return false; /* another unit must qualify it */
    }
    return u->home == &units->module->units;
}

/* One unit, by whichever thread took it. */
static void read_unit(void *ctx, size_t i, unsigned thread)
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
    if (code == CAIRN_OK && u->table && u->home == &units->module->units)
        code = name_functions(u, NULL);
    if (code == CAIRN_OK && u->table && is_whole(units, u))
        code = settle(u, &units->memories[thread]);
    u->code = code;
}

/* What was left to the calling thread: names in other files, and those that other units qualify. */
static int finish_unit(struct cairn_index_units *units, struct cairn_index_unit *u,
                       struct cairn_err *err)
{
    int code = u->code == CAIRN_OK ? CAIRN_OK : cairn_fail_memory(err);
    if (code == CAIRN_OK && u->damage)
        code = cairn_module_tell_damage(units->module, u->unit, u->damage, err);
    if (code < 0 || !u->table)
        return code;
    if (u->home != &units->module->units)
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
    if (code == CAIRN_OK && settle(u, &units->memories[0]) < 0)
        code = cairn_fail_memory(err);
    return code;
}

int cairn_index_units_read(struct cairn_index_units *units, unsigned n_threads,
                           struct cairn_err *err)
{
    int code = CAIRN_OK;
    cairn_dwarf_check_texts(&units->module->dwarf);
    cairn_index_memory_warm();
    cairn_index_share_out(n_threads, units->n, read_unit, units);
    for (size_t i = 0; code == CAIRN_OK && i < units->n; i++)
        code = finish_unit(units, &units->units[i], err);
    return code;
}

void cairn_index_units_done(struct cairn_index_units *units)
{
    for (size_t i = 0; i < units->n; i++) {
        struct cairn_index_unit *u = &units->units[i];
        cairn_free(u->functions);
        cairn_buffer_done(&u->text);
        cairn_free(u->damage);
        cairn_arena_done(&u->texts);
        cairn_unit_table_free(u->table);
    }
    for (unsigned i = 0; i < CAIRN_INDEX_THREADS_MAX; i++)
        cairn_index_memory_done(&units->memories[i]);
    cairn_free(units->units);
    *units = (struct cairn_index_units){0};
}
