/* SPDX-License-Identifier: MIT */
/*
 * Only the hash tables say how many dynamic symbols a file has:
 *
 *     DT_HASH (gABI, "Hash Table")
 *         u32 n_buckets | u32 n_chains | buckets | chains
 *                             └── equals the number of symbols
 *     DT_GNU_HASH
 *         u32 n_buckets | u32 first | u32 n_bloom | u32 shift | bloom words | buckets | chains
 *                             └── number of the first symbol that has a chain word
 *         Each symbol from `first` on has one chain word. The last word of a bucket is odd.
 */
#include "elf/dynamic.h"

#include <elf.h>

enum {
    DYNAMIC_ENTRIES_MAX = 1 << 16, /* real ones have some thirty */
    GNU_HASH_HEADER_BYTES = 16,
};

/* Addresses and sizes as PT_DYNAMIC gives them; 0: not said. */
struct tags {
    uint64_t symtab, strtab, strsz, hash, gnu_hash, got;
    uint64_t rela, relasz, rel, relsz, jmprel, pltrelsz, pltrel;
    uint64_t folders; /* offset of a name: DT_RUNPATH, or the older DT_RPATH */
};

static unsigned word_size(const struct cairn_elf *elf)
{
    return elf->is64 ? 8 : 4;
}

static size_t symbol_size(const struct cairn_elf *elf)
{
    return elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

static size_t reloc_size(const struct cairn_elf *elf, bool has_addends)
{
    return (has_addends ? 3u : 2u) * word_size(elf);
}

static uint64_t *place_of(struct tags *tags, uint64_t tag)
{
    switch (tag) {
    case DT_SYMTAB:
        return &tags->symtab;
    case DT_STRTAB:
        return &tags->strtab;
    case DT_STRSZ:
        return &tags->strsz;
    case DT_HASH:
        return &tags->hash;
    case DT_GNU_HASH:
        return &tags->gnu_hash;
    case DT_PLTGOT:
        return &tags->got;
    case DT_RELA:
        return &tags->rela;
    case DT_RELASZ:
        return &tags->relasz;
    case DT_REL:
        return &tags->rel;
    case DT_RELSZ:
        return &tags->relsz;
    case DT_JMPREL:
        return &tags->jmprel;
    case DT_PLTRELSZ:
        return &tags->pltrelsz;
    case DT_PLTREL:
        return &tags->pltrel;
    case DT_RPATH:
    case DT_RUNPATH:
        return &tags->folders;
    default:
        return NULL;
    }
}

static struct cairn_reader dynamic_entries(const struct cairn_elf *elf)
{
    struct cairn_elf_segment segment;
    struct cairn_span bytes = {0};
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &segment); i++)
        if (segment.type == PT_DYNAMIC &&
            cairn_span_slice(elf->bytes, segment.off, segment.file_size, &bytes))
            break;
    if (bytes.size > (size_t)DYNAMIC_ENTRIES_MAX * 2 * word_size(elf))
        bytes.size = (size_t)DYNAMIC_ENTRIES_MAX * 2 * word_size(elf);
    return cairn_reader_of(bytes, elf->swap);
}

/* False at the end. */
static bool next_entry(const struct cairn_elf *elf, struct cairn_reader *entries, uint64_t *ret_tag,
                       uint64_t *ret_value)
{
    if (!cairn_reader_more(entries))
        return false;
    *ret_tag = cairn_reader_word(entries, word_size(elf));
    *ret_value = cairn_reader_word(entries, word_size(elf));
    return !entries->failed && *ret_tag != DT_NULL;
}

static void read_tags(const struct cairn_elf *elf, struct tags *tags)
{
    struct cairn_reader entries = dynamic_entries(elf);
    uint64_t tag, value;
    while (next_entry(elf, &entries, &tag, &value)) {
        uint64_t *place = place_of(tags, tag);
        if (place)
            *place = value;
    }
}

