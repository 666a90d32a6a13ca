/* SPDX-License-Identifier: MIT */
/*
 * Stacks: the dumps that are open, and which of them a line belongs to.
 *
 * A line of the capture form names its tag and its index; with CONFIG_PRINTK_CALLER also the thread
 * or CPU that printed it, and from newer printers the number of the dump. These make the key. Of
 * the dumps of one key a line can belong to those that expect its index:
 *
 *     key, phase, next index ──► bucket ──► none: lines are lost, or the head is
 *                                           one: it is that dump's
 *                                           several: stacks_choose.c
 *
 * How many dumps stand at which index is always known, for lines move one of equal ones on. Only
 * which dump of those it is can be unknown. Then the dumps are marked, see struct cairn_klog_dump.
 *
 * The end of a user stack has no line of its own. A dump ends when its thread begins another, when
 * it stood still for a second or for 2,000 lines, or with the log.
 *
 * A system call's kernel stack ends at the kernel's entry code (cairn_klog_stacks_ends_chain()). A
 * kernel stack that was printed whole before is a known chain: where one dump follows such a chain
 * with this line, and the others stand in such chains that never went on so, it is the one's.
 */
#ifndef CAIRN_KLOG_STACKS_H
#define CAIRN_KLOG_STACKS_H

#include <cairn/klog.h>

#include "base/strings.h"
#include "base/table.h"
#include "klog/printed.h"

enum {
    CAIRN_KLOG_OPEN_MAX = 10000,
    CAIRN_KLOG_FRAMES_MAX = 4096, /* of one dump; the printers stop at 64 a part */
    CAIRN_KLOG_BUCKETS = 4096,
    CAIRN_KLOG_CHOICES_MAX = 64,
    CAIRN_KLOG_STILL_LINES = 2000,
    CAIRN_KLOG_STILL_US = 1000000,
    CAIRN_KLOG_KNOWN_MAX = 1 << 16,
    CAIRN_KLOG_LATE_MAX = 256 /* dumps looked at for a line that nobody expects */
};

enum cairn_klog_phase {
    CAIRN_KLOG_AT_HEAD,   /* the head was read */
    CAIRN_KLOG_IN_KERNEL, /* expects [kNN] of `next`, or the user part */
    CAIRN_KLOG_IN_USER,
    CAIRN_KLOG_DONE /* expects nothing; its end is known */
};

struct cairn_klog_ring {
    struct cairn_klog_ring *prev, *next;
};

/* Open dumps are found by what they expect, and by key and thread. */
enum cairn_klog_by { CAIRN_KLOG_BY_LINE, CAIRN_KLOG_BY_THREAD, CAIRN_KLOG_TABLES };

struct cairn_klog_link {
    struct cairn_klog_stack *prev, *next; /* of the same bucket */
    uint32_t bucket;                      /* UINT32_MAX: in none */
};

/* One dump that is open, or was closed and waits for older ones: dumps come out by their heads. */
struct cairn_klog_stack {
    struct cairn_klog_ring by_age, by_use; /* all; those that are open */
    struct cairn_klog_link links[CAIRN_KLOG_TABLES];
    uint64_t key, content; /* content: a hash of its frames, by which equal ones are known */
    uint64_t same_key;     /* where dump.same_as: the key of that dump's lines */
    enum cairn_klog_phase phase;
    uint32_t next;
    bool is_open, is_at_chain_end, is_stray;
    uint64_t first_line, last_line, last_us;
    struct cairn_klog_dump dump; /* `frames` is set when it is handed out */
    struct cairn_klog_frame *frames;
    size_t n, cap;
    size_t mixed_at;      /* frames from here on are not its own for sure; SIZE_MAX: all are */
    size_t others_before; /* `n_others` before it was mixed */
    struct cairn_klog_stack *rival; /* the one other dump that expected it; NULL: more, or gone */
    bool is_doubtful;               /* has frames with CAIRN_KLOG_MAYBE, the next is one, too */
};

/* What a line says of the dump that it belongs to. */
struct cairn_klog_where {
    uint64_t key;
    uint64_t line, time_us;
};

