/* SPDX-License-Identifier: MIT */
/*
 * Heap holds: what keeps the blocks of a running process that a tracker is in (<cairn/heap.h>): the
 * shortest path of pointers from a root to one block, or which blocks keep most of the others. The
 * process is read once, while it runs.
 *
 * Threads: one object may be used by one thread at a time.
 */
#ifndef CAIRN_HEAP_HOLDS_H
#define CAIRN_HEAP_HOLDS_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/heap.h>
#include <cairn/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set .size; zero means the default. */
struct cairn_heap_holds_opts {
    size_t size;
    /* Any address in the block that is asked about. If there are several, the first block that is
     * held counts, else the first live one. If there are none, only dominators can be asked
     * for. Borrowed until the call returns. */
    const uint64_t *vas;
    size_t n_vas;
    size_t n_paths;   /* pointers to the block whose paths are reported; 0: one */
    int dominators;   /* nonzero: cairn_heap_holds_node() is asked for */
    int consistent;   /* nonzero: the process is stopped while it is read */
    const char *core; /* path of a core file, which is read in place of the process; `pid` does not
                         count. NULL: none. Borrowed until the call returns */
};

struct cairn_heap_holds;

/* CAIRN_E_MISSING: the process is not there, is not tracked, or ended meanwhile; or no live block
 * is at that address. CAIRN_E_SUPPORT: as of cairn_heap_lost(). */
CAIRN_API int cairn_heap_holds_new(int pid, const struct cairn_heap_holds_opts *opts,
                                   struct cairn_heap_holds **ret_holds, struct cairn_err *err);
CAIRN_API void cairn_heap_holds_free(struct cairn_heap_holds *holds); /* accepts NULL */

/* The stacks of all that is reported; name its frames before they are read. Both are borrowed. */
CAIRN_API struct cairn_profile *cairn_heap_holds_profile(struct cairn_heap_holds *holds);
CAIRN_API struct cairn_heap *cairn_heap_holds_heap(struct cairn_heap_holds *holds);

/* How it went. Set .size. */
struct cairn_heap_holds_info {
    size_t size;
    uint64_t n_blocks, bytes; /* that live */
    uint64_t n_pointers;      /* between blocks */
    uint64_t read_bytes, duration_ns;
    uint64_t stopped_ns; /* with `consistent` */
    size_t n_paths;      /* that were found */
    int is_doubtful;     /* nonzero: only doubtful pointers lead to the block */
    uint32_t n_tries;    /* looks, until one was found that a second read confirms */
    int is_confirmed;    /* 0: pointers moved each time */
    uint64_t retained_bytes, retained_blocks; /* with dominators: all that is held */
    size_t n_nodes;
};
CAIRN_API void cairn_heap_holds_info(const struct cairn_heap_holds *holds,
                                     struct cairn_heap_holds_info *info);

/* What holds the first block of a path. Later versions add values at the end. */
enum cairn_heap_root {
    CAIRN_HEAP_ROOT_VARIABLE,     /* of a module, by name where it has a symbol */
    CAIRN_HEAP_ROOT_THREAD_LOCAL, /* thread-local data of thread `tid` */
    CAIRN_HEAP_ROOT_KEY,          /* pthread_setspecific(3) of `tid`, with key `number` */
    CAIRN_HEAP_ROOT_STACK,        /* of thread `tid`, in the frame `stack` where that is not 0 */
    CAIRN_HEAP_ROOT_REGISTER,     /* of thread `tid` */
    CAIRN_HEAP_ROOT_SIGNAL_STACK, /* sigaltstack(2) of thread `tid` */
    CAIRN_HEAP_ROOT_EPOLL,        /* epoll set of descriptor `number`, for descriptor `fd` */
    CAIRN_HEAP_ROOT_TIMER,        /* what a timer signals (timer_create(2)) */
    CAIRN_HEAP_ROOT_ENDED,        /* a thread that has ended and is not joined */
    CAIRN_HEAP_ROOT_FREE,         /* memory between blocks, which may be free (cairn-heap(1)) */
    CAIRN_HEAP_ROOT_MAPPING       /* other memory of the process */
};

/* One path. Set .size. Texts are borrowed until the object is freed. */
struct cairn_heap_holds_path {
    size_t size;
    enum cairn_heap_root root;
    uint64_t va;      /* where its pointer is; 0: in no memory */
    const char *name; /* "cache+8 in /usr/bin/server"; of a mapping "/memfd:x"; "" */
    int tid, number, fd;
    uint32_t stack; /* of the profile: one frame; 0: not known */
    size_t n_steps; /* blocks; the last one is what was asked about */
};
/* Returns 0 where there is no such path. */
CAIRN_API int cairn_heap_holds_path(const struct cairn_heap_holds *holds, size_t index,
                                    struct cairn_heap_holds_path *path);

/* One block. Set .size. */
struct cairn_heap_holds_step {
    size_t size;
    uint64_t va, bytes, age_ns;
    uint64_t from;   /* how far into the block before this one its pointer is; of the first one 0 */
    uint64_t into;   /* how far into this block it points */
    int is_doubtful; /* nonzero: to its end, or with a tag */
    uint32_t stack;  /* of the profile; 0: none was taken */
    const char *type; /* of a class with virtual functions: its mangled name behind _ZTV; "" */
};
CAIRN_API int cairn_heap_holds_step(const struct cairn_heap_holds *holds, size_t path, size_t index,
                                    struct cairn_heap_holds_step *step);

/* The block that was asked about; its `from` and `into` are 0. Returns 0 where none was. */
CAIRN_API int cairn_heap_holds_block(const struct cairn_heap_holds *holds,
                                     struct cairn_heap_holds_step *block);

/*
 * What keeps what: blocks by the stack that allocated them, below the blocks that they would be
 * free without (dominators). Blocks of one stack below each other are one node. Nodes are numbered
 * from 0, each behind the one above it; of those at the top `above` is SIZE_MAX: they are roots.
 */
struct cairn_heap_holds_node {
    size_t size;
    size_t above;
    const char *root; /* of a node at the top: what it is, "cache in /usr/bin/server"; else NULL */
    uint32_t stack;   /* of the profile */
    uint64_t bytes, blocks;                   /* its own */
    uint64_t retained_bytes, retained_blocks; /* and of all below it */
};
CAIRN_API int cairn_heap_holds_node(const struct cairn_heap_holds *holds, size_t index,
                                    struct cairn_heap_holds_node *node);

/* A profile of the nodes with values retained_space and retained_objects, each node one frame,
 * which `name` gives a text (borrowed until its next call). */
typedef const char *(*cairn_heap_holds_name_fn)(void *ctx,
                                                const struct cairn_heap_holds_node *node);
CAIRN_API int cairn_heap_holds_retained(const struct cairn_heap_holds *holds,
                                        cairn_heap_holds_name_fn name, void *ctx,
                                        struct cairn_profile **ret_profile, struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_HEAP_HOLDS_H */
