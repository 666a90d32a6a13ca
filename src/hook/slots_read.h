/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Slots read: reads of an image that stay within its segments. Inside the room.
 */
#ifndef CAIRN_HOOK_SLOTS_READ_H
#define CAIRN_HOOK_SLOTS_READ_H

#include "hook/slots.h"

/* The bytes from `vaddr` on, of one segment; *ret_n is how many there are. NULL: none. */
const uint8_t *cairn_slots_bytes(const struct cairn_slots_image *image, uint64_t vaddr,
                                 size_t *ret_n);

/* A word of the module's own size, little endian. */
uint64_t cairn_slots_word(const struct cairn_slots_image *image, const uint8_t *from);
uint32_t cairn_slots_u32(const uint8_t *from);
uint16_t cairn_slots_u16(const uint8_t *from);

/* One relocation, whatever table it comes from. Returns nonzero to stop. */
typedef int cairn_slots_relocation_fn(void *context, uint64_t place, uint64_t info, int64_t addend);

/* APS2 (bionic's linker_reloc_iterators.h): the magic, then numbers as signed LEB128:
 *
 *     count, first place; for each group: size, flags, [place step], [info], [addend step];
 *     for each relocation of it what the flags do not have for all: place step, info, addend step
 */
enum cairn_slots_reason cairn_slots_packed(const uint8_t *bytes, size_t n,
                                           cairn_slots_relocation_fn *each, void *context,
                                           size_t *ret_at);

#endif /* CAIRN_HOOK_SLOTS_READ_H */
