/* SPDX-License-Identifier: MIT */
/*
 * Pack: what is recorded takes a few bytes for each row that is new, and no more: where there are
 * many in the profile all of them go out of the way, and it begins anew (profile/packed.h). A load
 * that goes on for hours, and whose leaf addresses are ever new, so grows by kilobytes.
 */
#ifndef CAIRN_SAMPLE_PACK_H
#define CAIRN_SAMPLE_PACK_H

#include "sample/collect.h"

enum { CAIRN_PACK_ROWS = 8192 };

/* Are there so many that they should be packed? Whoever keeps their numbers, or those of stacks, is
 * to forget them then. */
bool cairn_collect_is_crowded(const struct cairn_collect *collect);

/* Does it where it should be done: numbers of samples and stacks are void. Where memory is gone
 * nothing happens. */
void cairn_collect_pack(struct cairn_collect *collect);

/* Brings all back, for the end. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_collect_unpack(struct cairn_collect *collect);

#endif /* CAIRN_SAMPLE_PACK_H */
