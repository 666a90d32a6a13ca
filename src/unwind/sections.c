/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/sections.h"

#include "dwarf/cfi_pointer.h"

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

/* The furthest entry of .eh_frame that the table of .eh_frame_hdr names, as a vaddr; 0: none. What
 * linkers write alone: { function, entry } of 4 bytes each, counted from the table's section. */
static uint64_t last_entry(struct cairn_reader r, uint64_t n, uint64_t hdr_vaddr)
{
    int64_t last = INT64_MIN;
    if (n > cairn_reader_left(&r) / 8)
        return 0;
    for (uint64_t i = 0; i < n; i++) {
        cairn_reader_skip(&r, 4);
        int64_t entry = (int32_t)cairn_reader_u32(&r);
        last = entry > last ? entry : last;
    }
    return n ? hdr_vaddr + (uint64_t)last : 0;
}

/* A length of 0 ends .eh_frame where crtend.o was linked; else the last entry of the table does. */
static void end_eh_frame(struct cairn_cfi *cfi, struct cairn_reader hdr, uint8_t count_encoding,
                         uint8_t table_encoding)
{
    const struct cairn_cfi_bases bases = {cfi->hdr_vaddr, 0, cfi->hdr_vaddr, cfi->address_size};
    uint64_t n;
    if (table_encoding != (CAIRN_DW_EH_PE_DATAREL | CAIRN_DW_EH_PE_SDATA4) ||
        cairn_cfi_read_pointer(&hdr, count_encoding, &bases, &n) != CAIRN_CFI_SOUND)
        return;
    uint64_t last = last_entry(hdr, n, cfi->hdr_vaddr);
    struct cairn_reader r = cairn_reader_of(cfi->bytes, cfi->swap);
    if (last < cfi->vaddr)
        return;
    cairn_reader_seek(&r, last - cfi->vaddr);
    uint64_t size = cairn_reader_u32(&r);
    if (size == UINT32_MAX)
        size = cairn_reader_u64(&r);
    cairn_reader_skip(&r, size);
    if (!r.failed)
        cfi->bytes.size = r.pos;
}

static void find_eh_frame(const struct cairn_unwind_image *image, struct cairn_cfi *cfi)
{
    struct cairn_elf_segment segment;
    if (!find_segment(image, PT_GNU_EH_FRAME, &segment) ||
        !image->bytes_at(image->ctx, segment.vaddr, &cfi->hdr))
        return;
    cfi->hdr = cut_to(cfi->hdr, segment.mem_size);
    cfi->hdr_vaddr = segment.vaddr;
    const struct cairn_cfi_bases bases = {cfi->hdr_vaddr, 0, cfi->hdr_vaddr, cfi->address_size};
    struct cairn_reader r = cairn_reader_of(cfi->hdr, cfi->swap);
    uint8_t version = cairn_reader_u8(&r), section = cairn_reader_u8(&r);
    uint8_t count = cairn_reader_u8(&r), table = cairn_reader_u8(&r);
    if (version != 1 || cairn_cfi_read_pointer(&r, section, &bases, &cfi->vaddr) ||
        !image->bytes_at(image->ctx, cfi->vaddr, &cfi->bytes)) {
        cfi->bytes = (struct cairn_span){0};
        return;
    }
    end_eh_frame(cfi, r, count, table);
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
    struct cairn_unwind_sections s = {.arch = arch, .eh_frame = empty, .debug_frame = empty};
    s.debug_frame.debug_frame = true;
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
        .eh_frame = sections->eh_frame.bytes.size ? &sections->eh_frame : NULL,
        .debug_frame = sections->debug_frame.bytes.size ? &sections->debug_frame : NULL,
        .exidx = sections->exidx.index.size ? &sections->exidx : NULL,
        .text_from = sections->text_from,
        .text_to = sections->text_to,
    };
}
