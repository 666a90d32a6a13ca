/* SPDX-License-Identifier: MIT */
/*
 * Runs: frames that repeat, as recursion makes them, so that a stack of 65,000 is some lines.
 *
 *     keys   m a b a b a b a b x        a frame's key is its function, or its address
 *              └─┬─┘                    first 1, period 2, times 4
 */
#ifndef CAIRN_CLI_STACK_RUNS_H
#define CAIRN_CLI_STACK_RUNS_H

#include <cairn/profile.h>

#include "base/buffer.h"

struct cli_stack_run {
    uint32_t first, period, times;
};

/* The run that begins at `at`, of the shortest period. False: too few frames to be worth a fold. */
bool cli_stack_run_at(const uint32_t *keys, uint32_t n, uint32_t at, struct cli_stack_run *ret_run);

/* A key for each frame, in `ret_keys`: `by_function`, where a frame has one, else by address.
 * `ret_keys` may be `frames`. */
void cli_stack_keys(const struct cairn_profile *profile, const uint32_t *frames, uint32_t n,
                    bool by_function, uint32_t *ret_keys);

/* "65,490 frames: f > g, 32,745 times", for the frames of the run behind its first period. */
void cli_stack_run_text(struct cairn_buffer *out, const struct cairn_profile *profile,
                        const uint32_t *frames, const struct cli_stack_run *run);

#endif /* CAIRN_CLI_STACK_RUNS_H */
