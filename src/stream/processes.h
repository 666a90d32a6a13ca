/* SPDX-License-Identifier: MIT */
/* Stream processes: the space of each process by its pid, and what the spaces share. */
#ifndef CAIRN_STREAM_PROCESSES_H
#define CAIRN_STREAM_PROCESSES_H

#include "stream/module.h"

struct cairn_stream_processes {
    size_t item_bytes; /* of a process: a space, and what the caller keeps behind it; 0: nothing */
    void (*item_done)(struct cairn_stream_space *item); /* of what is behind it; NULL */
    struct cairn_stream_space **items;
    size_t n, cap;
    struct cairn_table by_pid;
    struct cairn_stream_load load;
    struct cairn_stream_modules modules;
};

void cairn_stream_processes_done(struct cairn_stream_processes *processes); /* all-zero is fine */

/* NULL: there is none of that number. Borrowed until it is removed. */
struct cairn_stream_space *
cairn_stream_processes_find(const struct cairn_stream_processes *processes, int pid);

/* A new one, all-zero but for its pid and version; NULL: memory is gone. */
struct cairn_stream_space *cairn_stream_processes_add(struct cairn_stream_processes *processes,
                                                      int pid);

/* The last item has its place then. */
void cairn_stream_processes_remove(struct cairn_stream_processes *processes, int pid);

#endif /* CAIRN_STREAM_PROCESSES_H */
