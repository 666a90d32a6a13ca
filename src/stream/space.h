/* SPDX-License-Identifier: MIT */
/*
 * Stream space: which code is mapped where in one process, event by event: of a recording, or of a
 * kernel that runs. Executable memory only. Nothing is read but the events.
 */
#ifndef CAIRN_STREAM_SPACE_H
#define CAIRN_STREAM_SPACE_H

#include "profile/profile.h"

enum {
    CAIRN_STREAM_MAPPINGS_MAX = 1 << 17, /* of one process: twice Linux's vm.max_map_count */
    CAIRN_STREAM_ALL_MAX = 1 << 22,      /* of all processes together */
    CAIRN_STREAM_MOVED_MAX = 1 << 28,    /* moved in memory for one process: a second or two */
    CAIRN_STREAM_ALL_MOVED_MAX = 1 << 30 /* for all of them, and copied at forks */
};

/* What the spaces of a stream have and cost together. */
struct cairn_stream_load {
    bool is_bounded; /* by the last three limits: a recording may lie, a kernel does not */
    size_t n_maps;
    uint64_t n_moved;    /* mappings that were copied at a fork, or made place for another one */
    uint64_t n_versions; /* of all spaces, ever */
};

/* One executable mapping. */
struct cairn_stream_map {
    uint64_t start, end, off; /* va, [start, end), and where that is in the file */
    uint64_t file;            /* a hash of the build ID, else of device and inode; 0: unknown */
    uint64_t inode;           /* of the file; 0: unknown */
    uint32_t path, build_id;  /* texts of the profile */
    uint32_t module;          /* of the profile; 0: no sample lies there yet */
    uint32_t n_execs;         /* of the process then; fewer than now: an older program maps it */
    uint8_t kind;             /* enum cairn_module_kind */
    bool is_image;            /* its bytes are those of a file with a name, or of the vdso */
    bool is_cxx;              /* libstdc++ or libc++ */
    bool is_symbol;           /* of the kernel: one function, whose name stands in for the path */
    bool is_deleted;          /* its path led to no file, or to another one, when it was recorded */
};

/* One process between two execve(2). */
struct cairn_stream_space {
    int pid;
    struct cairn_stream_map *maps; /* sorted, apart */
    size_t n, cap;
    uint64_t version;   /* of its maps; no two states of spaces with one load have the same */
    bool has_ended;     /* its first thread has, at least; of a kernel that runs */
    bool is_leaving;    /* inside of execve(2): what the old program had mapped is there, too */
    uint32_t n_execs;   /* that began */
    uint32_t program;   /* path of what it mapped first; a text, 0: unknown */
    uint64_t n_moved;   /* as of all spaces */
    uint32_t birth;     /* another one when a process of the same number begins */
    uint32_t n_threads; /* that were heard of and have not exited */
};

/* Another state of the mappings begins. Each function below that changes them does it. */
static inline void cairn_stream_space_touch(struct cairn_stream_space *space,
                                            struct cairn_stream_load *load)
{
    space->version = ++load->n_versions;
}

/* Lays a mapping over what is there: what it covers gives way. 1: done, 0: a limit is
 * reached and nothing changed, CAIRN_E_NOMEM. */
int cairn_stream_space_lay(struct cairn_stream_space *space, const struct cairn_stream_map *map,
                           struct cairn_stream_load *load);

/* Replaces the mappings of `to` by those of `from`; 1, 0 or CAIRN_E_NOMEM as above. */
int cairn_stream_space_copy(struct cairn_stream_space *to, const struct cairn_stream_space *from,
                            struct cairn_stream_load *load);

/* Another program begins: the mappings are old from now on. Not one of them is touched. */
void cairn_stream_space_leave(struct cairn_stream_space *space);

/* Forgets what is old. */
void cairn_stream_space_drop_old(struct cairn_stream_space *space, struct cairn_stream_load *load);

/* Forgets all mappings. */
void cairn_stream_space_clear(struct cairn_stream_space *space, struct cairn_stream_load *load);

/* The mapping that holds `va`, or NULL; borrowed until the space changes. */
struct cairn_stream_map *cairn_stream_space_find(const struct cairn_stream_space *space,
                                                 uint64_t va);

#endif /* CAIRN_STREAM_SPACE_H */
