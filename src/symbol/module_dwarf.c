/* SPDX-License-Identifier: MIT */
/* Debug information of a module: its sections, the map of its units, and their tables, each read
 * when an address first needs it. */
#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "symbol/module.h"
#include "symbol/module_tables.h"

enum { SYMTAB_BYTES_SOON = 8 << 20 /* a table with more is read as the scan goes on */ };

static bool has_dwarf(const struct cairn_elf *elf)
{
    struct cairn_elf_section section;
    return (cairn_elf_find_section(elf, ".debug_info", &section) ||
            cairn_elf_find_section(elf, ".zdebug_info", &section)) &&
           section.type != SHT_NOBITS;
}

const struct cairn_elf *cairn_module_dwarf_elf(const struct cairn_module *m)
{
    return has_dwarf(&m->debug) || !has_dwarf(&m->image) ? &m->debug : &m->image;
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
    const struct cairn_elf *elf = cairn_module_dwarf_elf(m);
    for (size_t i = 0; i < CAIRN_MODULE_N_SECTIONS && !m->no_debug_info; i++) {
        struct cairn_err why;
        int code = cairn_elf_read_section(elf, wanted[i].name, &m->sections[i], &why);
        if (cairn_bear(m->path, code, &why, err) < 0)
            return CAIRN_E_NOMEM;
        if (code == CAIRN_OK)
            *wanted[i].span = m->sections[i].bytes;
    }
    return CAIRN_OK;
}

void cairn_module_unload_dwarf(struct cairn_module *m)
{
    for (size_t i = 0; i < m->n_unit_states; i++)
        cairn_unit_table_free(m->unit_states[i].table);
    cairn_free(m->unit_states);
    m->unit_states = NULL;
    m->n_unit_states = m->cap_unit_states = 0;
    m->table_bytes = 0;
    cairn_unit_scratch_done(&m->scratch);
    m->n_tables_read = 0;
    m->info_soon = m->line_soon = (struct cairn_soon){0};
    cairn_module_drop_discriminators(m);
    cairn_unit_finder_done(&m->unit_finder);
    cairn_dwarf_files_done(&m->files);
    cairn_dwarf_units_done(&m->units);
    cairn_free(m->code);
    m->code = NULL;
    m->dwarf = (struct cairn_dwarf){0};
    for (size_t i = 0; i < CAIRN_MODULE_N_SECTIONS; i++)
        cairn_elf_data_done(&m->sections[i]);
    m->has_dwarf = false;
}

/* Nothing of the units is read yet. Damage that loses all is logged, and leaves a module without
 * debug information. */
static int begin_units(struct cairn_module *m, struct cairn_err *err)
{
    struct cairn_err why;
    int code = cairn_dwarf_units_init(&m->units, &m->dwarf, &why);
    if (code == CAIRN_OK)
        cairn_unit_finder_init(&m->unit_finder, &m->units);
    return cairn_bear(m->path, code, &why, err);
}

static int open_files(struct cairn_module *m, struct cairn_err *err)
{
    struct cairn_dwarf_owner owner = {
        .finder = m->finder,
        .path = m->dwarf.path,
        .image_path = m->found.image_path,
        .debug_path = m->found.debug_path,
        .image = &m->found.image,
        .debug = &m->found.debug,
        .dwarf = &m->dwarf,
        .units = &m->units,
    };
    return cairn_dwarf_files_open(&m->files, &owner, cairn_module_dwarf_elf(m), err);
}

/* What the first look-up goes through from end to end. */
static void fetch_ahead(const struct cairn_module *m)
{
    struct cairn_elf_section section;
    struct cairn_span bytes;
    cairn_file_will_need(m->dwarf.aranges, 0, m->dwarf.aranges.size);
    if (cairn_elf_find_section(&m->debug, ".symtab", &section) &&
        cairn_elf_section_bytes(&m->debug, &section, &bytes))
        cairn_file_will_need(bytes, 0, SYMTAB_BYTES_SOON);
}

