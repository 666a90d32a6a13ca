/* SPDX-License-Identifier: MIT */
#include "unwind/sections.h"

static bool file_segment(const void *ctx, uint32_t i, struct cairn_elf_segment *ret_segment)
{
    return cairn_elf_segment(ctx, i, ret_segment);
}

static bool file_bytes_at(const void *ctx, uint64_t vaddr, struct cairn_span *ret_bytes)
{
    return cairn_elf_bytes_at(ctx, vaddr, ret_bytes);
}

static bool find_section(const struct cairn_elf *elf, const char *name, uint64_t *ret_vaddr,
                         struct cairn_span *ret_bytes)
{
    struct cairn_elf_section section;
    struct cairn_span bytes;
    if (!cairn_elf_find_section(elf, name, &section) || section.type == SHT_NOBITS ||
        section.flags & SHF_COMPRESSED || !cairn_elf_section_bytes(elf, &section, &bytes) ||
        !bytes.size)
        return false;
    *ret_vaddr = section.vaddr;
    if (ret_bytes)
        *ret_bytes = bytes;
    return true;
}

bool cairn_unwind_sections_of_file(const struct cairn_elf *elf,
                                   struct cairn_unwind_sections *ret_sections)
{
    return cairn_unwind_sections_for(cairn_unwind_arch_of(elf->machine), elf, ret_sections);
}

bool cairn_unwind_sections_for(const struct cairn_unwind_arch *arch, const struct cairn_elf *elf,
                               struct cairn_unwind_sections *ret_sections)
{
    const struct cairn_unwind_image image = {file_segment, file_bytes_at, elf, elf->swap};
    struct cairn_unwind_sections s;
    uint64_t vaddr;
    if (!arch || elf->is64 != (arch->word == 8) || !cairn_unwind_sections_of(arch, &image, &s))
        return false;
    find_section(elf, ".eh_frame", &s.eh_frame.vaddr, &s.eh_frame.bytes);
    find_section(elf, ".debug_frame", &s.debug_frame.vaddr, &s.debug_frame.bytes);
    find_section(elf, ".text", &s.eh_frame.text_vaddr, NULL);
    find_section(elf, ".got", &s.eh_frame.data_vaddr, NULL);
    if (arch->word == 4 && find_section(elf, ".ARM.extab", &vaddr, &s.exidx.extab))
        s.exidx.extab_vaddr = (uint32_t)vaddr;
    *ret_sections = s;
    return true;
}
