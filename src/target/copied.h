/* SPDX-License-Identifier: MIT */
/*
 * Copied: what a cursor reads that walks a copied stack, of a process as it was then.
 *
 *     registers ─► cursor over ┬─ the copy
 *                              └─ code and tables of the files that were mapped
 *
 * It turns from process to process. Tables of files stay.
 */
#ifndef CAIRN_TARGET_COPIED_H
#define CAIRN_TARGET_COPIED_H

#include "stream/push.h"
#include "target/pid.h"

/* A mapping's file, and where what it lacks is. Empty: it is not at hand. */
struct cairn_copied_file {
    struct cairn_span image, debug;
};

/* Where the files are. */
struct cairn_copied_source {
    void *ctx;
    /* Borrowed until cairn_copied_forget(). */
    struct cairn_copied_file (*file)(void *ctx, const struct cairn_stream_map *map);
    /* Code that is in no file at hand; NULL: it cannot be read. */
    bool (*read)(void *ctx, uint64_t va, void *to, size_t size);
};

/* Which words of the copy were read, numbered from its start; a word may be listed twice. A walk is
 * a function of them, of the registers and of the code. */
enum { CAIRN_COPIED_READS_MAX = 256, CAIRN_COPIED_WORD = 8 };

struct cairn_copied_reads {
    uint32_t n;
    bool is_over; /* more were read, or some beyond the last word that has a number */
    uint16_t word[CAIRN_COPIED_READS_MAX];
};

struct cairn_copied {
    struct cairn_unwind_space *unwind; /* for cursors; NULL: not opened */
    struct cairn_copied_source source;
    uint64_t version;                  /* of the process's mappings, as the tables lie now */
    const struct cairn_strings *texts; /* of the mappings; borrowed, as the next one */
    const struct cairn_stream_space *space;
    struct cairn_target_copy stack;
    bool goes_on;                     /* the stack does, behind the copy */
    bool is_beyond;                   /* a cursor asked for what is there */
    struct cairn_copied_reads *reads; /* borrowed; NULL: not noted */
    /* Reads memory that is not in the copy, of a stopped thread; NULL: it cannot be read. */
    bool (*more)(void *ctx, uint64_t va, void *to, size_t size);
    void *more_ctx;
};

/* `copied` stays where it is. */
int cairn_copied_open(struct cairn_copied *copied, const struct cairn_copied_source *source,
                      struct cairn_err *err);
void cairn_copied_close(struct cairn_copied *copied); /* all-zero is fine */

/* The files are read no more, nor are their tables. */
void cairn_copied_forget(struct cairn_copied *copied);

/* Another stack, maybe of another process, or with other mappings. */
void cairn_copied_turn(struct cairn_copied *copied, const struct cairn_strings *texts,
                       const struct cairn_stream_space *space,
                       const struct cairn_target_copy *stack, bool goes_on);

/* Where a cursor stands. Nothing has called a signal's frame. */
static inline struct cairn_stream_frame cairn_copied_frame(const struct cairn_cursor_frame *frame)
{
    return (struct cairn_stream_frame){
        .va = frame->ip, .how = (uint8_t)frame->how, .exact = frame->exact || frame->signal};
}

#endif /* CAIRN_TARGET_COPIED_H */
