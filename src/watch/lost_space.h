/* SPDX-License-Identifier: MIT */
/*
 * Lost space: the memory of a process as a search for lost blocks reads it, while the process runs.
 *
 *     mapping       what is read of it
 *     private       pages that are in memory or swapped out and not the file's any more: all that
 *                   was ever written, whatever its protection is now
 *     shared        all of it, by its file in memory (lost_shared.h), or the pages that the process
 *                   has touched; neither devices nor the tracker's state
 *     a stack       from its thread's stack pointer on, if that is all that it is (lost_threads.h)
 *     an arena      glibc's: live blocks alone. What is free there still holds pointers
 *
 * What a mapping holds besides live blocks is a root.
 */
#ifndef CAIRN_WATCH_LOST_SPACE_H
#define CAIRN_WATCH_LOST_SPACE_H

#include <cairn/maps.h>

#include "base/buffer.h"
#include "proc/mem.h"
#include "proc/present.h"
#include "reach/reach.h"

enum { CAIRN_LOST_PAGE = 4096 };

struct cairn_heap_core;

enum cairn_lost_kind {
    CAIRN_LOST_OTHER,
    CAIRN_LOST_BREAK, /* of brk(2) */
    CAIRN_LOST_STACK, /* of the main thread */
    CAIRN_LOST_GLIBC  /* a part of glibc's own file */
};

struct cairn_lost_map {
    uint64_t start, end;
    uint64_t live;  /* nothing before it is read: a stack's dead part */
    uint32_t flags; /* enum cairn_map_flag */
    enum cairn_lost_kind kind;
    uint64_t off; /* in its file */
};

struct cairn_lost_ranges {
    struct cairn_reach_range *items; /* ascending */
    size_t n, cap;
};

struct cairn_lost_space {
    int pid;
    const struct cairn_heap_core *core; /* its memory is read; borrowed. NULL: a process's */
    uint16_t machine;                   /* EM_* */
    struct cairn_mem mem, file; /* `file`: by /proc/PID/mem, for what process_vm_readv(2) refuses */
    bool has_file;
    struct cairn_present present;
    struct cairn_lost_map *maps;
    size_t n_maps, cap_maps;
    struct cairn_lost_ranges arenas; /* what is no block there is no root */
    struct cairn_lost_ranges tables; /* where vtables may be */
    bool has_glibc;
    bool is_gone;             /* the process has ended, or is another program now */
    uint64_t begun;           /* where the arguments of its program lie: tells an execve(2) */
    uint64_t break_start;     /* of brk(2): data of the program may lie before it */
    uint64_t break_end;       /* 0: where its mapping ends */
    uint64_t n_bytes;         /* that were read */
    uint64_t n_devices;       /* mappings of devices, which are not read */
    uint64_t untouched_bytes; /* of writable shared mappings whose file cannot be asked */
    uint64_t missing_bytes;   /* that a core file should have, but ends before */
    uint64_t absent_bytes;    /* writable, but not among what was to be written to the core file */
    uint8_t *piece;
};

int cairn_lost_space_open(int pid, struct cairn_lost_space *ret_space, struct cairn_err *err);
/* The core is of this machine. */
int cairn_lost_space_open_core(const struct cairn_heap_core *core,
                               struct cairn_lost_space *ret_space, struct cairn_err *err);
void cairn_lost_space_close(struct cairn_lost_space *space); /* all-zero is fine */

/* Reads the mappings anew; what was known of the old ones is forgotten. CAIRN_E_MISSING: the
 * process has ended, or has become another program. */
int cairn_lost_space_load(struct cairn_lost_space *space, struct cairn_err *err);

/* Is it the same program still? CAIRN_E_MISSING: no. */
int cairn_lost_space_check(struct cairn_lost_space *space, struct cairn_err *err);

/* The mapping that has `va`; NULL: none has. */
struct cairn_lost_map *cairn_lost_space_map(struct cairn_lost_space *space, uint64_t va);

/* Memory for cairn_reach_flood(). Borrows the space. */
struct cairn_reach_memory cairn_lost_space_memory(struct cairn_lost_space *space);

/* Zero for what cannot be read. False: the process is gone. */
bool cairn_lost_space_read(struct cairn_lost_space *space, uint64_t va, uint8_t *to, size_t size);

/* All that is read of the process, piece by piece in ascending order; a piece begins at a multiple
 * of 8 bytes. `with_arenas`: mappings that are an arena as a whole, too. Less than 0 ends it, and
 * is returned. */
typedef int (*cairn_lost_piece_fn)(void *ctx, uint64_t va, struct cairn_span bytes);
int cairn_lost_space_each(struct cairn_lost_space *space, bool with_arenas,
                          cairn_lost_piece_fn each, void *ctx, struct cairn_err *err);

/* None overlaps another. CAIRN_E_NOMEM. */
int cairn_lost_ranges_add(struct cairn_lost_ranges *ranges, uint64_t start, uint64_t end);

/* Finds glibc's arenas among the mappings: those of threads by the blocks, which are sealed. A
 * mapping that looks otherwise is no arena, and all of it is a root. */
int cairn_lost_space_find_arenas(struct cairn_lost_space *space,
                                 const struct cairn_reach_blocks *blocks, struct cairn_err *err);

#endif /* CAIRN_WATCH_LOST_SPACE_H */
