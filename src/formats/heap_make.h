/* SPDX-License-Identifier: MIT */
/*
 * Heap make: the state of a heap (rt/heap_state.h) whose blocks no tracker saw, as a core file has
 * them. A kind of blocks takes the place of a stack: a text, such as "[24 bytes]".
 *
 *     begin ─► kind ... block (ascending) ... ─► end ─► bytes for cairn_heap_view_open()
 */
#ifndef CAIRN_FORMATS_HEAP_MAKE_H
#define CAIRN_FORMATS_HEAP_MAKE_H

#include <cairn/error.h>

#include "base/buffer.h"
#include "rt/heap_state.h"

enum { CAIRN_HEAP_MAKE_TEXT_MAX = 1024 };

struct cairn_heap_make {
    struct cairn_buffer bytes;         /* whole chunks */
    uint32_t leaf, log, stacks, large; /* the chunks that are filled at present; 0: none */
    uint64_t leaf_va;                  /* what `leaf` stands for begins here */
    uint32_t log_used, n_stacks, n_large, n_large_chunks;
    uint64_t n_blocks, n_bytes;
    bool is_full; /* blocks were left out: a state has no more chunks */
};

/* `machine`: EM_*. `command` is cut. */
void cairn_heap_make_begin(struct cairn_heap_make *make, uint16_t machine, uint32_t pid,
                           const char *command);
/* A kind's number; 0, which stands for no kind, once there are too many. The text is cut. */
uint32_t cairn_heap_make_kind(struct cairn_heap_make *make, const char *text);
/* In the order of addresses, which are multiples of 16 and 32 bytes apart at least. */
void cairn_heap_make_block(struct cairn_heap_make *make, uint64_t va, uint64_t bytes,
                           uint32_t kind);
/* CAIRN_E_NOMEM. CAIRN_E_LIMIT: more memory than a state can describe. */
int cairn_heap_make_end(struct cairn_heap_make *make, struct cairn_buffer *ret_bytes,
                        struct cairn_err *err);
void cairn_heap_make_done(struct cairn_heap_make *make); /* all-zero is fine */

#endif /* CAIRN_FORMATS_HEAP_MAKE_H */
