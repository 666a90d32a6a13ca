/* SPDX-License-Identifier: MIT */
/*
 * Share: how much CPU time of the recorder the walks of one process's copied stacks may take, so
 * that no process makes the recorder compete with what it measures.
 *
 * A process starts with 0.5 s, enough for the unwind tables of large programs, and gains a fifth of
 * the time that passes, up to 0.5 s again. One walk may overdraw it; the process then waits.
 */
#ifndef CAIRN_SAMPLE_SHARE_H
#define CAIRN_SAMPLE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_share {
    uint64_t since_ns; /* the last time that was paid for; 0: nothing was asked for yet */
    int64_t left_ns;
};

/* May another walk start at `now_ns` (CLOCK_MONOTONIC)? */
bool cairn_share_is_left(struct cairn_share *share, uint64_t now_ns);

/* A walk took `cpu_ns`. */
void cairn_share_spend(struct cairn_share *share, uint64_t cpu_ns);

#endif /* CAIRN_SAMPLE_SHARE_H */
