/* SPDX-License-Identifier: MIT */
/* Plan: how a function of the own process is diverted, and when its padding is free again. */
#ifndef CAIRN_EMBED_PLAN_H
#define CAIRN_EMBED_PLAN_H

#include "embed/code.h"
#include "embed/embed.h"
#include "embed/place.h"

/* The instructions around a function, as they are and as the file has them. */
struct cairn_embed_window {
    uint64_t low;
    size_t n;
    bool has_file; /* the file is the one that is mapped, and was read */
    uint8_t code[CAIRN_HOOK_BEFORE + CAIRN_HOOK_BEHIND];
    uint8_t file[CAIRN_HOOK_BEFORE + CAIRN_HOOK_BEHIND];
};

int cairn_embed_window_read(const struct cairn_embed_memory *memory,
                            const struct cairn_embed_place *place, uint64_t entry_va,
                            struct cairn_embed_window *ret, struct cairn_err *err);

int cairn_embed_plan(const struct cairn_embed_window *window, const struct cairn_embed_place *place,
                     uint64_t entry_va, unsigned flags, size_t island_bytes,
                     struct cairn_hook_plan *ret_plan, struct cairn_err *err);

/* False: `reason` says why. */
bool cairn_embed_plan_move(const struct cairn_embed_window *window, uint64_t entry_va,
                           const struct cairn_hook_plan *plan, uint64_t copy_va,
                           struct cairn_hook_copy *ret_copy);

int cairn_embed_fail_write(struct cairn_err *err, uint64_t va);

enum { CAIRN_EMBED_AWAY_MS = 100 };

/* Was each other thread seen outside of [va, va + n), after nothing led there any more? A thread
 * whose signal handler will return there is not. Waits CAIRN_EMBED_AWAY_MS at most. */
bool cairn_embed_are_away(const struct cairn_embed_memory *memory, uint64_t va, size_t n);

#endif /* CAIRN_EMBED_PLAN_H */
