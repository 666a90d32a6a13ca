/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What is around a function of x86-64: where it ends, branches into given bytes, padding.
 *
 * Instructions have no mark at their begin. Before the entry they are decoded from several places;
 * soon all of these meet, and from there on each instruction is taken for one.
 */
#ifndef CAIRN_HOOK_SCAN_X86_64_H
#define CAIRN_HOOK_SCAN_X86_64_H

#include "hook/plan.h"

struct cairn_hook_scan {
    const struct cairn_hook_function *f;
    uint64_t low;  /* from here on instructions before the entry are known */
    uint64_t end;  /* of the function, by its size or by its branches */
    uint64_t high; /* of the window behind the entry where padding is looked for */
};

void cairn_hook_scan_open(const struct cairn_hook_function *f, struct cairn_hook_scan *ret_scan);

/* Is there a jump or branch, but no call, to [low, high)? The address of the first one. Those of
 * the function alone, or, with `all`, of the code around it too. */
bool cairn_hook_scan_branches(const struct cairn_hook_scan *scan, bool all, uint64_t low,
                              uint64_t high, uint64_t *ret_va);

/* The end of the padding that starts at `low`, behind an instruction that does not go on; `low` if
 * there is no padding, or another function may start there. */
uint64_t cairn_hook_scan_padding_end(const struct cairn_hook_function *f, uint64_t low);

/* Finds `n_bytes` of padding from an address in [low, high] on: nops and int3 behind an instruction
 * that does not go on, or in front of the entry. None of it is in [not_low, not_high). 0: none. */
uint64_t cairn_hook_scan_padding(const struct cairn_hook_scan *scan, uint64_t low, uint64_t high,
                                 uint64_t n_bytes, uint64_t not_low, uint64_t not_high);

#endif /* CAIRN_HOOK_SCAN_X86_64_H */
