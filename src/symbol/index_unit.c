/* SPDX-License-Identifier: MIT */
#include "symbol/index_unit.h"

#include "base/alloc.h"
#include "base/error.h"

enum {
    SEARCHES = 16, /* for names, at once */
    RECENT = 64
};

/* What is around the functions that were read last: much is said of the members of one class. */
struct recent {
    struct cairn_dwarf_known_scopes scopes;
    struct {
        uint32_t at, n; /* in `around` of the unit */
    } around[RECENT];
};

static bool lend(struct cairn_index_unit *u, uint64_t bytes)
{
    u->n_lent += bytes;
    return cairn_index_spend(u->budget, bytes, 0);
}

/* Puts the names into `around` of the unit, or finds them there. */
static int keep_around(struct cairn_index_unit *u, const struct cairn_dwarf_around *around,
                       struct recent *recent, struct cairn_index_said *said, struct cairn_err *err)
{
    const void *innermost = around->n ? around->names[around->n - 1] : NULL;
    size_t slot = ((uintptr_t)innermost ^ (uintptr_t)innermost >> 6) % RECENT;
    uint32_t n = around->n, at = recent->around[slot].at;
    size_t bytes = n * sizeof *u->around;
    if (!n || recent->around[slot].n != n || memcmp(u->around + at, around->names, bytes) != 0) {
        if (!lend(u, bytes))
            return cairn_index_fail_budget(u->budget, err);
        if (u->n_around >= UINT32_MAX - n ||
            cairn_grow((void **)&u->around, &u->cap_around, u->n_around + n, sizeof *u->around) < 0)
            return cairn_fail_memory(err);
        at = (uint32_t)u->n_around;
        if (n)
            memcpy(u->around + at, around->names, bytes);
        u->n_around += n;
        recent->around[slot].at = at;
        recent->around[slot].n = n;
    }
    said->around = at;
    said->n_around = n;
    said->is_qualified = true;
    return CAIRN_OK;
}

/* Notes what is around a function without linkage name. `scopes` are those of the unit that holds
 * its declaration; NULL: none. */
static int qualify(struct cairn_index_unit *u, const struct cairn_function *f,
                   struct cairn_dwarf_unit *unit, const struct cairn_dwarf_functions *scopes,
                   struct recent *recent, struct cairn_index_said *said, struct cairn_err *err)
{
    struct cairn_dwarf_known_scopes *known = unit == u->described ? &recent->scopes : NULL;
    struct cairn_dwarf_around around;
    int code = CAIRN_OK;
    around.n = 0;
    if (scopes)
        code = cairn_dwarf_around(f->home, unit, scopes, f->declared, known, &around, err);
    return code < 0 ? code : keep_around(u, &around, recent, said, err);
}

/* What was read of number `i` of `said`. */
static int say(struct cairn_index_unit *u, size_t i, const struct cairn_dwarf_name *name,
               struct recent *recent, struct cairn_err *err)
{
    struct cairn_function f;
    struct cairn_index_said *said = &u->said[i];
    cairn_function_of_name(u->home, name, &f);
    said->linkage = f.linkage;
    said->name = f.name;
    said->decl_line = f.decl_line;
    said->is_plain = f.is_plain;
    bool own =
        f.home == u->home && f.declared >= u->described->off && f.declared < u->described->end;
    return !f.linkage && f.name && own
               ? qualify(u, &f, u->described, &u->table->functions, recent, said, err)
               : CAIRN_OK;
}

/* Reads the names of all that is in `said`, some at once. */
static int read_names(struct cairn_index_unit *u, struct cairn_err *err)
{
    struct cairn_dwarf_name_search searches[SEARCHES];
    struct recent recent = {0};
    int code = CAIRN_OK;
    for (size_t first = 0; code == CAIRN_OK && first < u->n_said; first += SEARCHES) {
        size_t n = u->n_said - first < SEARCHES ? u->n_said - first : SEARCHES, n_searching = n;
        for (size_t i = 0; i < n; i++)
            cairn_dwarf_name_begin(&searches[i], u->home, u->described, u->said[first + i].die);
        while (n_searching && code == CAIRN_OK) {
            n_searching = 0;
            for (size_t i = 0; i < n && code == CAIRN_OK; i++) {
                if (searches[i].at.home)
                    code = cairn_dwarf_name_step(&searches[i], err);
                n_searching += searches[i].at.home != NULL;
            }
        }
        for (size_t i = 0; i < n && code == CAIRN_OK; i++)
            code = say(u, first + i, &searches[i].found, &recent, err);
    }
    return code;
}

/* Which DIEs were seen: base/table for keys of 32 bits, of which not more come than there is room
 * for. */
struct seen {
    struct {
        uint32_t die;
        uint32_t number; /* plus 1; 0: free */
    } * slots;
    size_t mask;
};

