/* SPDX-License-Identifier: MIT */
/*
 * Stack text: stacks that a program printed for people, on their way into a profile. The readers of
 * such reports parse lines; this makes modules, frames, stacks and samples of what they found.
 *
 * A report says an offset into a module, or where the code was in the process, or a name alone. A
 * module gets no range: addresses of its frames are offsets from its load base. A module whose
 * offsets count in its file gets the range of all addresses, as if it were mapped at 0. The frame
 * of a name without a module has no address, for that differs in each run.
 */
#ifndef CAIRN_FORMATS_STACK_TEXT_H
#define CAIRN_FORMATS_STACK_TEXT_H

#include "base/span.h"
#include "base/table.h"
#include "formats/format.h"
#include "profile/profile.h"

/* Spans are empty where the text does not say. */
struct cairn_text_frame {
    struct cairn_span name, file, module, build_id;
    uint32_t line;
    uint64_t pc;     /* in the process, to look up; 0: not said */
    uint64_t offset; /* from the module's load base, to look up */
    bool has_offset;
    bool in_file;    /* the offset is one in the file instead, counted from `begins` */
    uint64_t begins; /* where in the file it does: of a library in an archive */
};

/* Equal stacks with equal labels are one row. */
struct cairn_text_row {
    uint32_t stack, labels;
    int64_t n, bytes, objects;
};

struct cairn_stack_text {
    struct cairn_profile *p;
    uint32_t *frames; /* of the stack that is read, the innermost one first */
    size_t n_frames, cap_frames;
    bool has_last; /* the last frame, kept back until it is known whether it was inlined: */
    struct cairn_profile_frame last;
    struct cairn_profile_line last_line;
    uint64_t last_pc;
    struct cairn_text_row *rows;
    size_t n_rows, cap_rows;
    struct cairn_table by_what; /* stack and labels -> row */
    size_t n_amounts;           /* rows whose bytes and objects were said */
};

void cairn_stack_text_done(struct cairn_stack_text *text);

/* The next frame of the stack, from the innermost one on. CAIRN_E_LIMIT: it is too deep. */
int cairn_stack_text_frame(struct cairn_stack_text *text, const struct cairn_text_frame *frame,
                           struct cairn_err *err);

/* Has the stack any frame yet? */
static inline bool cairn_stack_text_is_begun(const struct cairn_stack_text *text)
{
    return text->n_frames || text->has_last;
}

/* Ends the stack. `bytes` is negative where the text does not say bytes and objects. */
int cairn_stack_text_end(struct cairn_stack_text *text, uint32_t labels, int64_t bytes,
                         int64_t objects, struct cairn_err *err);

/* The same for a stack that was counted `n` times. */
int cairn_stack_text_end_counted(struct cairn_stack_text *text, uint32_t labels, int64_t n,
                                 struct cairn_err *err);

/* Gives the profile its types and samples. */
int cairn_stack_text_finish(struct cairn_stack_text *text, struct cairn_err *err);

/* The number in front of the first `mark`, which may hold commas ("1,024 bytes"); -1: none. */
int64_t cairn_stack_text_before(struct cairn_span line, const char *mark);

/* A label with a text, which is cut to 256 bytes; false: memory is gone. */
bool cairn_stack_text_label(struct cairn_profile *p, const char *key, struct cairn_span text,
                            struct cairn_profile_label *ret_label);

/* Takes the next line off `*io_rest`, without its break; false at the end. */
bool cairn_stack_text_next(struct cairn_span *io_rest, struct cairn_span *ret_line);

/* Without blanks and a carriage return at both ends; at the end alone. */
struct cairn_span cairn_stack_text_trimmed(struct cairn_span text);
struct cairn_span cairn_stack_text_trimmed_end(struct cairn_span text);

/* Where `mark` is last; the text's size: nowhere. */
size_t cairn_stack_text_find_last(struct cairn_span text, const char *mark);

/* What is between `mark` and the first `end` behind it, or the text's end; empty: no mark. */
struct cairn_span cairn_stack_text_between(struct cairn_span text, const char *mark,
                                           const char *end);

/* Takes "(inside)" off the end, where a blank or nothing is before it. */
bool cairn_stack_text_group(struct cairn_span *io_text, struct cairn_span *ret_inside);

/* Reads the source line by line, and counts lines in `*line`. `is_cut`: the text ends within this
 * one. Stops at a negative answer, which comes back. */
typedef int (*cairn_stack_text_fn)(void *ctx, struct cairn_span line, bool is_cut,
                                   struct cairn_err *err);
int cairn_stack_text_read(struct cairn_source *source, uint64_t *line, cairn_stack_text_fn fn,
                          void *ctx, struct cairn_err *err);

/* "a.c:48" or "a.c:48:7", all of it but blanks; the column is not kept. */
bool cairn_stack_text_place(struct cairn_span line, struct cairn_span *ret_file,
                            uint32_t *ret_line);

/* Are all of its bytes hex digits? */
bool cairn_stack_text_is_hex(struct cairn_span text);
/* Hex digits from `*io_at` on, at most 16; false where there are none. */
bool cairn_stack_text_hex(struct cairn_span text, size_t *io_at, uint64_t *ret_number);
/* Decimal digits; false where there are none, or the number has more than 63 bits. */
bool cairn_stack_text_number(struct cairn_span text, size_t *io_at, uint64_t *ret_number);

#endif /* CAIRN_FORMATS_STACK_TEXT_H */
