/* SPDX-License-Identifier: MIT */
/*
 * What an index may cost. Files can say the same many times over: units that share a line program
 * or a list of ranges, names that are the ends of one text. An honest file says each thing once, so
 * memory and work have bounds that follow from its bytes.
 */
#ifndef CAIRN_SYMBOL_INDEX_BUDGET_H
#define CAIRN_SYMBOL_INDEX_BUDGET_H

#include <stdatomic.h>

#include "symbol/module.h"

struct cairn_index_units;

struct cairn_index_budget {
    uint64_t bytes_max; /* of memory */
    uint64_t work_max;  /* bytes of debug information that are read, and entries of range lists */
    _Atomic uint64_t bytes, work;
    size_t counted; /* by cairn_index_spend_grown() */
};

/* Bytes of memory for what is made of `bytes` of debug information: `factor` times as many and 64
 * MiB; at most `memory_bytes`, the user's bound, but 16 MiB in any case. */
uint64_t cairn_index_memory_max(uint64_t bytes, unsigned factor, size_t memory_bytes);

/* From the files of the module and the debug information that its units are described by; at most
 * `memory_bytes`, but for some that any module may have. CAIRN_E_NOMEM. */
int cairn_index_budget_init(struct cairn_index_budget *ret_budget, const struct cairn_module *m,
                            const struct cairn_index_units *units, size_t memory_bytes,
                            struct cairn_err *err);

/* Counts what is about to be used or was used; false: it is too much. For any thread. */
bool cairn_index_spend(struct cairn_index_budget *budget, uint64_t bytes, uint64_t work);

/* What was used is free again. */
void cairn_index_give_back(struct cairn_index_budget *budget, uint64_t bytes);

/* Counts what the names hold, `bytes` by now, in steps of 64 kB; less than before counts nothing.
 * False: it is too much. One thread. */
bool cairn_index_spend_grown(struct cairn_index_budget *budget, size_t bytes);

/* CAIRN_E_LIMIT, with what was too much. */
int cairn_index_fail_budget(const struct cairn_index_budget *budget, struct cairn_err *err);

#endif /* CAIRN_SYMBOL_INDEX_BUDGET_H */
