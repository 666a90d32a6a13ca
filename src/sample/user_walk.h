/* SPDX-License-Identifier: MIT */
/*
 * User walk: the one function that turns what was caught of a thread's user side into frames.
 *
 * By unwind tables where the kernel's side of bpf/ walked; else by frame pointers: the kernel's
 * walk where it made one, else our own over a copy of the stack.
 */
#ifndef CAIRN_SAMPLE_USER_WALK_H
#define CAIRN_SAMPLE_USER_WALK_H

#include <cairn/unwind_end.h>

#include "base/span.h"
#include "proc/regs.h"
#include "stream/push.h"

enum { CAIRN_WALK_FRAMES_MAX = 1024 };

enum { CAIRN_WALK_TOP_WORDS = 2 };

/* What was caught. */
struct cairn_user_sample {
    const uint64_t *walked; /* frames as the kernel's side of bpf/ found them, leaf first; NULL: it
                               did not */
    size_t n_walked;
    uint32_t n_beyond;     /* how many frames more the stack has (cairn_bpf_frame_at) */
    uint8_t walked_end;    /* enum cairn_unwind_end */
    const uint64_t *chain; /* where the CPU was, then return addresses; NULL: walk yourself */
    size_t n_chain;
    size_t chain_max;                   /* the kernel stops there */
    struct cairn_regs regs;             /* without a chain: where the CPU was */
    struct cairn_span stack;            /* and a copy of the stack from regs.sp upwards */
    bool stack_goes_on;                 /* the copy ends before the stack does */
    uint64_t top[CAIRN_WALK_TOP_WORDS]; /* what lies where the stack pointer points; 0: unknown */
};

/* What is known of the process's code; answers may come from a cache. */
struct cairn_walk_code {
    void *ctx;
    bool (*is_code)(void *ctx, uint64_t va);   /* executable memory? */
    bool (*is_return)(void *ctx, uint64_t va); /* does a call end there, or begins a goroutine?
                                                  True where unknown */
    bool (*is_start)(void *ctx, uint64_t va);  /* code that calls main() or a thread's function? */
    uint64_t (*called)(void *ctx, uint64_t ret); /* the function that the call before `ret` leads
                                                    to; 0: unknown */
    bool (*is_made)(void *ctx, uint64_t va);     /* code that was made at run time? */
};

struct cairn_user_walk {
    struct cairn_stream_frame frames[CAIRN_WALK_FRAMES_MAX]; /* leaf first */
    size_t n;
    size_t gap_at;      /* before this frame, not the innermost, there are */
    uint64_t n_missing; /* so many more, which are not kept; 0: no gap */
    enum cairn_unwind_end end;
};

/* Of more frames than there is capacity for, these outermost ones are kept in a ring while a walk
 * goes on; cairn_user_walk_close_gap() puts them in order. */
enum { CAIRN_WALK_OUTER_FRAMES = 256, CAIRN_WALK_BEYOND_MAX = 1 << 20 };

/* False: no more frames are taken. */
bool cairn_user_walk_add(struct cairn_user_walk *walk, struct cairn_stream_frame frame);
void cairn_user_walk_close_gap(struct cairn_user_walk *walk);

/* Copies what is in use of a walk: it has a large array. */
void cairn_user_walk_copy(const struct cairn_user_walk *walk, struct cairn_user_walk *ret_copy);

/* Leads a walk on that ended where its copy did, by return addresses that frame pointers lead to;
 * that is why it ends then, too. */
void cairn_user_walk_on(struct cairn_user_walk *walk, const struct cairn_walk_code *code,
                        const uint64_t *returns, size_t n);

/* The last of all: a walk that has come to a start is whole, for beyond there is nothing to find.
 */
void cairn_user_walk_finish(struct cairn_user_walk *walk, const struct cairn_walk_code *code);

void cairn_user_walk(const struct cairn_user_sample *sample, const struct cairn_walk_code *code,
                     struct cairn_user_walk *ret_walk);

#endif /* CAIRN_SAMPLE_USER_WALK_H */
