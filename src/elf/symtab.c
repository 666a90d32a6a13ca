/* SPDX-License-Identifier: MIT */
/*
 * Function symbols. On disk (gABI "Symbol Table"):
 *
 *     Elf64_Sym: u32 name  u8 info  u8 other  u16 section  u64 value  u64 size
 *     Elf32_Sym: u32 name  u32 value  u32 size  u8 info  u8 other  u16 section
 *
 * For look-ups they are flattened, so that one binary search answers, however they nest:
 *
 *     symbols     |---- outer (sized) -----------|        label (no size)
 *                       |-- inner --|                     |........ next symbol or section end
 *     reaches     outer  inner       outer       nobody   label
 */
#include "elf/symtab.h"

#include <elf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    SYMBOLS_MAX = 1 << 28,       /* 6 GiB of table; numbers stay far from UINT32_MAX */
    NOBODY = UINT32_MAX,         /* owner of a gap */
    SECTION_NUMBERS_ARE_U32 = 4, /* entry size of SHT_SYMTAB_SHNDX */
};

struct cairn_elf_reach {
    uint64_t vaddr; /* from here to the next reach */
    uint32_t owner; /* number of the symbol, or NOBODY */
};

/* What all symbols of a table are read with. */
struct source {
    const struct cairn_elf *elf;
    const struct cairn_elf *image; /* whose code the table speaks of */
    struct cairn_span table, names;
    struct cairn_span section_numbers; /* SHT_SYMTAB_SHNDX, or empty */
    struct code_section *code;         /* by number of the section */
    uint32_t n_code;
};

/* [low, high) is empty unless the section holds code. */
struct code_section {
    uint64_t low, high;
};

static int source_read_code(struct source *source, struct cairn_err *err)
{
    source->n_code = source->elf->n_sections;
    source->code = cairn_alloc(source->n_code, sizeof *source->code);
    if (!source->code)
        return cairn_fail_memory(err);
    struct cairn_elf_section section;
    for (uint32_t i = 1; cairn_elf_section(source->elf, i, &section); i++) {
        uint64_t high;
        if (!(section.flags & SHF_EXECINSTR) || !section.size ||
            __builtin_add_overflow(section.vaddr, section.size, &high))
            continue;
        if (source->image != source->elf && !(cairn_elf_is_code(source->image, section.vaddr) &&
                                              cairn_elf_is_code(source->image, high - 1)))
            continue;
        source->code[i] = (struct code_section){section.vaddr, high};
    }
    return CAIRN_OK;
}

/* $a, $d, $t, $x, alone or with ".anything": they mark code and data, and name nothing. */
static bool is_mapping_symbol(const struct cairn_elf *elf, const char *name)
{
    bool has_them =
        elf->machine == EM_ARM || elf->machine == EM_AARCH64 || elf->machine == EM_RISCV;
    return has_them && name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
           (!name[2] || name[2] == '.' || name[1] == 'x');
}

/* The section of symbol `index`, SHN_XINDEX followed. */
static uint32_t section_of(const struct source *source, uint64_t index, uint16_t number)
{
    if (number != SHN_XINDEX)
        return number < SHN_LORESERVE ? number : SHN_UNDEF;
    struct cairn_reader r = cairn_reader_of(source->section_numbers, source->elf->swap);
    cairn_reader_seek(&r, index * SECTION_NUMBERS_ARE_U32);
    return cairn_reader_u32(&r);
}

/* False where entry `index` names no code. A size that was not said is 0 so far. */
static bool read_symbol(const struct source *source, uint64_t index, size_t entry_size,
                        struct cairn_elf_symbol *ret_symbol)
{
    const struct cairn_elf *elf = source->elf;
    struct cairn_reader r = cairn_reader_of(source->table, elf->swap);
    cairn_reader_seek(&r, index * entry_size);
    struct cairn_elf_symbol symbol = {0};
    uint32_t name = cairn_reader_u32(&r);
    if (!elf->is64) {
        symbol.vaddr = cairn_reader_u32(&r);
        symbol.size = cairn_reader_u32(&r);
    }
    uint8_t info = cairn_reader_u8(&r);
    cairn_reader_skip(&r, 1); /* st_other: visibility */
    uint16_t number = cairn_reader_u16(&r);
    if (elf->is64) {
        symbol.vaddr = cairn_reader_u64(&r);
        symbol.size = cairn_reader_u64(&r);
    }
    symbol.bind = ELF64_ST_BIND(info);
    symbol.type = ELF64_ST_TYPE(info);
    bool is_function = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC;
    if (r.failed || (!is_function && symbol.type != STT_NOTYPE))
        return false;
    if (elf->machine == EM_ARM && is_function)
        symbol.vaddr &= ~1ull;

