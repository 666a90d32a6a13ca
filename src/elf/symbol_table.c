/* SPDX-License-Identifier: MIT */
/* Finds symbol tables and reads their entries. */
#include "elf/symbol_table.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "elf/dynamic.h"

enum {
    SYMBOLS_MAX = 1 << 28,       /* 6 GiB of table; numbers stay far from UINT32_MAX */
    SECTION_NUMBERS_ARE_U32 = 4, /* entry size of SHT_SYMTAB_SHNDX */
};

/* [low, high) of a section or an executable segment. */
struct cairn_elf_symbol_place {
    uint64_t low, high;
    bool is_code;
};

static int compare_places(const void *left, const void *right)
{
    const struct cairn_elf_symbol_place *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* `n_places` is at most `n`. Sorts the code among the places for look-ups by value. */
static int list_code(struct cairn_elf_symbol_table *t, struct cairn_err *err)
{
    t->code = cairn_realloc(NULL, t->n_places ? t->n_places : 1, sizeof *t->code);
    if (!t->code)
        return cairn_fail_memory(err);
    for (uint32_t i = 0; i < t->n_places; i++)
        if (t->places[i].is_code)
            t->code[t->n_code++] = t->places[i];
    if (t->n_code)
        qsort(t->code, t->n_code, sizeof *t->code, compare_places);
    return CAIRN_OK;
}

static int read_places(const struct cairn_elf *elf, const struct cairn_elf *image,
                       struct cairn_elf_symbol_table *t, struct cairn_err *err)
{
    t->n_places = elf->n_sections;
    t->places = cairn_alloc(t->n_places ? t->n_places : 1, sizeof *t->places);
    if (!t->places)
        return cairn_fail_memory(err);
    struct cairn_elf_section section;
    for (uint32_t i = 1; cairn_elf_section(elf, i, &section); i++) {
        uint64_t high;
        if (__builtin_add_overflow(section.vaddr, section.size, &high))
            continue;
        bool is_code = (section.flags & SHF_EXECINSTR) && section.size;
        if (is_code && image != elf)
            is_code = cairn_elf_is_code(image, section.vaddr) && cairn_elf_is_code(image, high - 1);
        t->places[i] = (struct cairn_elf_symbol_place){section.vaddr, high, is_code};
    }
    return list_code(t, err);
}

/* The table's section. */
static bool find_table(const struct cairn_elf *elf, uint32_t type,
                       struct cairn_elf_section *ret_table)
{
    for (uint32_t i = 1; cairn_elf_section(elf, i, ret_table); i++) {
        if (ret_table->type == type)
            return true;
    }
    return false;
}

/* Where there are more than 65,279 sections, their numbers are in a section of their own. */
static void find_section_numbers(const struct cairn_elf *elf, uint32_t table_index,
                                 struct cairn_elf_symbol_table *t)
{
    struct cairn_elf_section section;
    for (uint32_t i = 1; cairn_elf_section(elf, i, &section); i++) {
        if (section.type == SHT_SYMTAB_SHNDX && section.link == table_index)
            cairn_elf_section_bytes(elf, &section, &t->section_numbers);
    }
}

static int open_table(const struct cairn_elf *elf, const struct cairn_elf_section *section,
                      struct cairn_elf_symbol_table *t, struct cairn_err *err)
{
    size_t entry_min = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (section->entry_size && (section->entry_size < entry_min || section->entry_size > 4096))
        return cairn_fail(err, CAIRN_E_FORMAT, "section %s: entries of %llu bytes, expected %zu",
                          section->name, (unsigned long long)section->entry_size, entry_min);
    t->entry_size = section->entry_size ? (size_t)section->entry_size : entry_min;
    struct cairn_elf_section names;
    if (!cairn_elf_section(elf, section->link, &names))
        return cairn_fail(err, CAIRN_E_FORMAT, "section %s: its names are section %u of %u",
                          section->name, section->link, elf->n_sections);
    int code = cairn_elf_read_section_of(elf, section, &t->data, err);
    if (code == CAIRN_OK)
        code = cairn_elf_read_section_of(elf, &names, &t->names, err);
    if (code < 0)
        return code;
    uint64_t n = t->data.bytes.size / t->entry_size;
    if (n > SYMBOLS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "symbol table has %llu entries, more than %d",
                          (unsigned long long)n, SYMBOLS_MAX);
    t->n = (uint32_t)n;
    struct cairn_span text = t->names.bytes;
    t->names_end = text.size && !text.data[text.size - 1];
    find_section_numbers(elf, section->index, t);
    return CAIRN_OK;
}

/* As the loader finds it. A debug file has the addresses of these tables, but not their bytes. */
static int open_dynamic(const struct cairn_elf *elf, struct cairn_elf_symbol_table *t,
                        struct cairn_err *err)
{
    struct cairn_elf_dynamic dynamic;
    if (cairn_elf_is_debug_only(elf))
        return CAIRN_OK;
    cairn_elf_read_dynamic(elf, &dynamic);
    t->entry_size = dynamic.symbol_size;
    t->n = dynamic.n_symbols < SYMBOLS_MAX ? (uint32_t)dynamic.n_symbols : SYMBOLS_MAX;
    t->data.bytes = (struct cairn_span){dynamic.symbols.data, t->n * t->entry_size};
    t->names.bytes = dynamic.names;
    t->by_segments = true;
    t->places = cairn_alloc(elf->n_segments ? elf->n_segments : 1, sizeof *t->places);
    if (!t->places)
        return cairn_fail_memory(err);
    struct cairn_elf_segment load;
    uint64_t high;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &load); i++)
        if (load.type == PT_LOAD && (load.flags & PF_X) &&
            !__builtin_add_overflow(load.vaddr, load.mem_size, &high))
            t->places[t->n_places++] = (struct cairn_elf_symbol_place){load.vaddr, high, true};
    return list_code(t, err);
}

