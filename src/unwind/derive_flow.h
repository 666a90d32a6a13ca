/* SPDX-License-Identifier: MIT */
/*
 * Derive, in the making: what is known of each byte of code that has no CFI, while it is found out.
 *
 *     derive.c         where functions begin, who never returns
 *     derive_flow.c    along all ways, instruction by instruction
 *     derive_tables.c  where jumps by tables lead
 *     derive_frames.c  what was found, as a .debug_frame
 */
#ifndef CAIRN_UNWIND_DERIVE_FLOW_H
#define CAIRN_UNWIND_DERIVE_FLOW_H

#include "base/table.h"
#include "unwind/derive.h"

/* CAIRN_DERIVE_PLACES: that a jump may mean, the last ones whose address was taken. */
enum { CAIRN_DERIVE_WORD = 8, CAIRN_DERIVE_PLACES = 4 };

/* What is known of a byte. */
enum {
    CAIRN_DERIVE_BEGINS = 1, /* a function */
    CAIRN_DERIVE_IS_BAD = 2, /* what is known there does not hold */
    CAIRN_DERIVE_ENDS_THREAD = 4,
    CAIRN_DERIVE_RETURNS = 8,
    CAIRN_DERIVE_GUESSED = 16,      /* that it begins there */
    CAIRN_DERIVE_NEVER_RETURNS = 32 /* the function that begins there */
};

/* A gap with its bytes. */
struct cairn_derive_code {
    uint64_t from, to;
    size_t at; /* of its first byte in `states` and `marks` */
    const uint8_t *code;
};

/* Where a way has come to. */
struct cairn_derive_place {
    uint64_t vaddr;
    uint32_t state;                       /* number + 1 */
    uint64_t places[CAIRN_DERIVE_PLACES]; /* newest first; 0: none */
    bool by_fall;                         /* from the instruction before */
    uint64_t compared, bound; /* numbers: of the last comparison; what an index is below, 0: none */
    uint64_t guess, guess_end; /* the function that nobody names, up to the next begin; 0: none */
};

struct cairn_derive_edge {
    uint64_t from, to;
};

struct cairn_deriving {
    const struct cairn_derive_input *input;
    struct cairn_derive_code *gaps;
    size_t n_gaps, n_bytes;
    uint32_t *states; /* by byte: number + 1 of what holds before the instruction there */
    uint8_t *marks;
    struct cairn_derive_state *known;
    size_t n_known, cap_known;
    struct cairn_table by_hash;
    struct cairn_derive_place *todo, *jumps, *later;
    size_t n_todo, cap_todo, n_jumps, cap_jumps, n_later, cap_later;
    uint64_t *tables; /* of jumps, sorted */
    size_t n_tables, cap_tables;
    uint64_t *begins; /* bytes where functions begin */
    size_t n_begins, cap_begins;
    struct cairn_derive_edge *taken; /* addresses of data, and where they are taken */
    size_t n_taken, cap_taken;
    struct cairn_derive_edge *edges; /* of jumps, and from a function's end into the next one */
    size_t n_edges, cap_edges;
    uint64_t n_left; /* of the work that this may be */
    int code;        /* CAIRN_E_NOMEM, or CAIRN_E_LIMIT where it is too much: nothing goes on */
};

extern const struct cairn_derive_state cairn_derive_entry; /* at a function's first instruction */

/* The gap that holds a vaddr, or NULL. */
struct cairn_derive_code *cairn_derive_gap_of(const struct cairn_deriving *d, uint64_t vaddr);
size_t cairn_derive_byte_of(const struct cairn_derive_code *gap, uint64_t vaddr);
struct cairn_span cairn_derive_code_from(const struct cairn_derive_code *gap, uint64_t vaddr);
/* Behind padding; `vaddr` itself where there is none. */
uint64_t cairn_derive_behind_padding(const struct cairn_derive_code *gap, uint64_t vaddr);
/* Where the function that holds a jump begins, and where the next one does. */
void cairn_derive_bounds(struct cairn_deriving *d, const struct cairn_derive_place *jump,
                         uint64_t *ret_from, uint64_t *ret_to);

/* Is the stack as the caller left it? */
bool cairn_derive_is_unchanged(const struct cairn_derive_state *state);

/* False: it is too much, and all ends. */
bool cairn_derive_spend(struct cairn_deriving *d, uint64_t work);

void cairn_derive_add_place(struct cairn_deriving *d, struct cairn_derive_place **list, size_t *n,
                            size_t *cap, const struct cairn_derive_place *place);
void cairn_derive_add_edge(struct cairn_deriving *d, struct cairn_derive_edge **list, size_t *n,
                           size_t *cap, struct cairn_derive_edge edge);

/* One more way, with what `from` knows. */
void cairn_derive_go_to(struct cairn_deriving *d, const struct cairn_derive_place *from,
                        uint64_t vaddr, const struct cairn_derive_state *state);

/* This way does not go with what is known there: whoever guessed is wrong, else nobody knows. */
void cairn_derive_spoil(struct cairn_deriving *d, const struct cairn_derive_place *place,
                        size_t byte);

/* All ways in `todo`; jumps by tables are left in `jumps`, padding behind calls in `later`. */
void cairn_derive_follow_all(struct cairn_deriving *d);

/* Those of `jumps`, and all that they lead to. */
void cairn_derive_follow_jumps(struct cairn_deriving *d);

/* Appends what is known. */
void cairn_derive_put(const struct cairn_deriving *d, struct cairn_buffer *ret_debug_frame);

#endif /* CAIRN_UNWIND_DERIVE_FLOW_H */