static int seen_begin(struct seen *seen, size_t n)
{
    size_t cap = 16;
    while (cap / 2 < n)
        cap *= 2;
    seen->slots = cairn_alloc(cap, sizeof *seen->slots);
    seen->mask = cap - 1;
    return seen->slots ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* The number of a DIE; that of a new one is `next`. */
static uint32_t seen_number(struct seen *seen, uint32_t die, uint32_t next)
{
    size_t at = (size_t)cairn_hash_u64(die) & seen->mask;
    while (seen->slots[at].number && seen->slots[at].die != die)
        at = (at + 1) & seen->mask;
    if (!seen->slots[at].number) {
        seen->slots[at].die = die;
        seen->slots[at].number = next + 1;
    }
    return seen->slots[at].number - 1;
}

/* Lists the DIEs of all nodes, each once; nodes then have its number. */
static int list_functions(struct cairn_index_unit *u)
{
    struct cairn_dwarf_functions *f = &u->table->functions;
    struct seen seen;
    int code = seen_begin(&seen, f->n_nodes);
    for (size_t i = 0; code == CAIRN_OK && i < f->n_nodes; i++) {
        uint32_t die = f->nodes[i].die;
        f->nodes[i].die = seen_number(&seen, die, (uint32_t)u->n_said);
        if (f->nodes[i].die < u->n_said)
            continue;
        code = cairn_grow((void **)&u->said, &u->cap_said, u->n_said + 1, sizeof *u->said);
        if (code == CAIRN_OK)
            u->said[u->n_said++] = (struct cairn_index_said){.die = die};
    }
    cairn_free(seen.slots);
    return code;
}

int cairn_index_unit_name(struct cairn_index_unit *u, struct cairn_err *err)
{
    return list_functions(u) < 0 ? cairn_fail_memory(err) : read_names(u, err);
}

static bool is_left(const struct cairn_index_said *said)
{
    return !said->linkage && said->name && !said->is_qualified;
}

bool cairn_index_unit_is_named(const struct cairn_index_unit *u)
{
    for (size_t i = 0; i < u->n_said; i++)
        if (is_left(&u->said[i]))
            return false;
    return true;
}

int cairn_index_unit_name_rest(struct cairn_index_unit *u, struct cairn_module *m,
                               struct cairn_err *err)
{
    struct recent recent = {0};
    int code = CAIRN_OK;
    for (size_t i = 0; code == CAIRN_OK && i < u->n_said; i++) {
        struct cairn_function f;
        struct cairn_dwarf_unit *unit;
        const struct cairn_dwarf_functions *scopes;
        if (!is_left(&u->said[i]))
            continue;
        code = cairn_function_read(u->home, u->said[i].die, &f, err);
        if (code == CAIRN_OK)
            code = cairn_module_functions_at(m, f.home, f.declared, 0, &unit, &scopes, err);
        if (code == CAIRN_OK)
            code = qualify(u, &f, unit, scopes, &recent, &u->said[i], err);
    }
    return code;
}

/* Copies the records, and notes in `spoken_of` which files they, and calls, speak of. */
static void take_records(struct cairn_index_unit *u, struct cairn_unit_record *copy,
                         bool *spoken_of)
{
    const struct cairn_unit_table *t = u->table;
    const struct cairn_dwarf_functions *f = &t->functions;
    size_t n = u->n_files;
    for (size_t i = 0; i < t->n; i++) {
        copy[i] = t->records[i];
        spoken_of[copy[i].file < n ? copy[i].file : n] = true;
    }
    for (size_t i = 0; i < f->n_nodes; i++)
        if (f->nodes[i].parent)
            spoken_of[f->nodes[i].call_file < n ? f->nodes[i].call_file : n] = true;
}

static int take_paths(struct cairn_index_unit *u, const bool *spoken_of)
{
    for (uint32_t file = 0; file < u->n_files; file++) {
        const char *path = spoken_of[file] ? cairn_unit_table_path(u->table, u->unit, file) : NULL;
        if (path && !lend(u, 2 * (uint64_t)strlen(path))) /* the table has it, too */
            return CAIRN_E_LIMIT;
        if (path && !(u->paths[file] = cairn_arena_text(&u->texts, path, strlen(path))))
            return CAIRN_E_NOMEM;
    }
    return CAIRN_OK;
}

int cairn_index_unit_settle(struct cairn_index_unit *u, struct cairn_index_memory *memory)
{
    struct cairn_unit_table *t = u->table;
    int code = CAIRN_E_NOMEM;
    u->n = t->n;
    u->n_files = (uint32_t)t->lines.n_files;
    u->starts = cairn_index_memory_copy(memory, t->starts, t->n, sizeof *t->starts);
    u->files = cairn_index_memory_take(memory, t->lines.n_files + 1, sizeof *u->files);
    u->paths = cairn_alloc(t->lines.n_files + 1, sizeof *u->paths);
    struct cairn_unit_record *records = cairn_index_memory_take(memory, t->n, sizeof *t->records);
    bool *spoken_of = cairn_alloc(t->lines.n_files + 1, sizeof *spoken_of);
    u->nodes = cairn_realloc(NULL, t->functions.n_nodes, sizeof *u->nodes);
    if (u->starts && u->files && u->paths && records && spoken_of && u->nodes) {
        memset(u->files, 0, (t->lines.n_files + 1) * sizeof *u->files);
        take_records(u, records, spoken_of);
        code = take_paths(u, spoken_of);
        u->records = records;
        u->n_nodes = (uint32_t)t->functions.n_nodes;
        if (u->n_nodes)
            memcpy(u->nodes, t->functions.nodes, u->n_nodes * sizeof *u->nodes);
    }
    cairn_free(spoken_of);
    cairn_unit_table_free(t);
    u->table = NULL;
    return code;
}

void cairn_index_unit_drop(struct cairn_index_unit *u)
{
    cairn_free(u->damage);
    cairn_free(u->nodes);
    cairn_free(u->said);
    cairn_free(u->around);
    cairn_free(u->paths);
    cairn_arena_done(&u->texts);
    if (u->n_lent)
        cairn_index_give_back(u->budget, u->n_lent);
    u->n_lent = 0;
    cairn_unit_table_free(u->table);
    u->damage = NULL;
    u->nodes = NULL;
    u->said = NULL;
    u->around = NULL;
    u->paths = NULL;
    u->table = NULL;
}
