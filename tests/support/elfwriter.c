/* SPDX-License-Identifier: MIT */
#include "support/elfwriter.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

static unsigned word(const struct test_elf *w)
{
    return w->is64 ? 8 : 4;
}

static size_t segment_size(const struct test_elf *w)
{
    return w->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

static size_t section_size(const struct test_elf *w)
{
    return w->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static size_t header_size(const struct test_elf *w)
{
    return w->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
}

/* Contents begin at the same offset whatever the number of segments. */
static size_t contents_off(const struct test_elf *w)
{
    return header_size(w) + TEST_ELF_SEGMENTS_MAX * segment_size(w);
}

size_t test_elf_put(const struct test_elf *w, uint8_t *bytes, size_t at, uint64_t value,
                    unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        bytes[at + i] = (uint8_t)(value >> 8 * (w->big ? width - 1 - i : i));
    return at + width;
}

struct test_elf test_elf_of(bool is64, bool big, uint16_t type, uint16_t machine)
{
    return (struct test_elf){.is64 = is64,
                             .big = big,
                             .type = type,
                             .machine = machine,
                             .n_sections = 1,
                             .n_names = 1,
                             .n_strings = 1};
}

void test_elf_load(struct test_elf *w, uint32_t flags, uint64_t off, uint64_t vaddr,
                   uint64_t file_size, uint64_t mem_size)
{
    assert(w->n_segments < TEST_ELF_SEGMENTS_MAX);
    w->segments[w->n_segments++] =
        (struct test_elf_segment){PT_LOAD, flags, off, vaddr, file_size, mem_size, 0x1000, 0};
}

uint32_t test_elf_section(struct test_elf *w, const char *name, uint32_t type, uint64_t flags,
                          uint64_t vaddr, uint64_t size)
{
    assert(w->n_sections < TEST_ELF_SECTIONS_MAX - 1);
    assert(w->n_names + strlen(name) + 1 < sizeof w->names);
    struct test_elf_section *section = &w->sections[w->n_sections];
    *section = (struct test_elf_section){.name = (uint32_t)w->n_names,
                                         .type = type,
                                         .flags = flags,
                                         .vaddr = vaddr,
                                         .size = size,
                                         .align = 4};
    memcpy(w->names + w->n_names, name, strlen(name) + 1);
    w->n_names += strlen(name) + 1;
    w->n_contents = (w->n_contents + 7) & ~(size_t)7;
    section->off = contents_off(w) + w->n_contents;
    if (type != SHT_NOBITS) {
        assert(w->n_contents + size <= sizeof w->contents);
        w->n_contents += (size_t)size;
    }
    return w->n_sections++;
}

uint32_t test_elf_bytes(struct test_elf *w, const char *name, uint32_t type, uint64_t flags,
                        const void *bytes, size_t size)
{
    uint32_t index = test_elf_section(w, name, type, flags, 0, size);
    memcpy(w->contents + (w->sections[index].off - contents_off(w)), bytes, size);
    return index;
}

void test_elf_build_id(struct test_elf *w, const void *id, size_t size, bool segment)
{
    uint8_t note[128];
    assert(size <= 64);
    size_t n = test_elf_put(w, note, 0, 4, 4);
    n = test_elf_put(w, note, n, size, 4);
    n = test_elf_put(w, note, n, NT_GNU_BUILD_ID, 4);
    memcpy(note + n, "GNU", 4);
    memcpy(note + n + 4, id, size);
    uint32_t index =
        test_elf_bytes(w, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note, n + 4 + size);
    if (!segment)
        return;
    assert(w->n_segments < TEST_ELF_SEGMENTS_MAX);
    w->segments[w->n_segments++] =
        (struct test_elf_segment){.type = PT_NOTE, .flags = PF_R, .align = 4, .of_section = index};
}

void test_elf_debuglink(struct test_elf *w, const char *name, uint32_t crc)
{
    uint8_t link[256] = {0};
    assert(strlen(name) < 200);
    memcpy(link, name, strlen(name) + 1);
    size_t n = (strlen(name) + 1 + 3) & ~(size_t)3;
    n = test_elf_put(w, link, n, crc, 4);
    test_elf_bytes(w, ".gnu_debuglink", SHT_PROGBITS, 0, link, n);
}

void test_elf_symbol(struct test_elf *w, const char *name, uint8_t bind, uint8_t type,
                     uint16_t section, uint64_t vaddr, uint64_t size)
{
    size_t n = w->n_symbols ? w->n_symbols : w->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    assert(n + sizeof(Elf64_Sym) <= sizeof w->symbols);
    assert(w->n_strings + strlen(name) + 1 <= sizeof w->strings);
    n = test_elf_put(w, w->symbols, n, w->n_strings, 4);
    if (!w->is64) {
        n = test_elf_put(w, w->symbols, n, vaddr, 4);
        n = test_elf_put(w, w->symbols, n, size, 4);
    }
    n = test_elf_put(w, w->symbols, n, ELF64_ST_INFO(bind, type), 1);
    n = test_elf_put(w, w->symbols, n, STV_DEFAULT, 1);
    n = test_elf_put(w, w->symbols, n, section, 2);
    if (w->is64) {
        n = test_elf_put(w, w->symbols, n, vaddr, 8);
        n = test_elf_put(w, w->symbols, n, size, 8);
    }
    w->n_symbols = n;
    memcpy(w->strings + w->n_strings, name, strlen(name) + 1);
    w->n_strings += strlen(name) + 1;
}

void test_elf_symtab(struct test_elf *w, bool dynamic)
{
    uint32_t names =
        test_elf_bytes(w, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, 0, w->strings, w->n_strings);
    uint32_t table = test_elf_bytes(w, dynamic ? ".dynsym" : ".symtab",
                                    dynamic ? SHT_DYNSYM : SHT_SYMTAB, 0, w->symbols, w->n_symbols);
    w->sections[table].link = names;
    w->sections[table].entry_size = w->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    memset(w->symbols, 0, sizeof w->symbols);
    w->n_symbols = 0;
    w->n_strings = 1;
}

static void put_header(const struct test_elf *w, uint8_t *file, uint64_t sections_off)
{
    memcpy(file, ELFMAG, SELFMAG);
    file[EI_CLASS] = w->is64 ? ELFCLASS64 : ELFCLASS32;
    file[EI_DATA] = w->big ? ELFDATA2MSB : ELFDATA2LSB;
    file[EI_VERSION] = EV_CURRENT;
    size_t n = test_elf_put(w, file, EI_NIDENT, w->type, 2);
    n = test_elf_put(w, file, n, w->machine, 2);
    n = test_elf_put(w, file, n, EV_CURRENT, 4);
    n = test_elf_put(w, file, n, 0, word(w)); /* e_entry */
    n = test_elf_put(w, file, n, w->n_segments ? header_size(w) : 0, word(w));
    n = test_elf_put(w, file, n, sections_off, word(w));
    n = test_elf_put(w, file, n, 0, 4); /* e_flags */
    n = test_elf_put(w, file, n, header_size(w), 2);
    n = test_elf_put(w, file, n, segment_size(w), 2);
    n = test_elf_put(w, file, n, w->extended ? PN_XNUM : w->n_segments, 2);
    n = test_elf_put(w, file, n, section_size(w), 2);
    n = test_elf_put(w, file, n, w->extended ? 0 : w->n_sections, 2);
    test_elf_put(w, file, n, w->extended ? SHN_XINDEX : w->n_sections - 1, 2);
}

static void put_segments(const struct test_elf *w, uint8_t *file)
{
    size_t n = header_size(w);
    for (uint32_t i = 0; i < w->n_segments; i++) {
        struct test_elf_segment s = w->segments[i];
        if (s.of_section) {
            s.off = w->sections[s.of_section].off;
            s.file_size = s.mem_size = w->sections[s.of_section].size;
        }
        n = test_elf_put(w, file, n, s.type, 4);
        if (w->is64)
            n = test_elf_put(w, file, n, s.flags, 4);
        n = test_elf_put(w, file, n, s.off, word(w));
        n = test_elf_put(w, file, n, s.vaddr, word(w));
        n = test_elf_put(w, file, n, s.vaddr, word(w));
        n = test_elf_put(w, file, n, s.file_size, word(w));
        n = test_elf_put(w, file, n, s.mem_size, word(w));
        if (!w->is64)
            n = test_elf_put(w, file, n, s.flags, 4);
        n = test_elf_put(w, file, n, s.align, word(w));
    }
}

static void put_sections(const struct test_elf *w, uint8_t *file, size_t n)
{
    for (uint32_t i = 0; i < w->n_sections; i++) {
        const struct test_elf_section *s = &w->sections[i];
        n = test_elf_put(w, file, n, s->name, 4);
        n = test_elf_put(w, file, n, s->type, 4);
        n = test_elf_put(w, file, n, s->flags, word(w));
        n = test_elf_put(w, file, n, s->vaddr, word(w));
        n = test_elf_put(w, file, n, s->off, word(w));
        n = test_elf_put(w, file, n, s->size, word(w));
        n = test_elf_put(w, file, n, s->link, 4);
        n = test_elf_put(w, file, n, s->info, 4);
        n = test_elf_put(w, file, n, s->align, word(w));
        n = test_elf_put(w, file, n, s->entry_size, word(w));
    }
}

uint8_t *test_elf_finish(struct test_elf *w, size_t *ret_size)
{
    uint32_t index = test_elf_section(w, ".shstrtab", SHT_STRTAB, 0, 0, w->n_names + 10);
    memcpy(w->contents + (w->sections[index].off - contents_off(w)), w->names, w->n_names);
    if (w->extended) {
        w->sections[0].size = w->n_sections;
        w->sections[0].link = index;
        w->sections[0].info = w->n_segments;
    }
    size_t sections_off = (contents_off(w) + w->n_contents + 7) & ~(size_t)7;
    *ret_size = sections_off + w->n_sections * section_size(w);
    uint8_t *file = calloc(1, *ret_size);
    assert(file);
    put_header(w, file, sections_off);
    put_segments(w, file);
    memcpy(file + contents_off(w), w->contents, w->n_contents);
    put_sections(w, file, sections_off);
    return file;
}
