/* SPDX-License-Identifier: MIT */
/* Labels: what a sample tells beside its stack: who it was, where that ran, why the stack ends. */
#ifndef CAIRN_SAMPLE_LABELS_H
#define CAIRN_SAMPLE_LABELS_H

#include "profile/label_list.h"
#include "sample/collect.h"

/* How a thread is called, as far as records have told; "": not known. Borrowed from the profile
 * until a string is added. */
const char *cairn_collect_thread_name(struct cairn_collect *collect, int pid, int tid);

/* Puts the labels of a sample into a list. */
void cairn_collect_put_labels(struct cairn_collect *collect, const struct cairn_collected *of,
                              const struct cairn_collect_more *more, struct cairn_label_list *list);

/* The number of their set in the profile, with cut and time; UINT32_MAX: memory is gone. */
uint32_t cairn_collect_labels(struct cairn_collect *collect, const struct cairn_collected *of,
                              const struct cairn_collect_more *more);

#endif /* CAIRN_SAMPLE_LABELS_H */
