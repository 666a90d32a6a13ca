/* SPDX-License-Identifier: MIT */
/*
 * Of a C++ program most functions are named in many units: one name is one number. Names that stand
 * in a section of strings have one address there, since linkers merge them: that is looked up first
 * and the text itself only when the address is new.
 */
#include "symbol/index_names.h"

#include "base/alloc.h"
#include "base/error.h"
#include "symbol/demangle.h"

enum {
    NAMES_AT_ONCE = 256, /* for one thread */
    AHEAD = 12,          /* what is looked up that much later is fetched into the processor */
    LINE_MAX = (1 << 30) - 1,
    NAME_MAX = INT32_MAX
};

static const uint32_t ODD = 1u << 30; /* texts above: see place_of() */

uint32_t cairn_index_names_text(struct cairn_index_names *names, const char *text, size_t size)
{
    return cairn_strings_add(&names->texts, text, size);
}

int cairn_index_names_count(struct cairn_index_names *names, struct cairn_err *err)
{
    const struct cairn_strings *const strings[] = {&names->texts, &names->paths, &names->odd};
    const struct cairn_table *const tables[] = {&names->said, &names->around, &names->text_at,
                                                &names->qualified, &names->function_of};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        bytes += cairn_strings_bytes(strings[i]);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        bytes += cairn_table_bytes(tables[i]);
    return cairn_index_spend_grown(names->budget, bytes)
               ? CAIRN_OK
               : cairn_index_fail_budget(names->budget, err);
}

/* Number of a text that stays where it is until the index is done. */
static uint32_t lasting_text(struct cairn_index_names *names, const char *text)
{
    uint32_t number;
    if (!text)
        return 0;
    if (cairn_table_find(&names->text_at, (uintptr_t)text, &number))
        return number;
    number = cairn_strings_add(&names->texts, text, strlen(text));
    if (number == UINT32_MAX || cairn_table_set(&names->text_at, (uintptr_t)text, number) < 0)
        return UINT32_MAX;
    return number;
}

/* The number that `key` has in `table`, or a new one: the next after `*n`. UINT32_MAX: memory. */
static uint32_t number_of(struct cairn_table *table, uint64_t key, uint32_t *n, bool *ret_is_new)
{
    uint32_t number;
    *ret_is_new = false;
    if (cairn_table_find(table, key, &number))
        return number;
    if (cairn_table_set(table, key, *n + 1) < 0)
        return UINT32_MAX;
    *ret_is_new = true;
    return ++*n;
}

static uint32_t flags_of(const struct cairn_index_said *f)
{
    if (f->linkage)
        return CAIRN_FUNCTION_HAS_LINKAGE | (f->is_plain ? CAIRN_FUNCTION_HAS_NAME : 0);
    return f->name ? CAIRN_FUNCTION_HAS_NAME : 0;
}

/* Number of the qualified name. */
static uint32_t qualified_text(struct cairn_index_names *names, const struct cairn_index_unit *u,
                               const struct cairn_index_said *f)
{
    struct cairn_buffer *text = &names->text;
    cairn_buffer_clear(text);
    for (uint32_t i = 0; i < f->n_around; i++) {
        cairn_buffer_str(text, u->around[f->around + i]);
        cairn_buffer_str(text, "::");
    }
    cairn_buffer_str(text, f->name);
    return text->failed ? UINT32_MAX
                        : cairn_strings_add(&names->texts, (const char *)text->data, text->size);
}

/* The image's number of a function, the long way. */
static int take_function(struct cairn_index_names *names, const struct cairn_index_unit *u,
                         const struct cairn_index_said *f, struct cairn_index_parts *parts,
                         uint32_t *ret_number, struct cairn_err *err)
{
    uint32_t flags = flags_of(f), qualified = 0;
    uint32_t text = lasting_text(names, f->linkage ? f->linkage : f->name), name = text;
    bool is_new = false;
    if (flags == CAIRN_FUNCTION_HAS_NAME && text != UINT32_MAX) {
        qualified = qualified_text(names, u, f);
        uint64_t pair = (uint64_t)text << 32 | qualified;
        name = number_of(&names->qualified, pair, &names->n_pairs, &is_new);
    }
    if (text == UINT32_MAX || qualified == UINT32_MAX || name == UINT32_MAX)
        return cairn_fail_memory(err);
    if (name >> 30)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d names", 1 << 30);
    uint64_t key = (uint64_t)(name << 2 | flags) << 32 | f->decl_line;
    uint32_t n = parts->functions.n;
    *ret_number = number_of(&names->function_of, key, &n, &is_new);
    if (*ret_number == UINT32_MAX)
        return cairn_fail_memory(err);
    if (is_new)
        cairn_columns_add(&parts->functions,
                          (const uint32_t[]){text, qualified, f->decl_line, flags});
    return cairn_index_names_count(names, err);
}

/* A text by its place alone, for linkers leave one copy of each in .debug_str; compilers write
 * those of a few bytes elsewhere. UINT32_MAX: memory is gone. */
