/* SPDX-License-Identifier: MIT */
/*
 * ELF image. On disk (gABI "ELF Header"; offsets of the 64-bit form):
 *
 *     0x00 e_ident[16]: 7f 'E' 'L' 'F' class data version ...
 *     0x10 e_type  e_machine  e_version | e_entry | e_phoff | e_shoff
 *     0x30 e_flags | e_ehsize e_phentsize e_phnum | e_shentsize e_shnum e_shstrndx
 *
 * Where a count does not fit 16 bits, section 0 holds it: sh_info for e_phnum, sh_size for e_shnum,
 * sh_link for e_shstrndx.
 */
#include "elf/image.h"

#include <assert.h>
#include <elf.h>
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"

static unsigned word_size(const struct cairn_elf *elf)
{
    return elf->is64 ? 8 : 4;
}

static bool open_ident(struct cairn_span bytes, struct cairn_elf *elf, struct cairn_err *err)
{
    if (bytes.size < EI_NIDENT || memcmp(bytes.data, ELFMAG, SELFMAG) != 0) {
        cairn_fail(err, CAIRN_E_FORMAT, "no ELF file: it does not begin with 7f 45 4c 46");
        return false;
    }
    uint8_t class = bytes.data[EI_CLASS], order = bytes.data[EI_DATA];
    if (class != ELFCLASS32 && class != ELFCLASS64) {
        cairn_fail(err, CAIRN_E_FORMAT, "ELF class is %u, expected 1 (32 bit) or 2 (64 bit)",
                   class);
        return false;
    }
    if (order != ELFDATA2LSB && order != ELFDATA2MSB) {
        cairn_fail(err, CAIRN_E_FORMAT, "ELF byte order is %u, expected 1 (little) or 2 (big)",
                   order);
        return false;
    }
    elf->bytes = bytes;
    elf->is64 = class == ELFCLASS64;
    elf->swap = (order == ELFDATA2MSB) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return true;
}

/* Does a table of `n` entries lie in the file, with entries no smaller than they must be? */
static bool table_fits(const struct cairn_elf *elf, uint64_t off, uint64_t n, uint16_t size,
                       uint16_t size_min)
{
    struct cairn_span table;
    return size >= size_min && n <= UINT32_MAX &&
           cairn_span_slice(elf->bytes, off, n * size, &table);
}

/* Section `index` without its name; the caller knows that the table holds it. */
static struct cairn_elf_section decode_section(const struct cairn_elf *elf, uint32_t index,
                                               uint32_t *ret_name)
{
    struct cairn_reader r = cairn_reader_of(elf->bytes, elf->swap);
    cairn_reader_seek(&r, elf->sections_off + (uint64_t)index * elf->section_size);
    unsigned word = word_size(elf);
    struct cairn_elf_section section = {.index = index, .name = ""};
    *ret_name = cairn_reader_u32(&r);
    section.type = cairn_reader_u32(&r);
    section.flags = cairn_reader_word(&r, word);
    section.vaddr = cairn_reader_word(&r, word);
    section.off = cairn_reader_word(&r, word);
    section.size = cairn_reader_word(&r, word);
    section.link = cairn_reader_u32(&r);
    section.info = cairn_reader_u32(&r);
    section.align = cairn_reader_word(&r, word);
    section.entry_size = cairn_reader_word(&r, word);
    return section;
}

/* The counts as the header gives them, and where it cannot, as section 0 does. Tables that do not
 * lie in the file end up with no entries. */
