/* SPDX-License-Identifier: MIT */
/* A relocatable file while it is laid out: its sections as they will be, and the copy so far. */
#ifndef CAIRN_ELF_LAYOUT_PARTS_H
#define CAIRN_ELF_LAYOUT_PARTS_H

#include "base/buffer.h"
#include "elf/image.h"
#include "elf/reloc.h"

enum {
    CAIRN_LAYOUT_PAGE_BYTES = 4096,
    CAIRN_LAYOUT_N_DEBUG = 11, /* names of debug sections that are read */
    CAIRN_LAYOUT_NO_DEBUG = CAIRN_LAYOUT_N_DEBUG,
};

struct cairn_layout_part {
    struct cairn_elf_section section; /* as it will be */
    uint32_t name;                    /* offset in the table of names */
    unsigned debug;                   /* which debug section, or CAIRN_LAYOUT_NO_DEBUG */
};

struct cairn_layout_parts {
    const struct cairn_elf *elf;
    struct cairn_layout_part *parts; /* by section */
    struct cairn_buffer out;
    struct cairn_elf_relocator relocator;
    uint64_t *values;
    uint32_t symtab; /* section; 0: none */
    uint64_t code_end, data_start, data_end;
    uint64_t n_unplaced;
    uint64_t n_misplaced; /* tables of relocations that cannot be used */
};

/* Zeros up to the next multiple of 8. */
static inline void cairn_layout_pad(struct cairn_buffer *out)
{
    static const uint8_t zeros[8];
    cairn_buffer_add(out, zeros, -out->size & 7);
}

/* Which debug section that is, by its name; CAIRN_LAYOUT_NO_DEBUG: none that is read. */
unsigned cairn_layout_debug_of(const struct cairn_elf_section *section);

/* The contents of all debug sections of one name one behind the other, behind the copy so far: the
 * address of each is where it begins in the whole. CAIRN_E_LIMIT, CAIRN_E_FORMAT, CAIRN_E_NOMEM. */
int cairn_layout_gather_debug(struct cairn_layout_parts *l, struct cairn_err *err);

/* Makes one section of those of one name, after relocations. CAIRN_E_NOMEM. */
int cairn_layout_join_debug(struct cairn_layout_parts *l, struct cairn_err *err);

/* The tables of sections and segments, and the header. CAIRN_E_NOMEM. */
int cairn_layout_put_tables(struct cairn_layout_parts *l, struct cairn_err *err);

#endif /* CAIRN_ELF_LAYOUT_PARTS_H */
