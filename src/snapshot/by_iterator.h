/* SPDX-License-Identifier: MIT */
/*
 * The first of the ways (way.h), by a program in the kernel: registers and stack of any thread that
 * is not on a CPU, without a stop. Other than the rest it can ask for many threads at once.
 */
#ifndef CAIRN_SNAPSHOT_BY_ITERATOR_H
#define CAIRN_SNAPSHOT_BY_ITERATOR_H

#include "snapshot/way.h"

/* Loads the program; what it leaves is freed by cairn_iterator_close(). Fails as
 * cairn_bpf_threads_open() does. */
int cairn_iterator_open(struct cairn_catcher *catcher, struct cairn_err *err);
void cairn_iterator_close(struct cairn_catcher *catcher); /* also where it was never opened */

/* As the functions of way.h. Also fills in the facts that are of the same moment: state, place. */
int cairn_catch_by_iterator(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                            struct cairn_err *err);

/* Those of `n` threads which stand still, by one pass; the others are left as they were. Nothing
 * happens where the program is not loaded. */
void cairn_catch_all_by_iterator(struct cairn_catcher *catcher, struct cairn_caught *threads,
                                 size_t n, size_t want);

/* Has a thread that was caught by this way not run since? */
bool cairn_iterator_is_still(struct cairn_catcher *catcher, const struct cairn_caught *thread);

#endif /* CAIRN_SNAPSHOT_BY_ITERATOR_H */
