/* SPDX-License-Identifier: MIT */
/* The files of a process's mappings, and the mappings of code. */
#ifndef CAIRN_PLANS_MAPPED_H
#define CAIRN_PLANS_MAPPED_H

#include <cairn/maps.h>

#include "base/file.h"

/* CAIRN_E_MISSING: it is no longer there; CAIRN_E_ACCESS and others of opening a file. */
int cairn_plans_open_mapped(int pid, const struct cairn_map *map, struct cairn_file *ret_file,
                            struct cairn_err *err);

/* Calls `fn` with the number of each mapping of a file's code. What it cannot read is left out, and
 * the log says so. CAIRN_E_NOMEM, CAIRN_E_STOPPED: of `fn`, and it was the last call. */
typedef int cairn_plans_mapping_fn(void *context, size_t index, struct cairn_err *err);
int cairn_plans_each_mapping(const struct cairn_maps *maps, cairn_plans_mapping_fn *fn,
                             void *context, struct cairn_err *err);

#endif /* CAIRN_PLANS_MAPPED_H */
