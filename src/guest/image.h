/* SPDX-License-Identifier: MIT */
/* Image: what guests ask of a module's file, symbols or not: texts, functions, tables of code. */
#ifndef CAIRN_GUEST_IMAGE_H
#define CAIRN_GUEST_IMAGE_H

#include "dwarf/cfi.h"
#include "elf/image.h"

struct cairn_guest_image {
    const struct cairn_elf *elf;
    struct cairn_cfi cfi; /* says where functions begin and end */
};

/* False: there is no .eh_frame_hdr, so that functions have no borders. */
bool cairn_guest_image_open(const struct cairn_elf *elf, struct cairn_guest_image *ret_image);

bool cairn_guest_image_function(const struct cairn_guest_image *image, uint64_t vaddr,
                                uint64_t *ret_from, uint64_t *ret_to);

/* Finds `text` in what is loaded and is no code: the bytes from it on. */
bool cairn_guest_find_text(const struct cairn_elf *elf, const char *text,
                           struct cairn_span *ret_bytes);

/* Each word that is a pointer when the file is loaded: those that get the load base added, and
 * words of data as they stand in the file, most of which are none. Until `each` says false. */
typedef bool (*cairn_guest_pointer_fn)(void *ctx, uint64_t at, uint64_t value);
void cairn_guest_each_pointer(const struct cairn_elf *elf, cairn_guest_pointer_fn each, void *ctx);

/* The function that a table of exactly `n` places leads into: addresses, in the file or by
 * relocations, or 32-bit distances from the table's begin. False: none has at least 2,048 bytes. */
bool cairn_guest_find_table(const struct cairn_guest_image *image, size_t n, uint64_t *ret_from,
                            uint64_t *ret_to);

/* DWARF's number of the callee-saved register that a function moves its first argument into, among
 * its first instructions; CAIRN_GUEST_NO_REG. */
uint8_t cairn_guest_first_argument(const struct cairn_elf *elf, uint64_t function);

#endif /* CAIRN_GUEST_IMAGE_H */
