/* SPDX-License-Identifier: MIT */
/* Births: how many of a stack's live blocks were allocated in each epoch of a heap state. */
#ifndef CAIRN_FORMATS_HEAP_BIRTHS_H
#define CAIRN_FORMATS_HEAP_BIRTHS_H

#include "formats/heap_view.h"

struct cairn_heap_birth {
    uint32_t stack, epoch;
    int64_t blocks, bytes; /* allocated then and not freed */
};

struct cairn_heap_births {
    struct cairn_heap_birth *rows; /* by stack, then epoch */
    size_t n;
};

/* Of the stacks below `n_stacks`. CAIRN_E_NOMEM. */
int cairn_heap_births_make(struct cairn_heap_view *view, uint32_t n_stacks,
                           struct cairn_heap_births *ret_births, struct cairn_err *err);
void cairn_heap_births_done(struct cairn_heap_births *births); /* all-zero is fine */

/* When an epoch began, since 1970; 0: the state does not say. */
int64_t cairn_heap_birth_ns(const struct cairn_heap_view *view, uint32_t epoch);

#endif /* CAIRN_FORMATS_HEAP_BIRTHS_H */
