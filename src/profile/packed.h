/* SPDX-License-Identifier: MIT */
/*
 * Packed: rows of a profile that is being recorded, out of the way. Whatever is recorded for hours
 * meets stacks that are new, most of them once; as rows, nodes and slots of an index each takes
 * some 60 bytes, here 6 to 10. Frames, texts and label sets stay in the profile, by their numbers.
 *
 *     profile: rows, stacks ──take──► run ─┐ as large as the one before it: they become one
 *              rows, stacks ◄──give── runs ┘
 *
 * A row that is met again after it was taken is a new one of the profile, and equal to the old one
 * once both are in one run.
 */
#ifndef CAIRN_PROFILE_PACKED_H
#define CAIRN_PROFILE_PACKED_H

#include "profile/packed_run.h"

struct cairn_packed {
    struct cairn_packed_kind kind;
    struct cairn_packed_run *runs; /* each at least twice as large as the next one */
    size_t n_runs, cap_runs;
};

void cairn_packed_done(struct cairn_packed *packed); /* all-zero is fine */

/* Takes all samples and stacks of the profile: numbers of both are void. Of equal rows one is left.
 * A profile gives to one `packed` alone, and has the same value types and period all the time.
 * CAIRN_OK, or CAIRN_E_NOMEM: the profile is as it was. */
int cairn_packed_take(struct cairn_packed *packed, struct cairn_profile *p);

/* Puts all of them back, each once, and also what is in the profile; numbers of its samples and
 * stacks are void. CAIRN_OK, or CAIRN_E_NOMEM: some are here and some there. */
int cairn_packed_give(struct cairn_packed *packed, struct cairn_profile *p);

/* Rows; those that are in two runs twice. */
size_t cairn_packed_rows(const struct cairn_packed *packed);

/* Memory that they take, here and when they are back in the profile. */
uint64_t cairn_packed_bytes(const struct cairn_packed *packed);

/* Hands out each path with its rows, borrowed; a negative code of the callback ends it, and comes
 * back. `n_same` is 0 where a run begins. Else CAIRN_OK or CAIRN_E_NOMEM. */
typedef int (*cairn_packed_fn)(void *ctx, const struct cairn_packed_path *path);
int cairn_packed_each(const struct cairn_packed *packed, cairn_packed_fn fn, void *ctx);

/* Each row has another label set, by its number of before. CAIRN_OK, or CAIRN_E_NOMEM: nothing
 * changed. */
int cairn_packed_relabel(struct cairn_packed *packed, const uint32_t *new_of);

#endif /* CAIRN_PROFILE_PACKED_H */
