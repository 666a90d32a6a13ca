/* SPDX-License-Identifier: MIT */
/* Names through chains of DIEs, and the path of scopes down to one. */
#include "dwarf/name.h"

#include "base/error.h"
#include "dwarf/constants.h"

enum {
    ORIGINS_MAX = 16, /* abstract origin, specification, and some for the road */
    PATH_MAX_DEPTH = (CAIRN_DWARF_AROUND_MAX - 1) / 2
};

/* What one DIE of the chain adds; false where it is none, or damaged. */
static bool take(const struct cairn_dwarf_spot *at, struct cairn_dwarf_unit *unit,
                 struct cairn_dwarf_die *die, struct cairn_dwarf_name *found)
{
    const struct cairn_dwarf *d = at->home->d;
    if (!cairn_dwarf_die_at(d, unit, at->die, die) || die->abbrev->kind != CAIRN_DWARF_FUNCTION)
        return false;
    found->declared = at->die;
    found->home = at->home;
    if (unit->has_language)
        found->is_c = unit->is_c;
    if (!found->linkage)
        found->linkage = cairn_dwarf_die_string(d, unit, die, CAIRN_DWARF_LINKAGE);
    if (!found->name)
        found->name = cairn_dwarf_die_string(d, unit, die, CAIRN_DWARF_NAME);
    if (!found->decl_line && cairn_dwarf_die_has(die, CAIRN_DWARF_DECL_LINE))
        found->decl_line = (uint32_t)die->value[CAIRN_DWARF_DECL_LINE];
    return true;
}

/* The open unit around a DIE; NULL where it is damaged. CAIRN_E_NOMEM. */
static int open_at(const struct cairn_dwarf_spot *at, struct cairn_dwarf_unit **ret_unit,
                   struct cairn_err *err)
{
    struct cairn_err why;
    *ret_unit = cairn_dwarf_units_find(at->home, at->die);
    if (!*ret_unit)
        return cairn_dwarf_units_failed(at->home, err);
    int code = cairn_dwarf_unit_open(at->home, *ret_unit, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0)
        *ret_unit = NULL;
    return CAIRN_OK;
}

/* Where the search goes on; what is there is fetched. */
static void go_to(struct cairn_dwarf_name_search *search, struct cairn_dwarf_spot at)
{
    search->at = at;
    if (at.home && at.die < at.home->d->info.size)
        __builtin_prefetch(at.home->d->info.data + at.die);
}

void cairn_dwarf_name_begin(struct cairn_dwarf_name_search *search, struct cairn_dwarf_units *units,
                            struct cairn_dwarf_unit *unit, uint64_t die)
{
    search->found = (struct cairn_dwarf_name){.declared = die, .home = units};
    search->unit = unit;
    search->home = unit ? units : NULL;
    search->n_read = 0;
    go_to(search, (struct cairn_dwarf_spot){units, die});
}

int cairn_dwarf_name_step(struct cairn_dwarf_name_search *s, struct cairn_err *err)
{
    struct cairn_dwarf_spot at = s->at, next = {0};
    struct cairn_dwarf_die die;
    int code = CAIRN_OK;
    s->at.home = NULL;
    if (at.home != s->home || at.die < s->unit->off || at.die >= s->unit->end)
        code = open_at(&at, &s->unit, err); /* else in the same unit, as mostly */
    s->home = s->unit ? at.home : NULL;
    if (code < 0 || !s->unit || !take(&at, s->unit, &die, &s->found) ||
        !cairn_dwarf_die_has(&die, CAIRN_DWARF_ORIGIN) || ++s->n_read >= ORIGINS_MAX)
        return code;
    code = cairn_dwarf_follow(at.home, s->unit, die.form[CAIRN_DWARF_ORIGIN],
                              die.value[CAIRN_DWARF_ORIGIN], &next, err);
    if (code == CAIRN_OK)
        go_to(s, next);
    return code;
}

int cairn_dwarf_function_name(struct cairn_dwarf_units *units, uint64_t die,
                              struct cairn_dwarf_name *ret_name, struct cairn_err *err)
{
    struct cairn_dwarf_name_search search;
    int code = CAIRN_OK;
    cairn_dwarf_name_begin(&search, units, NULL, die);
    while (code == CAIRN_OK && search.at.home)
        code = cairn_dwarf_name_step(&search, err);
    *ret_name = search.found;
    return code;
}