static uint32_t place_of(struct cairn_index_names *names, const char *text)
{
    uint64_t off = (uintptr_t)text - (uintptr_t)names->str.data;
    if (off < names->str.size && off < ODD)
        return (uint32_t)off;
    uint32_t number = cairn_strings_add_str(&names->odd, text);
    return number < ODD ? ODD + number : UINT32_MAX;
}

/* A number for what is around a name and the name, both. UINT32_MAX: memory is gone, or was for
 * what is around. */
static uint32_t number_inside(struct cairn_index_names *names, uint32_t around, const char *text)
{
    bool is_new;
    uint32_t place = place_of(names, text);
    if (place == UINT32_MAX || around == UINT32_MAX)
        return UINT32_MAX;
    return number_of(&names->around, (uint64_t)around << 32 | place, &names->n_around, &is_new);
}

/* The number of a qualified name. `known` has those of what is around, by the first of its names;
 * functions share these. */
static uint32_t number_qualified(struct cairn_index_names *names, const struct cairn_index_unit *u,
                                 const struct cairn_index_said *f, uint32_t *known)
{
    uint32_t around = f->n_around ? known[f->around] : 0;
    if (f->n_around && !around) {
        for (uint32_t i = 0; i < f->n_around; i++)
            around = number_inside(names, around, u->around[f->around + i]);
        known[f->around] = around;
    }
    return number_inside(names, around, f->name);
}

/* What a function is known by at once: the place of its linkage name, or the number of its
 * qualified one, and its line. 0: nothing. */
static uint64_t key_of(struct cairn_index_names *names, const struct cairn_index_unit *u,
                       const struct cairn_index_said *f, uint32_t *known)
{
    uint32_t name = f->linkage ? place_of(names, f->linkage)
                    : f->name  ? number_qualified(names, u, f, known)
                               : 0;
    if (name > NAME_MAX || f->decl_line > LINE_MAX)
        return 0;
    return 1ull << 63 | (uint64_t)name << 32 | (uint64_t)f->decl_line << 2 | flags_of(f);
}

/* Numbers of all functions of a unit. */
static int take_functions(struct cairn_index_names *names, const struct cairn_index_unit *u,
                          struct cairn_index_parts *parts, uint32_t *ret_numbers,
                          struct cairn_err *err)
{
    uint64_t ahead[AHEAD] = {0}; /* keys of the next ones */
    uint32_t *known = cairn_alloc(u->n_around + 1, sizeof *known);
    int code = known ? CAIRN_OK : cairn_fail_memory(err);
    for (size_t i = 0; code == CAIRN_OK && i < u->n_said + AHEAD; i++) {
        uint64_t key = ahead[i % AHEAD];
        if (i < u->n_said) {
            ahead[i % AHEAD] = key_of(names, u, &u->said[i], known);
            cairn_table_fetch(&names->said, ahead[i % AHEAD]);
        }
        if (i < AHEAD)
            continue;
        size_t at = i - AHEAD;
        if (key && cairn_table_find(&names->said, key, &ret_numbers[at]))
            continue;
        code = take_function(names, u, &u->said[at], parts, &ret_numbers[at], err);
        if (code == CAIRN_OK && key && cairn_table_set(&names->said, key, ret_numbers[at]) < 0)
            code = cairn_fail_memory(err);
    }
    cairn_free(known);
    return code;
}

