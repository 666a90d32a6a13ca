/* SPDX-License-Identifier: MIT */
/*
 * Space: each process that is sampled, over time: which code is mapped where (stream/space.h), read
 * from /proc/PID/maps first, then as the kernel tells of mappings, forks and programs started; and
 * what the sampler keeps of the process beside that.
 */
#ifndef CAIRN_SAMPLE_SPACE_H
#define CAIRN_SAMPLE_SPACE_H

#include <cairn/maps.h>

#include "base/table.h"
#include "proc/kernel.h"
#include "proc/mem.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "sample/calls.h"
#include "sample/held.h"
#include "sample/share.h"
#include "stream/lifetime.h"
#include "stream/mapping.h"

enum { CAIRN_SPACES_MAX = 1 << 16 }; /* processes of one moment */

/* One process between two execve(2). */
struct cairn_space {
    struct cairn_stream_space code;  /* the first member: see struct cairn_stream_processes */
    bool is_partial;                 /* its maps may not be read: code may lie anywhere */
    bool is_known;                   /* its maps were read, or all that it mapped was told */
    bool is_seen;                    /* a sample came from it */
    bool has_cgroup;                 /* asked for already, since the last execve(2) */
    uint32_t cgroup;                 /* a text of the profile; 0: the root, or unknown */
    uint32_t root;                   /* where its paths begin: a number of `held` */
    struct cairn_mem mem;            /* its memory, while it lives */
    int8_t mem_state;                /* 0 not opened yet, 1 open, -1 cannot be read */
    uint64_t entry;                  /* AT_ENTRY; 0: unknown */
    uint32_t n_searches;             /* for the start of the program (start.h) */
    uint64_t searched_ns;            /* the last one */
    struct cairn_share share;        /* of the recorder's CPU time, for walks of its copies */
    struct cairn_guest_walk *guests; /* NULL: no interpreter is known to be in it */
    uint64_t guests_version;         /* of its code that was looked through for one; 0: none */
    uint32_t n_guest_looks;
    uint64_t guests_told_ns; /* when the kernel's side was told of them; 0: not yet */
};

struct cairn_spaces {
    struct cairn_profile *profile;     /* takes texts and modules; borrowed */
    struct cairn_stream_processes all; /* of struct cairn_space */
    struct cairn_calls calls;
    struct cairn_held held;
    struct cairn_span vdso; /* of this process; empty until asked for */
    char vdso_build_id[CAIRN_KERNEL_BUILD_ID_SIZE];
};

/* Texts and modules go into `profile`, which is borrowed. */
void cairn_spaces_init(struct cairn_spaces *spaces, struct cairn_profile *profile);
void cairn_spaces_done(struct cairn_spaces *spaces);

/* As cairn_stream_processes_get(). */
struct cairn_space *cairn_spaces_get(struct cairn_spaces *spaces, int pid);

/* Forgets the mappings; interpreters that were found stay: it may be the same program with new
 * code. */
void cairn_space_forget_maps(struct cairn_spaces *spaces, struct cairn_space *space);

/* Reads what is not known yet of a process that was there before us, its cgroup and where its paths
 * begin, once for each program; one that is gone keeps what it had from its parent. CAIRN_OK or
 * CAIRN_E_NOMEM. */
int cairn_space_know(struct cairn_spaces *spaces, struct cairn_space *space);

/* Reads /proc/PID/maps anew, with build IDs where the kernel tells them (6.11 and later). */
int cairn_space_read(struct cairn_spaces *spaces, struct cairn_space *space, struct cairn_err *err);

/* Takes in a mapping; what it covers of others gives way. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_space_add(struct cairn_spaces *spaces, struct cairn_space *space,
                    const struct cairn_stream_mapping *mapping);

/* The profile's module for a mapping, of whose file the sampler then has an open descriptor if that
 * can be. UINT32_MAX: memory is gone. */
uint32_t cairn_space_module(struct cairn_spaces *spaces, struct cairn_space *space,
                            struct cairn_stream_map *map);

/* Reads code or data of the process; returns how many bytes came. */
size_t cairn_space_peek(struct cairn_space *space, uint64_t va, void *out, size_t size);

/* A number for the place in a file that lies at `va`, the same in every process that maps the file;
 * false where no file is mapped there. */
bool cairn_space_place(struct cairn_space *space, uint64_t va, uint64_t *ret_place);

#endif /* CAIRN_SAMPLE_SPACE_H */
