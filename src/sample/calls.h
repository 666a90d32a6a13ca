/* SPDX-License-Identifier: MIT */
/*
 * Calls: does a call end before an address, and where does it lead? Read from the process's memory
 * while it lives, and remembered by file and offset: what one process taught holds for the next
 * one, and for samples of one that has ended.
 */
#ifndef CAIRN_SAMPLE_CALLS_H
#define CAIRN_SAMPLE_CALLS_H

#include "base/table.h"

struct cairn_space;
struct cairn_call;
struct cairn_known_call;

struct cairn_calls {
    struct cairn_table by_place; /* cairn_space_place() -> number below */
    struct cairn_known_call *known;
    size_t n, cap;
};

void cairn_calls_done(struct cairn_calls *calls);

/* Does a call end right before `va`? True where that cannot be told. */
bool cairn_calls_end(struct cairn_calls *calls, struct cairn_space *space, uint64_t va);

/* Is `va` the root of a goroutine's stack, to which its first function returns? No call is before
 * it. False where that cannot be told. */
bool cairn_calls_go_root(struct cairn_calls *calls, struct cairn_space *space, uint64_t va);

/* Where the call that ends right before `ret` leads; 0: there is none, or that is not known. */
uint64_t cairn_calls_lead(struct cairn_calls *calls, struct cairn_space *space, uint64_t ret);

/* The call before `ret` as the memory has it now, without the cache. */
bool cairn_call_read(struct cairn_space *space, uint64_t ret, struct cairn_call *ret_call);

/* Where a call leads, through a PLT entry where it goes by one; 0: not known. `*ret_final` is false
 * where the loader may still put another address there. */
uint64_t cairn_call_target(struct cairn_space *space, const struct cairn_call *call,
                           bool *ret_final);

#endif /* CAIRN_SAMPLE_CALLS_H */