int cairn_elf_symbol_table_open(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                                const struct cairn_elf *image,
                                struct cairn_elf_symbol_table *ret_table, struct cairn_err *err)
{
    struct cairn_elf_symbol_table t = {
        .machine = elf->machine, .is64 = elf->is64, .swap = elf->swap};
    struct cairn_elf_section section;
    uint32_t type = kind == CAIRN_ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM;
    int code = CAIRN_OK;
    if (elf->type != ET_REL && find_table(elf, type, &section)) {
        code = open_table(elf, &section, &t, err);
        if (code == CAIRN_OK)
            code = read_places(elf, image, &t, err);
    } else if (elf->type != ET_REL && kind == CAIRN_ELF_DYNSYM) {
        code = open_dynamic(elf, &t, err);
    }
    if (code < 0)
        cairn_elf_symbol_table_done(&t);
    else
        *ret_table = t;
    return code;
}

void cairn_elf_symbol_table_done(struct cairn_elf_symbol_table *table)
{
    cairn_elf_data_done(&table->data);
    cairn_elf_data_done(&table->names);
    cairn_free(table->places);
    cairn_free(table->code);
    *table = (struct cairn_elf_symbol_table){0};
}

/* Letters of the symbols that mark where code and data begin in a section: "$d", and in the ABIs of
 * ARM, AArch64 (with Morello's $c), RISC-V, C-SKY and NDS32 those of instruction sets. */
static const char *mapping_letters(uint16_t machine)
{
    return machine == EM_ARM       ? "adt"
           : machine == EM_AARCH64 ? "cdx"
           : machine == EM_RISCV   ? "dx"
           : machine == EM_CSKY    ? "dt"
           : machine == EM_NDS32   ? "cdt"
                                   : "";
}

/* Such a letter stands alone, or before ".anything"; of RISC-V's $x an ISA follows ($xrv64i2p1), of
 * NDS32's $d a digit. */
static bool is_mapping_symbol(const struct cairn_elf_symbol_table *t, const char *name)
{
    if (name[0] != '$' || !name[1] || !strchr(mapping_letters(t->machine), name[1]))
        return false;
    bool more = (t->machine == EM_RISCV && name[1] == 'x') ||
                (t->machine == EM_NDS32 && name[1] == 'd' && name[2] && !name[3]);
    return !name[2] || name[2] == '.' || more;
}

