/* SPDX-License-Identifier: MIT */
/*
 * Lists of texts, by number from 1; each may have a readable form beside it. In blocks of 16, each
 * text takes from the one before it in the block what both begin with:
 *
 *     blocks  | where block 0 begins | block 1 | ...       u32 each, counted from `data`
 *     data    | entry | entry | ...
 *     entry   | shared | rest | the rest's bytes | readable: 0, or 1 + shared | rest | bytes |
 *
 * Numbers are ULEB128. A readable 0 is "the same as the text". Texts hold no NUL.
 *
 * A list may come out of a damaged file: a text is then wrong, but not longer than
 * CAIRN_TEXT_MAX_BYTES, and no read leaves the spans.
 */
#ifndef CAIRN_SYMBOL_INDEX_STRINGS_H
#define CAIRN_SYMBOL_INDEX_STRINGS_H

#include <cairn/error.h>

#include "base/arena.h"
#include "base/buffer.h"

enum { CAIRN_TEXT_BLOCK = 16, CAIRN_TEXT_MAX_BYTES = 512 * 1024 };

/* A text that was read, kept for the next time; with it those of its block, which had to be read
 * for it, or will be for the next. */
struct cairn_index_text {
    const char *text; /* NULL: not read yet */
    const char *readable;
};

struct cairn_texts {
    struct cairn_span blocks, data; /* borrowed */
    uint32_t n;
    struct cairn_index_text *read; /* by number - 1; NULL: none was read */
    struct cairn_arena arena;
};

bool cairn_texts_fit(const struct cairn_texts *t);

/* Number `number`; both texts "" where there is no such number or it is damaged. Borrowed until
 * cairn_texts_forget(). CAIRN_E_NOMEM. */
int cairn_texts_get(struct cairn_texts *t, uint32_t number, struct cairn_index_text *ret_text,
                    struct cairn_err *err);

/* Frees what was read; it can be read again. */
void cairn_texts_forget(struct cairn_texts *t);

/* A list in the making; all-zero to begin. */
struct cairn_texts_writer {
    uint32_t n;
    struct cairn_buffer blocks;
    struct cairn_buffer *data;        /* where entries go, behind what is there; borrowed */
    size_t start, size;               /* of what was appended; the size is known at the end */
    struct cairn_span text, readable; /* the last ones; borrowed */
    bool too_long;
};

/* Before the first text: nobody else may append to `data` until cairn_texts_finish(). */
void cairn_texts_begin(struct cairn_texts_writer *w, struct cairn_buffer *data);

/* Both are borrowed until the next one. An empty `readable` is "the same". */
void cairn_texts_add(struct cairn_texts_writer *w, struct cairn_span text,
                     struct cairn_span readable);

/* CAIRN_E_NOMEM; CAIRN_E_LIMIT: a text is too long, or all are more than 4 GiB. */
int cairn_texts_finish(struct cairn_texts_writer *w, struct cairn_err *err);
void cairn_texts_done(struct cairn_texts_writer *w); /* `data` stays */

#endif /* CAIRN_SYMBOL_INDEX_STRINGS_H */
