/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for cairn_unwind_sections_of_file and cairn_unwind_sections_for */
/*
 * Sections: what one module has to say of unwinding, as a table is made of it. What is loaded has
 * program headers alone:
 *
 *     PT_GNU_EH_FRAME -> .eh_frame_hdr -> .eh_frame, up to the last entry that the first lists
 *     PT_ARM_EXIDX    -> .ARM.exidx;   .ARM.extab is somewhere in the same PT_LOAD
 *
 * A file may have section headers beside them, and a .debug_frame.
 */
#ifndef CAIRN_UNWIND_SECTIONS_H
#define CAIRN_UNWIND_SECTIONS_H

#include <link.h>

#include "elf/image.h"
#include "unwind/exidx.h"
#include "unwind/table.h"

/* Borrows the bytes of the module. Of what it does not have the bytes are empty. */
struct cairn_unwind_sections {
    const struct cairn_unwind_arch *arch;
    struct cairn_cfi known; /* made by this library, of functions that it knows: asked first */
    struct cairn_cfi eh_frame, debug_frame;
    struct cairn_exidx exidx;
    uint64_t text_from, text_to; /* vaddrs: from the first executable byte to the last */
};

/* False: a CPU that the unwinder does not know, or no code. A .debug_frame that is compressed or
 * lies in a debug file is the caller's to add. */
bool cairn_unwind_sections_of_file(const struct cairn_elf *elf,
                                   struct cairn_unwind_sections *ret_sections);

/* The same for a CPU that has rows alone, and no tables. */
bool cairn_unwind_sections_for(const struct cairn_unwind_arch *arch, const struct cairn_elf *elf,
                               struct cairn_unwind_sections *ret_sections);

/* Of a module of this process, by what dl_iterate_phdr(3) or getauxval(3) say of it, while it stays
 * loaded; vaddrs are those of its file. False: no code. */
bool cairn_unwind_sections_loaded(const struct cairn_unwind_arch *arch, uintptr_t load_base,
                                  const ElfW(Phdr) * segments, size_t n,
                                  struct cairn_unwind_sections *ret_sections);

/* Borrows from `sections`. */
struct cairn_unwind_table_input
cairn_unwind_table_input_of(const struct cairn_unwind_sections *sections);

/* Where the segments of a module are, and the bytes from a vaddr to the end of its PT_LOAD. */
struct cairn_unwind_image {
    bool (*segment)(const void *ctx, uint32_t i, struct cairn_elf_segment *ret_segment);
    bool (*bytes_at)(const void *ctx, uint64_t vaddr, struct cairn_span *ret_bytes);
    const void *ctx;
    bool swap;
};

/* For the two above. */
bool cairn_unwind_sections_of(const struct cairn_unwind_arch *arch,
                              const struct cairn_unwind_image *image,
                              struct cairn_unwind_sections *ret_sections);

#endif /* CAIRN_UNWIND_SECTIONS_H */
