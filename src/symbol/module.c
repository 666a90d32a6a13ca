/* SPDX-License-Identifier: MIT */
/* Opens the files of a module and reads from them what look-ups need, when they need it. */
#include "symbol/module.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "elf/note.h"

enum {
    CANDIDATES_MAX = 32, /* units asked for one address; honest files have one or two */
    WARNINGS_MAX = 8     /* about units of one module */
};

static char *hex_of(struct cairn_span bytes)
{
    char *text = cairn_alloc(2 * bytes.size + 1, 1);
    for (size_t i = 0; text && i < bytes.size; i++) {
        text[2 * i] = "0123456789abcdef"[bytes.data[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[bytes.data[i] & 15];
    }
    return text;
}

/* Fills `info` the first time; it stays when contents go and come back. */
static int describe(struct cairn_module *m, const char *path, const char *debug_path,
                    struct cairn_err *err)
{
    struct cairn_elf_section section;
    struct cairn_span id = {0};
    if (m->path)
        return CAIRN_OK;
    if (cairn_elf_build_id(&m->image, &id, NULL) < 0)
        (void)cairn_elf_build_id(&m->debug, &id, NULL);
    m->path = cairn_strdup(path);
    m->debug_path = debug_path ? cairn_strdup(debug_path) : NULL;
    m->build_id = hex_of(id);
    if (!m->path || !m->build_id || (debug_path && !m->debug_path))
        return cairn_fail_memory(err);
    bool has_lines = cairn_elf_find_section(&m->debug, ".debug_line", &section) ||
                     cairn_elf_find_section(&m->debug, ".zdebug_line", &section);
    m->info = (struct cairn_module_info){
        .path = m->path,
        .debug_path = m->debug_path,
        .build_id = m->build_id,
        .machine = cairn_elf_machine_name(m->image.machine),
        .elf_type = m->image.type,
        .verified = m->found.verified,
        .mismatch = m->found.mismatch,
        .has_lines = has_lines && section.type != SHT_NOBITS,
        .has_symtab = (cairn_elf_find_section(&m->debug, ".symtab", &section) ||
                       cairn_elf_find_section(&m->image, ".symtab", &section)) &&
                      section.type != SHT_NOBITS,
    };
    return CAIRN_OK;
}

/* Where machine code lies: the executable sections, else the executable segments. */
static size_t list_code(const struct cairn_elf *elf, struct cairn_dwarf_range *code, size_t cap)
{
    size_t n = 0;
    struct cairn_elf_section section;
    for (uint32_t i = 0; i < elf->n_sections; i++)
        if (cairn_elf_section(elf, i, &section) && section.size &&
            (section.flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
            section.vaddr + section.size > section.vaddr && n++ < cap)
            code[n - 1] = (struct cairn_dwarf_range){section.vaddr, section.vaddr + section.size};
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; !elf->n_sections && i < elf->n_segments; i++)
        if (cairn_elf_segment(elf, i, &segment) && segment.type == PT_LOAD &&
            (segment.flags & PF_X) && segment.vaddr + segment.mem_size > segment.vaddr && n++ < cap)
            code[n - 1] =
                (struct cairn_dwarf_range){segment.vaddr, segment.vaddr + segment.mem_size};
    return n;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct cairn_dwarf_range *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

static int read_code(struct cairn_module *m, struct cairn_err *err)
{
    const struct cairn_elf *elf = &m->debug;
    size_t n = list_code(elf, NULL, 0), kept = 0;
    if (!n) {
        elf = &m->image;
        n = list_code(elf, NULL, 0);
    }
    struct cairn_dwarf_range *code = cairn_alloc(n ? n : 1, sizeof *code);
    if (!code)
        return cairn_fail_memory(err);
    list_code(elf, code, n);
    qsort(code, n, sizeof *code, compare_ranges);
    for (size_t i = 0; i < n; i++) {
        if (kept && code[i].low <= code[kept - 1].high) {
            if (code[i].high > code[kept - 1].high)
                code[kept - 1].high = code[i].high;
            continue;
        }
        code[kept++] = code[i];
    }
    m->code = code;
    m->dwarf.code = code;
    m->dwarf.n_code = kept;
    return CAIRN_OK;
}

/* One damaged section loses what only it knows: the others are read all the same. */
static int read_sections(struct cairn_module *m, struct cairn_err *err)
{
    const struct {
        const char *name;
        struct cairn_span *span;
    } wanted[CAIRN_MODULE_N_SECTIONS] = {
        {".debug_info", &m->dwarf.info},         {".debug_abbrev", &m->dwarf.abbrev},
        {".debug_line", &m->dwarf.line},         {".debug_str", &m->dwarf.str},
        {".debug_line_str", &m->dwarf.line_str}, {".debug_str_offsets", &m->dwarf.str_offsets},
        {".debug_addr", &m->dwarf.addr},         {".debug_ranges", &m->dwarf.ranges},
        {".debug_rnglists", &m->dwarf.rnglists}, {".debug_aranges", &m->dwarf.aranges},
    };
    for (size_t i = 0; i < CAIRN_MODULE_N_SECTIONS; i++) {
        struct cairn_err why;
        int code = cairn_elf_read_section(&m->debug, wanted[i].name, &m->sections[i], &why);
        if (code == CAIRN_E_NOMEM)
            return cairn_fail_memory(err);
        if (code < 0) {
            cairn_fail_in(&why, code, m->path);
            cairn_log_err(CAIRN_LOG_WARNING, &why);
            continue;
        }
        *wanted[i].span = m->sections[i].bytes;
    }
    return CAIRN_OK;
}

static void unload_dwarf(struct cairn_module *m)
{
    for (size_t i = 0; m->unit_states && i < m->units.n; i++)
        cairn_unit_table_free(m->unit_states[i].table);
    cairn_free(m->unit_states);
    m->unit_states = NULL;
    m->table_bytes = 0;
    cairn_unit_map_done(&m->map);
    cairn_unit_map_done(&m->roots);
    cairn_dwarf_units_done(&m->units);
    cairn_free(m->code);
    m->code = NULL;
    m->dwarf = (struct cairn_dwarf){0};
    for (size_t i = 0; i < CAIRN_MODULE_N_SECTIONS; i++)
        cairn_elf_data_done(&m->sections[i]);
    m->has_dwarf = m->has_roots = false;
}

/* Headers of units, and the map of them. Damage that loses all is logged, and leaves a module
 * without debug information. */
static int read_units(struct cairn_module *m, struct cairn_err *err)
{
    struct cairn_err why;
    int code = cairn_dwarf_units_read(&m->dwarf, &m->units, &why);
    if (code == CAIRN_OK) {
        m->unit_states = cairn_alloc(m->units.n ? m->units.n : 1, sizeof *m->unit_states);
        code = m->unit_states ? cairn_unit_map_read(&m->units, &m->map, &why) : CAIRN_E_NOMEM;
    }
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0) {
        cairn_fail_in(&why, code, m->path);
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    }
    return CAIRN_OK;
}

/* All that look-ups in debug information start from. */
static int read_dwarf(struct cairn_module *m, struct cairn_err *err)
{
    struct cairn_elf_section section;
    m->has_dwarf = true;
    m->dwarf.swap = m->debug.swap;
    int code = read_sections(m, err);
    if (code == CAIRN_OK)
        code = read_code(m, err);
    if (code == CAIRN_OK && cairn_elf_find_section(&m->debug, ".gnu_debugaltlink", &section))
        cairn_log(CAIRN_LOG_WARNING,
                  "%s: some names are in a supplementary file (dwz -m), which is not read",
                  m->debug_path ? m->debug_path : m->path);
    if (code == CAIRN_OK)
        code = read_units(m, err);
    if (code < 0)
        unload_dwarf(m);
    return code;
}

static int open_elves(struct cairn_module *m, struct cairn_span image, struct cairn_span debug,
                      struct cairn_err *err)
{
    int code = CAIRN_OK;
    m->has_image = image.size > 0;
    if (m->has_image)
        code = cairn_elf_open(image, &m->image, err);
    if (code == CAIRN_OK && debug.size)
        code = cairn_elf_open(debug, &m->debug, err);
    if (!debug.size)
        m->debug = m->image;
    if (!m->has_image)
        m->image = m->debug;
    return code;
}

int cairn_module_load(struct cairn_module *m, struct cairn_debugfile_found *found,
                      struct cairn_err *err)
{
    m->found = *found;
    *found = (struct cairn_debugfile_found){0};
    const char *path = m->found.image_path ? m->found.image_path : m->found.debug_path;
    int code = open_elves(m, m->found.image.bytes, m->found.debug.bytes, err);
    if (code < 0)
        cairn_fail_in(err, code, path);
    else
        code = describe(m, path, m->found.image_path ? m->found.debug_path : NULL, err);
    if (code < 0)
        cairn_module_close(m);
    else
        m->loaded = true;
    return code;
}

int cairn_module_load_bytes(struct cairn_module *m, const char *name, const void *bytes,
                            size_t size, struct cairn_err *err)
{
    m->owned_bytes = cairn_realloc(NULL, size ? size : 1, 1);
    if (!m->owned_bytes)
        return cairn_fail_memory(err);
    if (size)
        memcpy(m->owned_bytes, bytes, size);
    m->has_image = true;
    int code = cairn_elf_open((struct cairn_span){m->owned_bytes, size}, &m->image, err);
    if (code < 0)
        return cairn_fail_in(err, code, name);
    m->debug = m->image;
    code = describe(m, name, NULL, err);
    m->loaded = code == CAIRN_OK;
    return code;
}

void cairn_module_forget_names(struct cairn_module *m)
{
    cairn_table_done(&m->function_of);
    cairn_free(m->functions);
    m->functions = NULL;
    m->n_functions = m->cap_functions = 0;
    cairn_arena_done(&m->names);
    cairn_strings_done(&m->cut_names);
}

void cairn_module_unload(struct cairn_module *m)
{
    cairn_module_forget_names(m);
    unload_dwarf(m);
    cairn_elf_symtab_done(&m->symtab);
    cairn_elf_symtab_done(&m->dynsym);
    m->has_symtabs = false;
    m->loaded = false;
}

void cairn_module_close(struct cairn_module *m)
{
    cairn_module_unload(m);
    cairn_debugfile_found_done(&m->found);
    m->image = m->debug = (struct cairn_elf){0};
}

bool cairn_module_holds(const struct cairn_module *m, uint64_t vaddr)
{
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; i < m->image.n_segments; i++)
        if (cairn_elf_segment(&m->image, i, &segment) && segment.type == PT_LOAD &&
            vaddr >= segment.vaddr && vaddr - segment.vaddr < segment.mem_size)
            return true;
    return false;
}

/* Names the unit and the module in a warning, once per unit. */
static void tell(struct cairn_module *m, size_t unit, struct cairn_err *why)
{
    if (m->unit_states[unit].told || why->code == CAIRN_E_MISSING)
        return;
    m->unit_states[unit].told = true;
    cairn_fail_in(why, why->code, m->debug_path ? m->debug_path : m->path);
    m->n_told++;
    cairn_log_err(m->n_told <= WARNINGS_MAX ? CAIRN_LOG_WARNING : CAIRN_LOG_INFO, why);
}

static void tell_split(struct cairn_module *m, const struct cairn_dwarf_unit *unit)
{
    if (!unit->is_split || m->told_split)
        return;
    m->told_split = true;
    cairn_log(CAIRN_LOG_WARNING,
              "%s: functions are described in .dwo files, which are not read: lines are complete, "
              "inline frames are missing",
              m->path);
}

/* The unit's table, read now if need be; NULL where nothing of it could be read. */
static int need_table(struct cairn_module *m, size_t index, uint64_t now,
                      struct cairn_unit_table **ret_table, struct cairn_err *err)
{
    struct cairn_module_unit *state = &m->unit_states[index];
    struct cairn_dwarf_unit *unit = &m->units.units[index];
    struct cairn_err why = {0};
    state->used = now;
    if (!state->table && !state->failed) {
        int code = cairn_dwarf_unit_open(&m->units, unit, &why);
        if (code == CAIRN_OK) {
            tell_split(m, unit);
            code = cairn_unit_table_new(&m->dwarf, unit, &state->table, &why);
        }
        if (code == CAIRN_E_NOMEM)
            return cairn_fail_memory(err);
        if (code < 0)
            tell(m, index, &why);
        state->bytes = state->table ? cairn_unit_table_bytes(state->table) : 0;
        m->table_bytes += state->bytes;
        state->failed = !state->table;
    }
    *ret_table = state->table;
    return CAIRN_OK;
}

/* Asks the candidates of one map; the first that knows a function wins, else the first that knows
 * a line is kept. */
static int ask(struct cairn_module *m, const struct cairn_unit_map *map, uint32_t at, uint64_t now,
               struct cairn_place *place, struct cairn_err *err)
{
    size_t cursor = SIZE_MAX;
    uint32_t index;
    for (int i = 0; i < CANDIDATES_MAX && cairn_unit_map_next(map, at, &cursor, &index); i++) {
        struct cairn_unit_table *table;
        int code = need_table(m, index, now, &table, err);
        if (code < 0)
            return code;
        const struct cairn_unit_record *record = table ? cairn_unit_table_find(table, at) : NULL;
        if (!record || (place->record && !record->node))
            continue;
        *place = (struct cairn_place){&m->units.units[index], table, record};
        if (record->node)
            break;
    }
    return CAIRN_OK;
}

int cairn_module_find_place(struct cairn_module *m, uint64_t vaddr, uint64_t now,
                            struct cairn_place *ret_place, struct cairn_err *err)
{
    struct cairn_place place = {0};
    uint32_t at, end;
    int code = m->has_dwarf ? CAIRN_OK : read_dwarf(m, err);
    if (code < 0)
        return code;
    if (!cairn_dwarf_place(&m->dwarf, vaddr, vaddr + 1, &at, &end) || !m->unit_states) {
        *ret_place = place;
        return CAIRN_OK;
    }
    code = ask(m, &m->map, at, now, &place, err);
    if (code == CAIRN_OK && (!place.record || !place.record->node)) {
        /* The aranges may have named a unit that lost its copy of the function. */
        if (!m->has_roots)
            code = cairn_unit_map_read_roots(&m->units, &m->roots, err);
        if (code == CAIRN_OK) {
            m->has_roots = true;
            code = ask(m, &m->roots, at, now, &place, err);
        }
    }
    if (code == CAIRN_OK)
        *ret_place = place;
    return code;
}

static int read_symtab(struct cairn_module *m, const struct cairn_elf *elf,
                       enum cairn_elf_symtab_kind kind, struct cairn_elf_symtab *symtab,
                       struct cairn_err *err)
{
    struct cairn_err why;
    int code = cairn_elf_symtab_read(elf, kind, symtab, &why);
    if (code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (code < 0) {
        cairn_fail_in(&why, code, m->path);
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    }
    return CAIRN_OK;
}

static int read_symtabs(struct cairn_module *m, struct cairn_err *err)
{
    int code = read_symtab(m, &m->debug, CAIRN_ELF_SYMTAB, &m->symtab, err);
    if (code == CAIRN_OK && !m->symtab.n && m->debug.bytes.data != m->image.bytes.data)
        code = read_symtab(m, &m->image, CAIRN_ELF_SYMTAB, &m->symtab, err);
    if (code == CAIRN_OK)
        code = read_symtab(m, &m->image, CAIRN_ELF_DYNSYM, &m->dynsym, err);
    m->has_symtabs = code == CAIRN_OK;
    return code;
}

int cairn_module_find_symbol(struct cairn_module *m, uint64_t vaddr,
                             const struct cairn_elf_symbol **ret_symbol,
                             enum cairn_symbol_source *ret_source, struct cairn_err *err)
{
    int code = m->has_symtabs ? CAIRN_OK : read_symtabs(m, err);
    if (code < 0)
        return code;
    const struct cairn_elf_symbol *symbol = cairn_elf_symtab_find(&m->symtab, vaddr);
    *ret_source = CAIRN_SOURCE_SYMTAB;
    if (!symbol || !*symbol->name) {
        symbol = cairn_elf_symtab_find(&m->dynsym, vaddr);
        *ret_source = CAIRN_SOURCE_DYNSYM;
    }
    *ret_symbol = symbol && *symbol->name ? symbol : NULL;
    return CAIRN_OK;
}

int cairn_module_functions_at(struct cairn_module *m, uint64_t die, uint64_t now,
                              struct cairn_dwarf_unit **ret_unit,
                              const struct cairn_dwarf_functions **ret_functions,
                              struct cairn_err *err)
{
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_find(&m->units, die);
    struct cairn_unit_table *table = NULL;
    if (unit) {
        int code = need_table(m, (size_t)(unit - m->units.units), now, &table, err);
        if (code < 0)
            return code;
    }
    *ret_unit = unit;
    *ret_functions = table ? &table->functions : NULL;
    return CAIRN_OK;
}

size_t cairn_module_bytes(const struct cairn_module *m)
{
    size_t bytes = m->table_bytes + m->names.used_bytes + m->cap_functions * sizeof *m->functions +
                   (m->symtab.n + m->dynsym.n) * sizeof *m->symtab.symbols +
                   (m->map.cap + m->roots.cap) * sizeof *m->map.spans +
                   m->units.cap * (sizeof *m->units.units + sizeof *m->unit_states);
    for (size_t i = 0; i < CAIRN_MODULE_N_SECTIONS; i++)
        if (m->sections[i].owned)
            bytes += m->sections[i].bytes.size;
    return bytes;
}

static struct cairn_module_unit *find_oldest(const struct cairn_module *m, uint64_t now)
{
    struct cairn_module_unit *oldest = NULL;
    for (size_t i = 0; m->table_bytes && m->unit_states && i < m->units.n; i++) {
        struct cairn_module_unit *state = &m->unit_states[i];
        if (state->table && state->used != now && (!oldest || state->used < oldest->used))
            oldest = state;
    }
    return oldest;
}

uint64_t cairn_module_oldest_table(const struct cairn_module *m, uint64_t now)
{
    const struct cairn_module_unit *oldest = find_oldest(m, now);
    return oldest ? oldest->used : UINT64_MAX;
}

void cairn_module_drop_oldest(struct cairn_module *m, uint64_t now)
{
    struct cairn_module_unit *oldest = find_oldest(m, now);
    if (!oldest)
        return;
    m->table_bytes -= oldest->bytes;
    cairn_unit_table_free(oldest->table);
    oldest->table = NULL;
}
