/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Names: functions of the addresses of stacks, of all of them at once: one pass over each module's
 * symbols, read from its file, else, where that is gone, what it exports. Linkage names, for a
 * demangler would call malloc. Neither lines nor inlined calls: who wants them asks from outside.
 */
#ifndef CAIRN_HEAP_NAMES_H
#define CAIRN_HEAP_NAMES_H

#include "heap/inside.h"

/* What is known of a return address. */
struct cairn_tracked_place {
    uint64_t ret;
    uint64_t rel;    /* of it, from the load base; valid if has_rel */
    uint32_t module; /* which of inside->modules; CAIRN_HEAP_NO_MODULE */
    uint32_t name;   /* where in names->texts, up to a NUL; 0: none */
    uint64_t start;  /* vaddr of that symbol */
    bool has_rel;
};

enum { CAIRN_HEAP_NO_MODULE = 0xffffffff };

/* All zero at first. */
struct cairn_heap_names {
    struct cairn_array places; /* cairn_heap_place */
    struct cairn_array slots;  /* uint32_t: 1 + a place's number, by the hash of the address */
    struct cairn_array texts;  /* char */
};

/* The number of the place of an address in a module, which is noted; UINT32_MAX: no memory. */
uint32_t cairn_heap_names_note(struct cairn_heap_names *names, uint64_t ret, uint32_t module);

/* Names all that were noted, as far as there are names. */
void cairn_heap_names_find(struct cairn_heap_names *names, const struct cairn_heap_inside *inside);

static inline const struct cairn_tracked_place *
cairn_heap_names_place(const struct cairn_heap_names *names, uint32_t number)
{
    return (const struct cairn_tracked_place *)names->places.items + number;
}

/* "": it has none. Borrowed. */
static inline const char *cairn_heap_names_text(const struct cairn_heap_names *names,
                                                const struct cairn_tracked_place *place)
{
    return place->name ? (const char *)names->texts.items + place->name : "";
}

void cairn_heap_names_done(struct cairn_heap_names *names);

#endif /* CAIRN_HEAP_NAMES_H */
