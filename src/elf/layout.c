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
#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "elf/reloc.h"

enum {
    ALIGN_MAX = 1 << 20, /* what is more, or no power of two, is damage */
    PAGE_BYTES = 4096,
    VADDR_MAX = 0x7fffffff,
    HEADER_MAX = 64, /* of a section in the table, or a segment */
};

/* What names and lines are read from, by the part of the name behind ".debug_" or ".zdebug_". */
static const char *const debug_names[] = {"info",   "types",    "abbrev",      "line",
                                          "str",    "line_str", "str_offsets", "addr",
                                          "ranges", "rnglists", "aranges"};
enum { N_DEBUG = sizeof debug_names / sizeof *debug_names, NO_DEBUG = N_DEBUG };

struct part {
    struct cairn_elf_section section; /* as it will be */
    uint32_t name;                    /* offset in the table of names */
    unsigned debug;                   /* index in debug_names, or NO_DEBUG */
};

struct layout {
    const struct cairn_elf *elf;
    struct part *parts; /* by section */
    struct cairn_buffer out;
    struct cairn_elf_relocator relocator;
    uint64_t *values;
    uint32_t symtab; /* section; 0: none */
    uint64_t code_end, data_start, data_end;
    uint64_t n_unplaced;
    uint64_t n_misplaced; /* tables of relocations that cannot be used */
};

bool cairn_elf_is_relocatable(const struct cairn_elf *elf)
{
    return elf->type == ET_REL;
}

static unsigned debug_of(const struct cairn_elf_section *section)
{
    const char *name = section->name;
    if (section->type == SHT_NOBITS || section->type == SHT_NULL || (section->flags & SHF_ALLOC) ||
        name[0] != '.')
        return NO_DEBUG;
    name += name[1] == 'z' ? 2 : 1;
    if (strncmp(name, "debug_", 6) != 0)
        return NO_DEBUG;
    for (unsigned i = 0; i < N_DEBUG; i++)
        if (strcmp(name + 6, debug_names[i]) == 0)
            return i;
    return NO_DEBUG;
}

static int read_parts(struct layout *l, struct cairn_err *err)
{
    const struct cairn_elf *elf = l->elf;
    l->parts = cairn_alloc(elf->n_sections ? elf->n_sections : 1, sizeof *l->parts);
    if (!l->parts)
        return cairn_fail_memory(err);
    for (uint32_t i = 0; i < elf->n_sections; i++) {
        struct part *part = &l->parts[i];
        struct cairn_reader r = cairn_reader_of(elf->bytes, elf->swap);
        cairn_reader_seek(&r, elf->sections_off + (uint64_t)i * elf->section_size);
        part->name = cairn_reader_u32(&r);
        cairn_elf_section(elf, i, &part->section);
        part->section.vaddr = 0;
        part->debug = i ? debug_of(&part->section) : NO_DEBUG;
        if (i && !l->symtab && part->section.type == SHT_SYMTAB)
            l->symtab = i;
    }
    return CAIRN_OK;
}

/* Gives a section the next address. One that has no place in the address space is none. */
static void place(struct layout *l, struct cairn_elf_section *section, uint64_t *end)
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
static void place_all(struct layout *l)
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
    l->data_start = (l->code_end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    l->data_end = l->data_start;
    for (uint32_t i = 1; i < n; i++)
        if (is_alloc(&l->parts[i].section, false))
            place(l, &l->parts[i].section, &l->data_end);
}

static void pad(struct cairn_buffer *out)
{
    static const uint8_t zeros[8];
    cairn_buffer_add(out, zeros, -out->size & 7);
}

/* Appends the contents of one debug section; those that are damaged are left out. */
static int append_debug(struct layout *l, struct part *part, struct cairn_err *err)
{
    struct cairn_elf_data data = {0};
    struct cairn_err why = {0};
    size_t limit = cairn_elf_plain_bytes_max(l->elf->bytes.size);
    int code = cairn_elf_read_section_of(l->elf, &part->section, &data, &why);
    size_t added = l->out.size - l->elf->bytes.size;
    if (code == CAIRN_OK && (added > limit || data.bytes.size > limit - added)) {
        cairn_elf_data_done(&data);
        return cairn_fail(err, CAIRN_E_LIMIT, "debug sections hold more than %zu bytes", limit);
    }
    part->section.off = l->out.size;
    part->section.size = code == CAIRN_OK ? data.bytes.size : 0;
    part->section.flags &= ~(uint64_t)SHF_COMPRESSED;
    if (code == CAIRN_OK)
        cairn_buffer_add(&l->out, data.bytes.data, data.bytes.size);
    cairn_elf_data_done(&data);
    if (code == CAIRN_E_NOMEM || l->out.failed)
        return cairn_fail_memory(err);
    if (code < 0)
        cairn_log_err(CAIRN_LOG_WARNING, &why);
    return CAIRN_OK;
}

