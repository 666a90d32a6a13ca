/* SPDX-License-Identifier: MIT */
/*
 * Walk modules: the rules of files that processes have mapped, in the maps that the program of
 * walk.h reads.
 *
 *     piece of a file (device, inode, offset) ──► module ──► its strips ──► segments
 *
 * Each is there once, whoever has it mapped. One that nobody has any more stays while there is
 * room; then those give way that nobody has had for longest.
 */
#ifndef CAIRN_BPF_WALK_MODULES_H
#define CAIRN_BPF_WALK_MODULES_H

#include "base/table.h"
#include "bpf/room.h"
#include "bpf/walk.h"

struct cairn_unwind_table;

/* The code of a piece of a file. */
struct cairn_walk_module {
    struct cairn_bpf_file file; /* all 0: nobody; the number is free */
    uint64_t text;              /* its first byte: an offset in the table's text */
    uint32_t strip;
    uint16_t n_strips;               /* 0: no table, or no room for it */
    uint16_t flags;                  /* enum cairn_bpf_range_flag */
    uint32_t n_users;                /* of its strips */
    uint64_t unused_ns;              /* since then there are none */
    uint64_t lacks_bytes;            /* that its table needs, where there was no room */
    struct cairn_room_piece *pieces; /* n_strips of them; of no bytes: none was needed */
};

struct cairn_walk_modules {
    int segments_fd;  /* of the map; borrowed */
    int files_fd;     /* likewise; -1: none */
    uint64_t *strips; /* mapped; borrowed */
    uint8_t *segments[CAIRN_BPF_SEGMENTS_MAX];
    int segment_fds[CAIRN_BPF_SEGMENTS_MAX];
    uint32_t segments_max;
    struct cairn_room room, strip_room; /* the latter's unit is a strip */
    struct cairn_walk_module *items;
    size_t n, cap, n_free;
    struct cairn_table by_file; /* hash of a file -> number */
    uint32_t last_id;           /* given to one in the kernel */
    uint64_t now_ns;            /* set by the caller: for how long nobody has had one */
    uint64_t n_no_room;         /* whose tables found no room */
    uint64_t n_regained;        /* of them: that found some later */
    uint64_t n_evicted;         /* that gave way */
};

/* `max_bytes` of tables at most; 0: as many as there can be. */
void cairn_walk_modules_init(struct cairn_walk_modules *modules, uint64_t max_bytes);
void cairn_walk_modules_done(struct cairn_walk_modules *modules); /* all-zero is fine */

/* The number of what is known of a file; false: it should be made, or made again. */
bool cairn_walk_modules_find(const struct cairn_walk_modules *modules,
                             const struct cairn_bpf_file *file, uint32_t *ret_number);

/* Brings the table (NULL: there is none) of a module into the maps, or, where it finds no room,
 * says so in its flags. Of `module` file, text and flags are taken. False: no memory. */
bool cairn_walk_modules_make(struct cairn_walk_modules *modules,
                             const struct cairn_walk_module *module,
                             const struct cairn_unwind_table *table, uint32_t *ret_number);

/* Who has its strips in the kernel says so: they stay there until all have left, and some time
 * longer. */
void cairn_walk_modules_use(struct cairn_walk_modules *modules, uint32_t number);
void cairn_walk_modules_leave(struct cairn_walk_modules *modules, uint32_t number);

/* So many bytes would find room now, if they need not lie together. */
uint64_t cairn_walk_modules_spare(const struct cairn_walk_modules *modules);

#endif /* CAIRN_BPF_WALK_MODULES_H */
