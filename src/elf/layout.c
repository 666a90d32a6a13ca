/* SPDX-License-Identifier: MIT */
/*
 * The copy is the file itself, changed in place where that is possible, and behind it what is new:
 *
 *     header | sections ... | old table | debug sections | symbols | names | table | segments
 *
 * What is read is always the file as it was given, what is written the copy: so it does not matter
 * if sections overlap.
 */
#include "elf/layout.h"

#include <elf.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "elf/layout_parts.h"
#include "elf/reloc.h"

enum {
    ALIGN_MAX = 1 << 20, /* what is more, or no power of two, is damage */
    VADDR_MAX = 0x7fffffff,
    HEADER_MAX = 64, /* of a section in the table, or a segment */
};

bool cairn_elf_is_relocatable(const struct cairn_elf *elf)
{
    return elf->type == ET_REL;
}

static int read_parts(struct cairn_layout_parts *l, struct cairn_err *err)
{
    const struct cairn_elf *elf = l->elf;
    l->parts = cairn_alloc(elf->n_sections ? elf->n_sections : 1, sizeof *l->parts);
    if (!l->parts)
        return cairn_fail_memory(err);
    for (uint32_t i = 0; i < elf->n_sections; i++) {
        struct cairn_layout_part *part = &l->parts[i];
        struct cairn_reader r = cairn_reader_of(elf->bytes, elf->swap);
        cairn_reader_seek(&r, elf->sections_off + (uint64_t)i * elf->section_size);
        part->name = cairn_reader_u32(&r);
        cairn_elf_section(elf, i, &part->section);
        part->section.vaddr = 0;
        part->debug = i ? cairn_layout_debug_of(&part->section) : CAIRN_LAYOUT_NO_DEBUG;
        if (i && !l->symtab && part->section.type == SHT_SYMTAB)
            l->symtab = i;
    }
    return CAIRN_OK;
}

/* Gives a section the next address. One that has no place in the address space is none. */
static void place(struct cairn_layout_parts *l, struct cairn_elf_section *section, uint64_t *end)
{
    uint64_t align = section->align ? section->align : 1;
    struct cairn_span bytes;
    if (align > ALIGN_MAX || (align & (align - 1)))
        align = 1;
    uint64_t start = (*end + align - 1) & ~(align - 1);
    if (start > VADDR_MAX || section->size > VADDR_MAX - start ||
        !cairn_elf_section_bytes(l->elf, section, &bytes)) {
        l->n_unplaced += (section->flags & SHF_EXECINSTR) != 0;
        section->flags &= ~(uint64_t)(SHF_ALLOC | SHF_EXECINSTR);
        return;
    }
    section->vaddr = start;
    *end = start + section->size;
}

static bool is_alloc(const struct cairn_elf_section *section, bool executable)
{
    bool has_code = (section->flags & SHF_EXECINSTR) != 0;
    return (section->flags & SHF_ALLOC) && has_code == executable && section->type != SHT_NULL;
}

/* .text before all others, wherever it is listed. */
static void place_all(struct cairn_layout_parts *l)
{
    uint32_t n = l->elf->n_sections, text = 0;
    for (uint32_t i = 1; i < n && !text; i++)
        if (is_alloc(&l->parts[i].section, true) && !strcmp(l->parts[i].section.name, ".text"))
            text = i;
    if (text)
        place(l, &l->parts[text].section, &l->code_end);
    for (uint32_t i = 1; i < n; i++)
        if (i != text && is_alloc(&l->parts[i].section, true))
            place(l, &l->parts[i].section, &l->code_end);
    l->data_start =
        (l->code_end + CAIRN_LAYOUT_PAGE_BYTES - 1) & ~(uint64_t)(CAIRN_LAYOUT_PAGE_BYTES - 1);
    l->data_end = l->data_start;
    for (uint32_t i = 1; i < n; i++)
        if (is_alloc(&l->parts[i].section, false))
            place(l, &l->parts[i].section, &l->data_end);
}

