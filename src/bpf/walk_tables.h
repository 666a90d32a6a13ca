/* SPDX-License-Identifier: MIT */
/*
 * Walk tables: which process has which module where, in the maps that the program of walk.h reads.
 *
 *     pid ──► /proc/PID/maps ──► range ──► module (walk_modules.h)
 *
 * A process is looked at when it is asked for: because the program met it, or an address in it,
 * for the first time, or because its mappings changed; and again when a table of it found no room
 * and there is some now.
 */
#ifndef CAIRN_BPF_WALK_TABLES_H
#define CAIRN_BPF_WALK_TABLES_H

#include <cairn/error.h>

#include "base/table.h"
#include "bpf/walk_look.h"

struct cairn_walk_process;

struct cairn_walk_tables {
    int spaces_fd;     /* of the map; borrowed */
    size_t spaces_max; /* processes that it has room for */
    struct cairn_walk_modules modules;
    struct cairn_walk_process *processes;
    size_t n_processes, cap_processes, n_free;
    struct cairn_table by_pid; /* pid -> number */
    uint32_t last_id;
    uint64_t retried_ns; /* who lacks a table was looked at again then */
    int64_t credit_ns; /* for looks; grows by a twentieth of the time that passes. Below 0 where one
                          look took more than there was */
};

/* `max_bytes` of tables at most; 0: as many as there can be. */
void cairn_walk_tables_init(struct cairn_walk_tables *tables, uint64_t max_bytes);
void cairn_walk_tables_done(struct cairn_walk_tables *tables); /* all-zero is fine */

/* Looks at a process. All looks together take a twentieth of the time, and some more where there
 * were few before, so that one which maps and unmaps without end costs no more; `now` passes over
 * that. */
enum cairn_walk_look cairn_walk_tables_look(struct cairn_walk_tables *tables, int pid, bool now);

/* Was it looked at? */
bool cairn_walk_tables_know(const struct cairn_walk_tables *tables, int pid);

/* The process has ended. */
void cairn_walk_tables_forget(struct cairn_walk_tables *tables, int pid);

/* Looks again at processes of which a table found no room, where there may be some by now. To be
 * called now and then: most calls do nothing. */
void cairn_walk_tables_retry(struct cairn_walk_tables *tables);

#endif /* CAIRN_BPF_WALK_TABLES_H */
