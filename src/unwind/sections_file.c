/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "unwind/sections.h"

static bool file_segment(const void *ctx, uint32_t i, struct cairn_elf_segment *ret_segment)
{
    return cairn_elf_segment(ctx, i, ret_segment);
}

static bool file_bytes_at(const void *ctx, uint64_t vaddr, struct cairn_span *ret_bytes)
{
    return cairn_elf_bytes_at(ctx, vaddr, ret_bytes);
}

/* x32 is a 32-bit file for the CPU's 64-bit registers and stack: addresses have 4 bytes, and words
 * that are pushed 8 (x32 psABI 1.0). */
static bool has_words_of(const struct cairn_elf *elf, const struct cairn_unwind_arch *arch)
{
    return elf->is64 == (arch->word == 8) || (!elf->is64 && elf->machine == EM_X86_64);
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
    struct cairn_span ignored;
    uint64_t vaddr;
    if (!arch || !has_words_of(elf, arch) || !cairn_unwind_sections_of(arch, &image, &s))
        return false;
    s.known.address_size = s.eh_frame.address_size = s.debug_frame.address_size = elf->is64 ? 8 : 4;
    cairn_elf_find_plain(elf, ".eh_frame", &s.eh_frame.vaddr, &s.eh_frame.bytes);
    cairn_elf_find_plain(elf, ".debug_frame", &s.debug_frame.vaddr, &s.debug_frame.bytes);
    cairn_elf_find_plain(elf, ".text", &s.eh_frame.text_vaddr, &ignored);
    cairn_elf_find_plain(elf, ".got", &s.eh_frame.data_vaddr, &ignored);
    if (arch->word == 4 && cairn_elf_find_plain(elf, ".ARM.extab", &vaddr, &s.exidx.extab))
        s.exidx.extab_vaddr = (uint32_t)vaddr;
    *ret_sections = s;
    return true;
}
