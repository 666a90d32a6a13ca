/* SPDX-License-Identifier: MIT */
/*
 * Stream processes: the space of each process by its pid, what the spaces share, and how threads
 * are called. What begins and ends them is in lifetime.h.
 */
#ifndef CAIRN_STREAM_PROCESSES_H
#define CAIRN_STREAM_PROCESSES_H

#include "stream/ended.h"
#include "stream/module.h"

/* What a source of events keeps of a process beside its mappings, and how it learns of its end. All
 * functions may be NULL. */
struct cairn_stream_source {
    size_t item_bytes; /* of a process: a space, and what the source keeps behind it */
    size_t n_max;      /* processes of one moment */
    /* What is kept is of a program, or a process, that is no more. */
    void (*item_reset)(struct cairn_stream_space *item);
    /* A child begins as its parent's twin. */
    void (*item_inherit)(struct cairn_stream_space *item, const struct cairn_stream_space *parent);
    /* The first thread exited, and most likely the process. */
    void (*item_end)(struct cairn_stream_space *item);
    /* Does no process have that number any more? NULL: events report each thread, and come in the
     * order of time: a process ends with its last thread. */
    bool (*item_is_over)(const struct cairn_stream_space *item);
};

struct cairn_stream_processes {
    const struct cairn_stream_source *source; /* static; NULL: a recording, which keeps nothing */
    struct cairn_stream_space **items;
    size_t n, cap;
    size_t sweep_at; /* so many are looked through for those that are over */
    struct cairn_table by_pid;
    struct cairn_table names;   /* tid -> text: how the thread is called */
    struct cairn_table threads; /* tid -> birth of its process, or what the source keeps of it */
    struct cairn_ended ended;   /* threads of which something may come yet, if the source asks */
    uint32_t n_births;
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