static void open_tables(struct cairn_elf *elf, uint16_t n_segments, uint16_t n_sections,
                        uint16_t names_index)
{
    uint16_t section_min = elf->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    uint16_t segment_min = elf->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    uint64_t segments = n_segments, sections = n_sections;
    elf->names_index = names_index;

    bool has_first =
        elf->sections_off && table_fits(elf, elf->sections_off, 1, elf->section_size, section_min);
    if (has_first && (n_sections == 0 || n_segments == PN_XNUM || names_index == SHN_XINDEX)) {
        uint32_t name;
        struct cairn_elf_section first = decode_section(elf, 0, &name);
        sections = n_sections ? n_sections : first.size;
        segments = n_segments == PN_XNUM ? first.info : n_segments;
        elf->names_index = names_index == SHN_XINDEX ? first.link : names_index;
    }
    if (elf->sections_off && sections &&
        !table_fits(elf, elf->sections_off, sections, elf->section_size, section_min)) {
        cairn_log(CAIRN_LOG_DEBUG,
                  "section table at 0x%llx with %llu entries runs past the file (0x%zx bytes)",
                  (unsigned long long)elf->sections_off, (unsigned long long)sections,
                  elf->bytes.size);
        sections = 0;
    }
    if (segments && !table_fits(elf, elf->segments_off, segments, elf->segment_size, segment_min)) {
        cairn_log(CAIRN_LOG_DEBUG,
                  "program headers at 0x%llx with %llu entries run past the file (0x%zx bytes)",
                  (unsigned long long)elf->segments_off, (unsigned long long)segments,
                  elf->bytes.size);
        segments = 0;
    }
    elf->n_sections = elf->sections_off ? (uint32_t)sections : 0;
    elf->n_segments = (uint32_t)segments;
}

int cairn_elf_open(struct cairn_span bytes, struct cairn_elf *ret_elf, struct cairn_err *err)
{
    struct cairn_elf elf = {0};
    if (!open_ident(bytes, &elf, err))
        return CAIRN_E_FORMAT;

    struct cairn_reader r = cairn_reader_of(bytes, elf.swap);
    cairn_reader_skip(&r, EI_NIDENT);
    elf.type = cairn_reader_u16(&r);
    elf.machine = cairn_reader_u16(&r);
    cairn_reader_skip(&r, sizeof(Elf64_Word)); /* e_version says nothing that e_ident did not */
    elf.entry = cairn_reader_word(&r, word_size(&elf));
    elf.segments_off = cairn_reader_word(&r, word_size(&elf));
    elf.sections_off = cairn_reader_word(&r, word_size(&elf));
    elf.flags = cairn_reader_u32(&r);
    cairn_reader_skip(&r, sizeof(Elf64_Half)); /* e_ehsize */
    elf.segment_size = cairn_reader_u16(&r);
    uint16_t n_segments = cairn_reader_u16(&r);
    elf.section_size = cairn_reader_u16(&r);
    uint16_t n_sections = cairn_reader_u16(&r);
    uint16_t names_index = cairn_reader_u16(&r);
    if (r.failed)
        return cairn_fail(err, CAIRN_E_FORMAT, "ELF header is cut off after 0x%zx bytes",
                          bytes.size);

    open_tables(&elf, n_segments, n_sections, names_index);
    bool claims_any = n_segments || elf.sections_off;
    if (claims_any && !elf.n_segments && !elf.n_sections)
        return cairn_fail(err, CAIRN_E_FORMAT,
                          "neither program headers (0x%llx) nor sections (0x%llx) lie in the file "
                          "(0x%zx bytes)",
                          (unsigned long long)elf.segments_off,
                          (unsigned long long)elf.sections_off, bytes.size);
    *ret_elf = elf;
    return CAIRN_OK;
}

bool cairn_elf_segment(const struct cairn_elf *elf, uint32_t index,
                       struct cairn_elf_segment *ret_segment)
{
    if (index >= elf->n_segments)
        return false;
    struct cairn_reader r = cairn_reader_of(elf->bytes, elf->swap);
    cairn_reader_seek(&r, elf->segments_off + (uint64_t)index * elf->segment_size);
    unsigned word = word_size(elf);
    struct cairn_elf_segment segment = {.type = cairn_reader_u32(&r)};
    if (elf->is64)
        segment.flags = cairn_reader_u32(&r);
    segment.off = cairn_reader_word(&r, word);
    segment.vaddr = cairn_reader_word(&r, word);
    cairn_reader_skip(&r, word); /* p_paddr */
    segment.file_size = cairn_reader_word(&r, word);
    segment.mem_size = cairn_reader_word(&r, word);
    if (!elf->is64)
        segment.flags = cairn_reader_u32(&r);
    segment.align = cairn_reader_word(&r, word);
    if (r.failed)
        return false;
    *ret_segment = segment;
    return true;
}