/* The first `size` bytes from a vaddr on, fewer where the file has fewer; 0: empty. */
static struct cairn_span bytes_from(const struct cairn_elf *elf, uint64_t vaddr, uint64_t size)
{
    struct cairn_span bytes = {0};
    if (vaddr && size && cairn_elf_bytes_at(elf, vaddr, &bytes) && size < bytes.size)
        bytes.size = (size_t)size;
    return bytes;
}

static uint64_t count_by_hash(const struct cairn_elf *elf, uint64_t vaddr)
{
    /* 64-bit s390 alone has entries of 8 bytes here (its ABI supplement says so). */
    unsigned width = elf->machine == EM_S390 && elf->is64 ? 8 : 4;
    struct cairn_reader r = cairn_reader_of(bytes_from(elf, vaddr, 2 * width), elf->swap);
    cairn_reader_skip(&r, width);
    uint64_t n = cairn_reader_word(&r, width);
    return r.failed ? 0 : n;
}

static uint64_t count_by_gnu_hash(const struct cairn_elf *elf, uint64_t vaddr)
{
    struct cairn_reader r = cairn_reader_of(bytes_from(elf, vaddr, UINT64_MAX), elf->swap);
    uint32_t n_buckets = cairn_reader_u32(&r), first = cairn_reader_u32(&r);
    uint32_t n_bloom = cairn_reader_u32(&r), last = 0;
    cairn_reader_seek(&r, GNU_HASH_HEADER_BYTES + (uint64_t)n_bloom * word_size(elf));
    for (uint32_t i = 0; i < n_buckets && !r.failed; i++) {
        uint32_t bucket = cairn_reader_u32(&r);
        last = bucket > last ? bucket : last;
    }
    if (r.failed || last < first)
        return r.failed ? 0 : first;
    cairn_reader_skip(&r, (uint64_t)(last - first) * sizeof(uint32_t));
    while (cairn_reader_more(&r) && !(cairn_reader_u32(&r) & 1))
        last++;
    return r.failed ? 0 : (uint64_t)last + 1;
}

static void find_symbols(const struct cairn_elf *elf, const struct tags *tags,
                         struct cairn_elf_dynamic *dynamic)
{
    dynamic->symbols = bytes_from(elf, tags->symtab, UINT64_MAX);
    dynamic->names = bytes_from(elf, tags->strtab, tags->strsz);
    size_t n_max = dynamic->symbols.size / symbol_size(elf);
    uint64_t n = tags->hash ? count_by_hash(elf, tags->hash) : 0;
    if (!n && tags->gnu_hash)
        n = count_by_gnu_hash(elf, tags->gnu_hash);
    /* Linkers put the names behind the symbols. */
    if (!tags->hash && !tags->gnu_hash && tags->strtab > tags->symtab)
        n = (tags->strtab - tags->symtab) / symbol_size(elf);
    dynamic->n_symbols = n < n_max ? (size_t)n : n_max;
}

static void add_relocs(struct cairn_elf_dynamic *dynamic, struct cairn_span bytes, bool has_addends,
                       bool is_plt)
{
    if (bytes.size && dynamic->n_relocs < CAIRN_ELF_RELOCS_MAX)
        dynamic->relocs[dynamic->n_relocs++] =
            (struct cairn_elf_relocs){.bytes = bytes, .has_addends = has_addends, .is_plt = is_plt};
}

