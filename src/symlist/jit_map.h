/* SPDX-License-Identifier: MIT */
/*
 * The map that JIT compilers leave for profilers in /tmp/perf-PID.map, as the kernel's
 * tools/perf/Documentation/jit-interface.txt describes it: lines of START SIZE NAME, numbers in
 * hex, names with blanks. Code moves and is thrown away: lines are in no order, and a later one
 * replaces what it covers of those before it.
 */
#ifndef CAIRN_SYMLIST_JIT_MAP_H
#define CAIRN_SYMLIST_JIT_MAP_H

#include "symlist/list.h"

/* Fills `list`, which must be all-zero, and which is so again after a failure. Lines that are none
 * are skipped, and told once in the log with the number of the first. CAIRN_E_FORMAT: the text is
 * not empty and has not one good line. CAIRN_E_LIMIT: more lines than can be true. */
int cairn_jit_map_read(struct cairn_span text, struct cairn_symbol_list *list,
                       struct cairn_err *err);

#endif /* CAIRN_SYMLIST_JIT_MAP_H */