static const char *section_name(const struct cairn_elf *elf, uint32_t off)
{
    if (elf->names_index == SHN_UNDEF || elf->names_index >= elf->n_sections)
        return "";
    uint32_t unused;
    struct cairn_elf_section names = decode_section(elf, elf->names_index, &unused);
    struct cairn_span table;
    const char *name =
        cairn_elf_section_bytes(elf, &names, &table) ? cairn_span_str(table, off) : NULL;
    return name ? name : "";
}

bool cairn_elf_section(const struct cairn_elf *elf, uint32_t index,
                       struct cairn_elf_section *ret_section)
{
    if (index >= elf->n_sections)
        return false;
    uint32_t name;
    *ret_section = decode_section(elf, index, &name);
    ret_section->name = section_name(elf, name);
    return true;
}

bool cairn_elf_find_section(const struct cairn_elf *elf, const char *name,
                            struct cairn_elf_section *ret_section)
{
    struct cairn_elf_section section;
    for (uint32_t i = 1; cairn_elf_section(elf, i, &section); i++) {
        if (strcmp(section.name, name) != 0)
            continue;
        *ret_section = section;
        return true;
    }
    return false;
}

bool cairn_elf_section_bytes(const struct cairn_elf *elf, const struct cairn_elf_section *section,
                             struct cairn_span *ret_bytes)
{
    if (section->type != SHT_NOBITS && section->type != SHT_NULL)
        return cairn_span_slice(elf->bytes, section->off, section->size, ret_bytes);
    *ret_bytes = (struct cairn_span){0};
    return true;
}

bool cairn_elf_find_plain(const struct cairn_elf *elf, const char *name, uint64_t *ret_vaddr,
                          struct cairn_span *ret_bytes)
{
    struct cairn_elf_section section;
    struct cairn_span bytes;
    if (!cairn_elf_find_section(elf, name, &section) || section.type == SHT_NOBITS ||
        section.flags & SHF_COMPRESSED || !cairn_elf_section_bytes(elf, &section, &bytes) ||
        !bytes.size)
        return false;
    *ret_vaddr = section.vaddr;
    *ret_bytes = bytes;
    return true;
}

static bool is_code_section(const struct cairn_elf_section *section)
{
    return (section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR);
}

bool cairn_elf_is_code(const struct cairn_elf *elf, uint64_t vaddr)
{
    bool any = false;
    for (uint32_t i = 1; i < elf->n_sections; i++) {
        uint32_t name;
        struct cairn_elf_section section = decode_section(elf, i, &name);
        if (!is_code_section(&section))
            continue;
        any = true;
        if (vaddr - section.vaddr < section.size)
            return true;
    }
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; !any && cairn_elf_segment(elf, i, &segment); i++) {
        if (segment.type == PT_LOAD && (segment.flags & PF_X) &&
            vaddr - segment.vaddr < segment.mem_size)
            return true;
    }
    return false;
}

bool cairn_elf_is_debug_only(const struct cairn_elf *elf)
{
    bool empty = false;
    for (uint32_t i = 1; i < elf->n_sections; i++) {
        uint32_t name;
        struct cairn_elf_section section = decode_section(elf, i, &name);
        if (!is_code_section(&section))
            continue;
        if (section.type != SHT_NOBITS)
            return false;
        empty = true;
    }
    return empty;
}

/*
 * Walks the PT_LOADs. In a debug-only file, whose offsets objcopy rewrote, each is placed where a
 * linker would have put it: behind the one before, at the next offset congruent to its vaddr.
 */
struct load_walk {
    const struct cairn_elf *elf;
    uint64_t end; /* of the segment before, in the file */
    uint32_t next;
    bool guess;
};

static bool next_load(struct load_walk *walk, struct cairn_elf_segment *ret_load)
{
    while (cairn_elf_segment(walk->elf, walk->next, ret_load)) {
        walk->next++;
        if (ret_load->type != PT_LOAD)
            continue;
        uint64_t align = ret_load->align;
        bool sound = align && !(align & (align - 1));
        if (walk->guess && sound) {
            ret_load->off = walk->end + ((ret_load->vaddr - walk->end) & (align - 1));
            ret_load->file_size = ret_load->mem_size;
            walk->end = ret_load->off + ret_load->file_size;
        }
        return true;
    }
    return false;
}

