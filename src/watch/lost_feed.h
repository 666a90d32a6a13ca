/* SPDX-License-Identifier: MIT */
/* Lost feed: which bytes of a process's memory are roots: those of no block, and not of glibc's
 * free memory. */
#ifndef CAIRN_WATCH_LOST_FEED_H
#define CAIRN_WATCH_LOST_FEED_H

#include "watch/lost_pass.h"

struct cairn_lost_feed {
    const struct cairn_lost_search *search;
    const struct cairn_reach_blocks *blocks;
    bool with_blocks; /* a block's bytes count, if it is no suspect */
    int (*root)(void *ctx, uint64_t va, struct cairn_span bytes); /* at a multiple of 8 bytes */
    void *ctx;
    size_t next;  /* suspect */
    size_t arena; /* those before it end before what is fed next */
};

/* The bytes of one piece, split at blocks and arenas; for cairn_lost_space_each(). */
int cairn_lost_feed_piece(void *ctx, uint64_t va, struct cairn_span bytes);

#endif /* CAIRN_WATCH_LOST_FEED_H */
