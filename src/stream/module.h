/* SPDX-License-Identifier: MIT */
/*
 * Stream modules: mappings of processes as modules of the profile. What several processes have
 * mapped of one file, or of the vdso, is one module, with the addresses of the process that was met
 * first. Stacks of a program that is started again and again are equal then, wherever the kernel
 * put it each time. Memory of no file is "[anon]", by its place.
 */
#ifndef CAIRN_STREAM_MODULE_H
#define CAIRN_STREAM_MODULE_H

#include "stream/space.h"

struct cairn_stream_modules {
    struct cairn_table by_place; /* hash of what is mapped -> module */
    struct cairn_table made;     /* modules of code that was made at run time */
};

void cairn_stream_modules_done(struct cairn_stream_modules *modules); /* all-zero is fine */

/* The profile's module for a mapping; UINT32_MAX: memory is gone. `root` is where the process's
 * paths begin: a process can mount another file with the same build ID over a path of ours. */
uint32_t cairn_stream_module(struct cairn_stream_modules *modules, struct cairn_profile *profile,
                             uint32_t root, struct cairn_stream_map *map);

/* Is that code that was made at run time? Its names are known by the address in each process. */
bool cairn_stream_module_is_made(const struct cairn_stream_modules *modules, uint32_t module);

/* Where the profile has what lies at `va` in the mapping, whose module is known. */
static inline uint64_t cairn_stream_va(const struct cairn_profile *profile,
                                       const struct cairn_stream_map *map, uint64_t va)
{
    const struct cairn_profile_module *module = &profile->modules[map->module];
    return map->module && map->is_image ? va - map->start + map->off - module->off + module->start
                                        : va;
}

#endif /* CAIRN_STREAM_MODULE_H */