/* Does the segment hold `off`, after both ends were rounded to multiples of `page`? */
static bool load_holds(const struct cairn_elf_segment *load, uint64_t off, uint64_t page)
{
    uint64_t low = load->off & ~(page - 1), end;
    if (!load->file_size || __builtin_add_overflow(load->off, load->file_size, &end))
        return false;
    if (__builtin_add_overflow(end, page - 1, &end))
        return false;
    return off >= low && off < (end & ~(page - 1));
}

static bool find_load(const struct cairn_elf *elf, uint64_t off, uint64_t page, bool executable,
                      uint64_t *ret_vaddr)
{
    struct load_walk walk = {.elf = elf, .guess = cairn_elf_is_debug_only(elf)};
    struct cairn_elf_segment load;
    while (next_load(&walk, &load)) {
        if ((executable && !(load.flags & PF_X)) || !load_holds(&load, off, page))
            continue;
        *ret_vaddr = load.vaddr + (off - load.off);
        return true;
    }
    return false;
}

bool cairn_elf_vaddr_of_off(const struct cairn_elf *elf, uint64_t off, uint64_t page,
                            uint64_t *ret_vaddr)
{
    assert(page && !(page & (page - 1)));
    return find_load(elf, off, 1, false, ret_vaddr) || find_load(elf, off, page, false, ret_vaddr);
}

bool cairn_elf_vaddr_of_mapping(const struct cairn_elf *elf, uint64_t off, uint64_t page,
                                bool executable, uint64_t *ret_vaddr)
{
    assert(page && !(page & (page - 1)));
    if (executable &&
        (find_load(elf, off, 1, true, ret_vaddr) || find_load(elf, off, page, true, ret_vaddr)))
        return true;
    return cairn_elf_vaddr_of_off(elf, off, page, ret_vaddr);
}

bool cairn_elf_bytes_at(const struct cairn_elf *elf, uint64_t vaddr, struct cairn_span *ret_bytes)
{
    struct cairn_elf_segment load;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &load); i++) {
        uint64_t skipped = vaddr - load.vaddr;
        if (load.type != PT_LOAD || vaddr < load.vaddr || skipped >= load.file_size)
            continue;
        uint64_t off, left = load.file_size - skipped;
        if (__builtin_add_overflow(load.off, skipped, &off) || off >= elf->bytes.size)
            return false;
        uint64_t there = elf->bytes.size - off;
        return cairn_span_slice(elf->bytes, off, left < there ? left : there, ret_bytes);
    }
    return false;
}

bool cairn_elf_first_vaddr(const struct cairn_elf *elf, uint64_t page, uint64_t *ret_vaddr)
{
    assert(page && !(page & (page - 1)));
    uint64_t lowest = UINT64_MAX;
    bool found = false;
    struct cairn_elf_segment segment;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &segment); i++) {
        if (segment.type != PT_LOAD)
            continue;
        lowest = segment.vaddr < lowest ? segment.vaddr : lowest;
        found = true;
    }
    if (found)
        *ret_vaddr = lowest & ~(page - 1);
    return found;
}

const char *cairn_elf_machine_name(uint16_t machine)
{
    static _Thread_local char unknown[sizeof "machine 65535"];
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_386:
        return "x86";
    case EM_AARCH64:
        return "aarch64";
    case EM_ARM:
        return "arm";
    case EM_RISCV:
        return "riscv";
    case EM_PPC64:
        return "ppc64";
    case EM_S390:
        return "s390";
    case EM_MIPS:
        return "mips";
    case EM_PPC:
        return "ppc";
    case EM_SPARC:
    case EM_SPARCV9:
        return "sparc";
    case EM_68K:
        return "m68k";
    case EM_SH:
        return "sh";
    case EM_PARISC:
        return "hppa";
    case EM_ALPHA:
        return "alpha";
    case EM_IA_64:
        return "ia64";
    case 258: /* EM_LOONGARCH, which elf.h of glibc before 2.36 does not have */
        return "loongarch";
    default:
        snprintf(unknown, sizeof unknown, "machine %u", machine);
        return unknown;
    }
}