/* DIEs from the outermost scope to the innermost. */
struct path {
    uint64_t dies[PATH_MAX_DEPTH];
    unsigned n;
};

/* The innermost recorded scope around `off`, or NULL. */
static const struct cairn_dwarf_scope *find_scope(const struct cairn_dwarf_functions *f,
                                                  uint64_t off)
{
    size_t low = 0, high = f->n_scopes;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->scopes[mid].off < off)
            low = mid + 1;
        else
            high = mid;
    }
    const struct cairn_dwarf_scope *scope = low ? &f->scopes[low - 1] : NULL;
    while (scope && off >= scope->end)
        scope = scope->parent ? &f->scopes[scope->parent - 1] : NULL;
    return scope;
}

/* Below a scope that the walk skipped: goes down to `off`, noting the scopes on the way. */
static void descend(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit, uint64_t from,
                    uint64_t off, struct path *path)
{
    struct cairn_dwarf_die die;
    struct cairn_reader r = cairn_dwarf_unit_reader(d, unit, from);
    bool is_scope[PATH_MAX_DEPTH];
    unsigned depth = 0, n = path->n;
    while (cairn_reader_more(&r) && r.pos < off) {
        uint64_t sibling;
        if (!cairn_dwarf_die_begin(&r, unit, &die))
            return;
        if (!die.abbrev) {
            if (!depth)
                return;
            n -= is_scope[--depth];
            continue;
        }
        cairn_dwarf_die_values(&r, unit, &die);
        if (!die.abbrev->children)
            continue;
        if (depth && cairn_dwarf_die_sibling(unit, &die, r.pos, &sibling) && sibling <= off) {
            r.pos = (size_t)sibling;
            continue;
        }
        if (depth >= PATH_MAX_DEPTH || n >= PATH_MAX_DEPTH)
            return;
        is_scope[depth] = die.abbrev->kind == CAIRN_DWARF_SCOPE;
        if (is_scope[depth])
            path->dies[n++] = die.off;
        depth++;
    }
    path->n = n;
}

/* Fills `path` with what is around `off`, and says in which function all that is declared. */
static void find_path(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                      const struct cairn_dwarf_functions *f, uint64_t off, struct path *path,
                      uint32_t *ret_function)
{
    const struct cairn_dwarf_scope *inner = find_scope(f, off), *scope = inner;
    *ret_function = 0;
    if (!inner)
        return;
    /* Up to the function that encloses the type, if any: its own scopes are those of its name. */
    uint64_t up[PATH_MAX_DEPTH];
    unsigned n = 0;
    for (; scope && scope->function == inner->function && n < PATH_MAX_DEPTH;
         scope = scope->parent ? &f->scopes[scope->parent - 1] : NULL)
        up[n++] = scope->off;
    *ret_function = inner->function;
    unsigned own = inner->skipped ? 1 : 0; /* the descent begins with it */
    while (n > own)
        path->dies[path->n++] = up[--n];
    if (inner->skipped)
        descend(d, unit, inner->off, off, path);
}

static const char *unnamed_scope(uint16_t tag)
{
    switch (tag) {
    case CAIRN_DW_TAG_NAMESPACE:
        return "(anonymous namespace)";
    case CAIRN_DW_TAG_UNION_TYPE:
        return "(anonymous union)";
    case CAIRN_DW_TAG_ENUMERATION_TYPE:
        return "(anonymous enum)";
    case CAIRN_DW_TAG_CLASS_TYPE:
        return "(anonymous class)";
    default:
        return "(anonymous struct)";
    }
}

/* Its own name, or that of the type that it stands for: one in a type unit, or in another file.
 * NULL where it is damaged. */
