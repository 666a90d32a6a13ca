/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_SYMBOL_INDEX_THREADS_H
#define CAIRN_SYMBOL_INDEX_THREADS_H

#include <stdbool.h>
#include <stddef.h>

enum { CAIRN_INDEX_THREADS_MAX = 64 };

/* `asked`, or for 0 the number of CPUs that the process may use. */
unsigned cairn_index_threads_of(unsigned asked);

/* Does piece `i` of the work, in thread number `thread`. */
typedef void (*cairn_index_work)(void *ctx, size_t i, unsigned thread);

/* Takes what came of piece `i`. False: this one stays, and so do all behind it. */
typedef bool (*cairn_index_take)(void *ctx, size_t i);

/* Runs `work` for each i below n, by up to n_threads threads, and returns when all are done. The
 * calling thread is one of them, number 0. */
void cairn_index_share_out(unsigned n_threads, size_t n, cairn_index_work work, void *ctx);

/* The same, and beside it `take`: for one piece at a time in the order of the pieces, by whichever
 * thread is done with one. Returns the number of pieces that were taken. */
size_t cairn_index_share_out_in_order(unsigned n_threads, size_t n, cairn_index_work work,
                                      cairn_index_take take, void *ctx);

#endif /* CAIRN_SYMBOL_INDEX_THREADS_H */