/* A static program has relocations of its own, which it applies itself: in .rela.plt. */
static void find_in_sections(const struct cairn_elf *elf, struct cairn_elf_dynamic *dynamic)
{
    struct cairn_elf_section section, linked;
    struct cairn_span bytes;
    for (uint32_t i = 1; cairn_elf_section(elf, i, &section); i++) {
        if (!dynamic->got_vaddr && strcmp(section.name, ".got.plt") == 0)
            dynamic->got_vaddr = section.vaddr;
        bool is_table = section.type == SHT_RELA || section.type == SHT_REL;
        if (!is_table || !(section.flags & SHF_ALLOC) ||
            !cairn_elf_section_bytes(elf, &section, &bytes))
            continue;
        add_relocs(dynamic, bytes, section.type == SHT_RELA, strstr(section.name, ".plt") != NULL);
        if (!dynamic->symbols.size && cairn_elf_section(elf, section.link, &linked) &&
            linked.type == SHT_DYNSYM && cairn_elf_section_bytes(elf, &linked, &dynamic->symbols) &&
            cairn_elf_section(elf, linked.link, &linked))
            (void)cairn_elf_section_bytes(elf, &linked, &dynamic->names);
    }
}

void cairn_elf_read_dynamic(const struct cairn_elf *elf, struct cairn_elf_dynamic *ret_dynamic)
{
    struct cairn_elf_dynamic dynamic = {.symbol_size = symbol_size(elf)};
    struct tags tags = {0};
    read_tags(elf, &tags);
    find_symbols(elf, &tags, &dynamic);
    dynamic.got_vaddr = tags.got;
    add_relocs(&dynamic, bytes_from(elf, tags.rela, tags.relasz), true, false);
    add_relocs(&dynamic, bytes_from(elf, tags.rel, tags.relsz), false, false);
    add_relocs(&dynamic, bytes_from(elf, tags.jmprel, tags.pltrelsz), tags.pltrel == DT_RELA, true);
    if (!dynamic.n_relocs)
        find_in_sections(elf, &dynamic);
    *ret_dynamic = dynamic;
}

bool cairn_elf_each_needed(const struct cairn_elf *elf, cairn_elf_needed_fn fn, void *ctx)
{
    struct tags tags = {0};
    uint64_t tag, value;
    read_tags(elf, &tags);
    const struct cairn_span names = bytes_from(elf, tags.strtab, tags.strsz);
    const char *folders = tags.folders ? cairn_span_str(names, tags.folders) : NULL;
    struct cairn_reader entries = dynamic_entries(elf);
    while (next_entry(elf, &entries, &tag, &value)) {
        const char *name = tag == DT_NEEDED ? cairn_span_str(names, value) : NULL;
        if (name && *name && !fn(ctx, name, folders ? folders : ""))
            return false;
    }
    return true;
}

bool cairn_elf_reloc(const struct cairn_elf *elf, const struct cairn_elf_relocs *relocs,
                     uint64_t index, struct cairn_elf_reloc *ret_reloc)
{
    struct cairn_reader r = cairn_reader_of(relocs->bytes, elf->swap);
    size_t size = reloc_size(elf, relocs->has_addends);
    if (index >= relocs->bytes.size / size)
        return false;
    cairn_reader_seek(&r, index * size);
    struct cairn_elf_reloc reloc = {.vaddr = cairn_reader_word(&r, word_size(elf))};
    uint64_t info = cairn_reader_word(&r, word_size(elf));
    reloc.type = elf->is64 ? ELF64_R_TYPE(info) : ELF32_R_TYPE(info);
    reloc.symbol = (uint32_t)(elf->is64 ? ELF64_R_SYM(info) : ELF32_R_SYM(info));
    if (relocs->has_addends)
        reloc.addend = cairn_reader_word(&r, word_size(elf));
    *ret_reloc = reloc;
    return !r.failed;
}

const char *cairn_elf_dynamic_name(const struct cairn_elf *elf,
                                   const struct cairn_elf_dynamic *dynamic, uint32_t symbol)
{
    struct cairn_reader r = cairn_reader_of(dynamic->symbols, elf->swap);
    cairn_reader_seek(&r, (uint64_t)symbol * dynamic->symbol_size);
    uint32_t name = cairn_reader_u32(&r);
    const char *text = r.failed || !symbol ? NULL : cairn_span_str(dynamic->names, name);
    return text && *text ? text : NULL;
}
