/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Report: every live block of this process by itself, with its stack and the names that there are,
 * made by the process itself. The text is the one of `cairn heap leaks --format tracker`.
 */
#ifndef CAIRN_HEAP_REPORT_H
#define CAIRN_HEAP_REPORT_H

#include "heap/inside.h"
#include "heap/out.h"

enum cairn_heap_report_form { CAIRN_HEAP_REPORT_TEXT, CAIRN_HEAP_REPORT_JSON };

/* `counts`: what its head says of the past. `since`: the first epoch whose blocks count. What fails
 * is said by out->failed. */
void cairn_heap_report(struct cairn_tracked_heap *heap, enum cairn_heap_report_form form,
                       const struct cairn_heap_counts *counts, uint32_t since,
                       struct cairn_heap_out *out);

#endif /* CAIRN_HEAP_REPORT_H */
