/* SPDX-License-Identifier: MIT */
/* What file.c tells the SIGBUS guard: which mappings are ours. Thread-safe. */
#ifndef CAIRN_BASE_GUARD_H
#define CAIRN_BASE_GUARD_H

#include "base/span.h"

/* False where memory is gone. Nothing for an empty span. */
bool cairn_guard_add(struct cairn_span mapping);
void cairn_guard_remove(struct cairn_span mapping);

#endif /* CAIRN_BASE_GUARD_H */
