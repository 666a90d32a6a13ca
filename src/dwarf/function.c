/* SPDX-License-Identifier: MIT */
/*
 * One walk over the DIEs of a unit, without recursion.
 *
 * Types outside functions are skipped by DW_AT_sibling in C and C++, where they hold declarations
 * only. Inside a function they are not: the body of a closure may stand in a structure in a block
 * of the function that made it (GCC), and other languages put bodies into types anywhere.
 */
#include "dwarf/function.h"

#include "base/alloc.h"
#include "base/error.h"
#include "dwarf/constants.h"

enum { DEPTH_MAX = 512 }; /* of DIEs in each other */

/* What holds for the children of a DIE. */
struct level {
    uint32_t node;     /* innermost function or inlined function; 0: none */
    uint32_t scope;    /* number of the innermost scope; 0: none */
    uint32_t function; /* DIE of the innermost function; 0: outside */
    uint32_t own;      /* number of the scope that this very DIE opened; 0: none */
};

struct walk {
    const struct cairn_dwarf *d;
    const struct cairn_dwarf_unit *unit;
    struct cairn_dwarf_functions *out;
    struct cairn_dwarf_ranges ranges;
    struct cairn_reader r;
    struct cairn_err *err;
    int ranges_code; /* the first failure of a range list; the walk goes on without that list */
    unsigned depth;
    struct level levels[DEPTH_MAX + 1];
};

static int add_node(struct walk *w, const struct cairn_dwarf_die *die, uint32_t parent)
{
    struct cairn_dwarf_functions *f = w->out;
    uint64_t named = die->off;
    bool has_name =
        cairn_dwarf_die_has(die, CAIRN_DWARF_NAME) || cairn_dwarf_die_has(die, CAIRN_DWARF_LINKAGE);
    if (!has_name && cairn_dwarf_die_has(die, CAIRN_DWARF_ORIGIN) &&
        (!cairn_dwarf_reference(w->unit, die->form[CAIRN_DWARF_ORIGIN],
                                die->value[CAIRN_DWARF_ORIGIN], &named) ||
         named > UINT32_MAX))
        named = die->off;
    if (cairn_grow((void **)&f->nodes, &f->cap_nodes, f->n_nodes + 1, sizeof *f->nodes) < 0)
        return cairn_fail_memory(w->err);
    struct cairn_dwarf_node node = {.die = (uint32_t)named, .parent = parent};
    if (parent) {
        node.call_file = cairn_dwarf_die_has(die, CAIRN_DWARF_CALL_FILE)
                             ? (uint32_t)die->value[CAIRN_DWARF_CALL_FILE]
                             : UINT32_MAX;
        node.call_line = cairn_dwarf_die_has(die, CAIRN_DWARF_CALL_LINE)
                             ? (uint32_t)die->value[CAIRN_DWARF_CALL_LINE]
                             : 0;
    }
    f->nodes[f->n_nodes++] = node;
    return CAIRN_OK;
}

static int add_intervals(struct walk *w, uint32_t node)
{
    struct cairn_dwarf_functions *f = w->out;
    if (cairn_grow((void **)&f->intervals, &f->cap_intervals, f->n_intervals + w->ranges.n,
                   sizeof *f->intervals) < 0)
        return cairn_fail_memory(w->err);
    for (size_t i = 0; i < w->ranges.n; i++) {
        struct cairn_dwarf_interval interval = {.node = node};
        if (cairn_dwarf_place_code(w->d, w->ranges.ranges[i].low, w->ranges.ranges[i].high,
                                   &interval.low, &interval.high))
            f->intervals[f->n_intervals++] = interval;
    }
    return CAIRN_OK;
}

