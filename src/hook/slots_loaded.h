/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Slots of a module of the own process, as dl_iterate_phdr(3) shows it, while that keeps the module
 * loaded.
 */
#ifndef CAIRN_HOOK_SLOTS_LOADED_H
#define CAIRN_HOOK_SLOTS_LOADED_H

#include "hook/slots.h"

struct dl_phdr_info;

enum { CAIRN_SLOTS_MAX_SEGMENTS = 32 };

struct cairn_slots_loaded {
    struct cairn_slots_image image; /* borrows `segments` */
    struct cairn_slots_segment segments[CAIRN_SLOTS_MAX_SEGMENTS];
    uintptr_t relro_low, relro_high; /* PT_GNU_RELRO; 0, 0: there is none */
};

/* Whether it has a dynamic section. The struct is not copied afterwards. */
bool cairn_slots_load(const struct dl_phdr_info *info, struct cairn_slots_loaded *ret);
/* Does the segment let the loader write there? */
bool cairn_slots_is_writable(const struct dl_phdr_info *info, uint64_t vaddr);
/* Is an address of the process in the module? */
bool cairn_slots_has_va(const struct cairn_slots_loaded *loaded, uintptr_t va);

#endif /* CAIRN_HOOK_SLOTS_LOADED_H */