/* All debug sections of one name, one behind the other: the address of each is where it begins in
 * the whole. One that stands alone and is not compressed stays where it is. */
static int gather_debug(struct layout *l, unsigned debug, uint32_t first, uint32_t n,
                        struct cairn_err *err)
{
    struct part *head = &l->parts[first];
    uint64_t start = l->out.size;
    struct cairn_span bytes;
    bool is_packed = (head->section.flags & SHF_COMPRESSED) || head->section.name[1] == 'z';
    if (n == 1 && !is_packed) {
        if (cairn_elf_section_bytes(l->elf, &head->section, &bytes))
            return CAIRN_OK;
    }
    for (uint32_t i = first; i < l->elf->n_sections; i++) {
        struct part *part = &l->parts[i];
        if (part->debug != debug)
            continue;
        int code = append_debug(l, part, err);
        if (code < 0)
            return code;
        part->section.vaddr = part->section.off - start;
    }
    return CAIRN_OK;
}

/* Sound files have no two sections in one place, so that all together fit into the file. */
static int gather_all(struct layout *l, struct cairn_err *err)
{
    uint32_t first[N_DEBUG] = {0}, n[N_DEBUG] = {0};
    uint64_t total = 0;
    for (uint32_t i = 1; i < l->elf->n_sections; i++) {
        const struct part *part = &l->parts[i];
        if (part->debug == NO_DEBUG)
            continue;
        first[part->debug] = n[part->debug]++ ? first[part->debug] : i;
        if (__builtin_add_overflow(total, part->section.size, &total))
            total = UINT64_MAX;
    }
    if (total > l->elf->bytes.size)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "debug sections of 0x%llx bytes in a file of 0x%zx: they overlap",
                          (unsigned long long)total, l->elf->bytes.size);
    for (unsigned i = 0; i < N_DEBUG; i++) {
        int code = n[i] ? gather_debug(l, i, first[i], n[i], err) : CAIRN_OK;
        if (code < 0)
            return code;
    }
    return CAIRN_OK;
}

/* Where a symbol's section begins; false where it is in none that has a place. */
static bool section_vaddr(const struct layout *l, uint32_t section, uint64_t *ret_vaddr)
{
    if (section >= l->elf->n_sections)
        return false;
    const struct part *part = &l->parts[section];
    *ret_vaddr = part->section.vaddr;
    return (part->section.flags & SHF_ALLOC) || part->debug != NO_DEBUG;
}

/* Where there are more than 65,279 sections, their numbers are in a section of their own. */
static struct cairn_span find_section_numbers(const struct layout *l)
{
    struct cairn_span numbers = {0};
    for (uint32_t i = 1; i < l->elf->n_sections; i++) {
        const struct cairn_elf_section *section = &l->parts[i].section;
        if (section->type == SHT_SYMTAB_SHNDX && section->link == l->symtab)
            cairn_elf_section_bytes(l->elf, section, &numbers);
    }
    return numbers;
}

static uint32_t section_of(const struct layout *l, struct cairn_span numbers, size_t number,
                           uint16_t section)
{
    if (section != SHN_XINDEX)
        return section < SHN_LORESERVE ? section : SHN_UNDEF;
    struct cairn_reader r = cairn_reader_of(numbers, l->elf->swap);
    cairn_reader_seek(&r, (uint64_t)number * sizeof(uint32_t));
    return cairn_reader_u32(&r);
}

/* Values of symbols, once for relocations and once for the table in the copy. */
static int read_symbols(struct layout *l, struct cairn_err *err)
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
    pad(&l->out);
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

static bool is_table_for(const struct layout *l, const struct cairn_elf_section *table)
{
    return (table->type == SHT_RELA || table->type == SHT_REL) &&
           table->info < l->elf->n_sections && l->parts[table->info].debug != NO_DEBUG;
}

/* Tables that overlap would be work without end: all together are no longer than the file. */
static void relocate_all(struct layout *l)
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