/* A subprogram or an inlined subroutine: `below` is what holds for its children. */
static int take_function(struct walk *w, const struct cairn_dwarf_die *die, struct level *below)
{
    bool inlined = die->abbrev->tag == CAIRN_DW_TAG_INLINED_SUBROUTINE;
    if (!inlined) {
        below->node = 0;
        below->function = (uint32_t)die->off;
    } else if (!below->node) {
        return CAIRN_OK; /* in an abstract instance: no code of its own */
    }
    w->ranges.n = 0;
    int code =
        cairn_dwarf_die_ranges(w->d, w->unit, die, &w->ranges, w->ranges_code ? NULL : w->err);
    if (code == CAIRN_E_NOMEM)
        return code;
    if (code < 0 && !w->ranges_code)
        w->ranges_code = code;
    if (!w->ranges.n && !(inlined && die->abbrev->children))
        return CAIRN_OK;
    code = add_node(w, die, inlined ? below->node : 0);
    if (code < 0)
        return code;
    below->node = (uint32_t)w->out->n_nodes;
    return add_intervals(w, below->node);
}

static int add_scope(struct walk *w, const struct cairn_dwarf_die *die, struct level *below)
{
    struct cairn_dwarf_functions *f = w->out;
    if (w->unit->is_c || !die->abbrev->children)
        return CAIRN_OK;
    if (cairn_grow((void **)&f->scopes, &f->cap_scopes, f->n_scopes + 1, sizeof *f->scopes) < 0)
        return cairn_fail_memory(w->err);
    f->scopes[f->n_scopes++] = (struct cairn_dwarf_scope){
        .off = (uint32_t)die->off, .parent = below->scope, .function = below->function};
    below->own = below->scope = (uint32_t)f->n_scopes;
    return CAIRN_OK;
}

/* A type that holds declarations only, where it stands outside of functions. */
static inline bool is_type_of_c(const struct cairn_dwarf_abbrev *a)
{
    return a->kind == CAIRN_DWARF_SCOPE && a->tag != CAIRN_DW_TAG_NAMESPACE &&
           a->tag != CAIRN_DW_TAG_MODULE;
}

/* May the whole subtree be left out, and does the DIE say where it ends? */
static bool skip_children(struct walk *w, const struct cairn_dwarf_die *die,
                          const struct level *below)
{
    const struct cairn_dwarf_abbrev *a = die->abbrev;
    uint64_t sibling;
    bool no_code = a->kind == CAIRN_DWARF_NO_CODE || a->tag == CAIRN_DW_TAG_ENUMERATION_TYPE ||
                   (is_type_of_c(a) && w->unit->is_c_family && !below->function);
    if (!no_code || !a->children || !cairn_dwarf_die_sibling(w->unit, die, w->r.pos, &sibling))
        return false;
    w->r.pos = (size_t)sibling;
    if (below->own) {
        w->out->scopes[below->own - 1].end = (uint32_t)sibling;
        w->out->scopes[below->own - 1].skipped = true;
    }
    return true;
}

/* One DIE that someone may want to know of. */
static int take(struct walk *w, const struct cairn_dwarf_die *die)
{
    struct level below = w->levels[w->depth];
    int code = CAIRN_OK;
    below.own = 0;
    if (die->abbrev->kind == CAIRN_DWARF_FUNCTION)
        code = take_function(w, die, &below);
    else if (die->abbrev->kind == CAIRN_DWARF_SCOPE)
        code = add_scope(w, die, &below);
    if (code < 0 || !die->abbrev->children || skip_children(w, die, &below))
        return code;
    if (w->depth >= DEPTH_MAX)
        return cairn_fail(w->err, CAIRN_E_LIMIT, ".debug_info at 0x%llx: more than %d levels",
                          (unsigned long long)die->off, DEPTH_MAX);
    w->levels[++w->depth] = below;
    return CAIRN_OK;
}

/* The end of a list of children. */
static void leave(struct walk *w)
{
    uint32_t own = w->levels[w->depth--].own;
    if (own)
        w->out->scopes[own - 1].end = (uint32_t)w->r.pos;
}

static int fail_damaged(struct walk *w, uint64_t off)
{
    return cairn_fail(w->err, CAIRN_E_FORMAT, ".debug_info at 0x%llx: damaged entry",
                      (unsigned long long)off);
}

