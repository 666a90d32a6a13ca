/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/sections.h"

#include "dwarf/cfi_hdr.h"

#ifndef PT_ARM_EXIDX
#define PT_ARM_EXIDX 0x70000001
#endif

static struct cairn_span cut_to(struct cairn_span bytes, uint64_t size)
{
    bytes.size = bytes.size < size ? bytes.size : (size_t)size;
    return bytes;
}

static bool find_segment(const struct cairn_unwind_image *image, uint32_t type,
                         struct cairn_elf_segment *ret_segment)
{
    for (uint32_t i = 0; image->segment(image->ctx, i, ret_segment); i++)
        if (ret_segment->type == type)
            return true;
    return false;
}

static void find_eh_frame(const struct cairn_unwind_image *image, struct cairn_cfi *cfi)
{
    struct cairn_elf_segment segment;
    if (!find_segment(image, PT_GNU_EH_FRAME, &segment) ||
        !image->bytes_at(image->ctx, segment.vaddr, &cfi->hdr))
        return;
    cfi->hdr = cut_to(cfi->hdr, segment.mem_size);
    cfi->hdr_vaddr = segment.vaddr;
    if (cairn_cfi_hdr_section(cfi, &cfi->vaddr) &&
        image->bytes_at(image->ctx, cfi->vaddr, &cfi->bytes))
        cairn_cfi_hdr_cut(cfi);
    else
        cfi->bytes = (struct cairn_span){0};
}

static void find_exidx(const struct cairn_unwind_image *image, struct cairn_exidx *exidx)
{
    struct cairn_elf_segment segment;
    if (!find_segment(image, PT_ARM_EXIDX, &segment) ||
        !image->bytes_at(image->ctx, segment.vaddr, &exidx->index))
        return;
    exidx->index = cut_to(exidx->index, segment.mem_size);
    exidx->index_vaddr = (uint32_t)segment.vaddr;
    for (uint32_t i = 0; image->segment(image->ctx, i, &segment); i++)
        if (segment.type == PT_LOAD && exidx->index_vaddr - segment.vaddr < segment.file_size &&
            image->bytes_at(image->ctx, segment.vaddr, &exidx->extab))
            exidx->extab_vaddr = (uint32_t)segment.vaddr;
}

static bool find_text(const struct cairn_unwind_image *image, uint64_t *ret_from, uint64_t *ret_to)
{
    struct cairn_elf_segment segment;
    uint64_t from = UINT64_MAX, to = 0, end;
    for (uint32_t i = 0; image->segment(image->ctx, i, &segment); i++) {
        if (segment.type != PT_LOAD || !(segment.flags & PF_X) ||
            __builtin_add_overflow(segment.vaddr, segment.mem_size, &end))
            continue;
        from = segment.vaddr < from ? segment.vaddr : from;
        to = end > to ? end : to;
    }
    *ret_from = from;
    *ret_to = to;
    return from < to;
}

bool cairn_unwind_sections_of(const struct cairn_unwind_arch *arch,
                              const struct cairn_unwind_image *image,
                              struct cairn_unwind_sections *ret_sections)
{
    const struct cairn_cfi empty = {
        .machine = arch->machine, .address_size = arch->word, .swap = image->swap};
    struct cairn_unwind_sections s = {
        .arch = arch, .known = empty, .eh_frame = empty, .debug_frame = empty};
    s.known.debug_frame = s.debug_frame.debug_frame = true;
    s.exidx.swap = image->swap;
    if (!find_text(image, &s.text_from, &s.text_to))
        return false;
    find_eh_frame(image, &s.eh_frame);
    if (arch->word == 4)
        find_exidx(image, &s.exidx);
    *ret_sections = s;
    return true;
}

struct loaded {
    uintptr_t load_base;
    const ElfW(Phdr) * segments;
    size_t n;
};

static bool loaded_segment(const void *ctx, uint32_t i, struct cairn_elf_segment *ret_segment)
{
    const struct loaded *loaded = ctx;
    if (i >= loaded->n)
        return false;
    const ElfW(Phdr) *p = &loaded->segments[i];
    *ret_segment = (struct cairn_elf_segment){p->p_type,   p->p_flags, p->p_offset, p->p_vaddr,
                                              p->p_filesz, p->p_memsz, p->p_align};
    return true;
}

static bool loaded_bytes_at(const void *ctx, uint64_t vaddr, struct cairn_span *ret_bytes)
{
    const struct loaded *loaded = ctx;
    struct cairn_elf_segment s;
    for (uint32_t i = 0; loaded_segment(ctx, i, &s); i++) {
        if (s.type != PT_LOAD || !(s.flags & PF_R) || vaddr < s.vaddr ||
            vaddr - s.vaddr >= s.file_size)
            continue;
        const void *data = (const void *)(loaded->load_base + (uintptr_t)vaddr);
        *ret_bytes = (struct cairn_span){data, (size_t)(s.file_size - (vaddr - s.vaddr))};
        return true;
    }
    return false;
}

bool cairn_unwind_sections_loaded(const struct cairn_unwind_arch *arch, uintptr_t load_base,
                                  const ElfW(Phdr) * segments, size_t n,
                                  struct cairn_unwind_sections *ret_sections)
{
    const struct loaded loaded = {load_base, segments, n};
    const struct cairn_unwind_image image = {loaded_segment, loaded_bytes_at, &loaded, false};
    return cairn_unwind_sections_of(arch, &image, ret_sections);
}

struct cairn_unwind_table_input
cairn_unwind_table_input_of(const struct cairn_unwind_sections *sections)
{
    return (struct cairn_unwind_table_input){
        .arch = sections->arch,
        .known = sections->known.bytes.size ? &sections->known : NULL,
        .eh_frame = sections->eh_frame.bytes.size ? &sections->eh_frame : NULL,
        .debug_frame = sections->debug_frame.bytes.size ? &sections->debug_frame : NULL,
        .exidx = sections->exidx.index.size ? &sections->exidx : NULL,
        .text_from = sections->text_from,
        .text_to = sections->text_to,
    };
}
