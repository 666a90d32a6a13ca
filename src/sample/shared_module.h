/* SPDX-License-Identifier: MIT */
/*
 * Shared module: what several processes have mapped of one file, or of the vdso, is one module,
 * with the addresses of whoever was met first. Stacks of a program that is started again and again
 * are equal then, wherever the kernel put it each time. Memory of no file is "[anon]", by its
 * place.
 */
#ifndef CAIRN_SAMPLE_SHARED_MODULE_H
#define CAIRN_SAMPLE_SHARED_MODULE_H

#include "sample/space.h"

struct cairn_shared_modules {
    struct cairn_table by_place; /* hash of what is mapped -> module */
    struct cairn_table made;     /* modules of code that was made at run time */
};

void cairn_shared_modules_done(struct cairn_shared_modules *shared);

/* The profile's module for a mapping; UINT32_MAX where memory is gone. */
uint32_t cairn_shared_module(struct cairn_shared_modules *shared, struct cairn_spaces *spaces,
                             struct cairn_space *space, struct cairn_stream_map *map);

/* Is that code that was made at run time? Its names are known by the address in each process. */
bool cairn_shared_module_is_made(const struct cairn_shared_modules *shared, uint32_t module);

/* Where the profile has what lies at `va` in the mapping, whose module is known. */
uint64_t cairn_shared_va(const struct cairn_profile *profile, const struct cairn_stream_map *map,
                         uint64_t va);

#endif /* CAIRN_SAMPLE_SHARED_MODULE_H */