/* Numbers of the paths that the unit speaks of. */
static int take_paths(struct cairn_index_names *names, struct cairn_index_unit *u,
                      struct cairn_err *err)
{
    for (uint32_t i = 0; i < u->n_files; i++) {
        if (!u->paths[i])
            continue;
        u->files[i] = cairn_strings_add_str(&names->paths, u->paths[i]) + 1;
        if (!u->files[i])
            return cairn_fail_memory(err);
        int code = cairn_index_names_count(names, err);
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

static void take_nodes(const struct cairn_index_unit *u, const uint32_t *functions,
                       struct cairn_index_parts *parts)
{
    for (uint32_t i = 0; i < u->n_nodes; i++) {
        const struct cairn_dwarf_node *node = &u->nodes[i];
        const uint32_t row[CAIRN_NODE_COLUMNS] = {
            [CAIRN_NODE_FUNCTION] = functions[node->die],
            [CAIRN_NODE_UP] = node->parent ? i + 1 - node->parent : 0,
            [CAIRN_NODE_CALL_FILE] = node->parent ? cairn_index_unit_file(u, node->call_file) : 0,
            [CAIRN_NODE_CALL_LINE] = node->parent ? node->call_line : 0,
        };
        cairn_columns_add(&parts->nodes, row);
    }
}

int cairn_index_names_take(struct cairn_index_names *names, struct cairn_index_unit *u,
                           struct cairn_index_parts *parts, struct cairn_err *err)
{
    uint32_t *functions = cairn_realloc(NULL, u->n_said + 1, sizeof *functions);
    int code = functions ? take_functions(names, u, parts, functions, err) : cairn_fail_memory(err);
    u->first_node = parts->nodes.n;
    if (code == CAIRN_OK && u->n_nodes >= UINT32_MAX - u->first_node)
        code = cairn_fail(err, CAIRN_E_LIMIT, "more than 4 billion functions and inlined calls");
    if (code == CAIRN_OK)
        code = take_paths(names, u, err);
    if (code == CAIRN_OK)
        take_nodes(u, functions, parts);
    cairn_free(functions);
    return code;
}

/* Readable forms of some texts, from when they were made until they are written. */
struct piece {
    struct cairn_span *readable; /* empty: the same */
    struct cairn_arena memory;
};

struct demangling {
    const struct cairn_index_names *names;
    struct cairn_index_parts *parts;
    struct piece *pieces;
};

/* The numbers of a piece, which begins with a block of the list. */
static size_t first_of(size_t piece)
{
    return 1 + piece * NAMES_AT_ONCE;
}

static size_t end_of(const struct cairn_strings *texts, size_t piece)
{
    size_t end = first_of(piece + 1);
    return end < texts->n ? end : texts->n;
}

static void demangle_some(void *ctx, size_t piece, unsigned thread)
{
    (void)thread;
    struct demangling *d = ctx;
    const struct cairn_strings *texts = &d->names->texts;
    struct piece *p = &d->pieces[piece];
    struct cairn_buffer out = {0};
    p->readable = cairn_alloc(NAMES_AT_ONCE, sizeof *p->readable);
    bool failed = !p->readable;
    for (size_t i = first_of(piece); !failed && i < end_of(texts, piece); i++) {
        uint32_t number = (uint32_t)i;
        const char *text = cairn_strings_get(texts, number);
        cairn_buffer_clear(&out);
        if (!cairn_demangle_to(text, cairn_strings_size(texts, number), CAIRN_NAMES_FULL, &out))
            continue;
        char *copy = cairn_arena_text(&p->memory, (const char *)out.data, out.size);
        failed = !copy;
        p->readable[i - first_of(piece)] = (struct cairn_span){(const uint8_t *)copy, out.size};
        failed |= !cairn_index_spend(d->names->budget, out.size, 0);
    }
    if (failed || out.failed) {
        cairn_free(p->readable);
        p->readable = NULL;
    }
    cairn_buffer_done(&out);
}

static struct cairn_span text_span(const struct cairn_strings *s, uint32_t number)
{
    return (struct cairn_span){(const uint8_t *)cairn_strings_get(s, number),
                               cairn_strings_size(s, number)};
}

/* False: memory was gone, or the budget is spent. */
static bool write_some(void *ctx, size_t piece)
{
    struct demangling *d = ctx;
    const struct cairn_strings *texts = &d->names->texts;
    struct piece *p = &d->pieces[piece];
    if (!p->readable)
        return false;
    for (size_t i = first_of(piece); i < end_of(texts, piece); i++)
        cairn_texts_add(&d->parts->texts, text_span(texts, (uint32_t)i),
                        p->readable[i - first_of(piece)]);
    cairn_free(p->readable);
    cairn_arena_done(&p->memory);
    p->readable = NULL;
    return true;
}

int cairn_index_names_write(struct cairn_index_names *names, unsigned n_threads,
                            struct cairn_index_parts *parts, struct cairn_err *err)
{
    struct demangling d = {.names = names, .parts = parts};
    size_t n = names->texts.n / NAMES_AT_ONCE + 1, n_written = 0;
    int code = cairn_index_begin_texts(parts, names->texts.arena.used_bytes, err);
    d.pieces = cairn_alloc(n, sizeof *d.pieces);
    if (code == CAIRN_OK && d.pieces)
        n_written = cairn_index_share_out_in_order(n_threads, n, demangle_some, write_some, &d);
    if (code == CAIRN_OK && n_written < n)
        code = cairn_index_spend(names->budget, 0, 0) ? cairn_fail_memory(err)
                                                      : cairn_index_fail_budget(names->budget, err);
    for (size_t i = n_written; d.pieces && i < n; i++) {
        cairn_free(d.pieces[i].readable);
        cairn_arena_done(&d.pieces[i].memory);
    }
    cairn_free(d.pieces);
    for (uint32_t i = 1; i < names->paths.n; i++)
        cairn_texts_add(&parts->paths, text_span(&names->paths, i), (struct cairn_span){0});
    return code;
}

void cairn_index_names_done(struct cairn_index_names *names)
{
    cairn_strings_done(&names->texts);
    cairn_strings_done(&names->paths);
    cairn_table_done(&names->said);
    cairn_table_done(&names->around);
    cairn_strings_done(&names->odd);
    cairn_buffer_done(&names->text);
    cairn_table_done(&names->text_at);
    cairn_table_done(&names->qualified);
    cairn_table_done(&names->function_of);
    *names = (struct cairn_index_names){0};
}
