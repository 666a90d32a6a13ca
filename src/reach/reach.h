/* SPDX-License-Identifier: MIT */
/*
 * Reach: which blocks of a heap can be reached by pointers, from roots and from each other. Bytes
 * in, verdicts out. The caller lists the blocks, gives the bytes of root memory, and reads what
 * blocks hold; this room knows no process.
 *
 *     new ─► add (ascending) ─► seal ─► root, word ─► flood ─► mark of each block
 *                                                          └─► group: heads of what is not reached
 *
 * A pointer to the first byte of a block holds it. A pointer into a block holds it if its bytes
 * show why no pointer to its start is kept (form.h). Other pointers into a block, to its end, or
 * with bits set above bit 47 make it CAIRN_REACH_POSSIBLY, with all that is reached from there
 * alone. Words are read at multiples of 8 bytes.
 *
 * A byte and two bits a block, beside the table (blocks.h), and one window of 1 MiB. Nothing
 * recurses; each block is read once, whatever points to it.
 */
#ifndef CAIRN_REACH_REACH_H
#define CAIRN_REACH_REACH_H

#include "base/span.h"
#include "reach/blocks.h"

enum cairn_reach_mark {
    CAIRN_REACH_NONE,     /* not reached */
    CAIRN_REACH_POSSIBLY, /* by a doubtful pointer alone, or from such a block */
    CAIRN_REACH_HELD
};

enum { CAIRN_REACH_WINDOW = 1 << 20 };

/* Memory that blocks are in. */
struct cairn_reach_memory {
    /* All of it; what cannot be read, or never was written, is zero. False ends the walk. */
    bool (*read)(void *ctx, uint64_t va, uint8_t *to, size_t size);
    /* The first address at `va` or behind it that may hold anything but zero; `end` if none below
     * that does. NULL: all may. */
    uint64_t (*skip)(void *ctx, uint64_t va, uint64_t end);
    void *ctx;
};

/* Pointers into a block whose form is not known yet: looked at once all that is held was read. */
struct cairn_reach_hint {
    uint32_t index, off;
};

struct cairn_reach {
    struct cairn_reach_blocks blocks;
    uint64_t low, high; /* no pointer outside of it is to a block; high is included */
    uint64_t tag_bits;  /* that the machine takes off every address (aarch64: the upper byte) */
    const struct cairn_reach_range *tables; /* where vtables may be, ascending. Borrowed */
    size_t n_tables;
    uint64_t slack;          /* bytes by which sizes may be more than what was asked for */
    uint8_t *marks;          /* by block */
    uint64_t *pending;       /* a bit for each block whose bytes are still to be read */
    uint64_t *pending_words; /* a bit for each word of `pending` that is not zero */
    size_t n_pending;
    struct cairn_reach_hint *hints;
    size_t n_hints, cap_hints;
    uint8_t *window;
    uint64_t span; /* bytes that are read around a block, if the window is not dense */
    uint64_t n_read_bytes;
};

int cairn_reach_new(struct cairn_reach **ret_reach, struct cairn_err *err);
void cairn_reach_free(struct cairn_reach *reach); /* accepts NULL */

/* As cairn_reach_blocks_add(). */
int cairn_reach_add(struct cairn_reach *reach, uint64_t va, uint64_t size, struct cairn_err *err);
/* Behind the last block. */
int cairn_reach_seal(struct cairn_reach *reach, struct cairn_err *err);

/* Each word of memory that is no block's, at a multiple of 8 bytes. */
void cairn_reach_root(struct cairn_reach *reach, struct cairn_span bytes);
/* One word: a register. */
void cairn_reach_word(struct cairn_reach *reach, uint64_t word);
/* The block that `va` is in is held, wherever in it that is. */
void cairn_reach_hold(struct cairn_reach *reach, uint64_t va);

/* The block that begins at `va` is CAIRN_REACH_POSSIBLY at least. */
void cairn_reach_doubt(struct cairn_reach *reach, uint64_t va);

/* Follows pointers out of blocks until nothing new is reached. CAIRN_E_STOPPED: memory.read() did.
 * Roots may be added, and this called again: what is marked stays. */
int cairn_reach_flood(struct cairn_reach *reach, const struct cairn_reach_memory *memory,
                      struct cairn_err *err);

size_t cairn_reach_count(const struct cairn_reach *reach);
struct cairn_reach_block cairn_reach_get(const struct cairn_reach *reach, size_t index);
enum cairn_reach_mark cairn_reach_mark_of(const struct cairn_reach *reach, size_t index);
/* The block that begins at `va`. */
bool cairn_reach_find(const struct cairn_reach *reach, uint64_t va, size_t *ret_index);

/*
 * The heads of the blocks with CAIRN_REACH_NONE: no pointers lead from one head to another, and
 * from some head to each of the blocks. `ret_heads` has room for all blocks: of each its head's
 * number, its own if it is a head, UINT32_MAX if it is reached. Of a cycle that nothing else
 * points to, one block is the head.
 */
int cairn_reach_group(struct cairn_reach *reach, const struct cairn_reach_memory *memory,
                      uint32_t *ret_heads, struct cairn_err *err);

/* Within the room: what a word points to. */
enum cairn_reach_hit {
    CAIRN_REACH_MISS,
    CAIRN_REACH_START,
    CAIRN_REACH_INSIDE,
    CAIRN_REACH_END /* right behind its last byte */
};
enum cairn_reach_hit cairn_reach_resolve(const struct cairn_reach *reach, uint64_t word,
                                         uint32_t *ret_index, uint64_t *ret_off);

/* Within the room: the words of bytes that were read of block `self`, or of a root (UINT32_MAX). */
void cairn_reach_words(struct cairn_reach *reach, const uint8_t *bytes, size_t size,
                       enum cairn_reach_mark mark, uint32_t self);
/* Within the room: the block is reached, and its bytes are still to be read. */
void cairn_reach_raise(struct cairn_reach *reach, uint32_t index, enum cairn_reach_mark mark);
/* Within the room: all that a doubtful pointer points to becomes CAIRN_REACH_POSSIBLY. */
void cairn_reach_raise_doubtful(struct cairn_reach *reach);

#endif /* CAIRN_REACH_REACH_H */
