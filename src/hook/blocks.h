/* SPDX-License-Identifier: MIT */
/*
 * Blocks: how a word of code is written through /proc/PID/mem so that nobody sees half of it.
 *
 * The kernel copies by "rep movsb", out of a buffer at the start of a page. To an address that is 1
 * to 15 bytes behind the start of a page, a CPU (measured on Zen 5) copies byte by byte, and an
 * interrupt leaves the word half changed for as long as it takes. Whole blocks from the start of
 * the page on are written there.
 */
#ifndef CAIRN_HOOK_BLOCKS_H
#define CAIRN_HOOK_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

enum { CAIRN_HOOK_BLOCK = 16, CAIRN_HOOK_BLOCKS_MAX = 2 * CAIRN_HOOK_BLOCK };

/* How many bytes are to be written, from `*ret_before` bytes in front of `va` on, for the `n` there
 * to change whole. 0: those bytes alone. */
static inline size_t cairn_hook_blocks(uint64_t va, size_t n, size_t *ret_before)
{
    enum { PAGE_BYTES = 4096 }; /* the start of a larger page is one of these too */
    *ret_before = (size_t)(va % PAGE_BYTES);
    if (n > sizeof(uint64_t) || !*ret_before || *ret_before >= CAIRN_HOOK_BLOCK)
        return 0;
    return *ret_before + n <= CAIRN_HOOK_BLOCK ? CAIRN_HOOK_BLOCK : CAIRN_HOOK_BLOCKS_MAX;
}

#endif /* CAIRN_HOOK_BLOCKS_H */
