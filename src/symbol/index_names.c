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

enum { NAMES_AT_ONCE = 256 }; /* for one thread */

uint32_t cairn_index_names_text(struct cairn_index_names *names, const char *text, size_t size)
{
    return cairn_strings_add(&names->texts, text, size);
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

/* The image's number of a function. */
static int take_function(struct cairn_index_names *names, const struct cairn_function *f,
                         struct cairn_index_parts *parts, uint32_t *ret_number,
                         struct cairn_err *err)
{
    uint32_t flags = f->linkage ? CAIRN_FUNCTION_HAS_LINKAGE
                     : f->name  ? CAIRN_FUNCTION_HAS_NAME
                                : 0;
    uint32_t text = lasting_text(names, f->linkage ? f->linkage : f->name), qualified = 0;
    uint32_t name = text;
    bool is_new = false;
    if (flags == CAIRN_FUNCTION_HAS_NAME) {
        qualified = cairn_strings_add_str(&names->texts, f->shown);
        uint64_t pair = (uint64_t)text << 32 | qualified;
        name = number_of(&names->qualified, pair, &names->n_pairs, &is_new);
    }
    if (text == UINT32_MAX || qualified == UINT32_MAX || name == UINT32_MAX)
        return cairn_fail_memory(err);
    if (name >> 30 || f->decl_line == UINT32_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d names, or a line that is no number",
                          1 << 30);
    uint64_t key = (uint64_t)(name << 2 | flags) << 32 | f->decl_line;
    uint32_t n = parts->functions.n;
    *ret_number = number_of(&names->function_of, key, &n, &is_new);
    if (*ret_number == UINT32_MAX)
        return cairn_fail_memory(err);
    if (is_new)
        cairn_columns_add(&parts->functions,
                          (const uint32_t[]){text, qualified, f->decl_line, flags});
    return CAIRN_OK;
}

/* The column's value for a file of the unit, remembered in `files`. UINT32_MAX: memory is gone. */
static uint32_t take_path(struct cairn_index_names *names, struct cairn_index_unit *u,
                          uint32_t *files, uint32_t file)
{
    if (file >= u->table->lines.n_files)
        return 0;
    if (files[file] == UINT32_MAX) {
        const char *path = cairn_unit_table_path(u->table, u->unit, file);
        uint32_t number = path ? cairn_strings_add_str(&names->paths, path) : 0;
        if (number == UINT32_MAX)
            return UINT32_MAX;
        files[file] = path ? number + 1 : 0;
    }
    return files[file];
}

static int take_nodes(struct cairn_index_names *names, struct cairn_index_unit *u, uint32_t *files,
                      const uint32_t *functions, struct cairn_index_parts *parts,
                      struct cairn_err *err)
{
    const struct cairn_dwarf_functions *f = &u->table->functions;
    if (f->n_nodes >= UINT32_MAX - parts->nodes.n)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than 4 billion functions and inlined calls");
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct cairn_dwarf_node *node = &f->nodes[i];
        uint32_t row[CAIRN_NODE_COLUMNS] = {functions[u->function_of[i]]};
        if (node->parent) {
            row[CAIRN_NODE_UP] = i + 1 - node->parent;
            row[CAIRN_NODE_CALL_FILE] = take_path(names, u, files, node->call_file);
            row[CAIRN_NODE_CALL_LINE] = node->call_line;
            if (row[CAIRN_NODE_CALL_FILE] == UINT32_MAX)
                return cairn_fail_memory(err);
        }
        cairn_columns_add(&parts->nodes, row);
    }
    return CAIRN_OK;
}

