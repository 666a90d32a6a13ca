/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Which file each of some addresses of this process is of: one pass over /proc/self/maps with
 * read(2) alone. Here a crash is told, and the loader's lists may be what crashed.
 */
#ifndef CAIRN_UNWIND_PRINT_MAPS_H
#define CAIRN_UNWIND_PRINT_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CAIRN_PRINT_MAPS = 256,           /* mappings with addresses in them; more have no name */
    CAIRN_PRINT_PATH_BYTES = 1 << 16, /* of all their paths */
    CAIRN_PRINT_LINE_BYTES = 8192     /* longer lines of the kernel's are cut: their path is */
};

struct cairn_print_map {
    uintptr_t from, to;
    uint64_t off; /* in the file */
    uint64_t inode;
    uintptr_t image; /* where the same file's first byte is mapped, if right before; 0: nowhere */
    uint32_t path;   /* where in paths[]; "" of memory without a file */
};

struct cairn_print_maps {
    size_t n;
    size_t n_paths;  /* bytes */
    uintptr_t image; /* of the last line that began a file, */
    uint64_t inode;  /* and which one */
    struct cairn_print_map maps[CAIRN_PRINT_MAPS];
    char paths[CAIRN_PRINT_PATH_BYTES];
    char line[CAIRN_PRINT_LINE_BYTES];
};

/* Notes every mapping that holds one of `vas`. `maps` is zero at first. False: no /proc. */
bool cairn_print_maps_read(struct cairn_print_maps *maps, const uintptr_t *vas, size_t n_vas);

/* The same for one line, without its newline; a damaged one is passed over. */
void cairn_print_maps_add(struct cairn_print_maps *maps, const char *line, const uintptr_t *vas,
                          size_t n_vas);

/* NULL: none that was noted. Borrowed. */
const struct cairn_print_map *cairn_print_maps_find(const struct cairn_print_maps *maps,
                                                    uintptr_t va);

#endif /* CAIRN_UNWIND_PRINT_MAPS_H */
