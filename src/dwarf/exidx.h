/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * exidx: 32-bit arm's index of functions (IHI 0038B, Exception Handling ABI for the ARM
 * Architecture, 5). What an entry says of its function is read by unwind/exidx.h.
 *
 *     .ARM.exidx    | function | what |    sorted; an entry reaches up to the next one
 */
#ifndef CAIRN_DWARF_EXIDX_H
#define CAIRN_DWARF_EXIDX_H

#include "base/span.h"

/* Filled by the caller, who keeps the bytes alive. */
struct cairn_exidx {
    struct cairn_span index; /* .ARM.exidx, or the segment PT_ARM_EXIDX */
    uint32_t index_vaddr;
    struct cairn_span extab; /* .ARM.extab, or all of the segment that it lies in */
    uint32_t extab_vaddr;
    bool swap;
};

enum { CAIRN_EXIDX_ENTRY_BYTES = 8 };

/* `what` of a function that cannot be unwound. */
enum { CAIRN_EXIDX_WHAT_CANTUNWIND = 1 };

/* The word at `off`, which is inside. */
static inline uint32_t cairn_exidx_word(struct cairn_span bytes, size_t off, bool swap)
{
    uint32_t word;
    memcpy(&word, bytes.data + off, sizeof word);
    return swap ? __builtin_bswap32(word) : word;
}

/* What the low 31 bits of a word point to, relative to where the word lies (IHI 0038B, 4.4.2:
 * R_ARM_PREL31). */
static inline uint32_t cairn_exidx_target(uint32_t word, uint32_t vaddr)
{
    return vaddr + (uint32_t)((int32_t)(word << 1) >> 1);
}

static inline size_t cairn_exidx_count(const struct cairn_exidx *exidx)
{
    return exidx->index.size / CAIRN_EXIDX_ENTRY_BYTES;
}

/* `what` of entry i < count. */
static inline uint32_t cairn_exidx_what(const struct cairn_exidx *exidx, size_t i)
{
    return cairn_exidx_word(exidx->index, i * CAIRN_EXIDX_ENTRY_BYTES + 4, exidx->swap);
}

/* The first vaddr of entry i < count, without Thumb's bit. */
uint32_t cairn_exidx_start(const struct cairn_exidx *exidx, size_t i);

/* The last entry that starts at or before `vaddr`, in O(log n); false where all start behind it.
 * Thumb's bit of `vaddr` counts for nothing. The last entry of all has no end of its own: who
 * asks knows where the text ends. */
bool cairn_exidx_find(const struct cairn_exidx *exidx, uint32_t vaddr, size_t *ret_i);

#endif /* CAIRN_DWARF_EXIDX_H */
