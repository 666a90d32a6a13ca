/* SPDX-License-Identifier: MIT */
/* Strip: a module's table, cut into the pieces that bpf/walk.h describes. */
#ifndef CAIRN_BPF_STRIP_H
#define CAIRN_BPF_STRIP_H

#include "bpf/walk.h"
#include "unwind/table.h"

/* What strip `number` of a table is. */
struct cairn_strip {
    uint32_t number;
    uint32_t first_row; /* of the table's, that begins in it */
    uint32_t n_rows;    /* with the one that holds at its start; 0: `rule` holds for all of it */
    uint32_t rule;      /* at its start */
    uint32_t bytes;     /* 0: none are needed; a multiple of 16 */
};

/* How many there are of a table. */
uint32_t cairn_strips_of(const struct cairn_unwind_table *table);

/* `number` is below their count. An image that is damaged gives wrong rules, as it does elsewhere.
 */
struct cairn_strip cairn_strip_measure(const struct cairn_unwind_table *table, uint32_t number);

/* Writes the bytes of a strip that has some. False: the table has changed since. */
bool cairn_strip_write(const struct cairn_unwind_table *table, const struct cairn_strip *strip,
                       uint8_t *bytes);

/* What strips[] holds for it; `segment` and `at` say where its bytes lie. */
uint64_t cairn_strip_word(const struct cairn_strip *strip, uint32_t segment, uint32_t at);

#endif /* CAIRN_BPF_STRIP_H */
