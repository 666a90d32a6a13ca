/* SPDX-License-Identifier: MIT */
/* Stacks: the profile that a snapshot fills, and the modules of frames in it. */
#ifndef CAIRN_SNAPSHOT_STACKS_H
#define CAIRN_SNAPSHOT_STACKS_H

#include <cairn/snapshot.h>

#include "profile/profile.h"
#include "stream/module.h"

struct cairn_frame_row {
    uint64_t ip, sp;
    uint32_t number; /* of the profile */
    uint8_t how;     /* enum cairn_frame_how */
    bool is_kernel, exact, signal;
    bool is_guest, own; /* a frame of an interpreter; native code of one */
    uint8_t guest_kind; /* enum cairn_guest_kind */
    bool is_tail_called, is_about;
    uint32_t trace; /* number; 0: none */
};

/* Rows of all threads of one look, 96 MB. Beyond it a stack has CAIRN_MAX_FRAMES at most. */
enum { CAIRN_STACK_ROWS_MAX = 4 << 20 };

struct cairn_stacks {
    struct cairn_profile *profile;
    struct cairn_stream_space code; /* the mappings with a path that frames were met in */
    struct cairn_stream_load load;
    struct cairn_stream_modules modules;
    uint32_t kernel_module; /* 0: not asked for yet */
    bool kernel_hidden;     /* its addresses have no names for us */
    struct cairn_frame_row *rows;
    size_t n_rows, cap_rows;
    uint32_t max_frames;                /* of one stack; 0: CAIRN_CURSOR_MAX_FRAMES */
    struct cairn_target_guests *guests; /* NULL: interpreters are nobody's business */
    struct cairn_guest_row *guest_rows; /* states of all threads of one look */
    size_t n_guest_rows, cap_guest_rows;
};

/* A state of an interpreter. Texts are static, or the space's until its next refresh. */
struct cairn_guest_row {
    const char *name; /* of the interpreter */
    char version[24];
    uint32_t module; /* of the profile's texts: its path */
    uint64_t va;
    const char *mode, *reason; /* NULL: none */
    bool is_unread;            /* `reason` says why no frames were read */
};

int cairn_stacks_init(struct cairn_stacks *stacks, struct cairn_err *err);
void cairn_stacks_done(struct cairn_stacks *stacks);

/* Modules may lie elsewhere now. */
void cairn_stacks_forget_modules(struct cairn_stacks *stacks);

/* Room for a row behind the others, which n_rows does not count yet. NULL: memory is gone. */
struct cairn_frame_row *cairn_stacks_new_row(struct cairn_stacks *stacks);

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
    int pid, tid; /* `tid` 0: it is of coroutines, which no thread runs, */
    const char *name, *cut;
    const char *coroutine; /* and how they rest; NULL: it is of a thread */
    int64_t n;             /* of coroutines; 0: one stack */
};
int cairn_stacks_add_sample(struct cairn_stacks *stacks, size_t first, size_t n,
                            const struct cairn_stack_owner *owner, uint32_t *ret_stack);

#endif /* CAIRN_SNAPSHOT_STACKS_H */
