/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Plans: how a function can be diverted by changing one instruction. cairn_hook_plan() in
 * <cairn/hook.h> is the entry. A new CPU needs a planner, an encoder of jumps, and a row in plan.c.
 */
#ifndef CAIRN_HOOK_PLAN_H
#define CAIRN_HOOK_PLAN_H

#include <cairn/hook.h>

#include "base/span.h"

/* Fills an all-zero plan; false: `reason` and `reason_va` say why not. */
typedef bool cairn_hook_planner_fn(const struct cairn_hook_function *function,
                                   struct cairn_hook_plan *plan);
/* Writes the jumps over copies of what is there. The target is in the plan's range; false: no
 * instruction can be there. */
typedef bool cairn_hook_aim_fn(const struct cairn_hook_plan *plan, uint64_t target_va,
                               struct cairn_hook_patch *patch);

cairn_hook_planner_fn cairn_hook_plan_x86_64, cairn_hook_plan_aarch64;
cairn_hook_aim_fn cairn_hook_aim_x86_64, cairn_hook_aim_aarch64;

/* For planners. The bytes from `va` on to the end of what is given; empty outside of it. */
struct cairn_span cairn_hook_bytes_at(const struct cairn_hook_function *f, uint64_t va);

/* Chooses the 8 bytes that hold [patch_va, patch_va + patch_bytes). False: they are not in one line
 * of the cache, or not among the given bytes, or not aligned where they must be. */
bool cairn_hook_find_word(const struct cairn_hook_function *f, bool must_align,
                          struct cairn_hook_plan *plan);

/* The lowest target in [low, high) where an island can be; 0: there is none. */
uint64_t cairn_hook_find_island(const struct cairn_hook_function *f, uint64_t low, uint64_t high);

/* Can what must be moved be moved? Else `reason` says why. */
bool cairn_hook_try_move(const struct cairn_hook_function *f, struct cairn_hook_plan *plan);

bool cairn_hook_refuse(struct cairn_hook_plan *plan, enum cairn_hook_reason reason, uint64_t va);

#endif /* CAIRN_HOOK_PLAN_H */
