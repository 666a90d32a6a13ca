/* SPDX-License-Identifier: MIT */
/*
 * Own: the functions of a file that belong to the interpreter, and not to the program that it is
 * linked into. They are reached by direct calls and jumps from the interpreter's loop and from its
 * standard library. An interpreter calls its host through pointers only.
 */
#ifndef CAIRN_GUEST_OWN_H
#define CAIRN_GUEST_OWN_H

#include "guest/registry.h"

enum { CAIRN_OWN_MAX = 1 << 14 };

struct cairn_own_range {
    uint64_t from, to; /* vaddrs */
};

struct cairn_own {
    struct cairn_own_range *ranges; /* sorted; none overlaps another */
    size_t n, cap;
};

/* `loop`: a vaddr in the loop. None are found where functions have no borders. CAIRN_E_NOMEM. */
int cairn_own_find(const struct cairn_elf *elf, uint64_t loop,
                   const struct cairn_registry *registry, struct cairn_own *ret_own);
void cairn_own_done(struct cairn_own *own);

bool cairn_own_has(const struct cairn_own *own, uint64_t vaddr);

#endif /* CAIRN_GUEST_OWN_H */
