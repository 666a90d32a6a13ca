/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_SYMBOL_INDEX_THREADS_H
#define CAIRN_SYMBOL_INDEX_THREADS_H

#include <stddef.h>

enum { CAIRN_INDEX_THREADS_MAX = 64 };

/* Does piece `i` of the work, in thread number `thread`. */
typedef void (*cairn_index_work)(void *ctx, size_t i, unsigned thread);

/* Runs `work` for each i below n, by up to n_threads threads, and returns when all are done. The
 * calling thread is one of them, number 0. */
void cairn_index_share_out(unsigned n_threads, size_t n, cairn_index_work work, void *ctx);

#endif /* CAIRN_SYMBOL_INDEX_THREADS_H */