/* Marks that tools leave at places of code, none of which is the name of a function: annobin's
 * notes of what a compiler was called with, the assembler's temporary labels, and what GCC 2 put at
 * the head of each file. */
static bool is_mark(const struct cairn_elf_symbol *symbol)
{
    static const char *const marks[] = {".annobin_", "_annobin_", "annobin_", ".L",
                                        "gcc2_compiled."};
    if (symbol->type != STT_NOTYPE || symbol->bind != STB_LOCAL)
        return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(symbol->name, marks[i], strlen(marks[i])) == 0)
            return true;
    return false;
}

/* The section of an entry, SHN_XINDEX followed. */
static uint32_t section_of(const struct cairn_elf_symbol_table *t, uint32_t number,
                           uint16_t section)
{
    if (section != SHN_XINDEX)
        return section < SHN_LORESERVE ? section : SHN_UNDEF;
    struct cairn_reader r = cairn_reader_of(t->section_numbers, t->swap);
    cairn_reader_seek(&r, (uint64_t)number * SECTION_NUMBERS_ARE_U32);
    return cairn_reader_u32(&r);
}

/* The name at `off`, or "". */
static const char *name_at(const struct cairn_elf_symbol_table *t, uint32_t off)
{
    struct cairn_span names = t->names.bytes;
    if (t->names_end && off < names.size)
        return (const char *)names.data + off;
    const char *name = cairn_span_str(names, off);
    return name ? name : "";
}

static bool is_function(const struct cairn_elf_symbol *symbol)
{
    return symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
}

static bool is_data(const struct cairn_elf_symbol *symbol)
{
    return symbol->type == STT_OBJECT || symbol->type == STT_COMMON;
}

/* The code that holds `vaddr`, or NULL. */
static const struct cairn_elf_symbol_place *find_code(const struct cairn_elf_symbol_table *t,
                                                      uint64_t vaddr)
{
    size_t n = CAIRN_COUNT_BELOW(t->code, t->n_code, low, vaddr);
    return n && vaddr < t->code[n - 1].high ? &t->code[n - 1] : NULL;
}

/*
 * The code that holds a symbol, or NULL. Tools that rewrite a program may leave a section's number
 * that is another section's by now: of functions the value counts, which is all that dlsym(3) looks
 * at. Other symbols are not moved so, because "_end" and the like lie outside their section by
 * intent; and a function at the very end of its section is empty, and not the next section's first.
 */
static const struct cairn_elf_symbol_place *place_of(const struct cairn_elf_symbol_table *t,
                                                     uint32_t number, uint16_t section_number,
                                                     const struct cairn_elf_symbol *symbol)
{
    uint64_t vaddr = symbol->vaddr;
    uint32_t section = section_of(t, number, section_number);
    if (section == SHN_UNDEF)
        return NULL;
    if (!t->by_segments && section < t->n_places) {
        const struct cairn_elf_symbol_place *place = &t->places[section];
        if (vaddr >= place->low && vaddr < place->high)
            return place->is_code ? place : NULL;
        if (vaddr == place->high)
            return NULL;
    }
    return t->by_segments || is_function(symbol) ? find_code(t, vaddr) : NULL;
}

/* What stands in the entry, but for the Thumb bit. False: it names no place, or ends early. */
static bool read_entry(const struct cairn_elf_symbol_table *t, uint32_t number,
                       struct cairn_elf_symbol *ret_symbol, uint16_t *ret_section)
{
    struct cairn_reader r = cairn_reader_of(t->data.bytes, t->swap);
    cairn_reader_seek(&r, (uint64_t)number * t->entry_size);
    struct cairn_elf_symbol symbol = {0};
    uint32_t name = cairn_reader_u32(&r);
    if (!t->is64) {
        symbol.vaddr = cairn_reader_u32(&r);
        symbol.size = cairn_reader_u32(&r);
    }
    uint8_t info = cairn_reader_u8(&r);
    cairn_reader_skip(&r, 1); /* st_other: visibility */
    *ret_section = cairn_reader_u16(&r);
    symbol.bind = ELF64_ST_BIND(info);
    symbol.type = ELF64_ST_TYPE(info);
    if (!is_function(&symbol) && !is_data(&symbol) && symbol.type != STT_NOTYPE)
        return false;
    if (t->is64) {
        symbol.vaddr = cairn_reader_u64(&r);
        symbol.size = cairn_reader_u64(&r);
    }
    if (t->machine == EM_ARM && is_function(&symbol))
        symbol.vaddr &= ~1ull;
    symbol.name = name_at(t, name);
    *ret_symbol = symbol;
    return !r.failed;
}