/* What a DIE's sibling is where only that is asked for: a number of 4 bytes as every compiler
 * writes it; 0: none. */
struct crossed {
    const uint8_t *at; /* behind the DIE; NULL: not as simple as all that, or damaged */
    uint32_t sibling;
};

/* The bytes of a form at `at`, or SIZE_MAX where they are not all there or not simple. */
static inline size_t shape_bytes(uint8_t shape, const uint8_t *at, const uint8_t *end)
{
    size_t left = (size_t)(end - at), n = 0;
    switch (shape) {
    case CAIRN_DWARF_SHAPE_LEB:
        while (n < left && n < 4 && at[n] & 0x80)
            n++;
        return n < left && n < 4 ? n + 1 : SIZE_MAX;
    case CAIRN_DWARF_SHAPE_STRING:
        while (n < left && at[n])
            n++;
        return n < left ? n + 1 : SIZE_MAX;
    case CAIRN_DWARF_SHAPE_BLOCK:
        return left && at[0] < 0x80 && left > at[0] ? 1u + at[0] : SIZE_MAX;
    case CAIRN_DWARF_SHAPE_RARE:
        return SIZE_MAX;
    default:
        return shape <= left ? shape : SIZE_MAX;
    }
}

/* Crosses the values of a DIE of which nothing is wanted but where its sibling is. */
static inline struct crossed cross(const struct cairn_dwarf_abbrevs *t,
                                   const struct cairn_dwarf_abbrev *a, const uint8_t *at,
                                   const uint8_t *end)
{
    struct crossed crossed = {NULL, 0};
    const struct cairn_dwarf_step *step = t->steps + a->first_step;
    for (uint32_t i = 0; i < a->n_steps; i++, step++) {
        if ((size_t)(end - at) < step->skip)
            return crossed;
        at += step->skip;
        size_t n = shape_bytes(step->shape, at, end);
        if (n == SIZE_MAX)
            return crossed;
        if (step->want == CAIRN_DWARF_SIBLING && step->form == CAIRN_DW_FORM_REF4)
            memcpy(&crossed.sibling, at, sizeof crossed.sibling);
        at += n;
    }
    if ((size_t)(end - at) >= a->tail)
        crossed.at = at + a->tail;
    return crossed;
}

/* Is there nothing to keep of the DIE? `*ret_skip`: nor of what is below it. */
static inline bool is_plain(const struct walk *w, const struct cairn_dwarf_abbrev *a,
                            bool *ret_skip)
{
    *ret_skip = a->children && a->kind != CAIRN_DWARF_OTHER;
    if (a->kind != CAIRN_DWARF_SCOPE || !a->children)
        return a->kind != CAIRN_DWARF_FUNCTION;
    return w->unit->is_c && !w->levels[w->depth].function && is_type_of_c(a);
}

/* The code at `*at`, which moves behind it; SIZE_MAX: cut off, or of more than two bytes. */
static inline size_t take_code(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *p = *at;
    size_t code = *p++;
    if (code & 0x80) {
        if (p == end || *p & 0x80)
            return SIZE_MAX;
        code = (code & 0x7f) | (size_t)*p++ << 7;
    }
    *at = p;
    return code;
}

/*
 * Crosses DIEs while they are plain; all that changes is held in registers. It stops before the
 * first that is not, and before whatever is odd: walk_dies() then says what is wrong with it.
 *
 * Budget: a DIE costs its code, one look at its abbreviation, and an addition per run of fixed-size
 * values.
 */
