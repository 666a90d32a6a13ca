/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_SYMBOL_INDEX_SYMBOLS_H
#define CAIRN_SYMBOL_INDEX_SYMBOLS_H

#include "symbol/index_names.h"

/* Adds who answers for each address, of all symbol tables of the module in the order in which they
 * are asked. CAIRN_E_LIMIT: symbols are more than 4 GiB apart. CAIRN_E_NOMEM. */
int cairn_index_symbols_take(struct cairn_module *m, struct cairn_index_names *names,
                             struct cairn_index_parts *parts, struct cairn_err *err);

#endif /* CAIRN_SYMBOL_INDEX_SYMBOLS_H */
