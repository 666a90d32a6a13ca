/* SPDX-License-Identifier: MIT */
/* The way for a thread that runs (way.h): it is its own CPU that copies, at one interrupt. */
#ifndef CAIRN_SNAPSHOT_BY_SAMPLE_H
#define CAIRN_SNAPSHOT_BY_SAMPLE_H

#include "snapshot/way.h"

/* As the functions of way.h. Waits until the thread has used 10 us of CPU time, for at most
 * sample_ms, and for all threads of one look together for at most sample_left_ns, which it takes
 * off. At most 64 KiB of a stack are had so: CAIRN_E_LIMIT where more is wanted. */
int cairn_catch_by_sample(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                          struct cairn_err *err);

#endif /* CAIRN_SNAPSHOT_BY_SAMPLE_H */