static void walk_plain(struct walk *w)
{
    const struct cairn_dwarf_unit *unit = w->unit;
    const struct cairn_dwarf_abbrevs *t = unit->abbrevs;
    const uint8_t *data = w->r.bytes.data, *at = data + w->r.pos, *end = data + w->r.bytes.size;
    unsigned depth = w->depth;
    while (at < end) {
        const uint8_t *next = at;
        size_t code = take_code(&next, end);
        if (!code && depth > 1 && !w->levels[depth].own) {
            depth--;
            at = next;
            continue;
        }
        if (code - 1 >= t->n)
            break;
        const struct cairn_dwarf_abbrev *a = &t->abbrevs[code - 1];
        bool skip;
        w->depth = depth;
        if (!is_plain(w, a, &skip))
            break;
        struct crossed crossed = cross(t, a, next, end);
        if (!crossed.at)
            break;
        if (skip) {
            if (crossed.sibling >= unit->end - unit->off ||
                data + unit->off + crossed.sibling < crossed.at)
                break;
            crossed.at = data + unit->off + crossed.sibling;
        } else if (a->children) {
            if (depth >= DEPTH_MAX)
                break;
            w->levels[depth + 1] = w->levels[depth];
            w->levels[++depth].own = 0;
        }
        at = crossed.at;
    }
    w->depth = depth;
    w->r.pos = (size_t)(at - data);
}

static int walk_dies(struct walk *w)
{
    struct cairn_dwarf_die die;
    const struct cairn_dwarf_unit *unit = w->unit;
    const bool simple = unit->abbrevs->sequential && !w->r.swap;
    while (cairn_reader_more(&w->r)) {
        if (simple && w->depth)
            walk_plain(w);
        if (!cairn_reader_more(&w->r))
            break;
        if (!cairn_dwarf_die_begin(&w->r, unit, &die))
            return fail_damaged(w, die.off);
        if (!die.abbrev) {
            if (!w->depth)
                return CAIRN_OK; /* padding behind the root */
            leave(w);
            if (!w->depth)
                return CAIRN_OK;
            continue;
        }
        if (die.abbrev->kind == CAIRN_DWARF_OTHER) {
            cairn_dwarf_die_cross(&w->r, unit, &die);
            if (!die.abbrev->children && !w->r.failed)
                continue;
            die.present = 0;
        } else {
            cairn_dwarf_die_values(&w->r, unit, &die);
        }
        if (w->r.failed)
            return fail_damaged(w, die.off);
        int code = take(w, &die);
        if (code < 0)
            return code;
        if (!w->depth)
            return CAIRN_OK; /* a root without children */
    }
    return CAIRN_OK; /* compilers may leave the last ends out */
}

/* Scopes that the damage or a missing end left open reach to the end of what was read. */
static void close_scopes(struct walk *w)
{
    while (w->depth)
        leave(w);
}

int cairn_dwarf_functions_read_again(const struct cairn_dwarf *d,
                                     const struct cairn_dwarf_unit *unit,
                                     struct cairn_dwarf_functions *functions, struct cairn_err *err)
{
    struct walk w;
    w.d = d;
    w.unit = unit;
    w.out = functions;
    w.ranges = (struct cairn_dwarf_ranges){0};
    w.r = cairn_dwarf_unit_reader(d, unit, unit->dies);
    w.err = err;
    w.ranges_code = CAIRN_OK;
    w.depth = 0;
    w.levels[0] = (struct level){0};
    functions->n_nodes = functions->n_intervals = functions->n_scopes = 0;
    int code = walk_dies(&w);
    close_scopes(&w);
    functions->n_ranges_read = w.ranges.n_read;
    cairn_dwarf_ranges_done(&w.ranges);
    return code < 0 ? code : w.ranges_code;
}

int cairn_dwarf_functions_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                               struct cairn_dwarf_functions *ret_functions, struct cairn_err *err)
{
    struct cairn_dwarf_functions functions = {0};
    int code = cairn_dwarf_functions_read_again(d, unit, &functions, err);
    if (code == CAIRN_E_NOMEM)
        cairn_dwarf_functions_done(&functions);
    else
        *ret_functions = functions;
    return code;
}

void cairn_dwarf_functions_done(struct cairn_dwarf_functions *functions)
{
    cairn_free(functions->nodes);
    cairn_free(functions->intervals);
    cairn_free(functions->scopes);
    *functions = (struct cairn_dwarf_functions){0};
}
