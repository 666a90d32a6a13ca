/* SPDX-License-Identifier: MIT */
/*
 * Stream space: what code was mapped where in one process, as a recording tells it, event by event.
 * Executable memory only. Nothing is read but what the events say.
 */
#ifndef CAIRN_STREAM_SPACE_H
#define CAIRN_STREAM_SPACE_H

#include "profile/profile.h"

enum {
    CAIRN_STREAM_MAPPINGS_MAX = 1 << 16, /* of one process, as Linux's vm.max_map_count */
    CAIRN_STREAM_ALL_MAX = 1 << 22       /* of all processes together */
};

/* One executable mapping. */
struct cairn_stream_map {
    uint64_t start, end, off; /* va, [start, end), and where that is in the file */
    uint64_t file;            /* a hash of the build ID, else of device and inode; 0: unknown */
    uint32_t path, build_id;  /* texts of the profile */
    uint32_t module;          /* of the profile; 0: no sample lies there yet */
    uint8_t kind;             /* enum cairn_module_kind */
    bool is_symbol;           /* of the kernel: one function, whose name stands in for the path */
    bool is_old;              /* of the program that execve(2) ends */
    bool is_deleted;          /* its path led to no file, or to another one, when it was recorded */
};

/* One process between two execve(2). */
struct cairn_stream_space {
    int pid;
    struct cairn_stream_map *maps; /* sorted, apart */
    size_t n, cap;
    uint64_t version;   /* of its maps; no two states of spaces in a stream have the same */
    bool is_leaving;    /* inside of execve(2): what the old program had mapped is there, too */
    uint32_t program;   /* path of what it mapped first; a text, 0: unknown */
    uint32_t birth;     /* another one when a process of the same number begins */
    uint32_t n_threads; /* that were heard of and have not exited */
};

void cairn_stream_space_done(struct cairn_stream_space *space); /* all-zero is fine */

/* Lays a mapping over what is there: what it covers gives way. `*n_all` counts the mappings of all
 * spaces. 1: done, 0: a limit is reached and nothing changed, CAIRN_E_NOMEM. */
int cairn_stream_space_lay(struct cairn_stream_space *space, const struct cairn_stream_map *map,
                           size_t *n_all);

/* Replaces the mappings of `to` by those of `from`; 1, 0 or CAIRN_E_NOMEM as above. */
int cairn_stream_space_copy(struct cairn_stream_space *to, const struct cairn_stream_space *from,
                            size_t *n_all);

/* Another program begins: the mappings are old from now on. */
void cairn_stream_space_leave(struct cairn_stream_space *space);

/* Forgets what is old. */
void cairn_stream_space_drop_old(struct cairn_stream_space *space, size_t *n_all);

/* Forgets all mappings. */
void cairn_stream_space_clear(struct cairn_stream_space *space, size_t *n_all);

/* The mapping that holds `va`, or NULL; borrowed until the space changes. */
struct cairn_stream_map *cairn_stream_space_find(const struct cairn_stream_space *space,
                                                 uint64_t va);

#endif /* CAIRN_STREAM_SPACE_H */
