/* SPDX-License-Identifier: MIT */
/*
 * Is a payload still what was written? Its sum says so; but to add up 85 MB for one address would
 * cost more than the address. So it is added up once a boot: whoever wrote or checked an entry sets
 * the nanoseconds of its time of change to the mark of this boot, and whatever changes the file
 * later, or power that fails before the bytes are on disk, leaves another time or another boot.
 */
#ifndef CAIRN_CACHE_SEAL_H
#define CAIRN_CACHE_SEAL_H

#include "base/span.h"

/* The same in every process and on every machine; four words a turn. */
uint64_t cairn_cache_sum(struct cairn_span bytes);

/* Nanoseconds, 1 to 999999999, that differ from boot to boot (random(4): boot_id); 0: not known,
 * and then nothing is taken unchecked. */
long cairn_cache_mark(void);

#endif /* CAIRN_CACHE_SEAL_H */
