/* SPDX-License-Identifier: MIT */
/*
 * Lost pass: one look at all memory of a process.
 *
 *     the first one    state ─► all blocks ─► roots ─► flood           ─► suspects: not reached
 *     each later one   state ─► suspects   ─► roots, all other blocks ─► flood ─► fewer suspects
 *
 * While the process runs, a pointer may move from memory that is not read yet to memory that was
 * read: then the pass misses it. What is lost stays so; what is not is found by a later pass. A
 * block that doubtful pointers alone led to is a suspect too, and stays doubtful until a pass finds
 * it held.
 */
#ifndef CAIRN_WATCH_LOST_PASS_H
#define CAIRN_WATCH_LOST_PASS_H

#include "watch/heap.h"
#include "watch/lost_kernel.h"
#include "watch/lost_threads.h"

/* A block as the tracker has it. Another one that is born at its address mostly differs in stack,
 * size or epoch. */
struct cairn_lost_suspect {
    uint64_t va, size;
    uint32_t stack, epoch;
    bool is_doubtful; /* a doubtful pointer led to it */
};

struct cairn_lost_suspects {
    struct cairn_lost_suspect *items; /* ascending */
    size_t n, cap;
};

struct cairn_lost_search {
    int pid;
    struct cairn_heap_core *core; /* it is searched; borrowed. NULL: the process */
    struct cairn_heap *core_heap; /* its heap, unless it is lent: it is read once */
    struct cairn_tracer *tracer;  /* it holds all threads; NULL: they run */
    struct cairn_lost_space space;
    struct cairn_lost_threads threads;
    struct cairn_lost_kernel kernel;
    struct cairn_reach_blocks blocks; /* of the last pass: all of them */
    struct cairn_reach *reach; /* of the last pass: the suspects of the pass before, or all */
    struct cairn_lost_suspects suspects;
    struct cairn_lost_suspects doubtful; /* of the rows: those among the suspects */
    size_t n_lost;                       /* suspects that are not doubtful */
    struct cairn_lost_ignored {
        uint64_t *vas;
        size_t n, cap;
    } ignored;        /* blocks of the first pass that the program says are no leaks: roots */
    bool has_rounded; /* sizes of blocks may be those that malloc made of what was asked for */
    bool has_gaps;    /* the table may lack blocks: memory between blocks may hold pointers */
    uint64_t n_blocks, bytes;         /* of the first pass */
    size_t n_passes, n_gone, n_saved; /* of those n_lost: that were freed, or found after all */
};

/* Is it that block still, as far as can be told? */
bool cairn_lost_is_same(const struct cairn_lost_suspect *suspect,
                        const struct cairn_heap_block *block);

/* CAIRN_E_NOMEM. */
int cairn_lost_suspects_add(struct cairn_lost_suspects *to,
                            const struct cairn_lost_suspect *suspect);

/* Opens the space and the threads. `core`: NULL, or what is searched in place of the process. */
int cairn_lost_search_open(struct cairn_lost_search *search, struct cairn_heap_core *core,
                           struct cairn_err *err);

/* The tracker's state, which says whether its blocks can be gone through. CAIRN_E_SUPPORT: not. */
int cairn_lost_pass_read_state(struct cairn_lost_search *search, struct cairn_heap **ret_heap,
                               struct cairn_err *err);
/* Gives it back; NULL is fine. */
void cairn_lost_pass_drop_state(struct cairn_lost_search *search, struct cairn_heap *heap);
/* Mappings, arenas, registers and stacks, before memory is read. `blocks`: all of them. */
int cairn_lost_pass_begin(struct cairn_lost_search *search, const struct cairn_reach_blocks *blocks,
                          enum cairn_lost_stop stop, struct cairn_err *err);
/* Stops all threads; search->tracer holds them from then on. */
int cairn_lost_stop_process(struct cairn_lost_search *search, struct cairn_err *err);

int cairn_lost_pass_first(struct cairn_lost_search *search, struct cairn_err *err);
int cairn_lost_pass_next(struct cairn_lost_search *search, enum cairn_lost_stop stop,
                         struct cairn_err *err);
void cairn_lost_search_done(struct cairn_lost_search *search);

/* lost_rows.c: what was found, by stack. */
int cairn_lost_rows(struct cairn_lost_search *search, const struct cairn_heap_filter *filter,
                    bool is_sure, struct cairn_heap_lost *lost, struct cairn_err *err);

#endif /* CAIRN_WATCH_LOST_PASS_H */