struct cairn_klog_stacks {
    cairn_klog_fn each;
    void *ctx;
    struct cairn_strings *strings;
    struct cairn_klog_counts *counts;
    struct cairn_klog_ring by_age, by_use; /* rings with these as heads; the oldest first */
    struct cairn_klog_stack *buckets[CAIRN_KLOG_TABLES][CAIRN_KLOG_BUCKETS];
    struct cairn_klog_ring spare; /* freed stacks, by by_age.next */
    struct cairn_table known;     /* contents after each kernel frame of dumps that were whole */
    struct cairn_klog_printed printed; /* dumps that later ones may be the same as */
    size_t n_open, n_all;
};

void cairn_klog_stacks_init(struct cairn_klog_stacks *stacks);
void cairn_klog_stacks_done(struct cairn_klog_stacks *stacks);

/* A dump with all but its frames; NULL: memory is gone. In the key's first bucket. */
struct cairn_klog_stack *cairn_klog_stacks_open(struct cairn_klog_stacks *stacks,
                                                const struct cairn_klog_where *where,
                                                const struct cairn_klog_dump *dump);

/* The dump is whole. It is handed out once all before it are. */
void cairn_klog_stacks_close(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack);

/* The thread of this key begins another dump: that before it is whole. */
void cairn_klog_stacks_end_thread(struct cairn_klog_stacks *stacks, uint64_t key, int pid);

/* Closes those that stood still; with `all` every one. */
void cairn_klog_stacks_age(struct cairn_klog_stacks *stacks, const struct cairn_klog_where *now,
                           bool all);

/* Hands out what is whole. CAIRN_E_IO: the callback refused. */
int cairn_klog_stacks_hand_out(struct cairn_klog_stacks *stacks, struct cairn_err *err);

/* Another line of a known dump. False: memory is gone. */
bool cairn_klog_stacks_add(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack,
                           const struct cairn_klog_frame *frame);
void cairn_klog_stacks_use(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack,
                           const struct cairn_klog_where *where);
/* What it expects now. */
void cairn_klog_stacks_move(struct cairn_klog_stacks *stacks, struct cairn_klog_stack *stack,
                            enum cairn_klog_phase phase, uint32_t next);

/* The dump of this key that expects the phase's line of that index, with marks where several do;
 * NULL: none. `frame` is what the line says; NULL: it is a head. A user part may begin in a dump at
 * any place of its kernel part. */
struct cairn_klog_stack *cairn_klog_stacks_find(struct cairn_klog_stacks *stacks,
                                                const struct cairn_klog_where *where,
                                                enum cairn_klog_phase phase, uint32_t index,
                                                const struct cairn_klog_frame *frame);
struct cairn_klog_stack *cairn_klog_stacks_find_user(struct cairn_klog_stacks *stacks,
                                                     const struct cairn_klog_where *where);
/* The dump that the line belongs to if lines before it are lost; NULL: none, or `*ret_several`. */
struct cairn_klog_stack *cairn_klog_stacks_find_late(struct cairn_klog_stacks *stacks,
                                                     const struct cairn_klog_where *where,
                                                     enum cairn_klog_phase phase, uint32_t index,
                                                     bool *ret_several);

/* The content of a dump after one more frame. */
uint64_t cairn_klog_stacks_content(uint64_t content, const struct cairn_klog_frame *frame);

/* One of several, which are marked by what is unknown of them. */
struct cairn_klog_stack *cairn_klog_stacks_choose(struct cairn_klog_stack **choices, size_t n);

/* It is unknown which of these the following lines belong to. */
void cairn_klog_stacks_mix(struct cairn_klog_stack **choices, size_t n);

/* Is this the entry code, which ends the kernel's stack of a system call? */
bool cairn_klog_stacks_ends_chain(const char *symbol);

/* Rivals that took equal lines stand as before. */
void cairn_klog_stacks_settle(struct cairn_klog_stack *stack);

/* The first of the bucket, which holds others too; and the open dump that was used last before
 * `stack`, of all where that is NULL. */
struct cairn_klog_stack *cairn_klog_stacks_bucket(const struct cairn_klog_stacks *stacks,
                                                  uint64_t key, enum cairn_klog_phase phase,
                                                  uint32_t next);
struct cairn_klog_stack *cairn_klog_stacks_before(const struct cairn_klog_stacks *stacks,
                                                  const struct cairn_klog_stack *stack);

#endif /* CAIRN_KLOG_STACKS_H */
