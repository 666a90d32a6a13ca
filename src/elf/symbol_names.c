/* SPDX-License-Identifier: MIT */
#include "elf/symbol_names.h"

#include <elf.h>

#include "base/error.h"

static bool find_table(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                       struct cairn_elf_section *ret_table)
{
    uint32_t type = kind == CAIRN_ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM;
    for (uint32_t i = 1; cairn_elf_section(elf, i, ret_table); i++)
        if (ret_table->type == type)
            return true;
    return false;
}

/* The reader stands at an entry (gABI "Symbol Table"; symtab.c draws it). False: names no place. */
static bool read_entry(struct cairn_reader *r, const struct cairn_elf *elf, struct cairn_span names,
                       const char **ret_name, uint64_t *ret_vaddr)
{
    uint64_t value = 0;
    const char *name = cairn_span_str(names, cairn_reader_u32(r));
    if (!elf->is64) {
        value = cairn_reader_u32(r);
        cairn_reader_skip(r, 4); /* st_size */
    }
    uint8_t type = ELF64_ST_TYPE(cairn_reader_u8(r));
    cairn_reader_skip(r, 1); /* st_other */
    uint16_t section = cairn_reader_u16(r);
    if (elf->is64)
        value = cairn_reader_u64(r);
    bool is_place =
        type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE || type == STT_OBJECT;
    if (r->failed || !is_place || section == SHN_UNDEF || !name || !*name)
        return false;
    if (elf->machine == EM_ARM && type == STT_FUNC)
        value &= ~1ull; /* Thumb */
    *ret_name = name;
    *ret_vaddr = value;
    return true;
}

int cairn_elf_symbols_each(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                           cairn_elf_symbol_fn each, void *ctx, struct cairn_err *err)
{
    struct cairn_elf_section table, strings;
    struct cairn_elf_data entries = {0}, names = {0};
    size_t entry_size = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (elf->type == ET_REL || !find_table(elf, kind, &table) ||
        !cairn_elf_section(elf, table.link, &strings))
        return CAIRN_OK;
    if (table.entry_size && table.entry_size != entry_size)
        return cairn_fail(err, CAIRN_E_FORMAT, "section %s: entries of %llu bytes, expected %zu",
                          table.name, (unsigned long long)table.entry_size, entry_size);
    int code = cairn_elf_read_section_of(elf, &table, &entries, err);
    if (code == CAIRN_OK)
        code = cairn_elf_read_section_of(elf, &strings, &names, err);
    struct cairn_reader r = cairn_reader_of(entries.bytes, elf->swap);
    size_t n = entries.bytes.size / entry_size;
    for (size_t i = 1; code == CAIRN_OK && i < n; i++) {
        const char *name;
        uint64_t vaddr;
        cairn_reader_seek(&r, i * entry_size);
        if (read_entry(&r, elf, names.bytes, &name, &vaddr))
            code = each(ctx, name, vaddr);
    }
    cairn_elf_data_done(&entries);
    cairn_elf_data_done(&names);
    return code;
}
