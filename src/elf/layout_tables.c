/* SPDX-License-Identifier: MIT */
/* Layout: the tables that an ELF file is found by. */
#include <elf.h>
#include <stddef.h>

#include "base/error.h"
#include "elf/layout_parts.h"

static void put(struct cairn_layout_parts *l, unsigned width, uint64_t value)
{
    uint8_t bytes[8];
    cairn_elf_put(bytes, width, value, l->elf->swap);
    cairn_buffer_add(&l->out, bytes, width);
}

static void put_section(struct cairn_layout_parts *l, const struct cairn_layout_part *part)
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
static void put_segment(struct cairn_layout_parts *l, uint32_t flags, uint64_t start, uint64_t end)
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
    put(l, word, CAIRN_LAYOUT_PAGE_BYTES);
}

int cairn_layout_put_tables(struct cairn_layout_parts *l, struct cairn_err *err)
{
    const struct cairn_elf *elf = l->elf;
    bool is64 = elf->is64, swap = elf->swap;
    bool extended = elf->n_sections >= SHN_LORESERVE;
    unsigned word = is64 ? 8 : 4, n_segments = 0;
    cairn_layout_pad(&l->out);
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