/* The first of a name is the whole, under the name of today; the others are gone. */
static int join_debug(struct layout *l, struct cairn_err *err)
{
    struct part *names =
        &l->parts[l->elf->names_index < l->elf->n_sections ? l->elf->names_index : 0];
    uint32_t first[N_DEBUG] = {0};
    struct cairn_span old;
    uint64_t start = 0;
    for (uint32_t i = 1; i < l->elf->n_sections; i++) {
        struct part *part = &l->parts[i];
        if (part->debug == NO_DEBUG)
            continue;
        struct part *head = &l->parts[first[part->debug] ? first[part->debug] : i];
        if (head != part) {
            head->section.size = part->section.off + part->section.size - head->section.off;
            part->section.type = SHT_NULL;
            continue;
        }
        first[part->debug] = i;
        if (part->section.name[1] != 'z' || !cairn_elf_section_bytes(l->elf, &names->section, &old))
            continue;
        if (!start) {
            start = l->out.size;
            cairn_buffer_add(&l->out, old.data, old.size);
        }
        part->name = (uint32_t)(l->out.size - start);
        cairn_buffer_printf(&l->out, ".debug_%s", debug_names[part->debug]);
        cairn_buffer_char(&l->out, '\0');
    }
    for (uint32_t i = 1; i < l->elf->n_sections; i++)
        if (l->parts[i].debug != NO_DEBUG)
            l->parts[i].section.vaddr = 0;
    if (start && !l->out.failed) {
        names->section.off = start;
        names->section.size = l->out.size - start;
    }
    return l->out.failed ? cairn_fail_memory(err) : CAIRN_OK;
}

static void put(struct layout *l, unsigned width, uint64_t value)
{
    uint8_t bytes[8];
    cairn_elf_put(bytes, width, value, l->elf->swap);
    cairn_buffer_add(&l->out, bytes, width);
}

static void put_section(struct layout *l, const struct part *part)
{
    const struct cairn_elf_section *s = &part->section;
    unsigned word = l->elf->is64 ? 8 : 4;
    put(l, 4, part->name);
    put(l, 4, s->type);
    put(l, word, s->flags);
    put(l, word, s->vaddr);
    put(l, word, s->off);
    put(l, word, s->size);
    put(l, 4, s->link);
    put(l, 4, s->info);
    put(l, word, s->align);
    put(l, word, s->entry_size);
}

/* Without bytes in the file: the sections lie there in another order. */
static void put_segment(struct layout *l, uint32_t flags, uint64_t start, uint64_t end)
{
    unsigned word = l->elf->is64 ? 8 : 4;
    put(l, 4, PT_LOAD);
    if (l->elf->is64)
        put(l, 4, flags);
    put(l, word, 0); /* p_offset */
    put(l, word, start);
    put(l, word, start);
    put(l, word, 0); /* p_filesz */
    put(l, word, end - start);
    if (!l->elf->is64)
        put(l, 4, flags);
    put(l, word, PAGE_BYTES);
}

static int put_tables(struct layout *l, struct cairn_err *err)
{
    const struct cairn_elf *elf = l->elf;
    bool is64 = elf->is64, swap = elf->swap;
    bool extended = elf->n_sections >= SHN_LORESERVE;
    unsigned word = is64 ? 8 : 4, n_segments = 0;
    pad(&l->out);
    uint64_t sections_off = l->out.size;
    l->parts[0].section.size = extended ? elf->n_sections : 0;
    for (uint32_t i = 0; i < elf->n_sections; i++)
        put_section(l, &l->parts[i]);
    uint64_t segments_off = l->out.size;
    if (l->code_end) {
        put_segment(l, PF_R | PF_X, 0, l->code_end);
        n_segments++;
    }
    if (l->data_end > l->data_start) {
        put_segment(l, PF_R | PF_W, l->data_start, l->data_end);
        n_segments++;
    }
    if (l->out.failed)
        return cairn_fail_memory(err);
    uint8_t *h = l->out.data;
    cairn_elf_put(h + 16, 2, ET_DYN, swap);
    size_t at = is64 ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr, e_phoff);
    cairn_elf_put(h + at, word, segments_off, swap);
    cairn_elf_put(h + at + word, word, sections_off, swap);
    at = is64 ? offsetof(Elf64_Ehdr, e_phentsize) : offsetof(Elf32_Ehdr, e_phentsize);
    cairn_elf_put(h + at, 2, is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), swap);
    cairn_elf_put(h + at + 2, 2, n_segments, swap);
    cairn_elf_put(h + at + 4, 2, is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), swap);
    cairn_elf_put(h + at + 6, 2, extended ? 0 : elf->n_sections, swap);
    return CAIRN_OK;
}

static void tell_damage(const struct layout *l)
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

static int lay_out(struct layout *l, struct cairn_err *err)
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
    code = gather_all(l, err);
    if (code == CAIRN_OK)
        code = read_symbols(l, err);
    if (code < 0)
        return code;
    relocate_all(l);
    code = join_debug(l, err);
    return code < 0 ? code : put_tables(l, err);
}

int cairn_elf_lay_out(const struct cairn_elf *elf, struct cairn_elf_data *ret_file,
                      struct cairn_err *err)
{
    struct layout l = {.elf = elf};
    if (!cairn_elf_can_relocate(elf->machine))
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "relocatable file for %s, expected one for x86-64, i386, aarch64 or arm",
                          cairn_elf_machine_name(elf->machine));
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