/* Where a symbol's section begins; false where it is in none that has a place. */
static bool section_vaddr(const struct cairn_layout_parts *l, uint32_t section, uint64_t *ret_vaddr)
{
    if (section >= l->elf->n_sections)
        return false;
    const struct cairn_layout_part *part = &l->parts[section];
    *ret_vaddr = part->section.vaddr;
    return (part->section.flags & SHF_ALLOC) || part->debug != CAIRN_LAYOUT_NO_DEBUG;
}

/* Where there are more than 65,279 sections, their numbers are in a section of their own. */
static struct cairn_span find_section_numbers(const struct cairn_layout_parts *l)
{
    struct cairn_span numbers = {0};
    for (uint32_t i = 1; i < l->elf->n_sections; i++) {
        const struct cairn_elf_section *section = &l->parts[i].section;
        if (section->type == SHT_SYMTAB_SHNDX && section->link == l->symtab)
            cairn_elf_section_bytes(l->elf, section, &numbers);
    }
    return numbers;
}

static uint32_t section_of(const struct cairn_layout_parts *l, struct cairn_span numbers,
                           size_t number, uint16_t section)
{
    if (section != SHN_XINDEX)
        return section < SHN_LORESERVE ? section : SHN_UNDEF;
    struct cairn_reader r = cairn_reader_of(numbers, l->elf->swap);
    cairn_reader_seek(&r, (uint64_t)number * sizeof(uint32_t));
    return cairn_reader_u32(&r);
}

/* Values of symbols, once for relocations and once for the table in the copy. */
static int read_symbols(struct cairn_layout_parts *l, struct cairn_err *err)
{
    const struct cairn_elf *elf = l->elf;
    struct cairn_elf_section *table = &l->parts[l->symtab].section;
    size_t entry = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    size_t value_at = elf->is64 ? offsetof(Elf64_Sym, st_value) : offsetof(Elf32_Sym, st_value);
    size_t info_at = elf->is64 ? offsetof(Elf64_Sym, st_info) : offsetof(Elf32_Sym, st_info);
    struct cairn_span bytes;
    if (!l->symtab || !cairn_elf_section_bytes(elf, table, &bytes) ||
        (table->flags & SHF_COMPRESSED) || (table->entry_size && table->entry_size != entry))
        return CAIRN_OK;
    size_t n = bytes.size / entry;
    l->values = cairn_alloc(n ? n : 1, sizeof *l->values);
    cairn_layout_pad(&l->out);
    table->off = l->out.size;
    cairn_buffer_add(&l->out, bytes.data, bytes.size);
    if (!l->values || l->out.failed)
        return cairn_fail_memory(err);
    struct cairn_span numbers = find_section_numbers(l);
    for (size_t i = 0; i < n; i++) {
        struct cairn_reader r = cairn_reader_of(bytes, elf->swap);
        cairn_reader_seek(&r, i * entry + value_at);
        uint64_t value = cairn_reader_word(&r, elf->is64 ? 8 : 4), start;
        r.pos = i * entry + info_at;
        uint8_t type = ELF64_ST_TYPE(cairn_reader_u8(&r));
        cairn_reader_skip(&r, 1);
        uint16_t section = cairn_reader_u16(&r);
        uint8_t *at = l->out.data + table->off + i * entry + value_at;
        if (section_vaddr(l, section_of(l, numbers, i, section), &start)) {
            value += start;
            cairn_elf_put(at, elf->is64 ? 8 : 4, value, elf->swap);
        } else if (section == SHN_UNDEF || section == SHN_COMMON) {
            value = 0;
        }
        bool thumb = elf->machine == EM_ARM && type == STT_FUNC;
        l->values[i] = thumb ? value & ~1ull : value;
    }
    l->relocator.n_values = n;
    return CAIRN_OK;
}

static bool is_table_for(const struct cairn_layout_parts *l, const struct cairn_elf_section *table)
{
    return (table->type == SHT_RELA || table->type == SHT_REL) &&
           table->info < l->elf->n_sections && l->parts[table->info].debug != CAIRN_LAYOUT_NO_DEBUG;
}

