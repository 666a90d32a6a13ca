/* SPDX-License-Identifier: MIT */
/* Stacks: the profile that a snapshot fills, and the modules of frames in it. */
#ifndef CAIRN_SNAPSHOT_STACKS_H
#define CAIRN_SNAPSHOT_STACKS_H

#include <cairn/snapshot.h>

#include "profile/profile.h"

struct cairn_frame_row {
    uint64_t ip, sp;
    uint32_t number; /* of the profile */
    uint8_t how;     /* enum cairn_frame_how */
    bool is_kernel, exact, signal;
};

/* Rows of all threads of one look, 96 MB. Beyond it a stack has CAIRN_MAX_FRAMES at most. */
enum { CAIRN_STACK_ROWS_MAX = 4 << 20 };

struct cairn_stacks {
    struct cairn_profile *profile;
    struct cairn_table modules; /* start of a mapping -> module of the profile */
    uint32_t kernel_module;     /* 0: not asked for yet */
    bool kernel_hidden;         /* its addresses have no names for us */
    struct cairn_frame_row *rows;
    size_t n_rows, cap_rows;
    uint32_t max_frames; /* of one stack; 0: CAIRN_CURSOR_MAX_FRAMES */
};

int cairn_stacks_init(struct cairn_stacks *stacks, struct cairn_err *err);
void cairn_stacks_done(struct cairn_stacks *stacks);

/* Modules may lie elsewhere now. */
void cairn_stacks_forget_modules(struct cairn_stacks *stacks);

/* One more row, the next frame outwards. CAIRN_E_NOMEM. */
int cairn_stacks_add_kernel(struct cairn_stacks *stacks, const char *name, size_t size);
/* Frames that are known by their addresses alone, innermost first: none where nobody may name them.
 */
int cairn_stacks_add_kernel_at(struct cairn_stacks *stacks, const uint64_t *addresses, size_t n);
int cairn_stacks_add_user(struct cairn_stacks *stacks, struct cairn_unwind_space *space,
                          const struct cairn_cursor_frame *frame);

/* The stack of `n` rows from `first` on, and a sample of it with labels; `cut` and `name` may be
 * "". `*ret_stack` is its number. CAIRN_E_NOMEM. */
struct cairn_stack_owner {
    int pid, tid;
    const char *name, *cut;
};
int cairn_stacks_add_sample(struct cairn_stacks *stacks, size_t first, size_t n,
                            const struct cairn_stack_owner *owner, uint32_t *ret_stack);

#endif /* CAIRN_SNAPSHOT_STACKS_H */