    uint32_t section = section_of(source, index, number);
    if (section >= source->n_code || symbol.vaddr < source->code[section].low ||
        symbol.vaddr >= source->code[section].high)
        return false;
    uint64_t left = source->code[section].high - symbol.vaddr;
    symbol.sized = symbol.size != 0;
    if (!symbol.sized || symbol.size > left)
        symbol.size = left;

    const char *text = cairn_span_str(source->names, name);
    symbol.name = text ? text : "";
    if (!*symbol.name || is_mapping_symbol(elf, symbol.name))
        return false;
    *ret_symbol = symbol;
    return true;
}

static int read_symbols(const struct source *source, size_t entry_size,
                        struct cairn_elf_symtab *symtab, struct cairn_err *err)
{
    uint64_t n = source->table.size / entry_size;
    if (n > SYMBOLS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "symbol table has %llu entries, more than %d",
                          (unsigned long long)n, SYMBOLS_MAX);
    size_t cap = 0;
    for (uint64_t i = 1; i < n; i++) {
        struct cairn_elf_symbol symbol;
        if (!read_symbol(source, i, entry_size, &symbol))
            continue;
        if (cairn_grow((void **)&symtab->symbols, &cap, symtab->n + 1, sizeof symbol) < 0)
            return cairn_fail_memory(err);
        symtab->symbols[symtab->n++] = symbol;
    }
    return CAIRN_OK;
}