/* All that look-ups in debug information start from. */
static int read_dwarf(struct cairn_module *m, struct cairn_err *err)
{
    m->has_dwarf = true;
    m->dwarf.swap = cairn_module_dwarf_elf(m)->swap;
    m->dwarf.path = m->debug_path ? m->debug_path : m->path;
    int code = read_sections(m, err);
    if (code == CAIRN_OK)
        fetch_ahead(m);
    if (code == CAIRN_OK)
        code = read_code(m, err);
    if (code == CAIRN_OK)
        code = begin_units(m, err);
    if (code == CAIRN_OK)
        code = open_files(m, err);
    if (code < 0)
        cairn_module_unload_dwarf(m);
    return code;
}

int cairn_module_find_home(struct cairn_module *m, struct cairn_dwarf_unit *unit,
                           struct cairn_dwarf_units **ret_home, struct cairn_dwarf_unit **ret_unit,
                           struct cairn_err *err)
{
    struct cairn_dwarf_home home;
    int code = cairn_dwarf_files_home(&m->files, unit, &home, err);
    if (code < 0)
        return code;
    *ret_home = home.units;
    *ret_unit = home.unit;
    return CAIRN_OK;
}

/* A search for who knows most of an address. */
struct search {
    struct cairn_module *m;
    uint32_t at;
    uint64_t now;
    struct cairn_place place;
};

/* Asks one unit that claims the address. The first that knows a function wins and ends the search,
 * else the first that knows a line is kept. */
static int ask(void *ctx, uint64_t unit_off, struct cairn_err *err)
{
    struct search *s = ctx;
    struct cairn_unit_table *table = NULL;
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_at(&s->m->units, unit_off);
    int code = unit ? cairn_module_need_table(s->m, unit, s->now, &table, err)
                    : cairn_dwarf_units_failed(&s->m->units, err);
    if (code < 0)
        return code;
    const struct cairn_unit_record *record = table ? cairn_unit_table_find(table, s->at) : NULL;
    if (!record || (s->place.record && !record->node))
        return 0;
    s->place = (struct cairn_place){unit, table, record};
    return record->node != 0;
}

int cairn_module_need_dwarf(struct cairn_module *m, struct cairn_err *err)
{
    return m->has_dwarf ? CAIRN_OK : read_dwarf(m, err);
}

int cairn_module_need_maps(struct cairn_module *m, struct cairn_err *err)
{
    int code = cairn_module_need_dwarf(m, err);
    if (code == CAIRN_OK && m->unit_finder.units)
        code = cairn_unit_finder_need_maps(&m->unit_finder, err);
    return code;
}

int cairn_module_find_place(struct cairn_module *m, uint64_t vaddr, uint64_t now,
                            struct cairn_place *ret_place, struct cairn_err *err)
{
    struct search search = {.m = m, .now = now};
    uint32_t end;
    int code = cairn_module_need_dwarf(m, err);
    if (code < 0)
        return code;
    if (m->unit_finder.units && cairn_dwarf_place(&m->dwarf, vaddr, vaddr + 1, &search.at, &end)) {
        code = cairn_unit_finder_ask_aranges(&m->unit_finder, vaddr, ask, &search, err);
        /* There may be no aranges; or they named a unit that lost its copy of the function. */
        if (code == CAIRN_OK)
            code = cairn_unit_finder_ask_roots(&m->unit_finder, vaddr, ask, &search, err);
    }
    if (code < 0)
        return code;
    *ret_place = search.place;
    return CAIRN_OK;
}

int cairn_module_functions_at(struct cairn_module *m, struct cairn_dwarf_units *home, uint64_t die,
                              uint64_t now, struct cairn_dwarf_unit **ret_unit,
                              const struct cairn_dwarf_functions **ret_functions,
                              struct cairn_err *err)
{
    struct cairn_dwarf_unit *unit = cairn_dwarf_units_find(home, die), *own = unit;
    struct cairn_unit_table *table = NULL;
    *ret_unit = unit;
    if (unit && home != &m->units && !unit->skeleton)
        return cairn_dwarf_files_functions(&m->files, home, unit, ret_functions, err);
    if (unit && home != &m->units) {
        home = &m->units;
        own = cairn_dwarf_units_at(home, unit->skeleton->off);
    }
    int code = own ? cairn_module_need_table(m, own, now, &table, err)
                   : cairn_dwarf_units_failed(home, err);
    if (code < 0)
        return code;
    *ret_functions = table && table->unit == unit ? &table->functions : NULL;
    return CAIRN_OK;
}
