/* SPDX-License-Identifier: MIT */
/* Finds symbol tables and reads their entries. */
#include "elf/symbol_table.h"

#include <elf.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "elf/dynamic.h"

enum {
    SYMBOLS_MAX = 1 << 28,       /* 6 GiB of table; numbers stay far from UINT32_MAX */
    SECTION_NUMBERS_ARE_U32 = 4, /* entry size of SHT_SYMTAB_SHNDX */
};

/* [low, high) is empty unless the section holds code. */
struct cairn_elf_code_section {
    uint64_t low, high;
};

static int read_code(const struct cairn_elf *elf, const struct cairn_elf *image,
                     struct cairn_elf_symbol_table *t, struct cairn_err *err)
{
    t->n_code = elf->n_sections;
    t->code = cairn_alloc(t->n_code ? t->n_code : 1, sizeof *t->code);
    if (!t->code)
        return cairn_fail_memory(err);
    struct cairn_elf_section section;
    for (uint32_t i = 1; cairn_elf_section(elf, i, &section); i++) {
        uint64_t high;
        if (!(section.flags & SHF_EXECINSTR) || !section.size ||
            __builtin_add_overflow(section.vaddr, section.size, &high))
            continue;
        if (image != elf &&
            !(cairn_elf_is_code(image, section.vaddr) && cairn_elf_is_code(image, high - 1)))
            continue;
        t->code[i] = (struct cairn_elf_code_section){section.vaddr, high};
    }
    return CAIRN_OK;
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
    t->code = cairn_alloc(elf->n_segments ? elf->n_segments : 1, sizeof *t->code);
    if (!t->code)
        return cairn_fail_memory(err);
    struct cairn_elf_segment load;
    uint64_t high;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &load); i++)
        if (load.type == PT_LOAD && (load.flags & PF_X) &&
            !__builtin_add_overflow(load.vaddr, load.mem_size, &high))
            t->code[t->n_code++] = (struct cairn_elf_code_section){load.vaddr, high};
    return CAIRN_OK;
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
            code = read_code(elf, image, &t, err);
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
    cairn_free(table->code);
    *table = (struct cairn_elf_symbol_table){0};
}

/* $a, $d, $t, $x, alone or with ".anything": they mark code and data, and name nothing. */
static bool is_mapping_symbol(const struct cairn_elf_symbol_table *t, const char *name)
{
    bool has_them = t->machine == EM_ARM || t->machine == EM_AARCH64 || t->machine == EM_RISCV;
    return has_them && name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
           (!name[2] || name[2] == '.' || name[1] == 'x');
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

/* The index in `code` of what may hold a symbol, `n_code` where nothing does. */
static uint32_t code_of(const struct cairn_elf_symbol_table *t, uint32_t number, uint64_t vaddr,
                        uint16_t section)
{
    if (!t->by_segments)
        return section_of(t, number, section);
    if (section == SHN_UNDEF || section >= SHN_LORESERVE)
        return t->n_code;
    for (uint32_t i = 0; i < t->n_code; i++)
        if (vaddr - t->code[i].low < t->code[i].high - t->code[i].low)
            return i;
    return t->n_code;
}

bool cairn_elf_symbol_table_get(const struct cairn_elf_symbol_table *t, uint32_t number,
                                struct cairn_elf_symbol *ret_symbol)
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
    uint16_t section_number = cairn_reader_u16(&r);
    symbol.bind = ELF64_ST_BIND(info);
    symbol.type = ELF64_ST_TYPE(info);
    bool is_function = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC;
    if (!is_function && symbol.type != STT_NOTYPE)
        return false;
    if (t->is64) {
        symbol.vaddr = cairn_reader_u64(&r);
        symbol.size = cairn_reader_u64(&r);
    }
    if (r.failed)
        return false;
    if (t->machine == EM_ARM && is_function)
        symbol.vaddr &= ~1ull;

    uint32_t section = code_of(t, number, symbol.vaddr, section_number);
    if (section >= t->n_code || symbol.vaddr < t->code[section].low ||
        symbol.vaddr >= t->code[section].high)
        return false;
    uint64_t left = t->code[section].high - symbol.vaddr;
    symbol.sized = symbol.size != 0;
    if (!symbol.sized || symbol.size > left)
        symbol.size = left;
    symbol.name = name_at(t, name);
    if (!*symbol.name || is_mapping_symbol(t, symbol.name))
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