static int change_records(struct cairn_index_names *names, struct cairn_index_unit *u,
                          uint32_t *files, uint32_t first_node, struct cairn_err *err)
{
    for (size_t i = 0; i < u->table->n; i++) {
        struct cairn_unit_record *record = &u->table->records[i];
        if (record->node)
            record->node += first_node;
        if (record->file == (uint32_t)CAIRN_DWARF_NO_FILE)
            continue;
        record->file = take_path(names, u, files, record->file);
        if (record->file == UINT32_MAX)
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

int cairn_index_names_take(struct cairn_index_names *names, struct cairn_index_unit *u,
                           struct cairn_index_parts *parts, struct cairn_err *err)
{
    size_t n_files = u->table->lines.n_files;
    uint32_t *files = cairn_realloc(NULL, n_files ? n_files : 1, sizeof *files);
    uint32_t *functions =
        cairn_realloc(NULL, u->n_functions ? u->n_functions : 1, sizeof *functions);
    uint32_t first_node = parts->nodes.n;
    int code = files && functions ? CAIRN_OK : cairn_fail_memory(err);
    if (code == CAIRN_OK && n_files)
        memset(files, 0xff, n_files * sizeof *files);
    for (size_t i = 0; code == CAIRN_OK && i < u->n_functions; i++)
        code = take_function(names, &u->functions[i], parts, &functions[i], err);
    if (code == CAIRN_OK)
        code = take_nodes(names, u, files, functions, parts, err);
    if (code == CAIRN_OK)
        code = change_records(names, u, files, first_node, err);
    cairn_free(files);
    cairn_free(functions);
    return code;
}

/* Readable forms of all texts, in the making. */
struct demangling {
    struct cairn_index_names *names;
    struct cairn_span *readable;  /* by number of the text; empty: the same */
    struct cairn_arena *memories; /* of each piece of work */
    bool *failed;                 /* likewise */
};

static void demangle_some(void *ctx, size_t piece)
{
    struct demangling *d = ctx;
    const struct cairn_strings *texts = &d->names->texts;
    struct cairn_buffer out = {0};
    for (size_t i = piece * NAMES_AT_ONCE; i < (piece + 1) * NAMES_AT_ONCE && i < texts->n; i++) {
        uint32_t number = (uint32_t)i;
        const char *text = cairn_strings_get(texts, number);
        cairn_buffer_clear(&out);
        if (!cairn_demangle_to(text, cairn_strings_size(texts, number), CAIRN_NAMES_FULL, &out))
            continue;
        char *copy = cairn_arena_text(&d->memories[piece], (const char *)out.data, out.size);
        d->failed[piece] |= !copy;
        if (copy)
            d->readable[i] = (struct cairn_span){(const uint8_t *)copy, out.size};
    }
    d->failed[piece] |= out.failed;
    cairn_buffer_done(&out);
}

static struct cairn_span text_span(const struct cairn_strings *s, uint32_t number)
{
    return (struct cairn_span){(const uint8_t *)cairn_strings_get(s, number),
                               cairn_strings_size(s, number)};
}

static void write_texts(const struct cairn_index_names *names, const struct cairn_span *readable,
                        struct cairn_index_parts *parts)
{
    for (uint32_t i = 1; i < names->texts.n; i++)
        cairn_texts_add(&parts->texts, text_span(&names->texts, i), readable[i]);
    for (uint32_t i = 1; i < names->paths.n; i++)
        cairn_texts_add(&parts->paths, text_span(&names->paths, i), (struct cairn_span){0});
}

int cairn_index_names_write(struct cairn_index_names *names, unsigned n_threads,
                            struct cairn_index_parts *parts, struct cairn_err *err)
{
    struct demangling d = {.names = names};
    size_t n = names->texts.n / NAMES_AT_ONCE + 1;
    bool failed;
    d.readable = cairn_alloc(names->texts.n + 1, sizeof *d.readable);
    d.memories = cairn_alloc(n, sizeof *d.memories);
    d.failed = cairn_alloc(n, sizeof *d.failed);
    failed = !d.readable || !d.memories || !d.failed;
    if (!failed)
        cairn_index_share_out(n_threads, n, demangle_some, &d);
    for (size_t i = 0; i < n && !failed; i++)
        failed = d.failed[i];
    if (!failed)
        write_texts(names, d.readable, parts);
    for (size_t i = 0; d.memories && i < n; i++)
        cairn_arena_done(&d.memories[i]);
    cairn_free(d.readable);
    cairn_free(d.memories);
    cairn_free(d.failed);
    return failed ? cairn_fail_memory(err) : CAIRN_OK;
}

void cairn_index_names_done(struct cairn_index_names *names)
{
    cairn_strings_done(&names->texts);
    cairn_strings_done(&names->paths);
    cairn_table_done(&names->text_at);
    cairn_table_done(&names->qualified);
    cairn_table_done(&names->function_of);
    *names = (struct cairn_index_names){0};
}