static int scope_name(struct cairn_dwarf_spot at, struct cairn_dwarf_unit *unit,
                      const char **ret_name, struct cairn_err *err)
{
    struct cairn_dwarf_die die;
    const char *name = NULL;
    uint16_t tag = 0;
    for (int i = 0; i < ORIGINS_MAX && unit && !name; i++) {
        if (!cairn_dwarf_die_at(at.home->d, unit, at.die, &die))
            break;
        if (!i)
            tag = die.abbrev->tag;
        name = cairn_dwarf_die_string(at.home->d, unit, &die, CAIRN_DWARF_NAME);
        if (name || !cairn_dwarf_die_has(&die, CAIRN_DWARF_ORIGIN))
            break;
        int code = cairn_dwarf_follow(at.home, unit, die.form[CAIRN_DWARF_ORIGIN],
                                      die.value[CAIRN_DWARF_ORIGIN], &at, err);
        unit = NULL;
        if (code == CAIRN_OK && at.home)
            code = open_at(&at, &unit, err);
        if (code < 0)
            return code;
    }
    *ret_name = name || !tag ? name : unnamed_scope(tag);
    return CAIRN_OK;
}

static int add_scopes(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                      const struct path *path, struct cairn_dwarf_known_scopes *known,
                      struct cairn_dwarf_around *around, struct cairn_err *err)
{
    for (unsigned i = 0; i < path->n; i++) {
        uint64_t die = path->dies[i];
        size_t slot = (size_t)(die ^ die >> 6) % CAIRN_DWARF_KNOWN_SCOPES;
        const char *name;
        if (known && known->scopes[slot].die == die) {
            name = known->scopes[slot].name;
        } else {
            int code = scope_name((struct cairn_dwarf_spot){units, die}, unit, &name, err);
            if (code < 0)
                return code;
        }
        if (known) {
            known->scopes[slot].die = die;
            known->scopes[slot].name = name;
        }
        if (name && around->n < CAIRN_DWARF_AROUND_MAX)
            around->names[around->n++] = name;
    }
    return CAIRN_OK;
}

/* For a type inside the function at `function`. */
static int add_function(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                        const struct cairn_dwarf_functions *functions, uint64_t function,
                        struct cairn_dwarf_known_scopes *known, struct cairn_dwarf_around *around,
                        struct cairn_err *err)
{
    struct cairn_dwarf_name name;
    int code = cairn_dwarf_function_name(units, function, &name, err);
    if (code < 0 || !name.name)
        return code;
    struct path path = {0};
    uint32_t outer;
    struct cairn_dwarf_spot at = {name.home, name.declared};
    if (at.home == units && at.die >= unit->off && at.die < unit->end) {
        find_path(units->d, unit, functions, at.die, &path, &outer);
    } else { /* dwz moved the declaration: its scopes are not known, only where it is */
        known = NULL;
        code = open_at(&at, &unit, err);
        if (code == CAIRN_OK && unit)
            descend(at.home->d, unit, unit->dies, at.die, &path);
    }
    if (code == CAIRN_OK && unit)
        code = add_scopes(at.home, unit, &path, known, around, err);
    if (code == CAIRN_OK && around->n < CAIRN_DWARF_AROUND_MAX)
        around->names[around->n++] = name.name;
    return code;
}

int cairn_dwarf_around(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                       const struct cairn_dwarf_functions *functions, uint64_t off,
                       struct cairn_dwarf_known_scopes *known,
                       struct cairn_dwarf_around *ret_around, struct cairn_err *err)
{
    struct path path;
    uint32_t function;
    int code = CAIRN_OK;
    ret_around->n = path.n = 0;
    find_path(units->d, unit, functions, off, &path, &function);
    if (function)
        code = add_function(units, unit, functions, function, known, ret_around, err);
    return code < 0 ? code : add_scopes(units, unit, &path, known, ret_around, err);
}

int cairn_dwarf_qualify(struct cairn_dwarf_units *units, struct cairn_dwarf_unit *unit,
                        const struct cairn_dwarf_functions *functions, uint64_t off,
                        struct cairn_buffer *out, struct cairn_err *err)
{
    struct cairn_dwarf_around around;
    int code = cairn_dwarf_around(units, unit, functions, off, NULL, &around, err);
    if (code < 0)
        return code;
    for (unsigned i = 0; i < around.n; i++) {
        cairn_buffer_str(out, around.names[i]);
        cairn_buffer_str(out, "::");
    }
    return out->failed ? cairn_fail_memory(err) : CAIRN_OK;
}
