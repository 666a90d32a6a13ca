/* SPDX-License-Identifier: MIT */
/*
 * Target: what the spaces of a process, a core file and a copied stack have in common: a list of
 * mappings, and the files that are mapped, opened when the first address in their code is asked
 * for.
 *
 *     mapping ──► file by its own way (pid: /proc/PID/map_files)
 *             ──► file by path, if its build ID is the one in memory
 *             ──► an ELF file made again out of memory
 */
#ifndef CAIRN_TARGET_TARGET_H
#define CAIRN_TARGET_TARGET_H

#include <cairn/unwind.h>

#include "base/memory.h"
#include "base/strings.h"
#include "debugfile/debugfile.h"

enum { CAIRN_TARGET_MAPS_MAX = 1 << 20 };

struct cairn_target_map {
    uint64_t start, end, off; /* va [start, end), mapped from `off` of the file on */
    uint64_t dev, inode;      /* 0: not known */
    uint32_t flags;           /* enum cairn_map_flag */
    uint32_t path;            /* in `texts`; 0: none */
    uint32_t file;            /* number in `files` + 1; 0: not asked for yet */
};

/* A file that is mapped; it may be none that could be read. */
struct cairn_target_file {
    uint64_t dev, inode;
    uint32_t path;
    uint64_t base; /* va of its ELF header; of a file by path: of the load that was met first */
    struct cairn_debugfile_found found;
    struct cairn_span made; /* out of memory; owned */
    struct cairn_span image, debug;
};

struct cairn_target {
    struct cairn_strings texts;
    struct cairn_target_map *maps; /* sorted; none overlaps another */
    size_t n_maps, cap_maps;
    struct cairn_target_file **files;
    size_t n_files, cap_files;
    struct cairn_debugfile_finder *finder;
    /* Of the kind: memory as it is, without files. NULL: none of it can be read. */
    struct cairn_memory memory;
    /* The file of a mapping by a way that only the kind knows; NULL: none. True: found. */
    bool (*open_mapped)(struct cairn_target *target, const struct cairn_target_map *map,
                        struct cairn_debugfile_found *ret_found);
};

/* `default_root` serves where the options name none. */
int cairn_target_init(struct cairn_target *target, const struct cairn_unwind_opts *opts,
                      const char *default_root, struct cairn_err *err);
void cairn_target_done(struct cairn_target *target);

/* Forgets maps and files. */
void cairn_target_forget(struct cairn_target *target);

/* In any order; cairn_target_sort() then. Of two that overlap the first loses its end.
 * CAIRN_E_NOMEM, CAIRN_E_LIMIT. */
int cairn_target_add(struct cairn_target *target, const struct cairn_target_map *map,
                     struct cairn_err *err);
void cairn_target_sort(struct cairn_target *target);

/* All of a list, paths and flags included, but what overlaps a mapping that was there and sorted
 * before. cairn_target_sort() then. */
int cairn_target_add_maps(struct cairn_target *target, const struct cairn_maps *maps,
                          struct cairn_err *err);

struct cairn_target_map *cairn_target_find_map(struct cairn_target *target, uint64_t va);

/* As struct cairn_space_kind wants it. */
bool cairn_target_next_code(const struct cairn_target *target, uint64_t va, uint64_t *ret_va);

/* The first mapping that ends behind `va` and may be part of a heap: writable, and no file that
 * others share. One of a terabyte and more is a reservation. */
const struct cairn_target_map *cairn_target_next_heap(const struct cairn_target *target,
                                                      uint64_t va);

/* As struct cairn_unwind_accessors wants it. */
int cairn_target_find(struct cairn_target *target, uint64_t va,
                      struct cairn_unwind_region *ret_region);

/* From the file that is mapped at `va`, where nobody can have written to it; false where that is
 * not all at hand. */
bool cairn_target_read_file(struct cairn_target *target, uint64_t va, void *to, size_t size);

#endif /* CAIRN_TARGET_TARGET_H */
