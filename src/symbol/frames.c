/* SPDX-License-Identifier: MIT */
/* The policy for names: frames.h says who is asked first. */
#include "symbol/frames.h"

#include <ctype.h>

#include "base/alloc.h"
#include "base/error.h"

/*
 * Outermost frames may be named by the symbol table, inlined ones never: the two remember their
 * names apart, so that an answer does not depend on what was asked before. For the same reason each
 * symbol has a name of its own: the destructors D0 and D1 of a class come from one DIE, and GCC
 * leaves out the linkage names of what lies in an anonymous namespace.
 *
 *     bit 63  outermost   bits 62 to 32  address of the symbol   bits 31 to 0  the DIE
 */
static uint64_t outermost_key(uint32_t die, const struct cairn_elf_symbol *symbol)
{
    return 1ull << 63 | (symbol ? symbol->vaddr & INT32_MAX : 0) << 32 | die;
}

/* Inlined ones have no symbol: there the number of the file stands in its place. */
static uint64_t inlined_key(const struct cairn_dwarf_units *home, uint32_t die)
{
    return (uint64_t)(home->number & INT32_MAX) << 32 | die;
}

/* DIEs of two .dwo files may have one key: then each remembers the one before it. */
static struct cairn_function *find_function(const struct cairn_module *m,
                                            const struct cairn_dwarf_units *from, uint64_t key,
                                            uint32_t *ret_first)
{
    uint32_t index;
    *ret_first = cairn_table_find(&m->function_of, key, &index) ? index + 1 : 0;
    for (uint32_t number = *ret_first; number; number = m->functions[number - 1].next)
        if (m->functions[number - 1].from == from)
            return &m->functions[number - 1];
    return NULL;
}

static int function_at(const struct cairn_frames_request *q, struct cairn_dwarf_units *from,
                       uint32_t die, uint64_t key, struct cairn_function **ret_function,
                       struct cairn_err *err)
{
    struct cairn_module *m = q->module;
    uint32_t first;
    *ret_function = find_function(m, from, key, &first);
    if (*ret_function)
        return CAIRN_OK;
    struct cairn_dwarf_name name;
    int code = cairn_dwarf_function_name(from, die, &name, err);
    if (code < 0)
        return code;
    if (cairn_grow((void **)&m->functions, &m->cap_functions, m->n_functions + 1,
                   sizeof *m->functions) < 0 ||
        cairn_table_set(&m->function_of, key, (uint32_t)m->n_functions) < 0)
        return cairn_fail_memory(err);
    *ret_function = &m->functions[m->n_functions++];
    **ret_function = (struct cairn_function){
        .linkage = name.linkage ? name.linkage
                   : name.is_c  ? name.name
                                : NULL,
        .name = name.name,
        .declared = name.declared,
        .home = name.home,
        .from = from,
        .next = first,
        .decl_line = name.decl_line,
        .is_c = name.is_c,
    };
    return CAIRN_OK;
}

