/* SPDX-License-Identifier: MIT */
/*
 * Holds, within the room: one look at which block points to which, and what is made of it.
 *
 *     holds.c        public calls; looks again where pointers moved
 *     holds_look.c   state ─► blocks ─► roots, pointers ─► graph
 *     holds_path.c   the graph's paths ─► blocks with the places of their pointers, read again
 *     holds_root.c   names of roots
 *     holds_thread.c where thread-local data are
 *     holds_frame.c  the frames of roots on stacks
 *     holds_tree.c   dominators ─► nodes by stack
 */
#ifndef CAIRN_WATCH_HOLDS_H
#define CAIRN_WATCH_HOLDS_H

#include <cairn/heap_holds.h>

#include "base/strings.h"
#include "reach/graph.h"
#include "watch/core.h"
#include "watch/lost_pass.h"
#include "watch/variables.h"

/* Ranks of roots: what says most about the holder comes first. */
enum cairn_holds_rank {
    CAIRN_HOLDS_DATA,    /* of a module */
    CAIRN_HOLDS_KERNEL,  /* va: number of its word */
    CAIRN_HOLDS_MAPPING, /* other memory, thread-local data too */
    CAIRN_HOLDS_STACK,
    CAIRN_HOLDS_WORD, /* registers and the like; va: number of its word */
    CAIRN_HOLDS_FREE  /* memory between blocks */
};
_Static_assert(CAIRN_HOLDS_FREE < (int)CAIRN_REACH_RANKS, "ranks");

struct cairn_holds_path {
    enum cairn_heap_root root;
    uint64_t va;
    uint32_t name; /* a string */
    int tid, number, fd;
    int first_key; /* of those that the table at the first step has; 0: it is no table of keys */
    uint32_t stack;
    size_t first, n; /* steps */
};

struct cairn_holds_step {
    uint64_t va, bytes, from, into;
    uint32_t stack, epoch; /* of the state */
    uint32_t type;         /* a string */
    bool doubtful;
};

struct cairn_holds_node {
    uint32_t above; /* UINT32_MAX: it is a root */
    uint32_t stack; /* of the state */
    uint32_t root;  /* a string, of those at the top */
    uint64_t bytes, blocks, retained_bytes, retained_blocks;
};

struct cairn_heap_holds {
    struct cairn_heap_holds_opts opts;
    struct cairn_heap_core *core; /* NULL: it is of a process */
    struct cairn_lost_search search;
    struct cairn_heap *heap;
    struct cairn_profile *profile;
    uint32_t *stacks; /* by number in the state: the profile's; UINT32_MAX: none */
    struct cairn_reach_graph *graph;
    uint32_t *of_block; /* by block: its stack, */
    uint16_t *epochs;   /* and when it was born */
    size_t n_of, cap_of, cap_epochs;
    uint32_t target; /* block; UINT32_MAX: none */
    struct cairn_variables *variables;
    struct cairn_strings strings;
    struct cairn_holds_path *paths;
    size_t n_paths, cap_paths;
    struct cairn_holds_step *steps;
    size_t n_steps, cap_steps;
    struct cairn_holds_node *nodes;
    size_t n_nodes, cap_nodes;
    bool is_doubtful, is_confirmed;
    uint32_t n_tries;
    uint64_t duration_ns, stopped_ns;
};

/* Reads the process; what an earlier look found is forgotten. */
int cairn_holds_look(struct cairn_heap_holds *holds, struct cairn_err *err);

/* The thread pointers of threads, as far as registers did not tell them. */
void cairn_holds_find_threads(struct cairn_lost_search *search);

/* Fills paths and steps. Clears is_confirmed if a pointer was gone when it was read again. */
int cairn_holds_find_paths(struct cairn_heap_holds *holds, struct cairn_err *err);

/* What a root is: fills all of the path but its steps. */
int cairn_holds_name_root(struct cairn_heap_holds *holds, const struct cairn_reach_root *root,
                          struct cairn_holds_path *ret_path, struct cairn_err *err);
/* The same in a few words, for a node; a string. UINT32_MAX: memory is gone. */
uint32_t cairn_holds_root_text(struct cairn_heap_holds *holds, const struct cairn_reach_root *root);

/* The frames that the paths' roots on stacks are in, into the profile. Reads all threads. */
int cairn_holds_find_frames(struct cairn_heap_holds *holds, struct cairn_err *err);

int cairn_holds_find_nodes(struct cairn_heap_holds *holds, struct cairn_err *err);

#endif /* CAIRN_WATCH_HOLDS_H */
