/* SPDX-License-Identifier: MIT */
/*
 * Registry: names of C functions, as a module tells them to an interpreter in tables of pairs, a
 * name and a function (luaL_Reg of lauxlib.h). Stripped modules have them, too.
 */
#ifndef CAIRN_GUEST_REGISTRY_H
#define CAIRN_GUEST_REGISTRY_H

#include "elf/image.h"

enum { CAIRN_REGISTRY_MAX = 1 << 16 };

struct cairn_registry_entry {
    uint64_t function; /* vaddr */
    const char *name;  /* borrowed from the file, NUL-terminated */
    uint32_t table;    /* number of its table in the file */
};

struct cairn_registry {
    struct cairn_registry_entry *entries; /* sorted by function */
    size_t n, cap;
};

/* CAIRN_E_NOMEM. Some 25 ms for a file of some MB. */
int cairn_registry_make(const struct cairn_elf *elf, struct cairn_registry *ret_registry);
void cairn_registry_done(struct cairn_registry *registry);

/* NULL: no table has such a function. */
const char *cairn_registry_find(const struct cairn_registry *registry, uint64_t function);

#endif /* CAIRN_GUEST_REGISTRY_H */