static int qualified_name(const struct cairn_frames_request *q, const struct cairn_function *f,
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

/* What the user sees of a function; NULL where it has no name at all. */
static int shown_name(const struct cairn_frames_request *q, struct cairn_function *f,
                      const char **ret_name, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (!f->shown && f->linkage)
        f->shown = cairn_demangle(q->demangler, f->linkage, strlen(f->linkage));
    else if (!f->shown && f->name)
        code = qualified_name(q, f, &f->shown, err);
    if (code == CAIRN_OK)
        *ret_name = f->shown;
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

/* Equal, or the constructors (destructors) of one class: ...C1E... and ...C2E... */
static bool same_name(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    if (!a[i] && !b[i])
        return true;
    return i && isdigit((unsigned char)a[i]) && isdigit((unsigned char)b[i]) &&
           (a[i - 1] == 'C' || a[i - 1] == 'D') && strcmp(a + i + 1, b + i + 1) == 0;
}

static bool is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

/* Does a mangled name speak of an identifier? Operators and closures have none: then yes. */
static bool speaks_of(const char *mangled, const char *name)
{
    size_t size = 0;
    while (isalnum((unsigned char)name[size]) || name[size] == '_')
        size++;
    if (!size || strncmp(name, "operator", 8) == 0 || name[0] == '~')
        return true;
    for (const char *at = mangled; (at = strchr(at, name[0])); at++)
        if (strncmp(at, name, size) == 0)
            return true;
    return false;
}

/* Takes the linkage name that DWARF left out from a symbol of the same function. */
static void take_linkage(const struct cairn_frames_request *q, const struct cairn_place *place,
                         const struct cairn_elf_symbol *symbol, const char *bare,
                         struct cairn_function *f)
{
    uint64_t base = cairn_dwarf_base(&q->module->dwarf);
    uint32_t root = cairn_unit_table_outermost(place->table, place->record->node);
    if (f->linkage || f->shown || !is_mangled(bare) || symbol->vaddr < base ||
        symbol->vaddr - base >= UINT32_MAX)
        return;
    if (symbol->shared && f->name && !speaks_of(bare, f->name))
        return; /* of folded functions the symbol may be another's */
    const struct cairn_unit_record *start =
        cairn_unit_table_find(place->table, (uint32_t)(symbol->vaddr - base));
    if (!start || cairn_unit_table_outermost(place->table, start->node) != root)
        return;
    f->linkage = bare;
    f->from_symtab = true;
}

/* Name, suffix and folding of the frame that is a function of its own. */
static int name_outermost(const struct cairn_frames_request *q, const struct cairn_place *place,
                          uint32_t node, struct cairn_symbol_frame *frame, struct cairn_err *err)
{
    const struct cairn_elf_symbol *symbol;
    enum cairn_symbol_source source;
    struct cairn_function *f = NULL;
    const char *suffix = NULL, *bare = NULL;
    int code = cairn_module_find_symbol(q->module, q->vaddr, &symbol, &source, err);
    if (code == CAIRN_OK && node) {
        uint32_t die = place->table->functions.nodes[node - 1].die;
        code = function_at(q, place->table->home, die, outermost_key(die, symbol), &f, err);
    }
    if (code < 0)
        return code;
    if (symbol && !(bare = bare_name(q->module, symbol, &suffix)))
        return cairn_fail_memory(err);
    if (f && bare)
        take_linkage(q, place, symbol, bare, f);
    if (f) {
        code = shown_name(q, f, &frame->function, err);
        frame->linkage = f->linkage ? f->linkage : f->name;
        frame->start_line = f->decl_line;
        frame->source = f->from_symtab ? (uint8_t)source : CAIRN_SOURCE_DWARF;
    }
    if (code == CAIRN_OK && bare && !frame->function) {
        frame->function = cairn_demangle(q->demangler, bare, strlen(bare));
        frame->linkage = bare;
        frame->source = (uint8_t)source;
    }
    if (!frame->function)
        frame->source = CAIRN_SOURCE_NONE;
    if (bare && frame->linkage && same_name(bare, frame->linkage))
        frame->suffix = suffix;
    frame->folded = symbol && symbol->shared;
    return code;
}

static int name_inlined(const struct cairn_frames_request *q, const struct cairn_place *place,
                        uint32_t node, struct cairn_symbol_frame *frame, struct cairn_err *err)
{
    struct cairn_function *f;
    uint32_t die = place->table->functions.nodes[node - 1].die;
    struct cairn_dwarf_units *home = place->table->home;
    int code = function_at(q, home, die, inlined_key(home, die), &f, err);
    if (code == CAIRN_OK)
        code = shown_name(q, f, &frame->function, err);
    if (code < 0)
        return code;
    frame->linkage = f->linkage ? f->linkage : f->name;
    frame->start_line = f->decl_line;
    frame->source = frame->function ? CAIRN_SOURCE_DWARF : CAIRN_SOURCE_NONE;
    frame->inlined = 1;
    return CAIRN_OK;
}

/* The frames of one record: from its node up the parents, each with the line where it stands. */
static int find_frames(const struct cairn_frames_request *q, const struct cairn_place *place,
                       struct cairn_frames *frames, struct cairn_err *err)
{
    uint32_t file = (uint32_t)CAIRN_DWARF_NO_FILE, line = 0, node = 0, parent;
    if (place->record) {
        file = place->record->file;
        line = place->record->line;
        node = place->record->node;
    }
    do {
        struct cairn_symbol_frame frame = {.line = line};
        const struct cairn_dwarf_node *at = node ? &place->table->functions.nodes[node - 1] : NULL;
        parent = at ? at->parent : 0;
        if (place->table)
            frame.file = cairn_unit_table_path(place->table, place->unit, file);
        int code = CAIRN_OK;
        if (!parent)
            code = name_outermost(q, place, node, &frame, err);
        else if (!q->no_inlines)
            code = name_inlined(q, place, node, &frame, err);
        if (code < 0)
            return code;
        bool known = node || frame.function || frame.file;
        if (known && (!parent || !q->no_inlines)) {
            if (cairn_grow((void **)&frames->frames, &frames->cap, frames->n + 1,
                           sizeof *frames->frames) < 0)
                return cairn_fail_memory(err);
            frames->frames[frames->n++] = frame;
        }
        file = at ? at->call_file : file;
        line = at ? at->call_line : line;
        node = parent;
    } while (node && frames->n < CAIRN_FRAMES_MAX);
    /* A function without a name stays where others were inlined into it; alone it says nothing. */
    if (frames->n == 1 && !frames->frames[0].function && !frames->frames[0].file)
        frames->n = 0;
    return CAIRN_OK;
}

int cairn_frames_find(const struct cairn_frames_request *request, struct cairn_frames *frames,
                      struct cairn_err *err)
{
    struct cairn_place place;
    frames->n = 0;
    int code = cairn_module_find_place(request->module, request->vaddr, request->now, &place, err);
    if (code < 0)
        return code;
    return find_frames(request, &place, frames, err);
}

void cairn_frames_done(struct cairn_frames *frames)
{
    cairn_free(frames->frames);
    *frames = (struct cairn_frames){0};
}
