/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "hook/slots_loaded.h"

#include <elf.h>
#include <link.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#elif defined(__arm__)
enum { MACHINE = EM_ARM };
#endif

bool cairn_slots_is_writable(const struct dl_phdr_info *info, uint64_t vaddr)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_memsz)
            return p->p_flags & PF_W;
    }
    return false;
}

bool cairn_slots_load(const struct dl_phdr_info *info, struct cairn_slots_loaded *ret)
{
    struct cairn_slots_image *image = &ret->image;
    *image = (struct cairn_slots_image){.segments = ret->segments,
                                        .load_base = info->dlpi_addr,
                                        .machine = MACHINE,
                                        .is_64 = sizeof(void *) == 8};
    ret->relro_low = ret->relro_high = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_DYNAMIC) {
            image->dynamic_vaddr = p->p_vaddr;
            image->n_dynamic = p->p_memsz;
        } else if (p->p_type == PT_GNU_RELRO) {
            ret->relro_low = (uintptr_t)(info->dlpi_addr + p->p_vaddr);
            ret->relro_high = ret->relro_low + (uintptr_t)p->p_memsz;
        } else if (p->p_type == PT_LOAD && p->p_flags & PF_R &&
                   image->n_segments < CAIRN_SLOTS_MAX_SEGMENTS) {
            ret->segments[image->n_segments++] = (struct cairn_slots_segment){
                .vaddr = p->p_vaddr,
                .bytes = (const uint8_t *)(info->dlpi_addr + p->p_vaddr),
                .n_bytes = p->p_memsz,
                .n_memory = p->p_memsz,
                .is_executable = p->p_flags & PF_X};
        }
    }
    return image->n_dynamic != 0;
}

bool cairn_slots_has_va(const struct cairn_slots_loaded *loaded, uintptr_t va)
{
    const uint64_t vaddr = va - loaded->image.load_base;
    for (uint32_t i = 0; i < loaded->image.n_segments; i++)
        if (vaddr - loaded->segments[i].vaddr < loaded->segments[i].n_memory)
            return true;
    return false;
}
