/* SPDX-License-Identifier: MIT */
/* Answers out of DWARF's units and the symbol tables, each read when it is first needed. */
#include "base/alloc.h"
#include "base/error.h"
#include "symbol/frame_source.h"

static int find_place(const struct cairn_frames_request *q, struct cairn_frame_place *ret_place,
                      struct cairn_err *err)
{
    struct cairn_place place;
    int code = cairn_module_find_place(q->module, q->vaddr, q->now, &place, err);
    if (code < 0)
        return code;
    *ret_place = (struct cairn_frame_place){0};
    if (place.record)
        *ret_place = (struct cairn_frame_place){
            .known = true,
            .node = place.record->node,
            .file = place.record->file,
            .line = place.record->line,
            .table = place.table,
            .unit = place.unit,
        };
    return CAIRN_OK;
}

static void read_node(const struct cairn_frames_request *q, const struct cairn_frame_place *place,
                      uint32_t node, struct cairn_frame_node *ret_node)
{
    (void)q;
    const struct cairn_dwarf_node *n = &place->table->functions.nodes[node - 1];
    *ret_node = (struct cairn_frame_node){n->parent, n->call_file, n->call_line, n->die};
}

static int find_path(const struct cairn_frames_request *q, const struct cairn_frame_place *place,
                     uint32_t file, const char **ret_path, struct cairn_err *err)
{
    (void)q;
    (void)err;
    *ret_path = cairn_unit_table_path(place->table, place->unit, file);
    return CAIRN_OK;
}

void cairn_function_of_name(const struct cairn_dwarf_units *from,
                            const struct cairn_dwarf_name *name,
                            struct cairn_function *ret_function)
{
    *ret_function = (struct cairn_function){
        .linkage = name->linkage ? name->linkage
                   : name->is_c  ? name->name
                                 : NULL,
        .name = name->name,
        .declared = name->declared,
        .home = name->home,
        .from = from,
        .decl_line = name->decl_line,
        .is_plain = !name->linkage && name->is_c,
    };
}

int cairn_function_read(struct cairn_dwarf_units *from, uint32_t die,
                        struct cairn_function *ret_function, struct cairn_err *err)
{
    struct cairn_dwarf_name name;
    int code = cairn_dwarf_function_name(from, die, &name, err);
    if (code == CAIRN_OK)
        cairn_function_of_name(from, &name, ret_function);
    return code;
}

static struct cairn_recent *recent_of(struct cairn_module *m, uint64_t key)
{
    uint32_t mixed = (uint32_t)key * 0x9e3779b1u; /* DIEs lie at any offset: a few bits do */
    return &m->recent[mixed >> 16 & (CAIRN_MODULE_N_RECENT - 1)];
}

/* DIEs of two files have one key where the numbers of the files are the same in 32 bits: then each
 * remembers the one before it. */
static struct cairn_function *find_function(struct cairn_module *m,
                                            const struct cairn_dwarf_units *from, uint64_t key,
                                            uint32_t *ret_first)
{
    struct cairn_recent *recent = recent_of(m, key);
    uint32_t index;
    if (!recent->first || recent->key != key) {
        *recent = (struct cairn_recent){key, 0};
        if (cairn_table_find(&m->function_of, key, &index))
            recent->first = index + 1;
    }
    *ret_first = recent->first;
    for (uint32_t number = *ret_first; number; number = m->functions[number - 1].next)
        if (m->functions[number - 1].from == from)
            return &m->functions[number - 1];
    return NULL;
}

static int find_function_of(const struct cairn_frames_request *q,
                            const struct cairn_frame_place *place, uint32_t die,
                            struct cairn_function **ret_function, struct cairn_err *err)
{
    struct cairn_module *m = q->module;
    struct cairn_dwarf_units *from = place->table->home;
    uint32_t first;
    uint64_t key = (uint64_t)from->number << 32 | die;
    *ret_function = find_function(m, from, key, &first);
    if (*ret_function)
        return CAIRN_OK;
    struct cairn_function function;
    int code = cairn_function_read(from, die, &function, err);
    if (code < 0)
        return code;
    function.next = first;
    if (cairn_grow((void **)&m->functions, &m->cap_functions, m->n_functions + 1,
                   sizeof *m->functions) < 0 ||
        cairn_table_set(&m->function_of, key, (uint32_t)m->n_functions) < 0)
        return cairn_fail_memory(err);
    *ret_function = &m->functions[m->n_functions++];
    **ret_function = function;
    *recent_of(m, key) = (struct cairn_recent){key, (uint32_t)m->n_functions};
    return CAIRN_OK;
}

static int qualify(const struct cairn_frames_request *q, const struct cairn_function *f,
                   const char **ret_name, struct cairn_err *err)
{
    struct cairn_dwarf_unit *unit;
    const struct cairn_dwarf_functions *functions;
    struct cairn_buffer text = {0};
    int code =
        cairn_module_functions_at(q->module, f->home, f->declared, q->now, &unit, &functions, err);
    if (code == CAIRN_OK && functions)
        code = cairn_dwarf_qualify(f->home, unit, functions, f->declared, &text, err);
    if (code == CAIRN_OK) {
        cairn_buffer_str(&text, f->name);
        *ret_name = text.failed
                        ? NULL
                        : cairn_arena_text(&q->module->names, (const char *)text.data, text.size);
        if (!*ret_name)
            code = cairn_fail_memory(err);
    }
    cairn_buffer_done(&text);
    return code;
}

/* A symbol's name without what the compiler hung behind it. NULL: memory is gone. */
static const char *bare_name(struct cairn_module *m, const struct cairn_elf_symbol *symbol,
                             const char **ret_suffix)
{
    size_t size = cairn_symbol_split_suffix(symbol->name, ret_suffix);
    if (!**ret_suffix)
        *ret_suffix = NULL;
    if (!symbol->name[size])
        return symbol->name;
    uint32_t number = cairn_strings_add(&m->cut_names, symbol->name, size);
    return number == UINT32_MAX ? NULL : cairn_strings_get(&m->cut_names, number);
}

static int find_symbol(const struct cairn_frames_request *q, struct cairn_frame_symbol *ret_symbol,
                       struct cairn_err *err)
{
    const struct cairn_elf_symbol *symbol;
    struct cairn_frame_symbol found = {0};
    int code = cairn_module_find_symbol(q->module, q->vaddr, &symbol, &found.source, err);
    if (code == CAIRN_OK && symbol) {
        found.vaddr = symbol->vaddr;
        found.shared = symbol->shared;
        found.bare = bare_name(q->module, symbol, &found.suffix);
        if (!found.bare)
            return cairn_fail_memory(err);
    }
    if (code == CAIRN_OK)
        *ret_symbol = found;
    return code;
}

static bool same_function(const struct cairn_frames_request *q,
                          const struct cairn_frame_place *place, uint64_t vaddr)
{
    const struct cairn_unit_table *table = place->table;
    uint64_t base = cairn_dwarf_base(&q->module->dwarf);
    if (vaddr < base || vaddr - base >= UINT32_MAX)
        return false;
    const struct cairn_unit_record *start = cairn_unit_table_find(table, (uint32_t)(vaddr - base));
    return start && cairn_unit_table_outermost(table, start->node) ==
                        cairn_unit_table_outermost(table, place->node);
}

const struct cairn_frame_source cairn_frames_of_units = {
    find_place, read_node, find_path, find_function_of, qualify, find_symbol, same_function,
};
