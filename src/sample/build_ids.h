/* SPDX-License-Identifier: MIT */
/* Build IDs of what a process has mapped, asked of the kernel (PROCMAP_QUERY, Linux 6.11): no file
 * is opened, so it works for deleted ones and across mount namespaces. */
#ifndef CAIRN_SAMPLE_BUILD_IDS_H
#define CAIRN_SAMPLE_BUILD_IDS_H

#include "base/span.h"

enum { CAIRN_BUILD_ID_BYTES_MAX = 64 };

struct cairn_build_ids {
    int fd; /* -1: the kernel does not tell */
    uint8_t bytes[CAIRN_BUILD_ID_BYTES_MAX];
};

void cairn_build_ids_open(int pid, struct cairn_build_ids *ret_ids);
void cairn_build_ids_close(struct cairn_build_ids *ids);

/* Of the mapping at `va`; empty where unknown. Borrowed until the next call. */
struct cairn_span cairn_build_ids_find(struct cairn_build_ids *ids, uint64_t va);

#endif /* CAIRN_SAMPLE_BUILD_IDS_H */
