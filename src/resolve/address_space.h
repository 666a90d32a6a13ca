/* SPDX-License-Identifier: MIT */
/*
 * Address space: from an address in the process to a module and its vaddr, by what was mapped
 * where.
 *
 *     maps      555500001000-555500004000 r-xp 00002000 ... /opt/app
 *                    va ───── start + off = offset in the file ──── program headers ──► vaddr
 *
 * The file's program headers turn the offset into the vaddr, so that no first mapping has to be
 * there, and linkers may put segments where they like. Where only a debug file was found its
 * program headers know no offsets: then the distance from the load base serves, if its mapping is
 * there, or that from the begin of the one with code.
 */
#ifndef CAIRN_RESOLVE_ADDRESS_SPACE_H
#define CAIRN_RESOLVE_ADDRESS_SPACE_H

#include "base/module_kind.h"
#include "resolve/modules.h"

struct cairn_region {
    uint64_t start, end, off; /* va [start, end), mapped from `off` of the file on */
    uint64_t base;            /* va of the file's offset 0 in this load of it */
    uint32_t path, build_id;  /* strings of the modules */
    bool has_base; /* it is: another mapping, of that offset, lies before; else a guess */
    enum cairn_module_kind kind; /* set when it is added */
    bool executable, deleted, logged;
    bool has_fd;                       /* an open file of the module: */
    int fd;                            /* borrowed */
    struct cairn_known_module *module; /* NULL until asked for */
};

struct cairn_address_space {
    struct cairn_region *regions; /* of maps: sorted, none overlaps another */
    size_t n, cap;
};

/* Where an address lies: in a module at `vaddr`, or `cause` says why not. */
struct cairn_resolve_place {
    struct cairn_known_module *module; /* NULL: in none */
    uint64_t vaddr;
    enum cairn_cause cause; /* CAIRN_CAUSE_NONE: `vaddr` is good */
    bool has_start;         /* of CAIRN_CAUSE_NO_SYMBOL: the next is known: */
    uint64_t start;         /* vaddr at which the function without a name begins */
};

void cairn_address_space_done(struct cairn_address_space *space);

int cairn_address_space_of_maps(struct cairn_address_space *space, struct cairn_modules *modules,
                                const struct cairn_maps *maps, struct cairn_err *err);

/* One region, in the order of the calls: the modules of a profile. Ends with _finish(). */
int cairn_address_space_add(struct cairn_address_space *space, const struct cairn_region *region,
                            struct cairn_err *err);

/* Finds the load base of each region, and which file of an archive it is of. */
int cairn_address_space_finish(struct cairn_address_space *space, struct cairn_modules *modules,
                               struct cairn_err *err);

/* The region that holds `va`, or NULL; only where the regions are those of maps. */
struct cairn_region *cairn_address_space_find(const struct cairn_address_space *space, uint64_t va);

/* The path (a string) of a mapped file with this name, an executable one first; 0: none. */
uint32_t cairn_address_space_find_name(const struct cairn_address_space *space,
                                       const struct cairn_modules *modules, const char *name);

/* Only lack of memory fails. */
int cairn_address_space_place(const struct cairn_address_space *space,
                              struct cairn_modules *modules, struct cairn_region *region,
                              uint64_t va, struct cairn_resolve_place *ret_place,
                              struct cairn_err *err);

#endif /* CAIRN_RESOLVE_ADDRESS_SPACE_H */