static int bind_rank(const struct cairn_elf_symbol *symbol)
{
    return symbol->bind == STB_LOCAL ? 2 : symbol->bind == STB_WEAK ? 1 : 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Before sizes of labels are known: the sized before the others, else as the header promises. */
static int compare_symbols(const void *left, const void *right)
{
    const struct cairn_elf_symbol *a = left, *b = right;
    int order = compare_u64(a->vaddr, b->vaddr);
    if (!order)
        order = b->sized - a->sized;
    if (!order)
        order = compare_u64(b->size, a->size);
    if (!order)
        order = bind_rank(a) - bind_rank(b);
    if (!order)
        order = (a->type == STT_NOTYPE) - (b->type == STT_NOTYPE);
    return order ? order : strcmp(a->name, b->name);
}

static bool same_bytes(const struct cairn_elf_symbol *a, const struct cairn_elf_symbol *b)
{
    return a->vaddr == b->vaddr && a->size == b->size && a->sized == b->sized;
}

/* Names of one constructor or destructor differ in one digit: ...C1E... and ...C2E... */
static bool is_structor_variant(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    bool digits = a[i] >= '0' && a[i] <= '5' && b[i] >= '0' && b[i] <= '5';
    return i > 0 && digits && (a[i - 1] == 'C' || a[i - 1] == 'D') && strncmp(a, "_Z", 2) == 0 &&
           strcmp(a + i + 1, b + i + 1) == 0;
}

/* Drops what stands twice. */
static void unique_symbols(struct cairn_elf_symtab *symtab)
{
    size_t kept = 0;
    for (size_t i = 0; i < symtab->n; i++) {
        const struct cairn_elf_symbol *last = kept ? &symtab->symbols[kept - 1] : NULL;
        if (last && same_bytes(last, &symtab->symbols[i]) &&
            strcmp(last->name, symtab->symbols[i].name) == 0)
            continue;
        symtab->symbols[kept++] = symtab->symbols[i];
    }
    symtab->n = kept;
}

static void mark_shared(struct cairn_elf_symtab *symtab)
{
    for (size_t first = 0, end; first < symtab->n; first = end) {
        struct cairn_elf_symbol *group = &symtab->symbols[first];
        bool shared = false;
        for (end = first + 1; end < symtab->n && same_bytes(group, &symtab->symbols[end]); end++)
            shared = shared || !is_structor_variant(group->name, symtab->symbols[end].name);
        for (size_t i = first; shared && i < end; i++)
            symtab->symbols[i].shared = true;
    }
}

/* Labels reach up to the next higher symbol; so far they reach to the end of their section. */
static void size_labels(struct cairn_elf_symtab *symtab)
{
    uint64_t next = UINT64_MAX; /* vaddr of the symbol behind this group */
    for (size_t i = symtab->n; i-- > 0;) {
        struct cairn_elf_symbol *symbol = &symtab->symbols[i];
        if (i + 1 < symtab->n && symtab->symbols[i + 1].vaddr != symbol->vaddr)
            next = symtab->symbols[i + 1].vaddr;
        if (!symbol->sized && next - symbol->vaddr < symbol->size)
            symbol->size = next - symbol->vaddr;
    }
}

/* The flattening: a sweep over the symbols with those that are open on a stack. */
struct sweep {
    struct cairn_elf_symtab *symtab;
    uint32_t *open; /* sized ones, the innermost last */
    size_t n_open;
    uint32_t label; /* the label that fills gaps, or NOBODY */
    uint64_t done;  /* all below is said */
    size_t cap;
    bool failed;
};

static uint64_t symbol_end(const struct sweep *sweep, uint32_t number)
{
    const struct cairn_elf_symbol *symbol = &sweep->symtab->symbols[number];
    return symbol->vaddr + symbol->size;
}

/* From `done` on, `owner` answers. */
static void sweep_say(struct sweep *sweep, uint32_t owner)
{
    struct cairn_elf_symtab *symtab = sweep->symtab;
    struct cairn_elf_reach *last =
        symtab->n_reaches ? &symtab->reaches[symtab->n_reaches - 1] : NULL;
    if (last && last->vaddr == sweep->done) {
        last->owner = owner;
        return;
    }
    if (last ? last->owner == owner : owner == NOBODY)
        return;
    if (cairn_grow((void **)&symtab->reaches, &sweep->cap, symtab->n_reaches + 1,
                   sizeof *symtab->reaches) < 0) {
        sweep->failed = true;
        return;
    }
    symtab->reaches[symtab->n_reaches++] = (struct cairn_elf_reach){sweep->done, owner};
}

static void close_ended(struct sweep *sweep, uint64_t vaddr)
{
    while (sweep->n_open && symbol_end(sweep, sweep->open[sweep->n_open - 1]) <= vaddr)
        sweep->n_open--;
    if (sweep->label != NOBODY && symbol_end(sweep, sweep->label) <= vaddr)
        sweep->label = NOBODY;
}

/* Says who answers between `done` and `vaddr`. */
static void sweep_to(struct sweep *sweep, uint64_t vaddr)
{
    while (!sweep->failed && sweep->done < vaddr) {
        close_ended(sweep, sweep->done);
        uint32_t owner = sweep->n_open ? sweep->open[sweep->n_open - 1] : sweep->label;
        sweep_say(sweep, owner);
        uint64_t end = owner == NOBODY ? vaddr : symbol_end(sweep, owner);
        sweep->done = end < vaddr ? end : vaddr;
    }
}

static int flatten(struct cairn_elf_symtab *symtab, struct cairn_err *err)
{
    struct sweep sweep = {.symtab = symtab, .label = NOBODY};
    sweep.open = cairn_alloc(symtab->n, sizeof *sweep.open);
    if (!sweep.open)
        return cairn_fail_memory(err);
    uint64_t end = 0;
    for (uint32_t i = 0; i < symtab->n; i++) {
        const struct cairn_elf_symbol *symbol = &symtab->symbols[i];
        sweep_to(&sweep, symbol->vaddr);
        close_ended(&sweep, symbol->vaddr);
        bool alias = i && same_bytes(symbol, symbol - 1);
        if (alias)
            continue; /* the best came first */
        if (symbol->sized)
            sweep.open[sweep.n_open++] = i;
        else if (!sweep.n_open)
            sweep.label = i; /* inside a function a label is a jump target */
        else
            continue;
        end = symbol_end(&sweep, i) > end ? symbol_end(&sweep, i) : end;
    }
    sweep_to(&sweep, end);
    sweep_say(&sweep, NOBODY);
    cairn_free(sweep.open);
    return sweep.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

/* The table's section, and beside it its names and, where there is one, its SHT_SYMTAB_SHNDX. */
static bool find_table(const struct cairn_elf *elf, uint32_t type,
                       struct cairn_elf_section *ret_table)
{
    for (uint32_t i = 1; cairn_elf_section(elf, i, ret_table); i++) {
        if (ret_table->type == type)
            return true;
    }
    return false;
}

static void find_section_numbers(struct source *source, uint32_t table_index)
{
    struct cairn_elf_section section;
    for (uint32_t i = 1; cairn_elf_section(source->elf, i, &section); i++) {
        if (section.type == SHT_SYMTAB_SHNDX && section.link == table_index)
            cairn_elf_section_bytes(source->elf, &section, &source->section_numbers);
    }
}

static int read_table(const struct cairn_elf *elf, const struct cairn_elf_section *table,
                      const struct cairn_elf *image, struct cairn_elf_symtab *symtab,
                      struct cairn_err *err)
{
    size_t entry_min = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (table->entry_size && (table->entry_size < entry_min || table->entry_size > 4096))
        return cairn_fail(err, CAIRN_E_FORMAT, "section %s: entries of %llu bytes, expected %zu",
                          table->name, (unsigned long long)table->entry_size, entry_min);
    struct cairn_elf_section names;
    if (!cairn_elf_section(elf, table->link, &names))
        return cairn_fail(err, CAIRN_E_FORMAT, "section %s: its names are section %u of %u",
                          table->name, table->link, elf->n_sections);
    int code = cairn_elf_read_section_of(elf, table, &symtab->data, err);
    if (code == CAIRN_OK)
        code = cairn_elf_read_section_of(elf, &names, &symtab->names, err);
    if (code < 0)
        return code;

    struct source source = {
        .elf = elf, .image = image, .table = symtab->data.bytes, .names = symtab->names.bytes};
    find_section_numbers(&source, table->index);
    code = source_read_code(&source, err);
    if (code == CAIRN_OK)
        code = read_symbols(&source, table->entry_size ? (size_t)table->entry_size : entry_min,
                            symtab, err);
    cairn_free(source.code);
    return code;
}

int cairn_elf_symtab_read(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                          struct cairn_elf_symtab *ret_symtab, struct cairn_err *err)
{
    return cairn_elf_symtab_read_for(elf, kind, elf, ret_symtab, err);
}

int cairn_elf_symtab_read_for(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                              const struct cairn_elf *image, struct cairn_elf_symtab *ret_symtab,
                              struct cairn_err *err)
{
    struct cairn_elf_symtab symtab = {0};
    struct cairn_elf_section table;
    uint32_t type = kind == CAIRN_ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM;
    if (elf->type == ET_REL || !find_table(elf, type, &table)) {
        *ret_symtab = symtab;
        return CAIRN_OK;
    }
    int code = read_table(elf, &table, image, &symtab, err);
    if (code == CAIRN_OK && symtab.n) {
        qsort(symtab.symbols, symtab.n, sizeof *symtab.symbols, compare_symbols);
        unique_symbols(&symtab);
        mark_shared(&symtab);
        size_labels(&symtab);
        code = flatten(&symtab, err);
    }
    if (code < 0) {
        cairn_elf_symtab_done(&symtab);
        return code;
    }
    *ret_symtab = symtab;
    return CAIRN_OK;
}

void cairn_elf_symtab_done(struct cairn_elf_symtab *symtab)
{
    cairn_free(symtab->symbols);
    cairn_free(symtab->reaches);
    cairn_elf_data_done(&symtab->data);
    cairn_elf_data_done(&symtab->names);
    *symtab = (struct cairn_elf_symtab){0};
}

const struct cairn_elf_symbol *cairn_elf_symtab_find(const struct cairn_elf_symtab *symtab,
                                                     uint64_t vaddr)
{
    size_t low = 0, high = symtab->n_reaches; /* the last reach at or below is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (symtab->reaches[middle].vaddr <= vaddr)
            low = middle;
        else
            high = middle;
    }
    if (high == low || symtab->reaches[low].vaddr > vaddr)
        return NULL;
    uint32_t owner = symtab->reaches[low].owner;
    return owner == NOBODY ? NULL : &symtab->symbols[owner];
}
