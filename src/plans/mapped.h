/* SPDX-License-Identifier: MIT */
/* The file of a process's mapping, opened in whatever way that can be done. */
#ifndef CAIRN_PLANS_MAPPED_H
#define CAIRN_PLANS_MAPPED_H

#include <cairn/maps.h>

#include "base/file.h"

/* CAIRN_E_MISSING: it is no longer there; CAIRN_E_ACCESS and others of opening a file. */
int cairn_plans_open_mapped(int pid, const struct cairn_map *map, struct cairn_file *ret_file,
                            struct cairn_err *err);

#endif /* CAIRN_PLANS_MAPPED_H */
