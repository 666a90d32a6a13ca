/* SPDX-License-Identifier: MIT */
/*
 * Walk tables: which process has which module where, and each module's rules, in the maps that the
 * program of walk.h reads.
 *
 *     pid ──► /proc/PID/maps ──► range ──► module (device, inode, offset) ──► its strips
 *
 * A process is looked at when it is asked for: because the program met it, or an address in it,
 * for the first time, or because its mappings changed. Modules stay while there is room; those that
 * no process has any more give way where there is none.
 */
#ifndef CAIRN_BPF_WALK_TABLES_H
#define CAIRN_BPF_WALK_TABLES_H

#include <cairn/error.h>

#include "base/table.h"
#include "bpf/room.h"
#include "bpf/walk.h"

struct cairn_walk_module;
struct cairn_walk_process;
struct cairn_unwind_space;

struct cairn_walk_tables {
    int spaces_fd, segments_fd; /* of the maps; borrowed */
    uint64_t *strips;           /* mapped; borrowed */
    uint8_t *segments[CAIRN_BPF_SEGMENTS_MAX];
    int segment_fds[CAIRN_BPF_SEGMENTS_MAX];
    uint32_t segments_max;
    struct cairn_room room, strip_room; /* the latter's unit is a strip */
    struct cairn_walk_module *modules;
    size_t n_modules, cap_modules;
    struct cairn_table by_file; /* hash of device, inode and offset -> module */
    struct cairn_walk_process *processes;
    size_t n_processes, cap_processes;
    struct cairn_table by_pid;
    uint32_t last_id;
    uint64_t n_no_room; /* modules whose tables found no room */
    uint64_t n_evicted; /* modules that gave way */
    uint64_t now_ns;    /* of this look */
    uint64_t credit_ns; /* for looks; grows by a twentieth of the time that passes */
};

/* `max_bytes` of tables at most; 0: as many as there can be. */
void cairn_walk_tables_init(struct cairn_walk_tables *tables, uint64_t max_bytes);
void cairn_walk_tables_done(struct cairn_walk_tables *tables); /* all-zero is fine */

enum cairn_walk_look {
    CAIRN_WALK_LOOKED,    /* what was found holds from now on */
    CAIRN_WALK_SAME,      /* nothing has changed */
    CAIRN_WALK_LATER,     /* in the midst of an execve(2), or too many were looked at already */
    CAIRN_WALK_IMPOSSIBLE /* ended, or not ours to read */
};

/* Looks at a process. All looks together take a twentieth of the time, and some more where there
 * were few before, so that one which maps and unmaps without end costs no more; `now` passes over
 * that. */
enum cairn_walk_look cairn_walk_tables_look(struct cairn_walk_tables *tables, int pid, bool now);

/* Was it looked at? */
bool cairn_walk_tables_know(const struct cairn_walk_tables *tables, int pid);

/* The process has ended. */
void cairn_walk_tables_forget(struct cairn_walk_tables *tables, int pid);

#endif /* CAIRN_BPF_WALK_TABLES_H */