enum cairn_elf_entry cairn_elf_symbol_table_read(const struct cairn_elf_symbol_table *t,
                                                 uint32_t number,
                                                 struct cairn_elf_symbol *ret_symbol)
{
    struct cairn_elf_symbol symbol;
    uint16_t section;
    if (!read_entry(t, number, &symbol, &section))
        return CAIRN_ELF_ENTRY_NONE;
    const struct cairn_elf_symbol_place *place = place_of(t, number, section, &symbol);
    if (!place)
        return CAIRN_ELF_ENTRY_NONE;
    uint64_t left = place->high - symbol.vaddr;
    symbol.sized = symbol.size != 0;
    if (!symbol.sized || symbol.size > left)
        symbol.size = left;
    *ret_symbol = symbol;
    if (is_data(&symbol) || is_mapping_symbol(t, symbol.name))
        return CAIRN_ELF_ENTRY_END;
    return *symbol.name && !is_mark(&symbol) ? CAIRN_ELF_ENTRY_CODE : CAIRN_ELF_ENTRY_NONE;
}

bool cairn_elf_symbol_table_get(const struct cairn_elf_symbol_table *t, uint32_t number,
                                struct cairn_elf_symbol *ret_symbol)
{
    struct cairn_elf_symbol symbol;
    if (cairn_elf_symbol_table_read(t, number, &symbol) != CAIRN_ELF_ENTRY_CODE)
        return false;
    *ret_symbol = symbol;
    return true;
}

const char *cairn_elf_symbol_table_file(const struct cairn_elf_symbol_table *t, uint32_t number)
{
    struct cairn_reader r = cairn_reader_of(t->data.bytes, t->swap);
    cairn_reader_seek(&r, (uint64_t)number * t->entry_size);
    uint32_t name = cairn_reader_u32(&r);
    if (!t->is64)
        cairn_reader_skip(&r, 8); /* value and size */
    uint8_t info = cairn_reader_u8(&r);
    return !r.failed && ELF64_ST_TYPE(info) == STT_FILE ? name_at(t, name) : NULL;
}

/* Of the wanted class and byte order alone, so that the compiler makes a tight loop of each. Both
 * bounds have a byte to spare for the Thumb bit. */
static inline __attribute__((always_inline)) uint32_t
next_of(const struct cairn_elf_symbol_table *t, uint32_t number, uint64_t vaddr, bool is64,
        bool swap)
{
    const uint8_t *entry = t->data.bytes.data + number * t->entry_size;
    for (; number < t->n; number++, entry += t->entry_size) {
        uint64_t value, size;
        if (is64) {
            memcpy(&value, entry + offsetof(Elf64_Sym, st_value), 8);
            memcpy(&size, entry + offsetof(Elf64_Sym, st_size), 8);
            value = swap ? __builtin_bswap64(value) : value;
            size = swap ? __builtin_bswap64(size) : size;
        } else {
            uint32_t words[2];
            memcpy(words, entry + offsetof(Elf32_Sym, st_value), sizeof words);
            value = swap ? __builtin_bswap32(words[0]) : words[0];
            size = swap ? __builtin_bswap32(words[1]) : words[1];
        }
        uint64_t distance = vaddr - (value & ~1ull);
        if (distance <= size && size)
            return number;
    }
    return number;
}

uint32_t cairn_elf_symbol_table_next(const struct cairn_elf_symbol_table *t, uint32_t number,
                                     uint64_t vaddr)
{
    if (number >= t->n)
        return number; /* an empty table has no bytes that a pointer could point to */
    if (t->is64)
        return t->swap ? next_of(t, number, vaddr, true, true)
                       : next_of(t, number, vaddr, true, false);
    return t->swap ? next_of(t, number, vaddr, false, true)
                   : next_of(t, number, vaddr, false, false);
}
