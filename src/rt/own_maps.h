/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Own maps: the lines of /proc/self/maps, read without malloc.
 */
#ifndef CAIRN_RT_OWN_MAPS_H
#define CAIRN_RT_OWN_MAPS_H

#include <stdbool.h>
#include <stdint.h>

enum { CAIRN_OWN_MAPS_LINE = 1024 /* the rest of a longer line is lost */ };

/* What is read at a time, and one line of it. */
struct cairn_own_maps_text {
    char buffer[4096];
    char line[CAIRN_OWN_MAPS_LINE];
};

struct cairn_own_mapping {
    uint64_t from, to, off, inode;
    uint32_t dev_major, dev_minor;
    char access[4];   /* "r-xp" */
    const char *path; /* borrowed until the next line; "" without a file */
};

/* Calls `fn` with each mapping in the order of addresses until it returns false. False: the file
 * cannot be read. */
typedef bool cairn_own_mapping_fn(void *context, const struct cairn_own_mapping *mapping);
bool cairn_own_maps_each(struct cairn_own_maps_text *text, cairn_own_mapping_fn *fn, void *context);

/* The lowest address of [low, high) behind which whole pages are free for `bytes`, which may end
 * behind `high`; 0: none. */
uint64_t cairn_own_maps_find_free(struct cairn_own_maps_text *text, uint64_t low, uint64_t high,
                                  uint64_t bytes);

/* One line of /proc/PID/maps; false: it is not one. */
bool cairn_own_mapping_read(const char *line, struct cairn_own_mapping *ret);

#endif /* CAIRN_RT_OWN_MAPS_H */
