/* SPDX-License-Identifier: MIT */
/* Names through chains of DIEs, and the path of scopes down to one. */
#include "dwarf/name.h"

#include "base/error.h"
#include "dwarf/constants.h"

enum {
    ORIGINS_MAX = 16, /* abstract origin, specification, and some for the road */
    PATH_MAX_DEPTH = 64
};

int cairn_dwarf_function_name(struct cairn_dwarf_units *units, uint64_t die_off,
                              struct cairn_dwarf_name *ret_name, struct cairn_err *err)
{
    struct cairn_dwarf_name found = {.declared = die_off, .home = units};
    for (int i = 0; i < ORIGINS_MAX; i++) {
        struct cairn_dwarf_unit *unit = cairn_dwarf_units_find(units, die_off);
        struct cairn_dwarf_die die;
        int code =
            unit ? cairn_dwarf_unit_open(units, unit, err) : cairn_dwarf_units_failed(units, err);
        if (!unit && code == CAIRN_OK)
            break;
        if (code == CAIRN_E_NOMEM)
            return code;
        if (code < 0 || !cairn_dwarf_die_at(units->d, unit, die_off, &die) ||
            die.abbrev->kind != CAIRN_DWARF_FUNCTION)
            break;
        found.declared = die_off;
        if (!found.linkage)
            found.linkage = cairn_dwarf_die_string(units->d, unit, &die, CAIRN_DWARF_LINKAGE);
        if (!found.name)
            found.name = cairn_dwarf_die_string(units->d, unit, &die, CAIRN_DWARF_NAME);
        if (!found.decl_line && cairn_dwarf_die_has(&die, CAIRN_DWARF_DECL_LINE))
            found.decl_line = (uint32_t)die.value[CAIRN_DWARF_DECL_LINE];
        if (!cairn_dwarf_die_has(&die, CAIRN_DWARF_ORIGIN) ||
            !cairn_dwarf_reference(unit, die.form[CAIRN_DWARF_ORIGIN],
                                   die.value[CAIRN_DWARF_ORIGIN], &die_off))
            break;
    }
    *ret_name = found;
    return CAIRN_OK;
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

static void append_scope(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                         uint64_t off, struct cairn_buffer *out)
{
    struct cairn_dwarf_die die;
    if (!cairn_dwarf_die_at(d, unit, off, &die))
        return;
    const char *name = cairn_dwarf_die_string(d, unit, &die, CAIRN_DWARF_NAME);
    uint64_t origin;
    uint16_t tag = die.abbrev->tag;
    if (!name && cairn_dwarf_die_has(&die, CAIRN_DWARF_ORIGIN) &&
        cairn_dwarf_reference(unit, die.form[CAIRN_DWARF_ORIGIN], die.value[CAIRN_DWARF_ORIGIN],
                              &origin) &&
        cairn_dwarf_die_at(d, unit, origin, &die))
        name = cairn_dwarf_die_string(d, unit, &die, CAIRN_DWARF_NAME);
    cairn_buffer_str(out, name ? name : unnamed_scope(tag));
    cairn_buffer_str(out, "::");
}

/* "ns::outer::" for a type inside the function at `function`. */
static int qualify_by_function(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit,
                               const struct cairn_dwarf_functions *functions, uint64_t function,
                               struct cairn_buffer *out, struct cairn_err *err)
{
    struct cairn_dwarf_name name;
    int code = cairn_dwarf_function_name(units, function, &name, err);
    if (code < 0 || !name.name)
        return code;
    struct path path = {0};
    uint32_t outer;
    if (name.declared >= unit->off && name.declared < unit->end)
        find_path(units->d, unit, functions, name.declared, &path, &outer);
    for (unsigned i = 0; i < path.n; i++)
        append_scope(units->d, unit, path.dies[i], out);
    cairn_buffer_str(out, name.name);
    cairn_buffer_str(out, "::");
    return CAIRN_OK;
}

int cairn_dwarf_qualify(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit,
                        const struct cairn_dwarf_functions *functions, uint64_t off,
                        struct cairn_buffer *out, struct cairn_err *err)
{
    struct path path = {0};
    uint32_t function;
    find_path(units->d, unit, functions, off, &path, &function);
    if (function) {
        int code = qualify_by_function(units, unit, functions, function, out, err);
        if (code < 0)
            return code;
    }
    for (unsigned i = 0; i < path.n; i++)
        append_scope(units->d, unit, path.dies[i], out);
    return out->failed ? cairn_fail_memory(err) : CAIRN_OK;
}
