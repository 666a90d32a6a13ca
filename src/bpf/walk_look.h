/* SPDX-License-Identifier: MIT */
/*
 * Walk look: one look at a process, at its mappings with code, and at their modules' tables where
 * those are not known yet.
 */
#ifndef CAIRN_BPF_WALK_LOOK_H
#define CAIRN_BPF_WALK_LOOK_H

#include "bpf/walk_modules.h"

enum cairn_walk_look {
    CAIRN_WALK_LOOKED,    /* what was found holds from now on */
    CAIRN_WALK_SAME,      /* nothing has changed */
    CAIRN_WALK_LATER,     /* in the midst of an execve(2), or too many were looked at already */
    CAIRN_WALK_IMPOSSIBLE /* ended, or not ours to read */
};

struct cairn_walk_found {
    struct cairn_bpf_space space;           /* without an id */
    uint32_t modules[CAIRN_BPF_RANGES_MAX]; /* of each range that has strips the one that it uses */
    uint64_t lacks_bytes; /* that a table needs which found no room, the least; 0: all did */
};

/* LOOKED, LATER or IMPOSSIBLE. `ret_found` is all-zero before; its ranges use their modules,
 * whatever comes back. */
enum cairn_walk_look cairn_walk_look_at(struct cairn_walk_modules *modules, int pid,
                                        struct cairn_walk_found *ret_found);

/* Who uses the modules of ranges uses them no more. */
void cairn_walk_ranges_leave(struct cairn_walk_modules *modules,
                             const struct cairn_bpf_range *ranges, const uint32_t *numbers,
                             uint32_t n);

#endif /* CAIRN_BPF_WALK_LOOK_H */
