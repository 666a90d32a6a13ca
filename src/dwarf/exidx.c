/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "dwarf/exidx.h"

uint32_t cairn_exidx_start(const struct cairn_exidx *exidx, size_t i)
{
    size_t off = i * CAIRN_EXIDX_ENTRY_BYTES;
    uint32_t word = cairn_exidx_word(exidx->index, off, exidx->swap);
    return cairn_exidx_target(word, exidx->index_vaddr + (uint32_t)off) & ~1u;
}

bool cairn_exidx_find(const struct cairn_exidx *exidx, uint32_t vaddr, size_t *ret_i)
{
    size_t low = 0, high = cairn_exidx_count(exidx);
    vaddr &= ~1u;
    if (!high || cairn_exidx_start(exidx, 0) > vaddr)
        return false;
    while (high - low > 1) { /* start(low) <= vaddr, whatever order the entries are in */
        size_t middle = low + (high - low) / 2;
        if (cairn_exidx_start(exidx, middle) <= vaddr)
            low = middle;
        else
            high = middle;
    }
    *ret_i = low;
    return true;
}
