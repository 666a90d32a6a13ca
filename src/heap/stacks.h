/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Stacks: from a stack's hash to its number, and the log of them (rt/heap_state.h). The hash is one
 * of the frames from the outermost on, so that each frame of a walk that is remembered has one of
 * the stack up to it, and only what is new in a stack is hashed at all.
 *
 *     word of the table   | hash, 40 upper bits | number, 24 bits |   at hash & mask, or behind
 *
 * Found without a lock; equal are stacks whose hashes are. A new stack is held against a few words,
 * by 40 bits: two in 10^6 that of 500,000 stacks two are taken for one.
 */
#ifndef CAIRN_HEAP_STACKS_H
#define CAIRN_HEAP_STACKS_H

#include "heap/modules.h"
#include "heap/state.h"
#include "unwind/local.h"

enum {
    CAIRN_HEAP_STACKS_A_CHUNK = CAIRN_HEAP_CHUNK / (int)sizeof(struct cairn_heap_stack),
    CAIRN_HEAP_STACK_CHUNKS = (CAIRN_HEAP_MAX_STACKS + 1) / CAIRN_HEAP_STACKS_A_CHUNK
};

struct cairn_heap_stack_table {
    uint64_t mask;
    _Atomic(uint64_t) words[];
};

struct cairn_heap_stacks {
    _Atomic(struct cairn_heap_stack_table *) table; /* those that were too small stay mapped */
    _Atomic(uint64_t) seed; /* what an empty stack's hash is; another one where other code has come
                               to lie at addresses that stacks went through */
    struct cairn_lock lock; /* guards what follows, and who adds */
    uint32_t n;             /* numbers given out */
    uint64_t *hashes;       /* by number, for a larger table */
    uint32_t hashes_room;
    uint32_t n_logs, n_stack_chunks; /* chunks */
    uint8_t *log;                    /* the present one */
    uint32_t log_used;
    _Atomic(struct cairn_heap_stack *) chunks[CAIRN_HEAP_STACK_CHUNKS];
};

/* A stack on its way into the log, outermost frame first: the first n_shared are those of the stack
 * `base`, the others rets[0 .. n). */
struct cairn_heap_new_stack {
    const struct cairn_local_frame *frames; /* innermost first, `n` in all */
    uint32_t n, n_shared, base;
    uint32_t n_cut;
    int end;
    uint8_t flags; /* enum cairn_heap_log_flag */
};

/* Makes number 0. False: no room. */
bool cairn_heap_stacks_init(struct cairn_heap_stacks *stacks, struct cairn_tracked_state *state);

static inline uint64_t cairn_heap_hash_step(uint64_t hash, uintptr_t ret)
{
    uint64_t mixed = ret * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ (mixed >> 32 | mixed << 32)) * UINT64_C(0xff51afd7ed558ccd);
}

/* A word of the table, also where it is kept elsewhere; no other one is of that hash for as long as
 * the table lives. */
static inline uint64_t cairn_heap_stacks_word(uint64_t hash, uint32_t number)
{
    return hash >> CAIRN_HEAP_STACK_BITS << CAIRN_HEAP_STACK_BITS | number;
}

static inline bool cairn_heap_stacks_is_of(uint64_t word, uint64_t hash)
{
    return (word ^ hash) >> CAIRN_HEAP_STACK_BITS == 0 && word;
}

static inline uint32_t cairn_heap_stacks_number(uint64_t word)
{
    return (uint32_t)word & CAIRN_HEAP_MAX_STACKS;
}

/* A stack's number; 0: it has none. */
static inline uint32_t cairn_heap_stacks_find(const struct cairn_heap_stacks *stacks, uint64_t hash)
{
    const struct cairn_heap_stack_table *table =
        atomic_load_explicit(&stacks->table, memory_order_acquire);
    for (uint64_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        uint64_t word = atomic_load_explicit(&table->words[at], memory_order_relaxed);
        if (__builtin_expect(cairn_heap_stacks_is_of(word, hash), 1))
            return cairn_heap_stacks_number(word);
        if (!word)
            return 0;
    }
}

/* The number of that stack, given to it if it had none; then its record is as `new` has it. 0: no
 * room. */
uint32_t cairn_heap_stacks_add(struct cairn_heap_stacks *stacks, struct cairn_tracked_state *state,
                               struct cairn_heap_modules *modules, uint64_t hash,
                               const struct cairn_heap_new_stack *new, bool *ret_is_new);

/* The number of the same stack for blocks that are ignored (CAIRN_HEAP_LOG_IGNORED). 0: no room. */
uint32_t cairn_heap_stacks_ignored(struct cairn_heap_stacks *stacks,
                                   struct cairn_tracked_state *state,
                                   struct cairn_heap_modules *modules, uint32_t number);

/* The counts of a stack that has a number. */
static inline struct cairn_heap_stack *cairn_heap_stacks_at(const struct cairn_heap_stacks *stacks,
                                                            uint32_t number)
{
    struct cairn_heap_stack *chunk = atomic_load_explicit(
        &stacks->chunks[number / CAIRN_HEAP_STACKS_A_CHUNK], memory_order_acquire);
    return chunk + number % CAIRN_HEAP_STACKS_A_CHUNK;
}

#endif /* CAIRN_HEAP_STACKS_H */
