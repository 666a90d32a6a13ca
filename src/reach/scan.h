/* SPDX-License-Identifier: MIT */
/* Scan: the bytes of chosen blocks, one block after the other in the order of addresses. Blocks
 * that are near each other are read together. */
#ifndef CAIRN_REACH_SCAN_H
#define CAIRN_REACH_SCAN_H

#include "reach/reach.h"

struct cairn_reach_scan {
    struct cairn_reach *reach;
    const struct cairn_reach_memory *memory;
    bool (*wants)(void *ctx, uint32_t index); /* NULL: all blocks */
    /* A block's bytes, a large one's in several pieces; of an empty one no bytes. Less than 0 ends
     * the scan, and is returned. */
    int (*words)(void *ctx, uint32_t index, struct cairn_span bytes);
    void *ctx;
    uint64_t va, end_va; /* what the window holds */
};

/* CAIRN_E_STOPPED: memory.read() ended it. */
int cairn_reach_scan_run(struct cairn_reach_scan *scan, struct cairn_err *err);

#endif /* CAIRN_REACH_SCAN_H */
