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
                       struct cairn_elf_named *ret_named)
{
    struct cairn_elf_named named = {.name = cairn_span_str(names, cairn_reader_u32(r))};
    if (!elf->is64) {
        named.vaddr = cairn_reader_u32(r);
        named.size = cairn_reader_u32(r);
    }
    named.type = ELF64_ST_TYPE(cairn_reader_u8(r));
    cairn_reader_skip(r, 1); /* st_other */
    uint16_t section = cairn_reader_u16(r);
    if (elf->is64) {
        named.vaddr = cairn_reader_u64(r);
        named.size = cairn_reader_u64(r);
    }
    bool is_place = named.type == STT_FUNC || named.type == STT_GNU_IFUNC ||
                    named.type == STT_NOTYPE || named.type == STT_OBJECT || named.type == STT_TLS;
    if (r->failed || !is_place || section == SHN_UNDEF || !named.name || !*named.name)
        return false;
    if (elf->machine == EM_ARM && named.type == STT_FUNC)
        named.vaddr &= ~1ull; /* Thumb */
    *ret_named = named;
    return true;
}

int cairn_elf_named_each(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                         cairn_elf_named_fn each, void *ctx, struct cairn_err *err)
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
        struct cairn_elf_named named;
        cairn_reader_seek(&r, i * entry_size);
        if (read_entry(&r, elf, names.bytes, &named))
            code = each(ctx, &named);
    }
    cairn_elf_data_done(&entries);
    cairn_elf_data_done(&names);
    return code;
}

struct places {
    cairn_elf_symbol_fn each;
    void *ctx;
};

static int pass_place(void *ctx, const struct cairn_elf_named *named)
{
    const struct places *to = ctx;
    return named->type == STT_TLS ? 0 : to->each(to->ctx, named->name, named->vaddr);
}

int cairn_elf_symbols_each(const struct cairn_elf *elf, enum cairn_elf_symtab_kind kind,
                           cairn_elf_symbol_fn each, void *ctx, struct cairn_err *err)
{
    struct places to = {each, ctx};
    return cairn_elf_named_each(elf, kind, pass_place, &to, err);
}
