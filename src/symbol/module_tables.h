/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_SYMBOL_MODULE_TABLES_H
#define CAIRN_SYMBOL_MODULE_TABLES_H

#include "symbol/module.h"

/* The unit's table, read now if need be; NULL where nothing of it could be read, of which a warning
 * tells once. CAIRN_E_NOMEM. */
int cairn_module_need_table(struct cairn_module *m, struct cairn_dwarf_unit *unit, uint64_t now,
                            struct cairn_unit_table **ret_table, struct cairn_err *err);

/* Reads the tables that look-ups of these addresses will need, by `n_threads` threads (0: one for
 * each CPU), which end before it returns. It changes nothing but the time when tables are read.
 * CAIRN_E_NOMEM. */
int cairn_module_read_tables(struct cairn_module *m, const uint64_t *vaddrs, size_t n_vaddrs,
                             unsigned n_threads, uint64_t now, struct cairn_err *err);

#endif /* CAIRN_SYMBOL_MODULE_TABLES_H */