/* Tables that overlap would be work without end: all together are no longer than the file. */
static void relocate_all(struct cairn_layout_parts *l)
{
    const struct cairn_elf *elf = l->elf;
    uint64_t left = elf->bytes.size;
    l->relocator.elf = elf;
    l->relocator.values = l->values;
    for (uint32_t i = 1; i < elf->n_sections; i++) {
        const struct cairn_elf_section *table = &l->parts[i].section;
        struct cairn_span entries;
        if (!is_table_for(l, table))
            continue;
        bool has_addends = table->type == SHT_RELA;
        uint64_t entry = (has_addends ? 3 : 2) * (elf->is64 ? 8 : 4);
        const struct cairn_elf_section *target = &l->parts[table->info].section;
        if (!cairn_elf_section_bytes(elf, table, &entries) || entries.size > left ||
            table->link != l->symtab || (table->entry_size && table->entry_size != entry) ||
            target->off > l->out.size || target->size > l->out.size - target->off) {
            l->n_misplaced++;
            continue;
        }
        left -= entries.size;
        cairn_elf_relocate(&l->relocator, entries, has_addends, l->out.data + target->off,
                           (size_t)target->size, target->vaddr);
    }
}

static void tell_damage(const struct cairn_layout_parts *l)
{
    const struct cairn_elf_relocator *r = &l->relocator;
    uint64_t n_lost = r->n_outside + r->n_symbols_lost;
    if (n_lost || l->n_misplaced || l->n_unplaced)
        cairn_log(CAIRN_LOG_WARNING,
                  "relocatable file is damaged: %llu relocations and %llu tables of them are not "
                  "sound, %llu sections of code lie nowhere; what they concern is unknown",
                  (unsigned long long)n_lost, (unsigned long long)l->n_misplaced,
                  (unsigned long long)l->n_unplaced);
    if (r->n_unknown)
        cairn_log(CAIRN_LOG_WARNING,
                  "%llu relocations of debug sections are of kinds that are not known (%s, the "
                  "first is kind %u); lines may lack",
                  (unsigned long long)r->n_unknown, cairn_elf_machine_name(l->elf->machine),
                  r->first_unknown);
}

static int lay_out(struct cairn_layout_parts *l, struct cairn_err *err)
{
    int code = read_parts(l, err);
    if (code < 0)
        return code;
    cairn_buffer_reserve(&l->out,
                         l->elf->bytes.size + ((size_t)l->elf->n_sections + 4) * HEADER_MAX);
    cairn_buffer_add(&l->out, l->elf->bytes.data, l->elf->bytes.size);
    if (l->out.failed)
        return cairn_fail_memory(err);
    place_all(l);
    code = cairn_layout_gather_debug(l, err);
    if (code == CAIRN_OK)
        code = read_symbols(l, err);
    if (code < 0)
        return code;
    relocate_all(l);
    code = cairn_layout_join_debug(l, err);
    return code < 0 ? code : cairn_layout_put_tables(l, err);
}

static int fail_machine(const struct cairn_elf *elf, struct cairn_err *err)
{
    cairn_fail(err, CAIRN_E_SUPPORT,
               "relocatable file for %s, expected one for x86-64, i386, aarch64 or arm",
               cairn_elf_machine_name(elf->machine));
    cairn_hint(err, "link it: programs and libraries of any machine are read; or use "
                    "llvm-symbolizer, which reads this object");
    return CAIRN_E_SUPPORT;
}

int cairn_elf_lay_out(const struct cairn_elf *elf, struct cairn_elf_data *ret_file,
                      struct cairn_err *err)
{
    struct cairn_layout_parts l = {.elf = elf};
    if (!cairn_elf_can_relocate(elf->machine))
        return fail_machine(elf, err);
    int code = lay_out(&l, err);
    if (code == CAIRN_OK) {
        tell_damage(&l);
        *ret_file =
            (struct cairn_elf_data){.bytes = cairn_buffer_span(&l.out), .owned = l.out.data};
        l.out = (struct cairn_buffer){0};
    }
    cairn_buffer_done(&l.out);
    cairn_free(l.parts);
    cairn_free(l.values);
    return code;
}
